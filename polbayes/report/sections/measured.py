"""Sections of measures that say themselves how they are shown."""

from polbayes.measures.measure import Shown
from polbayes.measures.registry import MEASURES
from polbayes.report.blocks import Section, grid, number_column, text_column
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker


def measured_sections() -> list[SectionMaker]:
    """Return a section for every measure that says how it is shown."""
    shown = [measure.shown for measure in MEASURES.values()]
    return [_maker(one) for one in shown if one is not None]


def _maker(shown: Shown) -> SectionMaker:
    def make(results: Results) -> Section | None:
        table = results.table(shown.table)
        if table is None:
            return None
        columns = [
            (number_column if table[name].dtype.kind in "iuf" else text_column)(name, header)
            for name, header in shown.columns.items()
        ]
        layout = grid(table, columns, caption=f"{shown.title}.", csv=shown.table)
        return Section(shown.table.replace("_", "-"), shown.title, (shown.reading,), (layout,))

    return SectionMaker(shown.title, make, optional=True)
