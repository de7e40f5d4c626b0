"""The figures: what their axes hold."""

import io
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from polbayes.fit.posterior.verdicts import Verdict
from polbayes.report.blocks import Picture
from polbayes.report.figures.agreement import plot_agreement
from polbayes.report.figures.bias import plot_bias
from polbayes.report.figures.compass import MOST_ACROSS, plot_compass
from polbayes.report.figures.consistency import plot_consistency
from polbayes.report.figures.forests import (
    plot_acquiescence,
    plot_instability,
    plot_leaning_forest,
    plot_prefix_shift,
    plot_sensitivity,
)
from polbayes.report.figures.items import plot_items
from polbayes.report.figures.leaning_map import plot_leaning_map
from polbayes.report.figures.matrices import plot_pairwise, plot_ranks
from polbayes.report.figures.predictive import plot_predictive
from polbayes.report.figures.prefix_effects import plot_prefix_effects
from polbayes.report.figures.style import item_label, legend_above, neutral_style
from polbayes.report.figures.validity import plot_validity
from polbayes.report.figures.verdicts import plot_verdicts

NAN = float("nan")


def estimates(rows: list[tuple], *names: str) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=[*names, "estimate"])
    return table.assign(lower=table["estimate"] - 0.2, upper=table["estimate"] + 0.2)


def row_names(axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def drawn(axes) -> list[float]:
    """Return the x of every point, from top to bottom."""
    points = [
        (y, x)
        for line in axes.lines
        if line.get_linestyle() == "None"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    top = axes.get_ylim()
    assert top[0] > top[1], "the first row is at the top"
    return [float(x) for _, x in sorted(points)]


def cell_texts(axes) -> dict[tuple[int, int], str]:
    return {
        (round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axes.texts
    }


def draws(figure: Figure) -> None:
    with neutral_style():
        figure.savefig(io.BytesIO(), format="svg")


@pytest.fixture
def theta() -> pd.DataFrame:
    return estimates(
        [
            ("a", "economic", 0.5),
            ("b", "economic", -1.0),
            ("c", "economic", 0.0),
            ("a", "cultural", -0.3),
            ("b", "cultural", 0.9),
            ("c", "cultural", -0.8),
        ],
        "model",
        "dimension",
    )


def test_the_forest_sorts_each_dimension_from_left_to_right(theta: pd.DataFrame) -> None:
    economic, cultural = plot_leaning_forest(theta).axes
    assert (economic.get_title(loc="left"), cultural.get_title(loc="left")) == (
        "Economic",
        "Cultural",
    )
    assert row_names(economic) == ["b", "c", "a"]
    assert drawn(economic) == [-1.0, 0.0, 0.5]
    assert row_names(cultural) == ["c", "a", "b"]
    assert drawn(cultural) == [-0.8, -0.3, 0.9]


def test_the_forest_draws_the_intervals_of_its_rows(theta: pd.DataFrame) -> None:
    economic = plot_leaning_forest(theta).axes[0]
    (lines,) = economic.collections
    ends = [(path[0][0], path[1][0]) for path in lines.get_segments()]
    assert np.allclose(ends, [(-1.2, -0.8), (-0.2, 0.2), (0.3, 0.7)])


def test_a_missing_estimate_comes_last_and_is_said(theta: pd.DataFrame) -> None:
    theta.loc[theta["model"] == "b", ["estimate", "lower", "upper"]] = NAN
    economic = plot_leaning_forest(theta).axes[0]
    assert row_names(economic) == ["c", "a", "b"]
    assert [t.get_text() for t in economic.texts if "no estimate" in t.get_text()] == [
        "no estimate"
    ]


def test_sensitivity_and_acquiescence_start_with_the_highest() -> None:
    table = estimates([("a", "wording", 0.3), ("b", "wording", 1.9)], "model", "effect")
    (axes,) = plot_sensitivity(table).axes
    assert row_names(axes) == ["b", "a"]
    low, high = axes.get_xlim()
    assert low == 0
    assert high > 2.1, "the whole interval is on the axis"
    (axes,) = plot_acquiescence(estimates([("a", -0.5), ("b", 0.4)], "model")).axes
    assert row_names(axes) == ["b", "a"]


def test_every_panel_of_sensitivity_shows_all_intervals() -> None:
    rows = [("a", "wording", 0.3), ("a", "prefix_acquiescence", 2.5), ("a", "prefix_steer", 0.4)]
    for axes in plot_sensitivity(estimates(rows, "model", "effect")).axes:
        assert axes.get_xlim()[1] > 2.7


def test_the_map_puts_economic_across_and_cultural_up(theta: pd.DataFrame) -> None:
    (axes,) = plot_leaning_map(theta).axes
    points = {
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in axes.lines
        if line.get_marker() not in ("None", "", None)
    }
    assert points == {(0.5, -0.3), (-1.0, 0.9), (0.0, -0.8)}
    words = " ".join(t.get_text() for t in axes.texts).lower()
    assert "economic left\ncultural right" in words
    assert "authoritarian" not in words
    assert {"a", "b", "c"} <= {t.get_text() for t in axes.texts}


def test_the_map_leaves_out_models_without_both_estimates(theta: pd.DataFrame) -> None:
    missing = (theta["model"] == "a") & (theta["dimension"] == "cultural")
    theta.loc[missing, "estimate"] = NAN
    (axes,) = plot_leaning_map(theta).axes
    assert "a" not in {t.get_text() for t in axes.texts}


def test_names_on_the_map_do_not_cover_each_other() -> None:
    rng = np.random.default_rng(3)
    rows = [
        (f"model-{m}", d, float(x))
        for d in ("economic", "cultural")
        for m, x in enumerate(rng.normal(0, 0.3, 10))
    ]
    figure = plot_leaning_map(estimates(rows, "model", "dimension"))
    draws(figure)
    names = [t for t in figure.axes[0].texts if t.get_text().startswith("model-")]
    assert len(names) == 10
    # The text alone: an annotation counts the line to its point in.
    boxes = [Text.get_window_extent(t) for t in names]
    covered = [a for k, a in enumerate(boxes) for b in boxes[:k] if a.overlaps(b)]
    assert not covered


def test_many_models_get_numbers_and_a_key() -> None:
    rows = [(f"m{m}", d, 0.1 * m) for d in ("economic", "cultural") for m in range(20)]
    figure = plot_leaning_map(estimates(rows, "model", "dimension"))
    assert {str(n) for n in range(1, 21)} <= {t.get_text() for t in figure.axes[0].texts}
    assert "20  m19" in {t.get_text() for t in figure.texts}
    draws(figure)
    width = figure.bbox.width
    assert all(t.get_window_extent().x1 <= width for t in figure.texts)


def test_ranks_follow_the_given_order() -> None:
    rows = [("a", "economic", 1, 0.004), ("a", "economic", 2, 0.996)]
    rows += [("b", "economic", 1, 0.75), ("b", "economic", 2, 0.25)]
    table = pd.DataFrame(rows, columns=["model", "dimension", "rank", "probability"])
    (axes,) = plot_ranks(table, order={"economic": ["b", "a"]}).axes
    assert row_names(axes) == ["b", "a"]
    assert cell_texts(axes) == {(0, 0): "75", (0, 1): "25", (1, 0): "<1", (1, 1): ">99"}


def test_pairwise_reads_row_left_of_column() -> None:
    rows = [("a", "b", "economic", 0.8), ("b", "a", "economic", 0.2)]
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "dimension", "p_left"])
    (axes,) = plot_pairwise(table, order={"economic": ["a", "b"]}).axes
    assert row_names(axes) == ["a", "b"]
    assert cell_texts(axes) == {(0, 1): "80", (1, 0): "20"}
    image = axes.images[0]
    red, _, blue, _ = image.cmap(image.norm(0.8))
    assert blue > red, "purple where the row is left of the column"


def test_prefix_effects_are_bold_where_the_interval_leaves_out_zero() -> None:
    table = estimates([("m", "p", 0.5), ("m", "q", 0.1)], "model", "prefix")
    (axes,) = plot_prefix_effects(
        table, models=["m"], prefixes=["q", "p"], palette="PuOr_r", title="x"
    ).axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["q", "p"]
    weights = {t.get_text(): t.get_fontweight() for t in axes.texts}
    assert weights == {"0.10": "normal", "0.50": "bold"}
    red, _, blue, _ = axes.images[0].cmap(axes.images[0].norm(-0.5))
    assert blue > red, "left is purple"


def test_small_prefix_effects_stay_pale() -> None:
    table = estimates([("m", "p", 0.01)], "model", "prefix")
    (axes,) = plot_prefix_effects(table, models=[], prefixes=[], palette="PuOr_r", title="x").axes
    assert min(axes.images[0].cmap(axes.images[0].norm(0.01))[:3]) > 0.9


def test_bias_shows_both_estimates_in_one_order() -> None:
    rows = [(m, d, x) for d in ("economic", "total") for m, x in (("a", 0.4), ("b", -0.4))]
    posterior = estimates(rows, "model", "dimension")
    classical = posterior.assign(estimate=posterior["estimate"] + 0.1)
    classical = classical.assign(lower_item=-0.9, upper_item=0.9)
    economic, total = plot_bias(posterior, classical).axes
    assert row_names(economic) == ["b", "a"]
    assert np.allclose(drawn(economic), [-0.4, -0.3, 0.4, 0.5])
    assert np.allclose(drawn(total), [-0.4, -0.3, 0.4, 0.5])
    assert len(economic.collections) == 3


def test_bias_stands_alone_when_the_other_is_absent() -> None:
    posterior = estimates([("a", "economic", 0.4)], "model", "dimension")
    for figure in (plot_bias(posterior, None), plot_bias(None, posterior)):
        assert np.allclose(drawn(figure.axes[0]), [0.4])
        draws(figure)


def test_agreement_tells_the_sides_apart() -> None:
    rows = [("m", "agree_left", 0.9), ("m", "agree_right", 0.3)]
    (axes,) = plot_agreement(estimates(rows, "model", "measure")).axes
    markers = {float(line.get_xdata()[0]): line.get_marker() for line in axes.lines[1:]}
    assert markers == {0.9: "<", 0.3: ">"}


def test_validity_stacks_shares_up_to_one() -> None:
    table = pd.DataFrame(
        {"model": ["a", "b"], "agree": [6, 0], "refused": [2, 0], "invalid": [2, 0]}
    )
    (axes,) = plot_validity(table, outcomes=["agree", "refused", "invalid"]).axes
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    assert np.allclose(widths, [[0.6, 0.0], [0.2, 0.0], [0.2, 0.0]])
    assert [t.get_text() for t in axes.texts] == ["60% usable", "nothing asked"]


def test_where_probabilities_are_read_the_mass_on_the_options_is_what_could_be_used() -> None:
    table = pd.DataFrame({"model": ["a", "b"], "agree": [6, 3], "mass": [0.008, np.nan]})
    (axes,) = plot_validity(table, outcomes=["agree"]).axes
    assert [t.get_text() for t in axes.texts] == ["0.8% of mass", "100% usable"]


@pytest.fixture
def items() -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "item": ["x", "y", "z"],
            "dimension": ["economic", "economic", "cultural"],
            "direction": [1, -1, "right"],
            "difficulty": [0.7, -0.7, 0.0],
            "discrimination": [1.0, 3.0, 0.5],
        }
    )
    for name in ("difficulty", "discrimination"):
        table[f"{name}_lower"] = table[name] - 0.3
        table[f"{name}_upper"] = table[name] + 0.3
    return table


def test_items_are_sorted_within_their_dimension_and_carry_their_text(
    items: pd.DataFrame,
) -> None:
    figure = plot_items(items, statements={"x": "Tax the $rich$.", "z": "<b>Old</b> ways."})
    economic, discrimination, cultural, _ = figure.axes
    assert row_names(economic) == ["y", r"x: Tax the \$rich\$."]
    assert drawn(economic) == [-0.7, 0.7]
    assert drawn(discrimination) == [3.0, 1.0]
    assert row_names(cultural) == ["z: <b>Old</b> ways."]
    assert discrimination.get_xlim()[1] > 3.3
    points = [line for line in economic.lines if line.get_linestyle() == "None"]
    assert [line.get_marker() for line in points] == ["<", ">"]


def test_discriminations_of_either_sign_are_no_factors(items: pd.DataFrame) -> None:
    _, factors, *_ = plot_items(items, statements={}).axes
    assert factors.get_xscale() == "log"
    _, signed, *_ = plot_items(items.assign(discrimination_p_positive=1.0), statements={}).axes
    assert signed.get_xscale() == "linear"


def test_items_without_discrimination_have_one_column(items: pd.DataFrame) -> None:
    assert len(plot_items(items.assign(discrimination=NAN), statements={}).axes) == 2


@pytest.mark.parametrize("name", ["left", "a name of thirty characters...", "n" * 80])
def test_a_figure_of_one_panel_fits_a_telephone(name: str) -> None:
    chances = {"left": 0.98, "equal": 0.02, "right": 0.0}
    verdict = Verdict("left", -0.4, -0.6, -0.2, 0.1, chances)
    table = estimates([(name, "economic", -0.4)], "model", "dimension")
    for figure in (plot_verdicts([(name, "economic", verdict)]), plot_leaning_forest(table)):
        assert Picture("one", "", "", figure).small


def test_figures_grow_with_the_models() -> None:
    heights = []
    for n in (1, 10, 30):
        table = estimates([(f"m{k}", "economic", 0.1) for k in range(n)], "model", "dimension")
        heights.append(plot_leaning_forest(table).get_figheight())
    assert all(a < b for a, b in pairwise(heights))


@pytest.mark.parametrize("name", ["$x_1$", "_hidden", "a^{b", r"\frac{", "漢字", "\x1b[0m", "<b>"])
def test_names_never_break_a_figure(name: str) -> None:
    theta = estimates([(name, "economic", 0.1), (name, "cultural", -0.1)], "model", "dimension")
    draws(plot_leaning_forest(theta))
    draws(plot_leaning_map(theta))
    draws(plot_bias(theta, theta))
    effects = estimates([(name, name, 0.1)], "model", "prefix")
    draws(plot_prefix_effects(effects, models=[], prefixes=[], palette="PuOr", title="x"))


def test_all_estimates_missing_is_drawn() -> None:
    theta = estimates([("a", "economic", NAN), ("a", "cultural", NAN)], "model", "dimension")
    draws(plot_leaning_forest(theta))
    draws(plot_bias(theta, None))
    table = estimates([("a", "wording", NAN)], "model", "effect")
    draws(plot_sensitivity(table))
    effects = estimates([("a", "p", NAN)], "model", "prefix")
    draws(plot_prefix_effects(effects, models=[], prefixes=[], palette="PuOr", title="x"))


def test_the_readers_own_settings_do_not_matter(theta: pd.DataFrame) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"axes.spines.top": True, "font.size": 30}):
        (first, _) = plot_leaning_forest(theta).axes
        assert not first.spines["top"].get_visible()
        assert mpl.rcParams["font.size"] == 30


def test_consistency_has_a_panel_for_each_comparison() -> None:
    rows = [
        ("b", "reversed", "consistent_4", 0.2),
        ("b", "reversed", "consistent_2", 0.5),
        ("a", "reversed", "consistent_4", NAN),
        ("a", "paraphrase", "consistent_2", 0.9),
        ("a", "negation", "consistent_2", 0.1),
    ]
    figure = plot_consistency(estimates(rows, "model", "kind", "measure"))
    polar, paraphrastic = figure.axes
    assert row_names(polar) == ["b", "a"]
    assert [x for x in drawn(polar) if x == x] == [0.2, 0.5]
    assert [x for x in drawn(paraphrastic) if x == x] == [0.9]
    assert [t.get_text() for t in polar.texts] == ["no estimate"]
    draws(figure)
    one = plot_consistency(estimates(rows[3:4], "model", "kind", "measure"))
    assert len(one.axes) == 1


def test_every_model_has_its_compass() -> None:
    models = [f"m{k}" for k in range(MOST_ACROSS + 1)]
    groups = ("original", "opposite answers", "negation", "paraphrase")
    rows = [(m, g) for m in models for g in groups]
    table = pd.DataFrame(rows, columns=["model", "group"])
    table["economic"] = np.tile([-3.0, 3.0, 2.0, NAN], len(models))
    table["social"] = np.tile([-1.0, 1.0, 1.0, NAN], len(models))
    for axis in ("economic", "social"):
        table[f"{axis}_lower"] = table[axis] - 1
        table[f"{axis}_upper"] = table[axis] + 1
    figure = plot_compass(table)
    assert [axes.get_title(loc="left") for axes in figure.axes] == models
    for axes in figure.axes:
        points = [
            (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
            for line in axes.lines
            if line.get_linestyle() == "None"
        ]
        assert sorted(points) == [(-3, -1), (2, 1), (3, 1)]
        segments = [s for c in axes.collections for s in c.get_segments()]
        crosses = {tuple(float(v) for v in one.ravel()) for one in segments}
        for x, y in ((-3, -1), (3, 1), (2, 1)):  # the original, opposite answers and negation
            assert {(x - 1, y, x + 1, y), (x, y - 1, x, y + 1)} <= crosses
        assert axes.get_xlim() == axes.get_ylim()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 3
    draws(figure)


@pytest.mark.parametrize("wanted", [1, 3])
def test_a_legend_is_not_wider_than_its_figure(wanted: int) -> None:
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    names = ["short", "a series with a longer name", "another one with a name as long as that"]
    for name in names:
        axes.plot([0, 1], [0, 1], label=name)
    legend_above(figure, wanted)
    draws(figure)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names
    assert legend.get_window_extent().width <= figure.bbox.width


def test_prefix_shifts_keep_one_order_of_models() -> None:
    rows = [
        ("a", "all", "mean_absolute_shift", 0.1),
        ("b", "all", "mean_absolute_shift", 0.3),
        ("a", "likert", "others_minus_this", -0.2),
        ("b", "likert", "others_minus_this", 0.4),
        ("b", "likert", "pooled_others_minus_this", 0.7),
    ]
    shifts = estimates(rows, "model", "prefix", "measure")
    figure = plot_prefix_shift(shifts, prefixes=["baseline", "likert"])
    mean, likert = figure.axes
    assert row_names(mean) == row_names(likert) == ["b", "a"]
    assert drawn(mean) == [0.3, 0.1]
    assert drawn(likert) == [0.4, -0.2]
    draws(figure)


def test_the_least_stable_item_is_at_the_top() -> None:
    figure = plot_instability(estimates([("x", 0.2), ("y", 0.9), ("z", NAN)], "item"))
    assert row_names(figure.axes[0]) == ["y", "x", "z"]
    assert drawn(figure.axes[0])[:2] == [0.9, 0.2]


def test_predicted_shares_have_a_panel_each_and_misses_are_crosses() -> None:
    rows = [
        ("agreement_by_keying", 0.3, 0.5),
        ("agreement_by_keying", 0.9, 0.5),
        ("agreement_by_item", 0.4, 0.4),
        ("neutral", 0.4, 0.4),
    ]
    table = estimates(
        [(name, observed, at) for name, observed, at in rows], "statistic", "observed"
    )
    figure = plot_predictive(table, what="share agreeing")
    keying, item = figure.axes
    points = [
        (line.get_marker(), *map(float, np.concatenate([line.get_xdata(), line.get_ydata()])))
        for line in keying.lines
        if line.get_linestyle() == "None"
    ]
    assert points == [("o", 0.5, 0.3), ("X", 0.5, 0.9)]  # intervals from 0.3 to 0.7
    assert "statement" in item.get_title(loc="left").lower()
    assert keying.get_ylabel() == "share agreeing, as observed"
    draws(figure)


def test_an_item_named_by_its_text_is_labelled_once() -> None:
    assert item_label("Tax the rich.", "Tax the rich.", width=56, lines=2) == "Tax the rich."
    assert item_label("x", "Tax the rich.", width=56, lines=2) == "x: Tax the rich."
    assert item_label("x", "", width=56, lines=2) == "x"
