"""The parts of a study's section: figures and tables with their numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Grid, Paragraph, Picture, Section, grid
from polbayes.report.studies.published import NAMES

# Longer tables get no search field.
_SEARCHED = 2000
_ESTIMATE = ("estimate", "lower", "upper")


@dataclass(frozen=True)
class Part:
    """One figure or table of a study, and its numbers by the name of their CSV."""

    blocks: tuple[Block, ...]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


def figure_part(
    name: str, caption: str, figure: Figure, table: pd.DataFrame, *, columns: Sequence[Column] = ()
) -> Part:
    """Show a figure, with its numbers folded below it if columns are given.

    The caption begins with its name in the study, such as ``Figure 1: ...``.
    """
    alt = f"{caption.split('.')[0]}; the numbers are in the CSV."
    blocks: list[Block] = [Picture(name, caption, alt, figure, (name,))]
    if columns:
        title = f"{caption.split(':')[0]}, as a table"
        blocks.append(Fold(title, (grid(table, columns, caption=caption, csv=name),)))
    return Part(tuple(blocks), {name: table})


def table_part(
    name: str, caption: str, table: pd.DataFrame, columns: Sequence[Column], *, fold: bool = False
) -> Part:
    """Show a table, folded if long, with rows that are only published folded below it."""
    whole = {name: table}
    if fold:
        searchable = len(table) < _SEARCHED
        numbers = grid(table, columns, caption=caption, csv=name, searchable=searchable)
        return Part((Fold(caption.split(".")[0], (numbers,)),), whole)
    own = table["estimate"].notna() if "published" in table and "estimate" in table else None
    if own is None or own.all() or not own.any():
        return Part((grid(table, columns, caption=caption, csv=name),), whole)
    blocks = (
        grid(table[own], columns, caption=caption, csv=name),
        Fold(
            f"{caption.split(':')[0]}, what was published of others",
            (grid(table[~own], columns, caption=caption, csv=name),),
        ),
    )
    return Part(blocks, whole)


def missing_part(what: str, how: str) -> Part:
    """Say which part of the study is missing, and what it needs."""
    return Part((Paragraph(f"{what} {how}"),))


def study_section(study: str, reading: Sequence[str], parts: Sequence[Part]) -> Section:
    """Put the parts of a study together, in its order."""
    tables: dict[str, pd.DataFrame] = {}
    for part in parts:
        tables |= part.tables
    about = (
        f"What follows are the figures and tables of {NAMES[study]}, in the order of the paper, "
        "computed for the models of this run as the paper defines them. Open diamonds and the "
        "column “published” are what the paper printed or its authors put out, for the models of "
        "the study; a model of this run has one where it goes by the study's name for it. "
        "Published figures come with the intervals that they were published with, most with none."
    )
    blocks = tuple(block for n, part in enumerate(parts) for block in _folded(part, first=n == 0))
    title = f"As in {NAMES[study]}"
    return Section("study", title, (about, *reading), blocks, tables)


def _folded(part: Part, *, first: bool) -> tuple[Block, ...]:
    """Fold all but the first figure, so that the section is a list that the reader opens."""
    shown = part.blocks[0]
    if first or not isinstance(shown, Picture | Grid):
        return part.blocks
    return (Fold(shown.caption.split(". ")[0].rstrip("."), part.blocks),)


def beside(own: pd.DataFrame | None, published: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Put published figures beside a run's: the run's rows first, then those only published.

    Both tables have the columns `keys`, which identify rows, and ``estimate``; the published
    numbers become ``published``, and their intervals ``published_lower`` and ``published_upper``.
    """
    there = [c for c in ("estimate", "lower", "upper", "spread") if c in published]
    names = {"estimate": "published", **{c: f"published_{c}" for c in there[1:]}}
    other = published[[*keys, *there]].rename(columns=names)
    if own is None:
        own = pd.DataFrame(columns=[*keys, *_ESTIMATE])
    both = own.astype(dict.fromkeys(keys, object)).merge(
        other.astype(dict.fromkeys(keys, object)), on=list(keys), how="outer", indicator="of"
    )
    # An outer merge sorts; this restores the order of the two tables.
    order = {
        key: n
        for n, key in enumerate(dict.fromkeys([*_rows_of(own, keys), *_rows_of(other, keys)]))
    }
    places = [order[key] for key in _rows_of(both, keys)]
    both = both.assign(place=places).sort_values("place", kind="stable", ignore_index=True)
    numbers = [*_ESTIMATE, *names.values()]
    return both.drop(columns=["place", "of"]).astype({n: float for n in numbers if n in both})


def _rows_of(table: pd.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in table[list(keys)].itertuples(index=False)]


def beside_columns(header: str, level: float, *, digits: int = 2) -> list[Column]:
    """Show an estimate with its interval, and the published one with its own."""
    return [
        *show.estimate(f"{header}, this run", level, digits=digits),
        show.number("published", "Published", digits),
    ]
