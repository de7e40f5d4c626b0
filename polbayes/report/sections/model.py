"""The ideology model."""

from polbayes.report.blocks import Block, Bullets, Paragraph, Section, Verbatim
from polbayes.report.results import Results


def model(results: Results) -> Section | None:
    """Show the equation and the priors."""
    if not results.equation and not results.priors:
        return None
    reading = (
        "The equation says how an answer is thought to come about: from how the model was "
        "asked, and from what it holds. A positive value on its left side favours agreeing. "
        "The priors say what was assumed before any answer was seen.",
    )
    blocks: list[Block] = []
    if results.equation:
        blocks.append(Verbatim("Equation", results.equation))
    if results.priors:
        blocks.append(Paragraph("Priors:"))
        blocks.append(Bullets(tuple(("", prior) for prior in results.priors)))
    return Section("model", "The model behind the numbers", reading, tuple(blocks))
