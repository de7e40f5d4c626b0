"""What the report says of contrasts, variance and precision."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from polbayes.report.blocks import Block, Bullets, Fold, Grid, Paragraph, Picture
from polbayes.report.figures.d_study import one_at_a_time, plot_d_study
from polbayes.report.figures.variance import plot_variance
from polbayes.report.sections.contrasts import contrast_blocks, correlation_blocks, prefix_blocks
from polbayes.report.sections.precision import precision
from polbayes.report.sections.variance import variance


def texts(blocks: tuple[Block, ...] | list[Block]) -> str:
    found = [b.text for b in blocks if isinstance(b, Paragraph)]
    for block in blocks:
        if isinstance(block, Bullets):
            found += [f"{bold} {text}" for bold, text in block.entries]
    return "\n".join(found)


def grids(blocks: tuple[Block, ...] | list[Block]) -> list[Grid]:
    found = [b for b in blocks if isinstance(b, Grid)]
    for block in blocks:
        if isinstance(block, Fold):
            found += grids(block.blocks)
    return found


def changed(results: Any, make_results: Any, name: str, **columns: Any) -> Any:
    table = results.tables[name].assign(**columns)
    return make_results(tables={**results.tables, name: table})


def test_pairs_are_counted_by_their_decision(make_results: Any) -> None:
    results = make_results()
    table = results.tables["contrasts"].copy()
    of_pairs = (table["against"] == "model") & (table["dimension"] == "total")
    table.loc[of_pairs, "decision"] = ["left", "equal", "open"]
    table.loc[~of_pairs, "decision"] = "right"  # counted nowhere
    blocks = contrast_blocks(make_results(tables={**results.tables, "contrasts": table}))
    said = texts(blocks)
    assert "Pairs of models on all questions together: 1 different in practice" in said
    assert "practice, 1 the same in practice, 1 open." in said
    assert "0.10" in said
    assert "5 of 100 answers" in said
    pairs, centre = grids(blocks)
    assert len(pairs.rows) == 9
    assert len(centre.rows) == 9
    assert all("alpha" in row[0] or "beta" in row[0] or "gamma" in row[0] for row in centre.rows)


def test_nothing_is_concluded_from_bad_draws(make_results: Any) -> None:
    results = make_results(verdict="bad")
    assert "Pairs of models" not in texts(contrast_blocks(results))
    assert correlation_blocks(results) == []
    advice = precision(results)
    assert advice is not None
    assert "cheapest" not in texts(advice.blocks)
    assert "not to be used" in texts(advice.blocks)
    shares = variance(results)
    assert shares is not None
    assert "largest" not in texts(shares.blocks)


def test_how_little_the_correlation_is_known_is_said(make_results: Any) -> None:
    results = make_results()
    bounds = {"estimate": [0.2, 0.5], "lower": [-0.5, 0.1], "upper": [0.7, 0.8]}
    wide = texts(correlation_blocks(changed(results, make_results, "correlation", **bounds)))
    assert "0.20 (90% interval −0.50 to 0.70)" in wide
    assert "before any answer the interval was −0.73 to 0.73, so that" in wide
    assert "Among the 3 models themselves, the correlation" in wide
    bounds["lower"] = [0.1, 0.1]
    narrow = texts(correlation_blocks(changed(results, make_results, "correlation", **bounds)))
    assert "say little" not in narrow


def test_prefixes_that_matter_in_practice(make_results: Any) -> None:
    (table,) = grids(prefix_blocks(make_results()))
    assert {row[-1] for row in table.rows} == {"open"}


def test_the_cheapest_design_and_what_more_would_buy(make_results: Any) -> None:
    """Twice the prefixes: 1 - sqrt(0.35 / 0.6) = 23.6 %; twice the items: 4.3 %."""
    section = precision(make_results())
    assert section is not None
    said = texts(section.blocks)
    assert "All questions: the dependability is 0.70 (90% interval 0.60 to 0.80)." in said
    assert "asks 10 statements in 3 wordings with 4 prefixes, once: 120 questions" in said
    assert "at least 0.70 with a probability of 80%" in said
    assert "at a cost of 240.00 each" in said
    assert "twice as many statements by 4.3% and twice as many prefixes by 23.6%" in said
    assert "Asking more statements buys little." in said
    assert "About other numbers of wordings and repetitions nothing can be said" in said
    (_, designs) = grids(section.blocks)
    # 60 questions are 20 items once or, better, 10 with two prefixes; 20 with two have 120.
    economic = [row for row in designs.rows if row[0] == "economic"]
    assert [tuple(row[1:4]) for row in economic] == [
        ("10", "3", "1"),
        ("10", "3", "2"),
        ("10", "3", "4"),
        ("20", "3", "4"),
    ]


def test_few_models_and_what_a_run_is_worth_are_said(make_results: Any) -> None:
    section = precision(make_results())
    assert section is not None
    said = texts(section.blocks)
    assert "shares of the differences between 3 models. With so few" in said
    # Asked were 6 items with 3 prefixes; the made-up design is worth 10 with 2.
    assert "this run counts as 10 statements in 3 wordings with 2 prefixes, once" in said
    assert "what was asked (6 statements in 2 wordings with 3 prefixes, 2 times)" in said
    many = precision(make_results([f"m{k}" for k in range(5)]))
    assert many is not None
    assert "With so few" not in texts(many.blocks)


def test_a_run_that_counts_as_fewer_wordings_is_not_one_with_so_few(make_results: Any) -> None:
    """Asked were 6 items in 2 wordings with 3 prefixes, twice."""
    results = make_results()
    numbers = ["items", "wordings", "prefixes", "runs"]
    for wordings, differs in ((1, True), (2, False)):
        designs = results.tables["d_study"].copy()
        # What the figure draws: another number of items, and the design of the run.
        designs.loc[designs["prefixes"] == 2, numbers] = [12, wordings, 3, 2]
        designs.loc[designs["own"], numbers] = [6, wordings, 3, 2]
        section = precision(make_results(tables={**results.tables, "d_study": designs}))
        assert section is not None
        said = texts(section.blocks)
        assert ("this run counts as 6 statements in 1 wording with 3 prefixes" in said) == differs
        assert ("(6 statements in 2 wordings with 3 prefixes, 2 times)" in said) == differs
        (picture,) = (block for block in section.blocks if isinstance(block, Picture))
        assert ("what this run counts as" in picture.caption) == differs
        named = {line.get_label() for line in picture.figure.axes[0].get_lines()}
        assert ("what this run counts as" if differs else "this run") in named


def test_costs_are_a_column_where_a_question_has_one(make_results: Any) -> None:
    results = make_results()
    for cost, there in ((2.0, True), (1.0, False)):
        designs = results.tables["d_study"]
        table = designs.assign(cost=cost * designs["questions"])
        section = precision(make_results(tables={**results.tables, "d_study": table}))
        assert section is not None
        assert ("Cost" in grids(section.blocks)[1].headers) == there


def test_no_coefficient_is_shown_as_certain(make_results: Any) -> None:
    results = make_results()
    sure = changed(results, make_results, "reliability", estimate=0.997, lower=0.98, upper=0.999)
    section = precision(sure)
    assert section is not None
    said = texts(section.blocks)
    assert "is more than 0.99 (90% interval 0.98 to more than 0.99)" in said


def test_statements_of_one_side_alone_are_mentioned(make_results: Any) -> None:
    results = make_results()
    one_sided = changed(results, make_results, "reliability", balanced=False)
    for given, said in ((results, False), (one_sided, True)):
        section = precision(given)
        assert section is not None
        assert ("statements of one side alone" in " ".join(section.reading)) == said


def test_no_design_that_is_good_enough(make_results: Any) -> None:
    results = make_results()
    none = changed(results, make_results, "d_study", cheapest=False, wanted=0.95)
    section = precision(none)
    assert section is not None
    said = texts(section.blocks)
    assert "None of the 6 designs compared brings it to at least 0.95" in said
    assert "The cheapest" not in said


def test_lines_of_a_design_change_one_number(make_results: Any) -> None:
    designs = make_results().tables["d_study"]
    rows = designs[designs["dimension"] == "total"]
    assert one_at_a_time(rows, "prefixes")["prefixes"].tolist() == [1, 2, 4]
    assert one_at_a_time(rows, "items")["questions"].tolist() == [60, 120]
    (axes,) = plot_d_study(rows, title="dependability").axes
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    assert set(lines) == {"wanted", "other items", "other prefixes", "this run"}
    np.testing.assert_allclose(lines["other prefixes"].get_xdata(), [30, 60, 120])
    np.testing.assert_allclose(lines["other prefixes"].get_ydata(), [1 / 2.1, 1 / 1.6, 1 / 1.35])


@pytest.mark.filterwarnings("error")
def test_bars_of_shares() -> None:
    shares = pd.DataFrame(
        {
            "dimension": ["economic", "economic", "cultural"],
            "component": ["b", "a", "a"],
            "estimate": [0.25, 0.75, 1.0],
            "lower": [0.2, 0.7, 0.9],
            "upper": [0.3, 0.8, 1.0],
        }
    )
    figure = plot_variance(shares, {"a": "First", "c": "Not there"})
    economic, cultural = figure.axes
    assert [text.get_text() for text in economic.get_yticklabels()] == ["First", "b"]
    assert [bar.get_width() for bar in economic.patches] == [0.75, 0.25]
    assert cultural.patches[0].get_width() == 1.0
