"""Dimensions called by their labels in the tables that people read; files keep the ids."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from polbayes.instrument.dimensions import Dimension
from polbayes.report.blocks import Block, Fold, Grid, Section

# What tables have in place of a dimension.
_TOGETHER = {"total": "All together", "all": "All together"}
_HEADER = "Dimension"


def labels_of(dimensions: Iterable[Dimension]) -> Mapping[str, str]:
    """Return what dimensions are called, by id, and what all of them together are."""
    return _TOGETHER | {one.dimension: one.label for one in dimensions}


def in_labels(section: Section, labels: Mapping[str, str]) -> Section:
    """Show the dimensions in a section's tables by their labels."""
    return replace(section, blocks=tuple(_block(block, labels) for block in section.blocks))


def _block(block: Block, labels: Mapping[str, str]) -> Block:
    if isinstance(block, Fold):
        return replace(block, blocks=tuple(_block(inner, labels) for inner in block.blocks))
    if not isinstance(block, Grid) or _HEADER not in block.headers:
        return block
    at = block.headers.index(_HEADER)
    rows = ((*row[:at], labels.get(row[at], row[at]), *row[at + 1 :]) for row in block.rows)
    return replace(block, rows=tuple(rows))
