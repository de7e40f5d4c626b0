"""Columns of the tables on a page: their content and headers."""

from collections.abc import Mapping

from polbayes.report import numbers
from polbayes.report.blocks import Column

# Headers of columns that differ from their names.
_HEADERS = {
    "model_a": "Model A",
    "model_b": "Model B",
    "variant": "Wording",
    "varying": "What varies",
}


def text(name: str, header: str = "") -> Column:
    """Show a column of text, under its usual header or another; missing values as ``–``."""
    usual = _HEADERS.get(name, name.replace("_", " ").capitalize())
    return Column(header or usual, lambda row: _text(row[name]), numeric=False)


def texts(*names: str) -> list[Column]:
    """Show columns of text under their usual headers."""
    return [text(name) for name in names]


def minute(name: str, header: str) -> Column:
    """Show a column of times in ISO format to the minute."""
    return Column(header, lambda row: _text(row[name])[:16].replace("T", " "), numeric=False)


def named(name: str, header: str, words: Mapping[str, str]) -> Column:
    """Show a column of ids by their names, or unchanged without one."""
    return Column(header, lambda row: words.get(row[name], row[name]), numeric=False)


def number(name: str, header: str, digits: int = 2) -> Column:
    """Show a column of numbers."""
    return Column(header, lambda row: numbers.number(row[name], digits))


def chance(name: str, header: str) -> Column:
    """Show a column of probabilities."""
    return Column(header, lambda row: numbers.chance(row[name]))


def count(name: str, header: str) -> Column:
    """Show a column of counts."""
    return Column(header, lambda row: numbers.count(row[name]))


def share(name: str, header: str) -> Column:
    """Show a column of shares in percent."""
    return Column(header, lambda row: numbers.share(row[name]))


def percent_interval(level: float) -> Column:
    """Show the interval of a share in percent."""
    header = f"{level:.0%} interval (in %)"
    return Column(header, lambda row: numbers.interval(100 * row["lower"], 100 * row["upper"], 1))


def estimate(
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
        number(name, header, digits),
        Column(
            f"{level:.0%} interval", lambda row: numbers.interval(row[lower], row[upper], digits)
        ),
    )


def _text(value: object) -> str:
    missing = value is None or value == "" or value != value
    return numbers.ABSENT if missing else str(value)
