"""The parts of a page: sections of paragraphs, pictures, tables and folded parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from polbayes.report.results import POSTERIOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 200
MOST_SEARCHED = 2000
WIDEST = 11.5
# The text of figures up to this width stays legible on a telephone's screen.
SMALL = 6.5


@dataclass(frozen=True)
class Paragraph:
    """One paragraph.

    Parameters
    ----------
    text
        Plain text; it is escaped.
    csv, page
        Name of a table, or of a further page of the report, to link to; empty for none.
    """

    kind: ClassVar[str] = "paragraph"
    text: str
    csv: str = ""
    page: str = ""


@dataclass(frozen=True)
class Bullets:
    """A list; each entry may start with a part in bold."""

    kind: ClassVar[str] = "bullets"
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Verbatim:
    """Text shown unchanged, including line breaks, with a label."""

    kind: ClassVar[str] = "verbatim"
    label: str
    text: str


@dataclass(frozen=True)
class Picture:
    """A figure, embedded and saved as PNG and SVG.

    Parameters
    ----------
    name
        Stem of its files.
    caption, alt
        What it shows, and a replacement for those who cannot see it.
    figure
        The drawing.
    csv
        Names of the tables with its numbers; by default the one of its own name.
    posterior
        Whether it depends on the sampler's diagnostics; by default as its tables do.
    chart
        The same as a Vega-Lite specification, which the page draws in its place if it can.
    """

    kind: ClassVar[str] = "picture"
    name: str
    caption: str
    alt: str
    figure: "Figure"
    csv: tuple[str, ...] = ()
    posterior: bool | None = None
    chart: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        csv = self.csv or (self.name,)
        sampled = any(name in POSTERIOR for name in csv)
        object.__setattr__(self, "csv", csv)
        object.__setattr__(self, "posterior", sampled if self.posterior is None else self.posterior)

    @property
    def wide(self) -> bool:
        """Whether it is shown in full width and scrolled, so that its text stays legible."""
        return bool(self.figure.get_figwidth() > WIDEST)

    @property
    def small(self) -> bool:
        """Whether its text stays legible where it is as narrow as a telephone."""
        return bool(self.figure.get_figwidth() <= SMALL)


@dataclass(frozen=True)
class Grid:
    """A table on the page; the whole of it is in ``tables/<csv>.csv``."""

    kind: ClassVar[str] = "grid"
    caption: str
    headers: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]  # the first cell of a row is its header
    csv: str
    # Number of rows of the whole table, of which these may be the first.
    total: int
    posterior: bool = False
    searchable: bool = False  # whether it gets a search field
    long: bool = False  # whether its cells hold texts to be read, which take room
    filters: tuple[str, ...] = ()  # for each column the name it is filtered by, or nothing
    folded: tuple[bool, ...] = ()  # for each column whether its texts open on a click
    id: str = ""  # its anchor on the page
    sample: bool = False  # whether there are rows that not even the CSV has


@dataclass(frozen=True)
class Fold:
    """Blocks that open on a click; print includes those that are open."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: tuple["Block", ...]


@dataclass(frozen=True)
class Beside:
    """Pictures that stand beside each other where there is room."""

    kind: ClassVar[str] = "beside"
    blocks: tuple[Picture, ...]


Block = Paragraph | Bullets | Verbatim | Picture | Grid | Fold | Beside


def pictures(blocks: tuple[Block, ...]) -> list[Picture]:
    """List the pictures in blocks, folded ones too."""
    found: list[Picture] = []
    for block in blocks:
        if isinstance(block, Picture):
            found.append(block)
        elif isinstance(block, Fold | Beside):
            found += pictures(block.blocks)
    return found


@dataclass(frozen=True)
class Section:
    """One section.

    Parameters
    ----------
    id, title
        Its anchor on the page, unique, and its heading.
    reading, blocks
        How to read it, in paragraphs, and what there is.
    tables
        Further tables to write to ``tables/NAME.csv``, by name.
    """

    id: str
    title: str
    reading: tuple[str, ...]
    blocks: tuple[Block, ...]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """One column of a `Grid`: its header and what it shows of a row."""

    header: str
    show: Callable[[Mapping[str, Any]], str]
    numeric: bool = True
    filter: str = ""  # the name it is filtered by, if there is a list to choose from
    folded: bool = False  # whether its texts open on a click


def grid(
    table: pd.DataFrame,
    columns: Sequence[Column],
    *,
    caption: str,
    csv: str,
    posterior: bool | None = None,
    searchable: bool = False,
    long: bool = False,
    id: str = "",
    sample: bool = False,
) -> Grid:
    """Lay out a table: `MOST_SEARCHED` rows of a searchable one, `MOST_ROWS` otherwise.

    Whether it depends on the sampler's diagnostics is by default as for the CSV.
    """
    shown = table.head(MOST_SEARCHED if searchable else MOST_ROWS)
    rows = tuple(
        tuple(column.show(row) for column in columns) for row in shown.to_dict(orient="records")
    )
    return Grid(
        caption=caption,
        headers=tuple(column.header for column in columns),
        numeric=tuple(column.numeric for column in columns),
        rows=rows,
        csv=csv,
        total=len(table),
        posterior=csv in POSTERIOR if posterior is None else posterior,
        searchable=searchable,
        long=long,
        filters=tuple(column.filter for column in columns),
        folded=tuple(column.folded for column in columns),
        id=id,
        sample=sample,
    )


def folded_grid(
    title: str, table: pd.DataFrame, columns: Sequence[Column], *, caption: str, csv: str
) -> Fold:
    """Lay out a table behind a title."""
    return Fold(title, (grid(table, columns, caption=caption, csv=csv),))


def overall(table: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the rows of the measure ``bias`` itself, or None if there are none."""
    if table is None or "measure" not in table:
        return table
    rows = table[table["measure"] == "bias"]
    return None if rows.empty else rows


def estimated(table: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return a table, or None if it has no estimate."""
    return None if table is None or table["estimate"].isna().all() else table


def level_of(table: pd.DataFrame | None) -> float:
    """Return the coverage that a classical table states."""
    if table is None or "level" not in table or table["level"].dropna().empty:
        return 0.95
    return float(table["level"].dropna().iloc[0])
