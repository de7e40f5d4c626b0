"""The items of an imported table without an instrument."""

import re

from polbayes.coding.table_rows import TableRows, one_each
from polbayes.errors import UserError, check_known
from polbayes.instrument.dimensions import UNKNOWN, declared_dimensions
from polbayes.instrument.questionnaires import DIRECTIONS, POLARITY, Instrument, Item, Variant

# The id of an instrument that is made of a table.
OF_TABLE = "table"


def items_of(rows: TableRows) -> Instrument:
    """Make an instrument of the items and wordings in a table.

    Items without a dimension and direction are not scored.
    """
    frame = rows.frame
    for _, variant in rows.distinct("variant"):
        check_known("kind", re.sub(r"_\d+$", "", variant), known=POLARITY, where="variant")
    about = {
        key: one_each(rows, "item", key) if key in frame else {}
        for key in ("dimension", "direction")
    }
    statement = frame["statement"] if "statement" in frame else frame["item"]
    texts = one_each(
        rows, "wording", "text", frame["item"] + " / " + frame["variant"], statement.fillna("")
    )
    items: dict[str, list[Variant]] = {}
    for _, item, variant in rows.distinct("item", "variant"):
        kind = re.sub(r"_\d+$", "", variant)
        text = texts[f"{item} / {variant}"] or item
        items.setdefault(item, []).append(Variant(variant, text, kind, POLARITY[kind]))
    made = []
    for item, variants in items.items():
        dimension, direction = (about[key].get(item, "") for key in ("dimension", "direction"))
        if bool(dimension) != bool(direction):
            raise UserError(
                f"{rows.name}: item '{item}' has a dimension or a direction alone; give both "
                f"(direction '{UNKNOWN}' where nobody keyed it), or none where it is not scored."
            )
        if direction:
            known = (*DIRECTIONS, UNKNOWN)
            check_known("direction", direction, known=known, where=f"item '{item}'")
        made.append(
            Item(item, dimension, DIRECTIONS.get(direction, 0), rows.name, tuple(variants), {})
        )
    names = dict.fromkeys(item.dimension for item in made if item.dimension)
    dimensions = declared_dimensions(names or None, f"{rows.name}: dimension")
    return Instrument(OF_TABLE, rows.name, rows.name, tuple(made), dimensions=dimensions)
