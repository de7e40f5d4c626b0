"""The dimensions of an instrument, each between two poles.

An instrument's file may declare them; the economic and the cultural one, from left to right, need
no declaration::

    dimensions:
      world: {label: Diplomatic, negative: nation, positive: globe, scale: [0, 100]}

An item with `weights` belongs to the dimension with its largest one, and its answers count for the
published scores of all that it has weights for (`polbayes.measures.scores`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from polbayes.config.yaml_checks import check_keys, identifier, mapping, text
from polbayes.errors import UserError, check_known


@dataclass(frozen=True)
class Dimension:
    """What items measure, from its negative to its positive pole."""

    dimension: str  # its id
    label: str  # as a heading
    negative: str = "left"  # what agreeing may express
    positive: str = "right"
    scale: tuple[float, float] = (-1.0, 1.0)  # of published scores, at the two poles

    @property
    def political(self) -> bool:
        """Whether the poles are left and right."""
        return (self.negative, self.positive) == ("left", "right")

    @property
    def poles(self) -> tuple[str, str]:
        """Both poles in words, such as "economic left"."""
        words = (self.negative, self.positive)
        if not self.political:
            return words
        return f"{self.label.lower()} {words[0]}", f"{self.label.lower()} {words[1]}"


UNKNOWN = "unknown"  # a direction

ECONOMIC_AND_CULTURAL = (Dimension("economic", "Economic"), Dimension("cultural", "Cultural"))
# What tables have in place of a dimension.
_TAKEN = ("total", "all")


def declared_dimensions(value: Any, where: str) -> tuple[Dimension, ...]:
    """Read the dimensions of an instrument's file, the usual two where it has none."""
    if value is None:
        return ECONOMIC_AND_CULTURAL
    usual = {one.dimension: one for one in ECONOMIC_AND_CULTURAL}
    found = []
    for name, given in mapping(value, where).items():
        here = f"{where}: {name}"
        identifier(name, here)
        if name in _TAKEN:
            raise UserError(f"{here}: means something else in tables; choose another id.")
        entry = mapping(given or {}, here)
        check_keys(entry, set(), {"label", "negative", "positive", "scale"}, here)
        plain = usual.get(name, Dimension(name, name.replace("_", " ").capitalize()))
        words = {key: text(entry[key], f"{here}: {key}") for key in entry if key != "scale"}
        scale = _scale(entry["scale"], f"{here}: scale") if "scale" in entry else plain.scale
        one = Dimension(**{**vars(plain), **words, "scale": scale})
        if one.negative == one.positive:
            raise UserError(f"{here}: both poles are called '{one.negative}'; tell them apart.")
        found.append(one)
    if not found:
        raise UserError(f"{where}: there is none; declare at least one, or leave the key out.")
    return tuple(found)


def _scale(value: Any, where: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2 or not all(map(is_weight, value)):
        raise UserError(f"{where}: must be two numbers, the scores at the two poles.")
    if value[0] == value[1]:
        raise UserError(f"{where}: the scores at the two poles must differ.")
    return float(value[0]), float(value[1])


def is_weight(value: Any) -> bool:
    """Tell whether a value is a number, of a size that anybody gives."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e6  # which no value is that is not finite
    )


def direction_of(word: str, dimension: Dimension, where: str) -> int:
    """Return the side that agreeing expresses: -1 the negative pole, 1 the positive, 0 unknown."""
    sides = {"left": -1, "right": 1, UNKNOWN: 0, dimension.negative: -1, dimension.positive: 1}
    check_known("direction", word, known=sides, where=where)
    return sides[word]


def read_weights(
    value: Any, dimensions: Iterable[Dimension], where: str
) -> tuple[dict[str, float], str, int]:
    """Read an item's published weights; return them, its dimension and its direction.

    A positive weight is that of an item whose agreement counts for the positive pole. Where all are
    0, the item is not scored.
    """
    weights = mapping(value, where)
    check_known("dimension", *weights, known=[d.dimension for d in dimensions], where=where)
    for name, weight in weights.items():
        if not is_weight(weight):
            raise UserError(f"{where}: {name}: must be a number, not '{weight}'.")
    kept = {str(name): float(weight) for name, weight in weights.items() if weight}
    if not kept:
        return {}, "", 0
    largest = max(kept, key=lambda name: abs(kept[name]))
    return kept, largest, 1 if kept[largest] > 0 else -1


def together(dimensions: Iterable[Dimension]) -> tuple[Dimension, ...]:
    """Join the dimensions of several instruments; those with one id must be the same."""
    known: dict[str, Dimension] = {}
    for one in dimensions:
        if known.setdefault(one.dimension, one) != one:
            raise UserError(
                f"instruments: two of them declare the dimension '{one.dimension}', each in its "
                "own way; give one of the two another id."
            )
    return tuple(known.values())


def dimension_coordinates(
    dimensions: tuple[Dimension, ...], weights: list[Mapping[str, float]]
) -> dict[str, Any]:
    """Lay dimensions and ``[item]`` weights out as coordinates; none where they are the usual."""
    if dimensions == ECONOMIC_AND_CULTURAL and not any(weights):
        return {}
    table = [[own.get(d.dimension, 0.0) for d in dimensions] for own in weights]
    return {
        "score": [d.dimension for d in dimensions],
        "score_label": ("score", [d.label for d in dimensions]),
        "negative_pole": ("score", [d.negative for d in dimensions]),
        "positive_pole": ("score", [d.positive for d in dimensions]),
        "score_at_poles": (("score", "pole"), np.array([d.scale for d in dimensions])),
        "weight": (("item", "score"), np.array(table, dtype=float)),
    }


def named(dimensions: Iterable[Dimension], name: str) -> Dimension:
    """Return the dimension of a name; where none is declared, one between left and right."""
    return {one.dimension: one for one in dimensions}.get(name, Dimension(name, name))


def dimensions_of(data: xr.Dataset) -> tuple[Dimension, ...]:
    """Return the dimensions that a response dataset declares, the usual two where it does not."""
    if "score" not in data.coords:
        return ECONOMIC_AND_CULTURAL
    names = ("score", "score_label", "negative_pole", "positive_pole")
    words = zip(*(map(str, data[name].values) for name in names), strict=True)
    scales = data["score_at_poles"].transpose("score", "pole").values.tolist()
    return tuple(
        Dimension(name, label, negative, positive, (low, high))
        for (name, label, negative, positive), (low, high) in zip(words, scales, strict=True)
    )
