"""Whether models lean alike on different instruments."""

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Picture, Section, folded_grid, grid
from polbayes.report.figures.forests import plot_instrument_differences
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_READING = (
    "Each instrument asks about the same dimensions with statements of its own. Here every {who} "
    "has a leaning of its own on each. Its zero is the midpoint of that instrument's statements "
    "and its unit their sharpness, so a difference that all {who.many} share says something of the "
    "statements: one questionnaire may be worded further to one side than another. A difference "
    "of one {who} that others do not share is about that {who}.",
    "The correlation says whether the instruments put the {who.many} in the same order and at "
    "similar distances: 1 means that what one instrument says of {who.a} can be told from the "
    "other. Few {who.many} leave it wide open.",
)


def instruments(results: Results) -> Section | None:
    """Show how the models lean on each instrument; None where theta does not differ by it."""
    differences, levels = results.table("instrument_differences"), results.table("by_instrument")
    if differences is None or levels is None:
        return None
    blocks: list[Block] = [
        Picture(
            name="instrument_differences",
            caption="Leaning on one instrument minus leaning on the other, with intervals.",
            alt="Forest plot of the differences; the numbers are in the table below.",
            figure=plot_instrument_differences(
                differences[differences["quantity"] == "theta"], results.poles
            ),
        )
    ]
    correlations = results.table("instrument_correlations")
    if correlations is not None:
        blocks.append(_correlations(correlations, results))
    blocks += [_differences(differences, results), _levels(levels, results)]
    reading = tuple(text.format(who=results.who) for text in _READING)
    return Section("instruments", "Do the instruments agree?", reading, tuple(blocks))


def _correlations(table: pd.DataFrame, results: Results) -> Block:
    columns = [
        *show.texts("dimension", "first", "second", "quantity"),
        *show.estimate(f"Correlation over {results.who.many}", results.level),
    ]
    caption = f"Correlation of the {results.who.many}' leanings on two instruments."
    return grid(table, columns, caption=caption, csv="instrument_correlations")


def _differences(table: pd.DataFrame, results: Results) -> Block:
    columns = [
        *show.texts("model", "dimension", "first", "second", "quantity"),
        *show.estimate("First minus second", results.level),
        show.chance(
            "p_left", f"Probability that the first is further {results.poles.negative.towards}"
        ),
    ]
    caption = "Differences between instruments."
    return grid(table, columns, caption=caption, csv="instrument_differences")


def _levels(table: pd.DataFrame, results: Results) -> Block:
    columns = [
        *show.texts("model", "dimension", "instrument", "quantity"),
        *show.estimate(results.poles.header("Leaning"), results.level),
        show.chance("p_left", f"Probability {results.poles.negative.of} the centre"),
    ]
    caption = f"Leaning of every {results.who} on every instrument."
    return folded_grid("By instrument", table, columns, caption=caption, csv="by_instrument")


SECTION = SectionMaker("Instruments", instruments, optional=True)
