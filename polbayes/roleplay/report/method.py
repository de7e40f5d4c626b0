"""The prompts, the requests to judges, and how to cite and rerun."""

from polbayes.report.blocks import Block, Bullets, Fold, Paragraph, Section, Verbatim
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
    reading = (
        "The command below makes these results again from nothing. With other judges, and "
        "stages=[code,measure,fit,report], the same transcripts are judged again.",
    )
    entries = tuple((f"{key}:", value) for key, value in results.provenance.items())
    blocks: list[Block] = [
        Verbatim("Command", results.command),
        Fold("The whole config", (Verbatim("YAML", results.config_yaml),)),
        Fold("Versions and provenance", (Bullets(entries),)),
        Paragraph(f"Please cite, besides polbayes itself: {_STUDY}"),
        Paragraph(
            "Every number of this page is also in the folder tables/, every figure in figures/ as "
            "PNG and SVG. In the CSV files, an apostrophe or an invisible joiner (U+2060) stands "
            "before what a spreadsheet would take for a formula."
        ),
    ]
    return Section("rerun", "Cite and rerun", reading, tuple(blocks))
