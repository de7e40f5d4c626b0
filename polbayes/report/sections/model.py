"""The fitted model."""

from polbayes.report.blocks import Block, Bullets, Fold, Section, Verbatim
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker


def model(results: Results) -> Section | None:
    """Show the equation and the priors."""
    if not results.equation and not results.priors:
        return None
    how = (
        "from the predictors, each with its coefficient β, and from deviations u of its groups."
        if results.mixed
        else f"from how the {results.who} was asked, and from what it holds. A positive η favours "
        "agreeing."
    )
    reading = (
        f"The equation says how an answer is thought to come about: {how} The priors say what was "
        "assumed before any answer was seen.",
    )
    blocks: list[Block] = []
    if results.equation:
        blocks.append(Verbatim("Equation", results.equation))
    if results.priors:
        priors = tuple(("", prior) for prior in results.priors)
        blocks.append(Fold("Priors", (Bullets(priors),)))
    return Section("model", "The model behind the numbers", reading, tuple(blocks))


SECTION = SectionMaker("The model", model, joint=True)
