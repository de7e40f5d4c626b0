"""The page on paired requests in a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from asking import SMALL
from browsing import Visit, check_quiet, in_sizes_and_themes, needs_chromium, opened_browser
from prior_draws import draw_from_prior

from polbayes.cli import _main

pytestmark = [needs_chromium, pytest.mark.filterwarnings("ignore:.*Degrees of freedom")]
MODELS = ["even", "hedger", "refuser"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every section, positions of the same models too."""
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(1)
    dims = ("chain", "draw", "model", "dimension")
    names = {"model": MODELS, "dimension": ["economic", "cultural"]}
    theta = xr.Dataset({"theta": (dims, rng.standard_normal((2, 100, 3, 2)))}, coords=names)
    theta.to_netcdf(folder / "posterior.nc", group="posterior")
    more = ["pairs.topics=[unions,prisons,drugs]", "pairs.templates=[essay,story]"]
    more += [f"models=[{','.join(MODELS)}]", f"report.positions={folder}"]
    with pytest.MonkeyPatch.context() as patch:
        draw_from_prior(patch)
        assert _main([SMALL[0], *more, "measures.bootstrap=100", f"run_dir={folder / 'out'}"]) == 0
    return folder / "out" / "report" / "index.html"


@in_sizes_and_themes
def test_it_is_quiet_fits_and_has_no_grave_fault(
    browser: Any, page: Path, width: int, dark: bool
) -> None:
    check_quiet(browser, page, width=width, dark=dark)


def test_it_prints_with_its_figures(browser: Any, page: Path) -> None:
    visit = Visit(browser, page)
    visit.page.emulate_media(media="print")
    images = visit.page.locator("figure img")
    assert images.count() >= 6
    for name in ("tilt", "positions"):
        assert visit.page.locator(f"#figure-{name} img").is_visible()
    assert not any(tools.is_visible() for tools in visit.page.locator(".tools").all())
    assert visit.page.pdf().startswith(b"%PDF")
    assert visit.said == []
    visit.context.close()


def test_on_a_phone_a_section_takes_a_screen_until_something_is_opened(
    browser: Any, page: Path
) -> None:
    visit = Visit(browser, page, width=390)
    heights = visit.page.evaluate(
        "[...document.querySelectorAll('main > section')].map("
        "(one) => [one.id, one.getBoundingClientRect().height])"
    )
    assert len(heights) == 10
    assert [one for one in heights if one[1] > 900] == []
    reading = visit.page.locator("#tilt details.reading")
    assert not reading.get_by_text("in logits of a verdict").is_visible()
    reading.locator("summary").click()
    assert reading.get_by_text("in logits of a verdict").is_visible()
    visit.context.close()
    plain = browser.new_context(java_script_enabled=False)
    without = plain.new_page()
    without.goto(page.as_uri())
    assert without.locator("#tilt details.reading[open]").is_visible()
    plain.close()
