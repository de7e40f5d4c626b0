"""How to cite and rerun."""

from polbayes.report.blocks import Block, Bullets, Fold, Paragraph, Section, Verbatim
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker


def rerun(results: Results) -> Section:
    """Show the command, the config, the versions and what to cite."""
    reading = (
        "The command below makes these results again from nothing; the config is everything "
        "that it was run with. With the response dataset (responses.nc) alone, the prompts can "
        "be put together again and the analysis repeated.",
    )
    blocks: list[Block] = [Verbatim("Command", results.command)]
    if results.config_yaml:
        blocks.append(Fold("The whole config", (Verbatim("YAML", results.config_yaml),)))
    if results.provenance:
        entries = tuple((f"{key}:", str(value)) for key, value in results.provenance.items())
        blocks.append(Fold("Versions and provenance", (Bullets(entries),)))
    if results.citations:
        blocks.append(Paragraph("Please cite, besides polbayes itself:"))
        blocks.append(Bullets(tuple(("", citation) for citation in results.citations)))
    blocks.append(
        Paragraph(
            "Every number of this page is also in the folder tables/, every figure in figures/ "
            "as PNG and SVG. In the CSV files, an apostrophe or an invisible joiner (U+2060) "
            "stands before what a spreadsheet would take for a formula."
        )
    )
    return Section("rerun", "Cite and rerun", reading, tuple(blocks))


SECTION = SectionMaker("Cite and rerun", rerun)
