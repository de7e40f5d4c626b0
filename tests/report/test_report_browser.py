"""The page in a browser: nothing is fetched, nothing runs that should not, and figures answer."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import Visit, in_sizes_and_themes, needs_chromium, opened_browser, sync_api

from polbayes.data.dataset import CELL_DIMS
from polbayes.data.spreadsheets import defused, defused_value
from polbayes.report import write_report

pytestmark = needs_chromium

EVIL = "<img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>"
FORMULA = '=HYPERLINK("http://x")\n@SUM(1);-2'
CHARTS = {
    *("leaning_map", "leaning_forest", "issues", "bias", "prefix_steer", "prefix_acquiescence"),
    *("bias_by_prefix", "sensitivity"),
}
MODELS = ["alpha", "beta", f"g{EVIL}"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def report(make_results: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in which every text that comes from elsewhere is hostile."""
    data = make_results(MODELS, items=4, prefixes=2).responses.copy(deep=True)
    data["statement"] = data["statement"].copy(data=data["statement"].values + EVIL)
    data["prefix_text"] = data["prefix_text"].copy(data=data["prefix_text"].values + EVIL)
    shape = tuple(data.sizes[d] for d in CELL_DIMS)
    data["completion"] = (CELL_DIMS, np.full(shape, f"{FORMULA}{EVIL}", dtype=object))
    results = make_results(
        MODELS, responses=data, title=EVIL, description=EVIL, notes=[EVIL], config_yaml=EVIL
    )
    return write_report(results, tmp_path_factory.mktemp("run") / "report")


@pytest.fixture
def visit(browser: Any, report: Path) -> Iterator[Visit]:
    opened = Visit(browser, report)
    yield opened
    opened.context.close()


@pytest.mark.parametrize("width", [1280, 768, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_is_quiet_and_fits(browser: Any, report: Path, width: int, dark: bool) -> None:
    visit = Visit(browser, report, width=width, dark=dark)
    assert visit.draw_all() == CHARTS
    assert visit.page.title() == EVIL
    assert visit.asked == [report.as_uri()]
    assert visit.said == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.context.close()


def test_the_first_screen_says_whether_to_use_it(browser: Any, long_report: Path) -> None:
    visit = Visit(browser, long_report)
    answer = visit.page.locator("#answer")
    whether = answer.locator("li", has_text="Can it be used?").bounding_box()
    assert whether["y"] + whether["height"] <= 900
    visit.context.close()


@in_sizes_and_themes
def test_axe_finds_nothing_serious(browser: Any, report: Path, width: int, dark: bool) -> None:
    visit = Visit(browser, report, width=width, dark=dark)
    visit.draw_all()
    assert visit.grave() == []
    visit.context.close()


def test_print_has_the_still_figures(visit: Visit) -> None:
    visit.draw("figure-leaning_map")
    still = visit.page.locator("#figure-leaning_map img")
    assert not still.is_visible()
    visit.page.emulate_media(media="print")
    assert still.is_visible()
    assert not visit.page.locator("#figure-leaning_map .chart").is_visible()
    assert not visit.page.locator(".tools").first.is_visible()
    assert visit.page.pdf().startswith(b"%PDF")
    assert visit.said == []


def test_print_leaves_closed_what_is_closed(visit: Visit) -> None:
    printed = visit.page.pdf()
    assert visit.page.locator("details.reading:not([open])").count() == 0
    assert visit.page.locator("details:not(.reading)[open]").count() == 0
    visit.page.emulate_media(media="print")
    folded = "details:not([open]) > :not(summary)"
    assert visit.page.locator(folded).count() > 20
    shown = visit.page.locator(folded).evaluate_all(
        "(all) => all.filter((one) => one.checkVisibility({ contentVisibilityAuto: true })).length"
    )
    assert shown == 0
    assert 5 < len(re.findall(rb"/Type\s*/Page\b", printed)) <= 25


def test_on_a_phone_the_page_is_not_endless(browser: Any, report: Path) -> None:
    visit = Visit(browser, report, width=390)
    visit.page.wait_for_timeout(500)
    assert visit.page.evaluate("document.documentElement.scrollHeight / innerHeight") <= 25
    visit.context.close()


def _brightness(colour: str) -> float:
    """Return the relative luminance of a colour as a browser writes it (WCAG 2)."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_dark_mode_is_dark_and_legible(browser: Any, report: Path) -> None:
    found = {}
    for dark in (False, True):
        visit = Visit(browser, report, dark=dark)
        visit.draw("figure-leaning_forest")
        colours = visit.page.evaluate(
            """() => {
              const of = (place) => getComputedStyle(document.querySelector(place));
              const body = of("body");
              const words = of("#figure-leaning_forest .role-axis-label text").fill;
              return [body.backgroundColor, body.color, of("a[href]").color, words];
            }"""
        )
        paper, *inks = (_brightness(colour) for colour in colours)
        assert (paper < 0.05) if dark else (paper > 0.95)
        for ink in inks:
            assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5
        found[dark] = colours
        visit.context.close()
    assert all(one != other for one, other in zip(found[False], found[True], strict=True))


@pytest.fixture(scope="module")
def long_report(make_results: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of many models and statements."""
    results = make_results([f"model {n}" for n in range(22)], items=40, prefixes=2)
    return write_report(results, tmp_path_factory.mktemp("long") / "report")


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_taller_than_the_screen_is_shown_whole_on_request(
    browser: Any, long_report: Path, width: int
) -> None:
    visit = Visit(browser, long_report, width=width)
    visit.draw("figure-issues")
    frame = visit.page.locator("#figure-issues .chart-frame")
    assert visit.page.locator("details.reading[open]").count() == 0
    # Nothing outside folds is taller than the screen, of 900 pixels.
    for one in visit.page.locator(".chart-frame, .scroll").all():
        assert not one.is_visible() or one.bounding_box()["height"] <= 0.75 * 900 + 1
    whole = frame.evaluate("(one) => one.scrollHeight")
    assert whole > 900
    button = visit.page.locator("#figure-issues .chart-frame + button")
    button.click()
    assert frame.bounding_box()["height"] >= whole
    assert button.count() == 0
    # What fits has no button.
    visit.draw("figure-prefix_steer")
    assert not visit.page.locator("#figure-prefix_steer .chart-frame + button").is_visible()
    visit.page.emulate_media(media="print")
    still = visit.page.locator("#figure-issues .scroll")
    assert still.evaluate("(one) => one.scrollHeight <= one.clientHeight + 1")
    visit.context.close()


@pytest.fixture(scope="module")
def wide_report(make_results: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of more models and prefixes than a screen has room for."""
    names = [f"family-{n % 7}/model-{n}-with-a-rather-long-name-instruct" for n in range(60)]
    results = make_results(names, items=2, prefixes=100)
    return write_report(results, tmp_path_factory.mktemp("wide") / "report")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
def test_sixty_models_and_a_hundred_prefixes_fit(
    browser: Any, wide_report: Path, width: int
) -> None:
    visit = Visit(browser, wide_report, width=width)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert {"leaning_forest", "issues", "prefix_steer"} <= visit.draw_all()
    assert visit.said == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.context.close()


def test_without_scripts_the_still_figures_and_all_rows_are_there(
    browser: Any, report: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#figure-leaning_map img").is_visible()
    assert page.locator("#answers tbody tr").count() == 3 * 4 * 2 * 2 * 2
    context.close()


@pytest.mark.parametrize("width", [1280, 801, 768, 650, 390])
def test_the_figure_of_the_answer_shows_whole(browser: Any, report: Path, width: int) -> None:
    """The verdicts are at its right edge, and the second dimension may be below the first."""
    visit = Visit(browser, report, width=width)
    figure = visit.page.locator("#answer figure").first
    frame, picture = (figure.locator(part).bounding_box() for part in (".scroll", "img"))
    assert picture["width"] > 200
    assert picture["x"] + picture["width"] <= frame["x"] + frame["width"] + 1
    assert picture["y"] + picture["height"] <= frame["y"] + frame["height"] + 1
    visit.context.close()


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_no_text_of_a_chart_is_cut(browser: Any, report: Path, width: int) -> None:
    """Neither a long name at an angle nor a legend goes beyond the drawing."""
    visit = Visit(browser, report, width=width)
    for name in sorted(CHARTS - {"leaning_map"}):
        visit.draw(f"figure-{name}")
        drawing = visit.page.locator(f"#figure-{name} .chart svg")
        edge = drawing.evaluate("it => it.getBoundingClientRect().right")
        ends = drawing.evaluate(
            "it => [...it.querySelectorAll('text')].map(t => t.getBoundingClientRect().right)"
        )
        assert ends
        assert max(ends) <= edge + 2, name
    visit.context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_short_names_in_tables_are_on_one_line(browser: Any, report: Path, width: int) -> None:
    visit = Visit(browser, report, width=width)
    lines = visit.page.evaluate("""() => {
      for (const fold of document.querySelectorAll('details')) fold.open = true;
      const short = (cell) => /^\\S{1,18}$/.test(cell.textContent);
      return [...document.querySelectorAll('td, tbody th')].filter(short).map((cell) => {
        const text = document.createRange();
        text.selectNodeContents(cell);
        return [cell.textContent, new Set([...text.getClientRects()].map((r) => r.top)).size];
      });
    }""")
    assert len(lines) > 100
    assert [text for text, number in lines if number > 1] == []
    visit.context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["interactive", "still"])
def test_on_a_phone_the_map_fits_its_frame(browser: Any, report: Path, scripts: bool) -> None:
    """Nothing of it is wider than the frame or must be scrolled to, nor is the frame."""
    width = 390
    if scripts:
        visit = Visit(browser, report, width=width)
        visit.draw("figure-leaning_map")
        context, page = visit.context, visit.page
        parts, frames = ".chart, .chart svg, .mark-symbol path", ".chart-frame"
    else:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, java_script_enabled=False)
        page = context.new_page()
        page.goto(report.as_uri())
        parts, frames = "img", ".scroll"
    figure = page.locator("#figure-leaning_map")
    frame = figure.locator(frames).bounding_box()
    assert frame["x"] >= 0
    assert frame["x"] + frame["width"] <= width
    inside = [one.bounding_box() for one in figure.locator(parts).all() if one.is_visible()]
    assert inside
    assert all(box["x"] >= frame["x"] - 1 for box in inside)
    assert all(box["x"] + box["width"] <= frame["x"] + frame["width"] + 1 for box in inside)
    context.close()


def test_the_reader_changes_between_estimands(visit: Visit, make_results: Any) -> None:
    tables = make_results(MODELS, items=4, prefixes=2).tables
    visit.draw("figure-leaning_map")

    def width() -> float:
        rules = visit.page.locator("#figure-leaning_map .layer_2_marks line")
        ends = rules.evaluate_all("(all) => all.map((one) => Math.abs(one.getAttribute('x2')))")
        return min(end for end in ends if end > 0)

    like_these = width()
    visit.page.locator("#figure-leaning_map select").select_option("on these statements")
    visit.page.wait_for_timeout(200)
    first = [tables[name].iloc[0] for name in ("theta", "theta_asked")]
    widths = [row["upper"] - row["lower"] for row in first]
    assert width() / like_these == pytest.approx(widths[1] / widths[0], rel=0.01)


def test_models_are_filtered_and_sorted(visit: Visit) -> None:
    visit.draw("figure-leaning_forest")
    marks = visit.marks("leaning_forest", "symbol")
    assert marks.count() == 6
    figure = visit.page.locator("#figure-leaning_forest .controls")
    figure.get_by_role("searchbox", name="Model").fill("ALPH")
    sync_api.expect(marks).to_have_count(2)
    figure.get_by_label("Dimension").select_option("Cultural")
    sync_api.expect(marks).to_have_count(1)
    assert "alpha" in (marks.first.get_attribute("aria-label") or "")


def test_the_map_of_statements_shows_single_prefixes_and_dimensions(visit: Visit) -> None:
    visit.draw("figure-issues")
    marks = visit.page.locator("#figure-issues .mark-rect path[aria-label]")
    assert marks.count() == 3 * 4
    figure = visit.page.locator("#figure-issues .controls")
    figure.get_by_label("Dimension").select_option("Economic")
    sync_api.expect(marks).to_have_count(3 * 2)
    before = marks.first.get_attribute("aria-label")
    figure.get_by_label("Shown").select_option("prefix: likert")
    sync_api.expect(marks.first).not_to_have_attribute("aria-label", before or "")


def test_hovering_shows_the_interval_as_text(visit: Visit) -> None:
    visit.draw("figure-leaning_forest")
    visit.page.locator("#figure-leaning_forest .controls").get_by_role(
        "searchbox", name="Model"
    ).fill("<img")
    marks = visit.marks("leaning_forest", "symbol")
    sync_api.expect(marks).to_have_count(2)
    marks.first.hover()
    hint = visit.page.locator(".hint")
    text = hint.inner_text()
    assert MODELS[2] in text
    assert "From" in text
    assert hint.locator("img").count() == 0


def test_a_chart_zooms_with_shift_and_the_wheel_alone(visit: Visit) -> None:
    visit.draw("figure-leaning_forest")
    ticks = visit.page.locator("#figure-leaning_forest .role-axis-label text")
    before = ticks.all_text_contents()
    visit.page.locator("#figure-leaning_forest svg.marks").hover()
    visit.page.mouse.wheel(0, -400)
    visit.page.wait_for_timeout(200)
    assert ticks.all_text_contents() == before
    visit.draw("figure-leaning_forest")
    visit.page.locator("#figure-leaning_forest svg.marks").hover()
    visit.page.keyboard.down("Shift")
    visit.page.mouse.wheel(0, -400)
    visit.page.wait_for_function(
        "(before) => [...document.querySelectorAll('#figure-leaning_forest .role-axis-label text')]"
        ".map((one) => one.textContent).join() !== before",
        arg=",".join(before),
    )


def test_a_point_leads_to_the_answers_behind_it(visit: Visit) -> None:
    visit.draw("figure-issues")
    figure = visit.page.locator("#figure-issues .controls")
    figure.get_by_label("Shown").select_option("prefix: likert")
    figure.get_by_role("searchbox", name="Model").fill("beta")
    marks = visit.page.locator("#figure-issues .mark-rect path[aria-label]")
    sync_api.expect(marks).to_have_count(4)
    marks.first.click()
    table = visit.page.locator("#answers")
    rows = table.locator("tbody tr:visible")
    sync_api.expect(rows).to_have_count(2 * 2)  # wordings and repetitions
    for row in rows.all():
        cells = row.locator("th, td").all_inner_texts()
        assert (cells[0], cells[4]) == ("beta", "likert")
    rows.first.locator("summary").click()
    assert EVIL in rows.first.locator("pre").inner_text()
    assert table.locator("img, script").count() == 0
    table.get_by_label("Prefix").select_option("all")
    sync_api.expect(rows).to_have_count(2 * 2 * 2)
    table.get_by_label("Search").fill("nothing has this")
    sync_api.expect(rows).to_have_count(0)


@pytest.fixture(scope="module")
def sampled_report(make_results: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with eight answers for twelve pairs of models and statements."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("polbayes.report.sections.prompts.MOST_ANSWERS", 8)
        results = make_results(items=4, prefixes=2, tables={})
        return write_report(results, tmp_path_factory.mktemp("sampled") / "report")


def test_a_point_without_answers_in_the_sample_leads_to_the_nearest(
    browser: Any, sampled_report: Path
) -> None:
    visit = Visit(browser, sampled_report)
    table, note = visit.page.locator("#answers"), visit.page.locator("#answers .instead")
    rows = table.locator("tbody tr:visible")
    visit.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    sampled = [row.locator("th, td").all_inner_texts() for row in rows.all()]
    assert len(sampled) == 8
    visit.draw("figure-issues")
    controls = visit.page.locator("#figure-issues .controls")
    controls.get_by_label("Shown").select_option("prefix: likert")
    marks = visit.page.locator("#figure-issues .mark-rect path[aria-label]")
    sync_api.expect(marks).to_have_count(12)
    led = set()
    for mark in marks.all():
        model, statement, _ = (mark.get_attribute("aria-label") or "").split(", ")
        item = statement.split()[0]
        same = [row for row in sampled if row[:2] == [model, item]]
        exact = [row for row in same if row[4] == "likert"]
        kind = (bool(same), bool(exact))
        if kind in led:
            continue
        led.add(kind)
        mark.click()
        nearest = exact or same or [row for row in sampled if row[0] == model]
        assert [row.locator("th, td").all_inner_texts() for row in rows.all()] == nearest
        assert note.inner_text() == (
            ""
            if exact
            else f"Not in this sample: model {model}, item {item}, prefix likert. Shown instead: "
            f"model {model}, {f'item {item}' if same else 'any item'}, any prefix."
        )
    assert len(led) == 3
    table.get_by_label("Search").fill("a")
    assert not note.is_visible()
    visit.context.close()


def test_tables_sort_and_download_defused(visit: Visit, tmp_path: Path) -> None:
    visit.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    table = visit.page.locator("#answers")
    table.get_by_label("Model").select_option("beta")
    with visit.page.expect_download() as started:
        table.get_by_role("button", name="CSV of the rows shown").click()
    started.value.save_as(tmp_path / "answers.csv")
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 2 * 2 * 2
    assert {row["Model"] for row in rows} == {"beta"}
    assert {row["Answer"] for row in rows} == {defused(f"{FORMULA}{EVIL}")}
    header = table.locator("thead button", has_text="Item")
    header.click()
    header.click()
    items = [
        row.locator("td").first.inner_text() for row in table.locator("tbody tr:visible").all()
    ]
    assert items == sorted(items, reverse=True)


@pytest.mark.parametrize(
    "text", ["=1", "-1.5", "−1.5", "'x", "a;=b", "a\n-b", "\t+1", "－1", "–", "plain, text", '"q"']
)
def test_the_page_defuses_as_the_package_does(visit: Visit, text: str) -> None:
    expected = "-1.5" if text == "−1.5" else defused_value(text)
    found = visit.page.evaluate(f"defused({json.dumps(text)})")
    assert found == expected


def test_the_csv_of_the_page_is_quoted(visit: Visit) -> None:
    made = "csvOf([{ cells: ['a\"b', 'c,d'].map((t) => element('td', t)) }])"
    assert list(csv.reader(io.StringIO(visit.page.evaluate(made)))) == [['a"b', "c,d"]]
