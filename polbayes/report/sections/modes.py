"""Whether models lean alike however they are asked: by forced choice, in German, ..."""

from collections.abc import Mapping

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Section, folded_grid, grid
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_QUANTITIES: Mapping[str, str] = {
    "leaning": "Effect on leaning (against the mean of all)",
    "discrimination": "Discrimination (1: as on average)",
    "agreement": "Tendency to agree",
    "decisiveness": "Decisiveness",
    "adds": "What it adds (share of variance that the others do not predict)",
}
_PAIRS: Mapping[str, str] = {
    "correlation": "Correlation of positions over {who.many}",
    "difference": "First minus second, mean of the {who.many}",
}
_READING = (
    "The same {who.many} were asked the same statements in several {many}. All answers belong to "
    "one position θ of each {who}; a {one} moves all {who.many} (its effect on leaning), may "
    "spread them out or draw them together (its discrimination), and moves single {who.many} "
    "(positions by {one}).",
    "The correlation says how well one {one} predicts another: near 1, one of them would have "
    "put the {who.many} in the same order. What a {one} adds is the share of the variance of "
    "positions in it that the mean of the others does not predict; a large share means that it "
    "measures something else, not that it is better.",
)


def modes(results: Results) -> Section | None:
    """Show the effects of modes and how well they agree; None for a single mode."""
    return _section("mode", "modes", results)


def languages(results: Results) -> Section | None:
    """Show the same of languages."""
    return _section("language", "languages", results)


def _section(one: str, many: str, results: Results) -> Section | None:
    effects, pairs = results.table(many), results.table(f"{one}_pairs")
    if effects is None or pairs is None:
        return None
    level, who = results.level, results.who
    words = {name: text.format(who=who) for name, text in _PAIRS.items()}
    blocks: list[Block] = [
        grid(
            pairs,
            _columns(("dimension", "first", "second"), words, level),
            caption=f"How well every two {many} agree.",
            csv=f"{one}_pairs",
        ),
        grid(
            effects,
            _columns((one, "dimension"), _QUANTITIES, level),
            caption=f"Effects of every {one}.",
            csv=many,
        ),
    ]
    places = results.table(f"{one}_positions")
    if places is not None:
        columns = [
            *show.texts("model", "dimension", one),
            *show.estimate(results.poles.header("Position"), level),
            show.chance("p_left", f"Probability {results.poles.negative.of} the centre"),
        ]
        caption = f"The position of every {who} in every {one}, in the unit of θ."
        csv = f"{one}_positions"
        blocks.append(folded_grid(f"By {one}", places, columns, caption=caption, csv=csv))
    reading = tuple(text.format(one=one, many=many, who=who) for text in _READING)
    return Section(many, f"Do the {many} agree?", reading, tuple(blocks))


def _columns(about: tuple[str, ...], words: Mapping[str, str], level: float) -> list[Column]:
    return [
        *show.texts(*about),
        show.named("quantity", "Quantity", words),
        *show.estimate("Estimate", level),
    ]


SECTION = SectionMaker("Modes", modes, optional=True)
