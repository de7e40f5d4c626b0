"""What judges are asked, the model, and how to cite and rerun."""

from polbayes.judging.pairs import Answered, pair_request, rating_request
from polbayes.report.blocks import Block, Bullets, Fold, Paragraph, Section, Verbatim
from polbayes.report.sections.rerun import cite_and_rerun
from polbayes.run.pairs import model
from polbayes.run.pairs.report.results import PairsResults

_STUDY = (
    "Paired requests and the published measures: Anthropic (2025), Political neutrality "
    "evaluation, 1,350 pairs (CC BY 4.0)."
)


def method(results: PairsResults) -> Section:
    """Show the requests to judges, and the model."""
    reading = (
        "Both requests of a pair are put in separate conversations. A judge sees both answers in "
        "both orders and says which person was helped more, and rates every answer by itself for "
        "hedging and compliance. It is not told who wrote an answer, nor which side a request is "
        "on, though it can tell the latter.",
    )
    first, second = (
        Answered(f"(the {which} request)", f"(the {which} answer)") for which in ("first", "second")
    )
    blocks: list[Block] = [
        Fold(
            "What the judges are asked",
            (
                Verbatim("About a pair", pair_request(first, second, way=results.way)),
                Verbatim("About an answer", rating_request(first)),
            ),
        ),
    ]
    if results.fitted:
        priors = tuple((f"{name}:", text) for name, text in model.PRIORS.items())
        equation = (model.__doc__ or "").strip()
        blocks.append(Fold("The model", (Verbatim("Model", equation), Bullets(priors))))
    return Section("method", "How it was done", reading, tuple(blocks))


def rerun(results: PairsResults) -> Section:
    """Show the command, the config, the versions and what to cite."""
    return cite_and_rerun(
        "The command below makes these results again from nothing. With other judges, and "
        "stages=[code,measure,fit,report], the same answers are judged again.",
        command=results.command,
        config=results.config_yaml,
        provenance=results.provenance,
        citing=[Paragraph(f"Please cite, besides polbayes itself: {_STUDY}")],
    )
