"""What dimensions and respondents are called in the tables that people read; files keep ids."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from polbayes.instrument.dimensions import Dimension
from polbayes.report.blocks import Block, Fold, Grid, Section
from polbayes.report.prose import MODEL, Noun

# What tables have in place of a dimension.
_TOGETHER = {"total": "All together", "all": "All together"}
_HEADER = "Dimension"


def labels_of(dimensions: Iterable[Dimension]) -> Mapping[str, str]:
    """Return what dimensions are called, by id, and what all of them together are."""
    return _TOGETHER | {one.dimension: one.label for one in dimensions}


def in_labels(section: Section, labels: Mapping[str, str], who: Noun = MODEL) -> Section:
    """Show the dimensions in a section's tables by their labels, and respondents as what they are.

    A column of a table is headed "Model" where it holds respondents, whatever they are.
    """
    heads = {
        "Model": who.one.capitalize(),
        "Models": who.many.capitalize(),
        **{f"Model {letter}": f"{who.one.capitalize()} {letter}" for letter in "AB"},
    }
    return replace(section, blocks=tuple(_block(one, labels, heads) for one in section.blocks))


def _block(block: Block, labels: Mapping[str, str], heads: Mapping[str, str]) -> Block:
    if isinstance(block, Fold):
        return replace(block, blocks=tuple(_block(one, labels, heads) for one in block.blocks))
    if not isinstance(block, Grid):
        return block
    block = replace(block, headers=tuple(heads.get(head, head) for head in block.headers))
    if _HEADER not in block.headers:
        return block
    at = block.headers.index(_HEADER)
    rows = ((*row[:at], labels.get(row[at], row[at]), *row[at + 1 :]) for row in block.rows)
    return replace(block, rows=tuple(rows))
