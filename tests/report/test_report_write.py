"""The report as files."""

import io
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import polbayes.report
from polbayes.data.dataset import CELL_DIMS
from polbayes.errors import UserError
from polbayes.fit.sampling.diagnose import BEYOND
from polbayes.report import Results, write_report
from polbayes.report.drawn import drawn
from polbayes.report.figures.forests import plot_leaning_forest
from polbayes.report.page import front_of

EVIL = "<script>alert(1)</script>"
EVIL_NAMES = [f"m{EVIL}", '"><img src=x onerror=alert(2)>', "$x_{1}$ & 'y'\x1b[31m\u202e"]
POSTERIOR_FIGURES = {
    "verdicts",
    "leaning_map",
    "leaning_forest",
    "single_prompt",
    "ranks",
    "pairwise",
    "issues",
    "bias",
    "prefix_steer",
    "prefix_acquiescence",
    "sensitivity",
    "acquiescence",
    "variance_shares",
    "d_study",
    "items",
    "predictive",
}
CLASSICAL_FIGURES = {
    "bias_by_prefix",
    "prefix_shift",
    "item_instability",
    "consistency",
    "compass",
    "agreement",
    "validity",
}


class Page(HTMLParser):
    """Every element of a page with its attributes, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.source = path.read_text(encoding="utf-8")
        self._silent = False
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data

    def having(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def section_ids(self) -> list[str]:
        return [str(a["id"]) for a in self.having("section") if "id" in a]


@pytest.fixture(scope="module")
def written(make_results: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(make_results(), tmp_path_factory.mktemp("run") / "report")


@pytest.fixture(scope="module")
def page(written: Path) -> Page:
    return Page(written)


def test_all_sections_are_there_in_order(page: Page) -> None:
    assert page.section_ids() == [
        "answer",
        "leaning",
        "ranking",
        "issues",
        "bias",
        "prefixes",
        "sensitivity",
        "flips",
        "consistency",
        "acquiescence",
        "variance",
        "precision",
        "items",
        "validity",
        "diagnostics",
        "priors",
        "fit",
        "prompts",
        "model",
        "rerun",
    ]
    targets = [a["href"] for a in page.having("a")]
    assert all(f"#{name}" in targets for name in page.section_ids())


def test_every_section_says_how_to_read_it(page: Page) -> None:
    assert page.text.count("How to read this") == len(page.section_ids()) - 1
    assert "negative is left" in page.text.lower()
    assert "90% interval" in page.text


def test_both_estimands_and_lean_stand_beside_each_other(page: Page, make_results: Any) -> None:
    tables = make_results().tables
    assert "On the statements asked" in page.text
    assert "Lean, −1 to 1" in page.text
    for name in ("theta_asked", "lean"):
        first = tables[name].iloc[0]
        text = f"{first['estimate']:.2f} [{first['lower']:.2f}, {first['upper']:.2f}]"
        assert text.replace("-", "−") in page.text
    assert "[[" not in page.text


def test_the_page_shows_what_was_given(page: Page) -> None:
    for text in (
        "How three models lean",
        "alpha: 8% of the answers could not be coded.",
        "All chains agree",
        "polbayes +experiment=toy_run",
        "η = acq[m]",
        "theta ~ Normal(0, 1)",
        "seed: 1",
        "Faulborn et al. (2025)",
        "One note.",
        "I would say: agree.",
        "Hey alpha, please respond to the provided statement.\nStatement number 1",
        "Toy survey, question 6",
        "Taxes aren't high.",
        "Is the order the same whatever the instrument?",
        "Does the instrument matter?",
        "libertarian are negative",
    ):
        assert text in page.text


def test_the_page_needs_nothing_else(page: Page) -> None:
    kinds = [a.get("type") for a in page.having("script")]
    assert kinds.count(None) == 2
    assert set(kinds) == {None, "application/json"}
    assert not any("src" in a for a in page.having("script"))
    assert not page.having("link")
    pictures = "data:image/svg+xml;base64,", "data:image/webp;base64,"
    assert all(str(a["src"]).startswith(pictures) for a in page.having("img"))
    assert "http" not in "".join(str(a.get("href")) for a in page.having("a"))
    (policy,) = (a["content"] for a in page.having("meta") if "http-equiv" in a)
    assert str(policy).startswith("default-src 'none'")
    assert "unsafe" not in str(policy)
    assert {"base-uri 'none'", "form-action 'none'"} <= set(str(policy).split("; "))


def test_the_libraries_are_the_published_ones() -> None:
    import hashlib

    folder = Path(polbayes.report.__file__).parent / "web"
    notice = (folder / "NOTICE.txt").read_text(encoding="utf-8")
    files = sorted(folder.glob("*.js"))
    assert len(files) == 3
    for file in files:
        assert f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" in notice


def test_charts_show_the_numbers_of_the_tables(page: Page, make_results: Any) -> None:
    parts = re.findall(r'<script type="application/json">(.*?)</script>', page.source, re.DOTALL)
    charts = {chart["description"].split(";")[0]: chart for chart in map(json.loads, parts)}
    assert len(charts) == 8
    tables = make_results().tables
    forest = next(c for name, c in charts.items() if name.startswith("Forest plot of the leanings"))
    rows = [r for r in rows_of(forest) if r["of"] == "on statements like these"]
    expected = tables["theta"].round(3)
    assert [(r["name"], r["e"], r["l"], r["u"]) for r in rows] == [
        tuple(row) for row in expected[["model", "estimate", "lower", "upper"]].to_numpy()
    ]
    issues = next(c for name, c in charts.items() if name.startswith("Heat map of 6 statements"))
    fitted = [(r["model"], r["item"], r["e"]) for r in rows_of(issues) if r["s"] == 0]
    estimates = tables["bias_by_item"].sort_values(["model", "item"])
    assert sorted(fitted) == [
        tuple(row) for row in estimates.round(3)[["model", "item", "estimate"]].to_numpy()
    ]


def rows_of(chart: dict[str, Any]) -> list[dict[str, Any]]:
    """Make rows of a chart's columns again."""
    data = chart["data"]
    columns = data["numbers"] | {
        field: [column["texts"][at] for at in column["at"]]
        for field, column in data["texts"].items()
    }
    assert {len(column) for column in columns.values()} == {data["count"]}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_the_policy_lets_the_own_style_and_script_through(page: Page) -> None:
    import base64
    import hashlib

    (policy,) = (str(a["content"]) for a in page.having("meta") if "http-equiv" in a)
    for tag, number in (("style", 1), ("script", 2)):
        bodies = re.findall(rf"<{tag}>(.*?)</{tag}>", page.source, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(b.encode()).digest()).decode() for b in bodies]
        assert len(digests) == number
        assert "{}-src {};".format(tag, " ".join(f"'sha256-{d}'" for d in digests)) in policy


def test_pictures_have_alternatives_and_tables_headers(page: Page) -> None:
    assert all(str(a["alt"]).strip() for a in page.having("img"))
    assert all(a.get("scope") in ("col", "row") for a in page.having("th"))
    assert len(page.having("caption")) == len(page.having("table"))


def test_every_linked_file_is_there_and_whole(written: Path, page: Page) -> None:
    links = {str(a["href"]) for a in page.having("a") if not str(a["href"]).startswith("#")}
    figures = {Path(link).stem for link in links if link.startswith("figures/")}
    assert figures == POSTERIOR_FIGURES | CLASSICAL_FIGURES
    for link in links:
        path = written.parent / link
        if path.suffix == ".png":
            with Image.open(path) as image:
                image.verify()
        elif path.suffix == ".svg":
            ElementTree.parse(path)
        else:
            assert len(pd.read_csv(path)) > 0
    files = {str(p.relative_to(written.parent)) for p in written.parent.rglob("*.*")}
    assert files == links | {"index.html"}


def test_tables_hold_the_numbers_they_were_given(written: Path, make_results: Any) -> None:
    theta = pd.read_csv(written.parent / "tables" / "theta.csv")
    assert set(theta.pop("verdict")) == {"good"}
    pd.testing.assert_frame_equal(theta, make_results().tables["theta"])
    prompts = pd.read_csv(written.parent / "tables" / "prompts.csv")
    assert len(prompts) == 3 * 3


def test_the_banner_does_not_promise_what_the_list_under_it_denies(make_results: Any) -> None:
    said = f"Of 9 quantities of single statements or levels, 2 are {BEYOND} (R-hat up to 1.050)."
    but = front_of(make_results(verdict_sentences=["The chains agree.", said]), [])
    assert but.verdict == "good"
    assert but.banner == {
        "kind": "caution",
        "title": "The estimates of models passed the checks of the sampler, those of some single "
        "statements did not",
    }
    assert front_of(make_results(), []).banner["kind"] == "good"
    assert front_of(make_results(verdict="bad", verdict_sentences=[said]), []).banner["kind"] == (
        "bad"
    )


def test_good_results_have_no_warning(page: Page) -> None:
    assert "passed the checks" in page.text
    assert "Not to be used" not in page.text


def test_bad_results_are_said_first_and_marked(make_results: Any, tmp_path: Path) -> None:
    results = make_results(verdict="bad", verdict_sentences=["R-hat reaches 1.34."])
    path = write_report(results, tmp_path / "report")
    page = Page(path)
    body = page.text[page.text.index("Skip to the results") :]
    assert body.index("Do not use the estimates") < body.index("How three models lean")
    assert body.index("R-hat reaches 1.34.") < body.index("How three models lean")
    assert any(a.get("class") == "banner bad" for a in page.having("div"))
    assert "probable to be" not in page.text
    shown = {
        str(a["id"]).removeprefix("figure-"): str(a["class"]).split()[0]
        for a in page.having("figure")
    }
    assert {name for name, mark in shown.items() if mark == "unusable"} == POSTERIOR_FIGURES - {
        "verdicts"
    }
    tables = path.parent / "tables"
    assert set(pd.read_csv(tables / "theta.csv")["verdict"]) == {"bad"}
    assert "verdict" not in pd.read_csv(tables / "validity.csv")
    stamped = (path.parent / "figures" / "leaning_map.svg").read_text()
    assert "not to be used" in stamped
    assert "not to be used" not in (path.parent / "figures" / "validity.svg").read_text()


def test_caution_is_amber(make_results: Any, tmp_path: Path) -> None:
    results = make_results(["a"], items=1, prefixes=1, tables={}, verdict="caution")
    page = Page(write_report(results, tmp_path / "report"))
    assert any(a.get("class") == "banner caution" for a in page.having("div"))
    assert "with caution" in page.text


def test_untrusted_text_stays_text(make_results: Any, tmp_path: Path) -> None:
    clean = make_results(EVIL_NAMES, items=4, prefixes=2)
    data = clean.responses.copy(deep=True)
    data["statement"] = data["statement"].copy(data=data["statement"].values + f" $a_b$ {EVIL}")
    data["prefix_text"] = data["prefix_text"].copy(data=data["prefix_text"].values + EVIL)
    lone = f"=cmd|' /C calc'!A0 {EVIL} </pre></details>\x00\x1b]0;x\x07"
    shape = tuple(data.sizes[d] for d in CELL_DIMS)
    data["completion"] = (CELL_DIMS, np.full(shape, lone, dtype=object))
    results = make_results(
        EVIL_NAMES,
        responses=data,
        title=EVIL,
        description=f"</p>{EVIL}",
        name=f"\"'{EVIL}",
        command=EVIL,
        created=EVIL,
        verdict_sentences=[EVIL],
        exclusions=[EVIL],
        equation=f"</pre>{EVIL}",
        priors=[EVIL],
        config_yaml=f"</pre>{EVIL}",
        provenance={EVIL: EVIL},
        citations=[EVIL],
        notes=[f"{EVIL}\ud800"],
        duration=EVIL,
    )
    path = write_report(results, tmp_path / "report")
    page = Page(path)
    assert [a for a in page.having("script") if not a] == [{}, {}]
    assert "<script>alert" not in page.source
    assert not [a for _, attrs in page.elements for a in attrs if a.startswith("on")]
    assert all(str(a["src"]).startswith("data:") for a in page.having("img"))
    assert len(page.having("img")) == len(POSTERIOR_FIGURES | CLASSICAL_FIGURES)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e\ud800]", page.source)
    assert "⟨U+001B⟩" in page.text
    assert "⟨U+D800⟩" in page.text
    assert EVIL in page.text
    for figure in (path.parent / "figures").glob("*.svg"):
        assert "<script" not in figure.read_text(encoding="utf-8")
        ElementTree.parse(figure)
    examples = (path.parent / "tables" / "example_answers.csv").read_text(encoding="utf-8")
    assert "'=cmd" in examples
    assert not re.search(r'(^|,)"?=cmd', examples, re.MULTILINE)


def test_absent_tables_leave_sections_out_and_it_is_said(make_results: Any, tmp_path: Path) -> None:
    results = make_results(tables={}, verdict_sentences=[], equation="", priors=[])
    page = Page(write_report(results, tmp_path / "report"))
    assert page.section_ids() == ["answer", "leaning", "issues", "prompts", "rerun"]
    assert "was not fitted" in page.text
    absent = "The order of the models, How decided the models are, Bias"
    assert f"Not in this report, for want of results: {absent}" in page.text
    assert "passed the checks" not in page.text


def test_one_model_one_item_one_prefix(make_results: Any, tmp_path: Path) -> None:
    path = write_report(make_results(["only"], items=1, prefixes=1), tmp_path / "report")
    text = Page(path).text
    assert "only" in text
    assert "How far from the centre" in text
    assert "Distances from the centre" in text
    for of_several in ("Who is left of whom", "each rank", "two models count as the same"):
        assert of_several not in text
    for name in ("pairwise", "ranks"):
        assert not (path.parent / "figures" / f"{name}.png").exists()


def test_imported_answers_have_no_prompts(make_results: Any, tmp_path: Path) -> None:
    data = make_results().responses.drop_vars(["template", "chat", "prefix_text"])
    results = make_results(responses=data, tables={})
    page = Page(write_report(results, tmp_path / "report"))
    assert "prompts were collected elsewhere" in page.text
    assert "Statement number 1" in page.text


def test_missing_estimates_are_said(make_results: Any, tmp_path: Path) -> None:
    tables = dict(make_results().tables)
    for name in ("theta", "bias_posterior", "bias", "acquiescence"):
        tables[name] = tables[name].copy()
        mask = tables[name]["model"] == "beta"
        tables[name].loc[mask, ["estimate", "lower", "upper"]] = np.nan
    few = {name: tables[name] for name in ("theta", "bias_posterior", "bias", "acquiescence")}
    page = Page(write_report(make_results(tables=few), tmp_path / "report"))
    assert "Not on the map for want of an estimate: beta." in page.text


def test_validity_in_long_form_is_read(make_results: Any, tmp_path: Path) -> None:
    rows = [
        ("alpha", "answered", 0.9, 45, 50),
        ("alpha", "pending", 0.1, 5, 50),
        ("alpha", "usable", 0.8, 36, 45),
        ("alpha", "agree", 0.8, 36, 45),
        ("alpha", "uncoded", 0.2, 9, 45),
    ]
    table = pd.DataFrame(rows, columns=["model", "measure", "estimate", "count", "n"])
    table = table.assign(lower=0.1, upper=0.9, level=0.95)
    results = make_results(tables={"validity": table})
    path = write_report(results, tmp_path / "report")
    part = path.read_text().partition('data-csv="validity"')[2]
    cells = re.search(r'<th scope="row" class="short">alpha</th>(.*?)</tr>', part)
    assert cells is not None
    shown = re.findall(r">([^<>]+)</td>", cells[1])
    assert shown == ["50", "36", "9", "5", "80.0%", "[10.0, 90.0]"]


def test_a_report_is_replaced_whole(make_results: Any, tmp_path: Path) -> None:
    small = {"tables": {}, "items": 1, "prefixes": 1}
    folder = tmp_path / "report"
    first = write_report(make_results(["a"], title="first", **small), folder)
    (folder / "stale.txt").write_text("old")
    second = write_report(make_results(["a"], title="second", **small), folder)
    assert first == second == folder / "index.html"
    assert "second" in second.read_text()
    assert not (folder / "stale.txt").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def test_a_failure_leaves_the_old_report_and_nothing_else(
    make_results: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "report"
    small = {"items": 1, "prefixes": 1}
    write_report(make_results(["a"], title="kept", tables={}, **small), folder)
    broken = pd.DataFrame({"model": ["a"], "effect": ["wording"], "estimate": ["no number"]})
    tables = {"sensitivity": broken.assign(lower="x", upper="x")}
    with pytest.raises((TypeError, ValueError)):
        write_report(make_results(["a"], tables=tables, **small), folder)
    assert "kept" in (folder / "index.html").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def test_other_peoples_files_are_not_replaced(make_results: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match=r"holds files but no index\.html"):
        write_report(make_results(["a"], tables={}), tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    with pytest.raises(UserError, match="is a file"):
        write_report(make_results(["a"], tables={}), tmp_path / "thesis.txt")


def test_the_same_results_give_the_same_bytes(make_results: Any, tmp_path: Path) -> None:
    keep = ("theta", "validity")
    results = make_results(["a", "b"], items=2, prefixes=1)
    results = make_results(
        ["a", "b"],
        items=2,
        prefixes=1,
        tables={name: results.tables[name] for name in keep},
    )
    contents = []
    for name in ("one", "two"):
        folder = write_report(results, tmp_path / name).parent
        contents.append({p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    assert contents[0] == contents[1]


def test_a_large_figure_is_embedded_as_pixels(
    make_results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polbayes.report.drawn._LARGEST_SVG", 1)
    results = make_results(["a", "b"], items=2, prefixes=1, tables={})
    path = write_report(results, tmp_path / "report")
    (image,) = Page(path).having("img")
    assert str(image["src"]).startswith("data:image/webp;base64,UklGR")
    assert (path.parent / "figures" / "issues.svg").is_file()


def test_a_tall_figure_stays_as_wide_as_others() -> None:
    table = pd.DataFrame({"model": [f"m{k}" for k in range(200)], "dimension": "economic"})
    figure = plot_leaning_forest(table.assign(estimate=0.1, lower=0.0, upper=0.2))
    picture = Image.open(io.BytesIO(drawn(figure).page))
    assert picture.format == "WEBP"  # the SVG would be too large
    width, height = picture.size
    assert height > 4 * width
    assert width > 700  # pixels of the screen, on which it is 704 wide at most


def test_results_are_checked(make_results: Any) -> None:
    with pytest.raises(ValueError, match="verdict must be one of"):
        make_results(verdict="fine")
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        make_results(level=90)
    with pytest.raises(ValueError, match="table 'theta' lacks the column 'dimension'"):
        make_results(tables={"theta": pd.DataFrame({"model": ["a"]})})


def test_an_empty_table_counts_as_absent(make_results: Any) -> None:
    results: Results = make_results()
    empty = results.tables["theta"].iloc[:0]
    assert make_results(tables={"theta": empty}).table("theta") is None
    assert results.table("unheard_of") is None


@pytest.mark.slow
def test_eighteen_models_and_sixty_two_items(make_results: Any, tmp_path: Path) -> None:
    names = [f"family-{k // 3}/model-{k}-with-a-rather-long-name-instruct" for k in range(18)]
    path = write_report(make_results(names, items=62, prefixes=4), tmp_path / "report")
    page = Page(path)
    assert len(page.having("img")) == len(POSTERIOR_FIGURES | CLASSICAL_FIGURES)
    assert all(name in page.text for name in names)
    assert path.stat().st_size < 8e6
