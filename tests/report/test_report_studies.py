"""How a run's figures and published ones come beside each other."""

import numpy as np
import pandas as pd
import pytest

from polbayes.report import show
from polbayes.report.blocks import Fold, Grid, Paragraph
from polbayes.report.figures.beside import Beside, plot_beside
from polbayes.report.figures.study_faulborn import plot_plane, plot_prefix_dots
from polbayes.report.figures.study_haller import plot_item_bars, plot_item_boxes
from polbayes.report.figures.study_lunardi import plot_compass_rows, plot_consistency_levels
from polbayes.report.studies.parts import beside, beside_columns, missing_part, table_part


def own_rows():
    return pd.DataFrame(
        {
            "model": ["zeta", "gpt-4"],
            "estimate": [0.5, -0.25],
            "lower": [0.4, -0.3],
            "upper": [0.6, -0.2],
            "n": [10, 12],
        }
    )


def published_rows():
    return pd.DataFrame(
        {"model": ["falcon", "gpt-4"], "estimate": [0.1, -0.2], "lower": [0.0, np.nan]}
    )


def test_own_rows_come_first_and_published_ones_join_them():
    table = beside(own_rows(), published_rows(), ["model"])
    assert table["model"].tolist() == ["zeta", "gpt-4", "falcon"]
    np.testing.assert_array_equal(table["estimate"], [0.5, -0.25, np.nan])
    np.testing.assert_array_equal(table["published"], [np.nan, -0.2, 0.1])
    np.testing.assert_array_equal(table["published_lower"], [np.nan, np.nan, 0.0])
    assert table["n"].tolist()[:2] == [10, 12]
    alone = beside(None, published_rows(), ["model"])
    assert alone["model"].tolist() == ["falcon", "gpt-4"]
    assert alone["estimate"].isna().all()


def test_published_rows_of_others_are_folded_away():
    table = beside(own_rows(), published_rows(), ["model"])
    columns = [show.text("model", "Model"), *beside_columns("Bias", 0.95)]
    part = table_part("s_table_1", "Table 1: what it is.", table, columns)
    first, fold = part.blocks
    assert isinstance(first, Grid)
    assert [row[0] for row in first.rows] == ["zeta", "gpt-4"]
    assert [row[-1] for row in first.rows] == ["–", "−0.20"]
    assert isinstance(fold, Fold)
    assert fold.title == "Table 1, what was published of others"
    assert [row[0] for row in fold.blocks[0].rows] == ["falcon"]
    # The CSV has all of them.
    assert part.tables["s_table_1"] is table
    [whole] = table_part("s", "Table 2.", table[:1], columns).blocks
    assert isinstance(whole, Grid)
    [folded] = table_part("s", "Table 3: long. More.", table, columns, fold=True).blocks
    assert folded.title == "Table 3: long"


def test_what_is_missing_is_said():
    [block] = missing_part("Figure 9", "takes more.").blocks
    assert isinstance(block, Paragraph)
    assert block.text == "Figure 9 takes more."


def marks(axes, label):
    [line] = [line for line in axes.get_lines() if line.get_label() == label]
    return list(zip(*line.get_data(), strict=True))


def test_estimates_and_published_values_are_drawn_in_their_rows():
    table = beside(own_rows(), published_rows(), ["model"]).assign(published_upper=np.nan)
    figure = plot_beside([Beside("Panel", table)], label="bias")
    [axes] = figure.axes
    own = [(x, y) for x, y in marks(axes, "this run") if np.isfinite(x)]
    theirs = [(x, y) for x, y in marks(axes, "published") if np.isfinite(x)]
    # Apart where both are there, in the middle of the row where one is.
    assert own == [(0.5, 0.0), (-0.25, pytest.approx(0.87))]
    assert theirs == [(-0.2, pytest.approx(1.13)), (0.1, 2.0)]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["zeta", "gpt-4", "falcon"]


def test_the_plane_tells_instruments_and_kinds_of_models_apart():
    table = pd.DataFrame(
        {
            "model": ["a", "a", "b", "b"],
            "tuned": ["instruct", "instruct", "base", "base"],
            "instrument": ["pct", "wvs", "pct", "wvs"],
            "economic": [-0.4, -0.2, 0.1, 0.0],
            "cultural": [-0.5, -0.3, 0.2, 0.1],
        }
    )
    figure = plot_plane([("This run", table), ("Published", table[:0])])
    first, second = figure.axes
    points = [line for line in first.get_lines() if line.get_linestyle() == "None"]
    assert [tuple(float(v[0]) for v in line.get_data()) for line in points] == [
        *((-0.4, -0.5), (-0.2, -0.3), (0.1, 0.2), (0.0, 0.1))
    ]
    # The World Values Survey is filled, wherever it stands in the table.
    filled = [line.get_markerfacecolor() != "white" for line in points]
    assert filled == [False, True, False, True]
    assert points[0].get_color() != points[2].get_color()
    assert second.get_title(loc="left") == "Published"


def test_instruction_tuned_models_stand_above_the_line():
    table = pd.DataFrame(
        {
            "model": ["a", "b", "c"],
            "tuned": ["base", "instruct", "base"],
            "prefix": "baseline",
            "estimate": [0.1, 0.2, 0.3],
        }
    )
    figure = plot_prefix_dots([("This run", table)], prefixes=["baseline", "likert"])
    [axes] = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["b", "a", "c"]
    [line] = [one for one in axes.get_lines() if one.get_linestyle() == "--"]
    assert set(line.get_ydata()) == {0.5}


def test_items_stand_in_the_order_given():
    boxes = pd.DataFrame(
        [
            {"model": "m", "item": item, "measure": name, "estimate": value}
            for item, at in (("i1", 0.2), ("i2", 0.6))
            for name, value in (
                *(("whisker_low", at - 0.1), ("q25", at), ("median", at + 0.05)),
                *(("q75", at + 0.1), ("whisker_high", at + 0.2), ("outliers", 1.0)),
            )
        ]
    )
    figure = plot_item_boxes(boxes, items=["i2", "i1"], beyond={("m", "i1"): np.array([0.9])})
    [axes] = figure.axes
    bars = [(bar.get_y(), bar.get_height()) for bar in axes.patches]
    assert bars == [pytest.approx((0.6, 0.1)), pytest.approx((0.2, 0.1))]
    dots = [line.get_data() for line in axes.get_lines() if line.get_marker() == "."]
    assert [(list(x), list(y)) for x, y in dots if len(x)] == [([1.0], [0.9])]
    bars_of = plot_item_bars(
        pd.DataFrame({"item": ["i1", "i2"], "estimate": [0.1, 0.7], "se": [0.05, 0.2]}),
        items=["i2", "i1"],
    )
    [axes] = bars_of.axes
    assert [bar.get_height() for bar in axes.patches] == [0.7, 0.1]


def test_consistency_bars_add_up_and_published_ones_are_diamonds():
    rows = [
        {"model": "m", "kind": "reversed", "measure": name, "estimate": value}
        for name, value in (
            *(("consistent_4", 0.5), ("discrepancy_1", 0.25), ("discrepancy_2", 0.25)),
            *(("discrepancy_3", 0.0), ("consistent_2", 0.75)),
        )
    ]
    table = pd.DataFrame(rows).assign(lower=0.4, upper=0.6)
    published = pd.DataFrame(
        {"model": ["other"], "kind": "reversed", "measure": "consistent_4", "estimate": [0.33]}
    )
    figure = plot_consistency_levels(table, published)
    four, two = figure.axes
    ends = [bar.get_x() + bar.get_width() for bar in four.patches if bar.get_y() < 0.5]
    assert ends == [0.5, 0.75, 1.0, 1.0]
    assert marks(four, "published") == [(0.33, 1)]
    assert not [line for line in two.get_lines() if line.get_label() == "published"]


def test_positions_of_negations_and_paraphrases_are_apart():
    positions = pd.DataFrame(
        {
            "model": "m",
            "group": ["original", "negation", "opposite answers", "paraphrase"],
            "economic": [-1.0, 1.0, 2.0, -1.5],
            "social": [-2.0, 2.0, 3.0, -2.5],
        }
    )
    for axis in ("economic", "social"):
        positions[f"{axis}_lower"], positions[f"{axis}_upper"] = (
            positions[axis] - 0.5,
            positions[axis] + 0.5,
        )
    polar, paraphrastic = plot_compass_rows(positions).axes
    crosses = [s.tolist() for c in paraphrastic.collections for s in c.get_segments()]
    assert [[-2.0, -2.5], [-1.0, -2.5]] in crosses
    assert [[-1.5, -3.0], [-1.5, -2.0]] in crosses
    assert marks(polar, "negated") == [(1.0, 2.0)]
    assert marks(polar, "original") == marks(paraphrastic, "original") == [(-1.0, -2.0)]
    assert marks(paraphrastic, "paraphrases") == [(-1.5, -2.5)]
    assert not [line for line in polar.get_lines() if line.get_label() == "paraphrases"]
