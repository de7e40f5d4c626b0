"""The words of a report: left and right, or the poles of an instrument that has its own."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest
from matplotlib.text import Text

from polbayes.instrument.dimensions import Dimension, dimension_coordinates
from polbayes.report import write_report
from polbayes.report.keying_errors import keying_sentences
from polbayes.report.page import pictures, sections
from polbayes.report.terminal import answer_lines

MORAL = ("harm", "care")
ONE_PAIR = [Dimension(d, d.capitalize(), *MORAL) for d in ("economic", "cultural")]
TWO_PAIRS = [
    Dimension("economic", "Economic", "equality", "markets"),
    Dimension("cultural", "Diplomatic", "nation", "globe"),
]
NUMBERS = {"estimate": 0.2, "lower": 0.1, "upper": 0.4, "sd": 0.1, "p_left": 0.1, "level": 0.9}
SIDES = re.compile(r"(?i)\b(left|right|leftward|rightward)s?\b")


def _rows(*rows: dict[str, Any], **common: Any) -> pd.DataFrame:
    return pd.DataFrame([{**NUMBERS, **common, **row} for row in rows])


def _further(item: str) -> dict[str, pd.DataFrame]:
    """The tables of the sections that are shown on request."""
    economic = {"dimension": "economic"}
    pair = {"first": "one", "second": "two", **economic}
    of = {"population": "voters", **economic}
    region = {"rope": 0.1, "p_left_of_rope": 0.6, "p_inside": 0.3, "p_right_of_rope": 0.1}
    moved = {"before": "alpha @ jan", "after": "alpha @ feb", "p_right": 0.9, **economic, **region}
    run = {"folder": "out", "title": "T", "models": 3, "items": 6, "answers": 9, "asked": "2026"}
    joint = {"joint_estimate": 0.1, "joint_lower": 0.0, "joint_upper": 0.2}
    effect = {"by": "who", "group": "model", "against": "party", "p_differs": 0.9, "size": 0.5}
    known = {"reference": True, **economic}
    tables = {
        "mode_pairs": _rows({"quantity": "correlation", **pair}),
        "modes": _rows({"mode": "open", "quantity": "leaning", **economic}),
        "mode_positions": _rows({"model": "alpha", "mode": "open", **economic}),
        "populations": _rows({"quantity": "mean", **of}),
        "population_shares": _rows({"model": "alpha", **of}),
        "by_instrument": _rows(
            {"model": "alpha", "instrument": "one", "quantity": "theta", **economic}
        ),
        "instrument_differences": _rows({"model": "alpha", "quantity": "theta", **pair}),
        "compared_runs": _rows({"run": "jan", "instruments": "own", "verdict": "good", **run}),
        "comparison": _rows(
            {"respondent": "alpha", "model": "alpha", "run": "jan", "quantity": "theta", **economic}
            | joint
        ),
        "drift": _rows(
            {"quantity": "lean", "decision": "left", **moved},
            {"quantity": "theta", "decision": None, **moved},
        ),
        "dif": _rows({"item": item, "direction": "right", **effect}),
        "reference_scale": _rows({"model": "alpha", **known}, {"model": "beta", **known}),
        "nearest": _rows(
            {"model": "alpha", "reference": "beta", "p_nearest": 0.9, "agreement": 0.6}
            | {"n_items": 6}
        ),
        "coefficients": _rows({"part": "theta", "term": "instruct:dimension[economic]"}),
        "group_effects": _rows(
            {"part": "theta", "group": "family", "varying": "", "level": "a", "coverage": 0.9}
        ),
    }
    return {name: table.assign(coverage=0.9, p_positive=0.9) for name, table in tables.items()}


@pytest.fixture
def results_of(make_results: Any) -> Any:
    """Return results of dimensions with every section that is not about politics by definition."""

    def make(dimensions: list[Dimension]) -> Any:
        plain = make_results()
        items = plain.responses.sizes["item"]
        weights = dimension_coordinates(tuple(dimensions), [{"economic": 1.0}] * items)
        data = plain.responses.assign_coords(**weights)
        data = data.assign_coords(instruct=("model", [True, False, True]))
        tables = {**plain.tables, **_further(str(data["item"].values[0]))}
        for name in ("contrasts", "prefix_contrasts"):
            words = ["left", "right", "equal", "open"]
            decided = [words[k % 4] for k in range(len(tables[name]))]
            tables[name] = tables[name].assign(decision=decided)
        del tables["compass"]
        return make_results(responses=data, tables=tables, citations=[])

    return make


class _Words(HTMLParser):
    """The texts of a page, and what is said of its pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("script", "style")
        self.found += [v for k, v in attrs if v and k in ("alt", "title", "aria-label")]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(data)


def _of_charts(spec: Any, key: str = "") -> Iterator[str]:
    """Yield the texts of a specification that a reader sees."""
    if isinstance(spec, dict):
        for name, inner in spec.items():
            yield from _of_charts(inner, name)
    elif isinstance(spec, list | tuple):
        for inner in spec:
            yield from _of_charts(inner, key)
    elif isinstance(spec, str) and key in ("title", "labels", "name", "said"):
        yield spec


def texts(results: Any, folder: Any) -> list[str]:
    """Return every text of a report: of the page, of its figures and of its charts."""
    page = _Words()
    page.feed(write_report(results, folder).read_text(encoding="utf-8"))
    out = page.found
    for section in sections(results)[0]:
        for picture in pictures(section.blocks):
            out += [text.get_text() for text in picture.figure.findobj(Text)]
            out += _of_charts(picture.chart or {})
    return out


def sides_in(found: list[str]) -> list[str]:
    return [t for t in found if SIDES.search(re.sub("(?i)left out", "", t))]


@pytest.mark.parametrize("dimensions", [ONE_PAIR, TWO_PAIRS], ids=["shared", "several"])
def test_a_report_speaks_of_the_poles_that_its_dimensions_have(
    results_of: Any, tmp_path: Any, dimensions: list[Dimension]
) -> None:
    results = results_of(dimensions)
    found = texts(results, tmp_path / "report")
    assert sides_in(found) == []
    assert not any(SIDES.search(line) for line in answer_lines(results))
    whole = "\n".join(found)
    for one in dimensions:
        assert re.search(f"leans? towards ({one.negative}|{one.positive})", whole)
        assert f"{one.positive} →" in whole


def test_dimensions_that_share_their_poles_name_them_throughout(
    results_of: Any, tmp_path: Any
) -> None:
    whole = "\n".join(texts(results_of(ONE_PAIR), tmp_path / "report"))
    for words in (
        "Negative is towards harm, positive is towards care",
        "Leaning (negative = harm)",
        "from −1 (always towards harm) to 1 (always towards care)",
        "Who is on the harm side of whom",
        "Probability that A is on the harm side of B",
        "moved towards harm",
        "rank (1 = furthest towards harm), probability in %",
        "agrees with care-leaning statements",
        "from harm to care",
    ):
        assert words in whole, words
    assert "the negative pole" not in whole


def test_dimensions_with_different_poles_have_their_own_where_one_is_meant(
    results_of: Any, tmp_path: Any
) -> None:
    results = results_of(TWO_PAIRS)
    whole = "\n".join(texts(results, tmp_path / "report"))
    for words in (
        "The negative and the positive pole are equality and markets on economic questions and "
        "nation and globe on diplomatic questions.",
        "across the page from equality to markets, upwards from nation to globe",
        "Who is on the negative side of whom",
        "from −1 (always towards the negative pole) to 1 (always towards the positive pole)",
        "rank (1 = furthest towards equality), probability in %",
        "rank (1 = furthest towards nation), probability in %",
        "moved towards equality",
        "agrees with positive-leaning statements",
    ):
        assert words in whole, words
    assert "Leaning (negative" not in whole
    # Headings have the labels of the dimensions, not their ids.
    assert re.findall(r".*\bCultural\b.*", whole) == []
    lines = answer_lines(results)
    # What moved between the two snapshots comes first, in the poles of its dimension.
    assert lines[0].startswith("alpha @ jan to alpha @ feb: on economic questions moved towards")
    start = lines.index("")
    assert lines[start + 1].startswith("Lean, from −1 (negative) to 1 (positive), with 90% inter")
    assert any(line.startswith("alpha") and "equality" in line for line in lines)


def test_names_of_models_are_not_taken_for_sides(results_of: Any, make_results: Any) -> None:
    plain = make_results(["left", "right", "it"])
    data = plain.responses.assign_coords(
        **dimension_coordinates(tuple(ONE_PAIR), [{}] * plain.responses.sizes["item"])
    )
    table = plain.tables["contrasts"].assign(decision="right")
    results = make_results(responses=data, tables={**plain.tables, "contrasts": table})
    said = "\n".join(answer_lines(results))
    assert re.search(r"left \(\d+%\), right \(\d+%\) and it \(\d+%\) lean towards care", said)


def test_errors_of_coders_by_side_have_the_poles_of_the_run(results_of: Any) -> None:
    numbers = {"coder": "own", "estimate": 0.2, "lower": 0.1, "upper": 0.3, "note": ""}
    names = ("error_rate_difference", "not_coded_difference", "bias_shift")
    table = pd.DataFrame([{**numbers, "measure": name} for name in names])
    ((_, said),) = keying_sentences(table, results_of(ONE_PAIR).poles)
    assert "moves the bias measure of these answers towards care by 0.200" in said
    assert "answers to care-keyed statements are coded wrongly more often" in said
    assert not SIDES.search(said)


def test_people_read_labels_of_dimensions_and_files_keep_their_ids(
    results_of: Any, tmp_path: Any
) -> None:
    ids = ("economic", "cultural")
    own = [Dimension(one, words, *MORAL) for one, words in zip(ids, ("Money", "Life"), strict=True)]
    results = results_of(own)
    found = texts(results, tmp_path / "report") + answer_lines(results)
    # What may name an id is the model as a text: terms, parameters and the equation.
    said = [t for t in found if re.search("(?i)economic|cultural", t)]
    assert [t for t in said if not re.search(r"\w\[|sion\[|[~|]", t)] == []
    assert {"Money", "Life", "All together"} <= set(found)
    table = pd.read_csv(tmp_path / "report" / "tables" / "theta.csv")
    assert set(table["dimension"]) == set(ids)
