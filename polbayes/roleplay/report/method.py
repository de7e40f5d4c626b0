"""The prompts, the requests to judges, and how to cite and rerun."""

from polbayes.report.blocks import Block, Fold, Paragraph, Section, Verbatim
from polbayes.report.sections.rerun import cite_and_rerun
from polbayes.roleplay.report.results import SIGN, RatingsResults
from polbayes.roleplay.rubric import Reading, request

_STUDY = (
    "Design, weights and scores: PoliticsBench (arXiv 2603.23841). The scenarios, their mirrored "
    "twins, the request to the judges and all texts are polbayes' own."
)


def method(results: RatingsResults) -> Section:
    """Show the prompts around the scenarios, and the request to judges."""
    reading = (
        "The standardised rating is the rating minus 10. The alignment is the sum of the ratings, "
        f"each times the published weight of its value; a flat profile has 0. {SIGN}",
        "Judges see one text at a time, with the situation that it answers, and not who wrote it "
        "nor what came before.",
    )
    turns = tuple(Verbatim(name, said) for name, said in results.texts.turns.items())
    asked = request(Reading("", "(the situation)", "(thoughts)", "(answer)"), texts=results.texts)
    blocks: list[Block] = [
        Fold("What is put to the models around each text", turns),
        Fold("What the judges are asked", (Verbatim("Request", asked),)),
    ]
    return Section("method", "How it was done", reading, tuple(blocks))


def rerun(results: RatingsResults) -> Section:
    """Show the command, the config, the versions and what to cite."""
    return cite_and_rerun(
        "The command below makes these results again from nothing. With other judges, and "
        "stages=[code,measure,fit,report], the same transcripts are judged again.",
        command=results.command,
        config=results.config_yaml,
        provenance=results.provenance,
        citing=[Paragraph(f"Please cite, besides polbayes itself: {_STUDY}")],
    )
