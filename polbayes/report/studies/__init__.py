"""The tables and figures of a study, in its order, for a run and beside the published ones."""

from collections.abc import Callable, Mapping

from polbayes.report.blocks import Section
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.studies.faulborn import faulborn
from polbayes.report.studies.haller import haller
from polbayes.report.studies.lunardi import lunardi

SHOWN: Mapping[str, Callable[[Results], Section]] = {
    "faulborn": faulborn,
    "haller": haller,
    "lunardi": lunardi,
}


def study(results: Results) -> Section | None:
    """Show the study that `report.study` names, if any."""
    return SHOWN[results.study](results) if results.study else None


SECTION = SectionMaker("The study", study, optional=True)
