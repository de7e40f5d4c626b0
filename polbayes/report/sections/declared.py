"""Sections of measures that declare how they are shown."""

from collections.abc import Callable

import pandas as pd
from pandas.api.types import is_integer_dtype, is_numeric_dtype

from polbayes.measures.measure import INTERVAL, Shown
from polbayes.measures.registry import MEASURES
from polbayes.report import show
from polbayes.report.blocks import Column, Section, grid, level_of
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker


def declared_sections() -> list[SectionMaker]:
    """Return a section for every measure that says how it is shown."""
    return [
        SectionMaker(measure.shown.title, _declared(name, measure.shown), optional=True)
        for name, measure in MEASURES.items()
        if measure.shown is not None
    ]


def _declared(name: str, shown: Shown) -> Callable[[Results], Section | None]:

    def make(results: Results) -> Section | None:
        table = results.table(shown.table)
        if table is None:
            return None
        columns = [
            column
            for key, header in shown.columns.items()
            for column in _columns(table, key, header)
        ]
        layout = grid(table, columns, caption=shown.title, csv=shown.table)
        return Section(f"measure-{name}", shown.title, (shown.reading,), (layout,))

    return make


def _columns(table: pd.DataFrame, name: str, header: str) -> tuple[Column, ...]:
    """Lay out a column by its content."""
    if name == "estimate" and set(INTERVAL) <= set(table.columns):
        return show.estimate(header, level_of(table))
    if is_integer_dtype(table[name]):
        return (show.count(name, header),)
    return ((show.number if is_numeric_dtype(table[name]) else show.text)(name, header),)
