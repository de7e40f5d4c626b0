"""Instruments: questionnaires as data, checked when they are loaded.

An instrument is one YAML file::

    id: pct
    title: The Political Compass Test
    citation: ...
    items:
      - item: pc-01
        text: the original wording
        dimension: economic        # or cultural, or one of the file's own
        direction: left            # what agreeing with `text` expresses: left, right, a pole or
                                   # unknown: an analysis with an anchor finds it in the answers
        source: where the item is from
        variants:                  # further wordings, by id
          negation: another wording, its kind read off its id
          my_wording: {kind: paraphrase, text: another wording, attributes: {polite: true}}
        topic: what it is about, a level above the items of an analysis    # optional

`dimensions` declares others, and `weights` in place of `dimension` and `direction` what an item
counts for several (`polbayes.instrument.dimensions`). A variant's kind gives its polarity: agreeing
with a paraphrase means the same as agreeing with the original, agreeing with a negation or a
political opposite means the reverse.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from polbayes.config.resources import find, read_yaml
from polbayes.config.yaml_checks import check_keys, check_unique, identifier, label, mapping, text
from polbayes.errors import UserError, check_known
from polbayes.instrument.covariates import checked_attributes
from polbayes.instrument.dimensions import (
    ECONOMIC_AND_CULTURAL,
    Dimension,
    declared_dimensions,
    direction_of,
    is_weight,
    read_weights,
)
from polbayes.instrument.folding import folded

DIMENSIONS = tuple(one.dimension for one in ECONOMIC_AND_CULTURAL)
DIRECTIONS = {"left": -1, "right": 1}
POLARITY = {"original": 1, "paraphrase": 1, "negation": -1, "opposite": -1}
# Ids that need no `kind` of their own; a number may follow, as in `opposite_2`.
_KIND_OF_ID = {"reformulation": "paraphrase", **{kind: kind for kind in POLARITY}}

_ITEM_KEYS = {"item", "text", "dimension", "direction", "source", "variants"}
_ITEM_OPTIONAL = {"scored", "section", "topic", "points", "note"}
_FILE_KEYS = {"id", "title", "citation", "items"}
_FILE_OPTIONAL = {"note", "dimensions", "licence"}


@dataclass(frozen=True)
class Variant:
    """One wording of an item."""

    variant: str  # unique within the item; ``original`` is the official one
    text: str
    kind: str  # of `POLARITY`
    polarity: int  # +1 where agreeing means the same as with the original, else -1
    # Predictors under names of the user's own (`polbayes.instrument.covariates`).
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """One item with all its wordings."""

    item: str  # unique within the instrument
    dimension: str  # one of the instrument's, or empty: not scored
    # Of agreeing with the original: -1 the negative pole (left), +1 the positive, 0 unknown, or not
    # scored.
    direction: int
    source: str  # variable code or citation
    variants: tuple[Variant, ...]  # the original first
    # Published points of the options from strong disagreement to strong agreement, by axis.
    points: Mapping[str, tuple[float, ...]]
    section: str = ""
    note: str = ""
    topic: str = ""  # Items with the same topic may be alike; its section where it has none.
    weights: Mapping[str, float] = field(default_factory=dict)  # published ones, by dimension


@dataclass(frozen=True)
class Instrument:
    """A questionnaire: its items in their official order, and how to cite it."""

    id: str
    title: str
    citation: str
    items: tuple[Item, ...]
    note: str = ""
    dimensions: tuple[Dimension, ...] = ECONOMIC_AND_CULTURAL


def agreeing_is_right(data: xr.Dataset) -> xr.Dataset:
    """Give statements of a dimension whose direction is unknown one: agreeing is positive.

    For analyses that say by the sign of a discrimination whether it is.
    """
    unknown = (data["dimension"] != "") & (data["direction"] == 0)
    if not unknown.any():
        return data
    keying = xr.where(unknown, polarity_of(data["kind"]), data["keying"])
    return data.assign_coords(
        direction=xr.where(unknown, np.int8(1), data["direction"]),
        keying=keying.transpose(*data["kind"].dims),
    )


def polarity_of(kinds: xr.DataArray) -> xr.DataArray:
    """Return what agreeing with wordings of these kinds means for their items; 0 if unknown."""
    signs = [POLARITY.get(str(kind), 0) for kind in kinds.values.ravel()]
    return kinds.copy(data=np.array(signs, dtype=np.int8).reshape(kinds.shape))


def load_instrument(name: str) -> Instrument:
    """Load and check an instrument.

    Parameters
    ----------
    name
        Name of a shipped instrument (``"pct"``, ``"wvs"``) or path of a YAML file.

    Raises
    ------
    UserError
        Naming the file, the item and the key of the first thing that is wrong.
    """
    path = find("instruments", name)
    content = mapping(read_yaml(path), f"{path}")
    check_keys(content, _FILE_KEYS, _FILE_OPTIONAL, f"{path}")
    if not isinstance(content["items"], list) or not content["items"]:
        raise UserError(f"{path}: 'items' must be a list of at least one item.")
    dimensions = declared_dimensions(content.get("dimensions"), f"{path}: dimensions")
    items = tuple(
        _item(entry, path, n, dimensions) for n, entry in enumerate(content["items"], start=1)
    )
    check_unique([item.item for item in items], f"{path}: item id")
    return Instrument(
        id=identifier(content["id"], f"{path}: id"),
        title=text(content["title"], f"{path}: title"),
        citation=text(content["citation"], f"{path}: citation"),
        items=items,
        note=label(content.get("note"), f"{path}: note"),
        dimensions=dimensions,
    )


def _item(entry: Any, path: Path, number: int, dimensions: Sequence[Dimension]) -> Item:
    where = f"{path}: item {number}"
    entry = mapping(entry, where)
    if "item" in entry:
        where = f"{path}: item '{entry['item']}'"
    scored = entry.get("scored", True)
    if not isinstance(scored, bool):
        raise UserError(f"{where}: scored: must be true or false, not '{scored}'.")
    keyed = scored and "weights" not in entry
    if "weights" in entry and {"dimension", "direction"} & {*entry}:
        raise UserError(f"{where}: 'weights' stands in place of 'dimension' and 'direction'.")
    required = _ITEM_KEYS if keyed else _ITEM_KEYS - {"dimension", "direction"}
    optional = _ITEM_OPTIONAL | ({"weights"} if "weights" in entry else set())
    check_keys(entry, required, optional, where)
    weights: dict[str, float] = {}
    dimension, direction = "", 0
    if keyed:
        known = {one.dimension: one for one in dimensions}
        dimension = str(entry["dimension"])
        check_known("dimension", dimension, known=known, where=where)
        direction = direction_of(str(entry["direction"]), known[dimension], where)
    elif scored:
        weights, dimension, direction = read_weights(
            entry["weights"], dimensions, f"{where}: weights"
        )
    original = Variant("original", text(entry["text"], f"{where}: text"), "original", 1)
    section, topic = (label(entry.get(key), f"{where}: {key}") for key in ("section", "topic"))
    further = mapping(entry["variants"] or {}, f"{where}: variants")
    variants = (original, *(_variant(str(k), v, f"{where}: {k}") for k, v in further.items()))
    check_unique([v.variant for v in variants], f"{where}: variant id")
    check_unique([folded(v.text) for v in variants], f"{where}: wording")
    return Item(
        item=identifier(entry["item"], f"{where}: item"),
        dimension=dimension,
        direction=direction,
        source=text(entry["source"], f"{where}: source"),
        variants=variants,
        points=_points(entry.get("points") or {}, f"{where}: points"),
        section=section or topic,
        note=label(entry.get("note"), f"{where}: note"),
        topic=topic or section,
        weights=weights,
    )


def _variant(variant: str, value: Any, where: str) -> Variant:
    identifier(variant, where)
    if isinstance(value, str):
        kind = _KIND_OF_ID.get(re.sub(r"_\d+$", "", variant), "")
        if not kind:
            raise UserError(
                f"{where}: its kind does not follow from its id; "
                f"write {{kind: ..., text: ...}} with a kind out of {', '.join(POLARITY)}."
            )
        return Variant(variant, text(value, where), kind, POLARITY[kind])
    value = mapping(value, where)
    check_keys(value, {"kind", "text"}, {"attributes"}, where)
    own = mapping(value.get("attributes") or {}, f"{where}: attributes")
    attributes = checked_attributes(own, where=f"{where}: attributes")
    check_known("kind", str(value["kind"]), known=POLARITY, where=where)
    kind = str(value["kind"])
    return Variant(variant, text(value["text"], where), kind, POLARITY[kind], attributes)


def _points(value: Any, where: str) -> dict[str, tuple[float, ...]]:
    points = {}
    for axis, numbers in mapping(value, where).items():
        if not isinstance(numbers, list) or not all(map(is_weight, numbers)):
            raise UserError(f"{where}: {axis}: must be a list of numbers, one per option.")
        name = text(axis, where)
        points[name] = tuple(float(x) for x in numbers)
    return points
