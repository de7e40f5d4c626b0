"""How to cite and rerun."""

from collections.abc import Mapping, Sequence

from polbayes.report.blocks import Block, Bullets, Fold, Paragraph, Section, Verbatim
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker


def rerun(results: Results) -> Section:
    """Show the command, the config, the versions and what to cite."""
    citing: list[Block] = []
    if results.citations:
        citing.append(Paragraph("Please cite, besides polbayes itself:"))
        citing.append(Bullets(tuple(("", citation) for citation in results.citations)))
    return cite_and_rerun(
        "The command below makes these results again from nothing; the config is everything "
        "that it was run with. With the response dataset (responses.nc) alone, the prompts can "
        "be put together again and the analysis repeated.",
        command=results.command,
        config=results.config_yaml,
        provenance=results.provenance,
        citing=citing,
    )


def cite_and_rerun(
    reading: str,
    *,
    command: str,
    config: str,
    provenance: Mapping[str, object],
    citing: Sequence[Block],
) -> Section:
    """Make the last section of a report; what is empty is left out."""
    blocks: list[Block] = [Verbatim("Command", command)]
    if config:
        blocks.append(Fold("The whole config", (Verbatim("YAML", config),)))
    if provenance:
        entries = tuple((f"{key}:", str(value)) for key, value in provenance.items())
        blocks.append(Fold("Versions and provenance", (Bullets(entries),)))
    blocks += citing
    blocks.append(
        Paragraph(
            "Every number of this page is also in the folder tables/, every figure in figures/ "
            "as PNG and SVG. In the CSV files, an apostrophe or an invisible joiner (U+2060) "
            "stands before what a spreadsheet would take for a formula."
        )
    )
    return Section("rerun", "Cite and rerun", (reading,), tuple(blocks))


SECTION = SectionMaker("Cite and rerun", rerun)
