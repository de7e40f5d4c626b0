"""What a page consists of: sections of paragraphs, pictures, tables and folded parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from polbayes.report.numbers import ABSENT, chance, count, interval, number, share
from polbayes.report.results import POSTERIOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 200
# Headers of columns that are not called like these.
_HEADERS = {
    "model_a": "Model A",
    "model_b": "Model B",
    "variant": "Wording",
    "varying": "What varies",
}
WIDEST = 11.5


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
    """Text shown exactly as it is, line breaks included, with a word on what it is."""

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
        What it shows, for those who see it and for those who do not.
    figure
        The drawing.
    csv
        Names of the tables whose numbers it shows; by default the one of its own name.
    posterior
        Whether it stands or falls with the sampler's diagnostics; by default as its tables do.
    """

    kind: ClassVar[str] = "picture"
    name: str
    caption: str
    alt: str
    figure: "Figure"
    csv: tuple[str, ...] = ()
    posterior: bool | None = None

    def __post_init__(self) -> None:
        csv = self.csv or (self.name,)
        sampled = any(name in POSTERIOR for name in csv)
        object.__setattr__(self, "csv", csv)
        object.__setattr__(self, "posterior", sampled if self.posterior is None else self.posterior)

    @property
    def wide(self) -> bool:
        """Whether it is shown in its full width, to be scrolled, lest its text be tiny."""
        return bool(self.figure.get_figwidth() > WIDEST)


@dataclass(frozen=True)
class Grid:
    """A table on the page; the whole of it is in ``tables/<csv>.csv``."""

    kind: ClassVar[str] = "grid"
    caption: str
    headers: tuple[str, ...]
    numeric: tuple[bool, ...]
    # The first cell of a row is its header.
    rows: tuple[tuple[str, ...], ...]
    csv: str
    # Rows of the whole table, of which these may be the first ones.
    total: int
    posterior: bool = False
    # Whether it gets a search field.
    searchable: bool = False
    # Whether its cells hold texts to be read, which take room.
    long: bool = False


@dataclass(frozen=True)
class Fold:
    """Blocks that open on a click; print has those that are open."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: tuple["Block", ...]


Block = Paragraph | Bullets | Verbatim | Picture | Grid | Fold


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


def text_column(name: str, header: str = "") -> Column:
    """Show a column of text, under its usual header or another; a missing value as ``–``."""
    usual = _HEADERS.get(name, name.replace("_", " ").capitalize())
    return Column(header or usual, lambda row: _text(row[name]), numeric=False)


def text_columns(*names: str) -> list[Column]:
    """Show columns of text under their usual headers."""
    return [text_column(name) for name in names]


def named_column(name: str, header: str, words: Mapping[str, str]) -> Column:
    """Show a column of ids by what they are called, those without a name as they are."""
    return Column(header, lambda row: words.get(row[name], row[name]), numeric=False)


def number_column(name: str, header: str, digits: int = 2) -> Column:
    """Show a column of numbers."""
    return Column(header, lambda row: number(row[name], digits))


def chance_column(name: str, header: str) -> Column:
    """Show a column of probabilities."""
    return Column(header, lambda row: chance(row[name]))


def counted(name: str, header: str) -> Column:
    """Show a column of counts."""
    return Column(header, lambda row: count(row[name]))


def share_column(name: str, header: str) -> Column:
    """Show a column of shares in percent."""
    return Column(header, lambda row: share(row[name]))


def percent_interval(level: float) -> Column:
    """Show the interval of a share in percent."""
    header = f"{level:.0%} interval (in %)"
    return Column(header, lambda row: interval(100 * row["lower"], 100 * row["upper"], 1))


def estimate_columns(
    header: str, level: float, *, prefix: str = "", digits: int = 2
) -> tuple[Column, Column]:
    """Show an estimate and its interval of a level, in two columns.

    With a prefix, they are in ``{prefix}``, ``{prefix}_lower`` and ``{prefix}_upper``, otherwise in
    ``estimate``, ``lower`` and ``upper``.
    """
    name, lower, upper = (
        (prefix, f"{prefix}_lower", f"{prefix}_upper") if prefix else ("estimate", "lower", "upper")
    )
    return (
        number_column(name, header, digits),
        Column(f"{level:.0%} interval", lambda row: interval(row[lower], row[upper], digits)),
    )


def grid(
    table: pd.DataFrame,
    columns: Sequence[Column],
    *,
    caption: str,
    csv: str,
    posterior: bool | None = None,
    searchable: bool = False,
    long: bool = False,
) -> Grid:
    """Lay a table out; all rows of a searchable one, the first `MOST_ROWS` of another.

    Whether it stands or falls with the sampler's diagnostics is by default that of the CSV.
    """
    shown = table if searchable else table.head(MOST_ROWS)
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
    )


def folded_grid(
    title: str, table: pd.DataFrame, columns: Sequence[Column], *, caption: str, csv: str
) -> Fold:
    """Lay a table out behind a title."""
    return Fold(title, (grid(table, columns, caption=caption, csv=csv),))


def overall(table: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the rows of the measure ``bias`` itself, or None where there are none."""
    if table is None or "measure" not in table:
        return table
    rows = table[table["measure"] == "bias"]
    return None if rows.empty else rows


def level_of(table: pd.DataFrame | None, default: float = 0.95) -> float:
    """Return the coverage that a classical table states."""
    if table is None or "level" not in table or table["level"].dropna().empty:
        return default
    return float(table["level"].dropna().iloc[0])


def _text(value: object) -> str:
    missing = value is None or value == "" or value != value
    return ABSENT if missing else str(value)
