"""Where in a population, known by its shares of answers, the models stand."""

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Section, grid
from polbayes.report.numbers import share as percent
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_READING = (
    "A population is known by its shares of answers only, and enters as a distribution: its mean "
    "is its position, and its spread the standard deviation of the positions of its persons. The "
    "spread follows from how evenly its answers are divided, if persons have views of their own "
    "on single statements as the other respondents do, and answer as decisively as these.",
    "The share of persons {of} {who.a} says where it would stand among them: 50% is the median.",
)


def populations(results: Results) -> Section | None:
    """Show mean and spread of every population, and where in it the others stand."""
    table, shares = results.table("populations"), results.table("population_shares")
    if table is None or shares is None:
        return None
    of = results.poles.negative.of
    reading = tuple(text.format(of=of, who=results.who) for text in _READING)
    words = {"mean": "Mean", "spread": "Standard deviation of persons"}
    columns = [
        *show.texts("population", "dimension"),
        show.named("quantity", "Quantity", words),
        *show.estimate("Estimate", results.level),
    ]
    placed = [
        *show.texts("model", "population", "dimension"),
        show.share("estimate", f"Persons {of} it"),
        Column(
            f"{results.level:.0%} interval",
            lambda row: f"{percent(row['lower'])} to {percent(row['upper'])}",
        ),
    ]
    blocks: list[Block] = [
        grid(shares, placed, caption="Where the others stand.", csv="population_shares"),
        grid(table, columns, caption="Mean and spread of the populations.", csv="populations"),
    ]
    return Section("populations", "Where in the population", reading, tuple(blocks))


SECTION = SectionMaker("Where in the population", populations, optional=True)
