"""A page that is open in a browser."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
_LONG = (pytest.mark.slow, pytest.mark.long)
# axe-core takes half a minute a page: two of the six go with every change, all before a release.
in_sizes_and_themes = pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(1280, False, id="light-1280"),
        pytest.param(390, True, id="dark-390"),
        *(
            pytest.param(width, dark, id=f"{theme}-{width}", marks=_LONG)
            for width, dark, theme in (
                (768, False, "light"),
                (390, False, "light"),
                (1280, True, "dark"),
                (768, True, "dark"),
            )
        ),
    ],
)
_GRAVE = ("serious", "critical")
# The contrast of thousands of cells takes a minute. Rows that are marked up alike look alike, so
# that five of each kind in a table will do.
_FEWER_ALIKE = """
for (const body of document.querySelectorAll('tbody')) {
  const seen = new Map();
  for (const row of body.rows) {
    const tags = [row, ...row.querySelectorAll('*')];
    const kind = tags.map((tag) => tag.tagName + tag.className + tag.style.cssText).join();
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    if (seen.get(kind) > 5) row.remove();
  }
}
"""


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Start Chromium."""
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visit:
    """A page that is open, with all it asked for and complained of."""

    def __init__(self, browser: Any, path: Path, *, width: int = 1280, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def draw_all(self) -> set[str]:
        """Open all folds and scroll to every chart; return those that were drawn."""
        found = set()
        self.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        charts = "typeof figures === 'undefined' ? [] : figures.map((figure) => figure.id)"
        for name in self.page.evaluate(charts):
            self.draw(name)
            found.add(name.removeprefix("figure-"))
        return found

    def draw(self, name: str) -> Any:
        """Scroll to a chart and wait for it."""
        self.page.evaluate(
            "(id) => { for (let at = document.getElementById(id); at; at = at.parentElement)"
            " if (at.tagName === 'DETAILS') at.open = true;"
            " document.getElementById(id).scrollIntoView({ behavior: 'instant' }) }",
            name,
        )
        return self.page.wait_for_selector(f"#{name}.drawn svg.marks")

    def marks(self, name: str, kind: str) -> Any:
        """Find the marks of a chart that answer to the pointer."""
        return self.page.locator(f"#figure-{name} .mark-{kind} path[aria-label]")

    def grave(self) -> list[tuple[str, str]]:
        """Return what axe-core finds that is serious or critical, with the first place of each."""
        axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
        self.page.evaluate(_FEWER_ALIKE)
        self.page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
        found = self.page.evaluate(
            "axe.run({ resultTypes: ['violations'] }).then((r) => r.violations)"
        )
        return [(v["id"], v["nodes"][0]["html"][:300]) for v in found if v["impact"] in _GRAVE]


def check_quiet(browser: Any, page: Path, *, width: int, dark: bool) -> None:
    """Draw a whole page: it says and fetches nothing, fits, and axe finds nothing grave."""
    visit = Visit(browser, page, width=width, dark=dark)
    visit.draw_all()
    assert visit.asked == [page.as_uri()]
    assert visit.said == []
    assert "ran" not in visit.page.title().split()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.grave() == []
    visit.context.close()
