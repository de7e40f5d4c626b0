"""Whether the sampler can be trusted."""

from polbayes.report import show
from polbayes.report.blocks import Block, Bullets, Fold, Section, grid
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_OF_CHAINS = (
    "The estimates come from random draws, and these checks say whether the draws can be "
    "used. R-hat compares independent chains: it should be at most 1.01, and more means "
    "that they disagree about the answer. The effective sample size (ESS) is the number of "
    "independent draws that the chains are worth: for the middle of a distribution (bulk) "
    "and for the ends of its intervals (tail); it should be at least 400. Neither has a "
    "direction.",
)


def diagnostics(results: Results) -> Section | None:
    """Show the diagnostics of the sampler in words and numbers."""
    table = results.table("diagnostics")
    if table is None and not results.verdict_sentences:
        return None
    approximate = table is not None and table.empty
    reading = (
        "The posterior is approximated, and Pareto k says how well: it is the shape of the tail of "
        "the ratios of posterior and approximation. Up to 0.7 these ratios can correct the draws "
        "that the estimates come from; above it they cannot.",
    )
    if not approximate:
        reading = _OF_CHAINS
    blocks: list[Block] = []
    if results.verdict_sentences:
        blocks.append(Bullets(tuple(("", sentence) for sentence in results.verdict_sentences)))
    if table is not None and not approximate:
        worst = table.sort_values("r_hat", ascending=False, kind="stable", na_position="first")
        layout = grid(
            worst,
            [
                show.text("quantity"),
                show.number("r_hat", "R-hat", 3),
                show.count("ess_bulk", "ESS, bulk"),
                show.count("ess_tail", "ESS, tail"),
            ],
            caption="Diagnostics by quantity, the highest R-hat first.",
            csv="diagnostics",
        )
        blocks.append(Fold("Diagnostics as a table", (layout,)))
    return Section("diagnostics", "Can the estimates be trusted?", reading, tuple(blocks))


SECTION = SectionMaker("Diagnostics", diagnostics)
