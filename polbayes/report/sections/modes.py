"""Whether models lean alike however they are asked: by forced choice, in open answers, ..."""

from collections.abc import Mapping

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Section, folded_grid, grid
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_QUANTITIES: Mapping[str, str] = {
    "leaning": "Effect on leaning (against the mean of the modes)",
    "discrimination": "Discrimination (1: as the modes on average)",
    "agreement": "Tendency to agree",
    "decisiveness": "Decisiveness",
    "adds": "What it adds (share of variance that the others do not predict)",
}
_PAIRS: Mapping[str, str] = {
    "correlation": "Correlation of positions over models",
    "difference": "First minus second, mean of the models",
}
_READING = (
    "The same models were asked the same statements in several modes. All answers belong to one "
    "position θ of each model; a mode moves all models (its effect on leaning), spreads them out "
    "or draws them together (its discrimination), and moves single models (positions by mode).",
    "The correlation says how well one mode predicts another: near 1, one of them would have put "
    "the models in the same order. What a mode adds is the share of the variance of positions in "
    "it that the mean of the others does not predict; a large share means that the mode measures "
    "something else, not that it is better.",
)


def modes(results: Results) -> Section | None:
    """Show the effects of modes and how well they agree; None for a single mode."""
    effects, pairs = results.table("modes"), results.table("mode_pairs")
    if effects is None or pairs is None:
        return None
    blocks: list[Block] = [
        _grid(pairs, ("dimension", "first", "second"), _PAIRS, "mode_pairs", results),
        _grid(effects, ("mode", "dimension"), _QUANTITIES, "modes", results),
    ]
    places = results.table("mode_positions")
    if places is not None:
        columns = [
            *show.texts("model", "dimension", "mode"),
            *show.estimate("Position (negative = left)", results.level),
            show.chance("p_left", "Probability left of the centre"),
        ]
        caption = "The position of every model in every mode, in the unit of θ."
        blocks.append(
            folded_grid("By mode", places, columns, caption=caption, csv="mode_positions")
        )
    return Section("modes", "Do the modes agree?", _READING, tuple(blocks))


def _grid(
    table: pd.DataFrame,
    about: tuple[str, ...],
    words: Mapping[str, str],
    csv: str,
    results: Results,
) -> Block:
    columns = [
        *show.texts(*about),
        show.named("quantity", "Quantity", words),
        *show.estimate("Estimate", results.level),
    ]
    caption = {
        "modes": "Effects of every mode.",
        "mode_pairs": "How well every two modes agree.",
    }[csv]
    return grid(table, columns, caption=caption, csv=csv)


SECTION = SectionMaker("Modes", modes, optional=True)
