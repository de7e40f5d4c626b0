"""Attributes: what is known of models, prefixes, wordings or administrations, as predictors.

Text, a number or true and false, under names of the user's own. They become coordinates
of the response dataset, those of models along ``model``: text as it is, ``""`` where a model has
none; numbers as floats, NaN where there is none; truth values as int8, `MISSING` where there is
none.
"""

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from polbayes.data.dataset import CELL_DIMS, MISSING
from polbayes.errors import UserError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What every model has a key of its own for; of these two a model may have none.
OWN_KEYS = ("family", "instruct", "checkpoint", "revision")
_OPTIONAL = ("family", "instruct")
_BUILT_IN = (*OWN_KEYS, "template", "chat", "called")
_TAKEN = frozenset(
    {
        *CELL_DIMS,
        *_BUILT_IN,
        *("statement", "kind", "keying", "dimension", "direction", "instrument", "section"),
        *("source", "points", "axis", "answer_level", "prefix_text", "prefix_answer"),
        *("prefix_options", "prefix_context"),
        *("topic", "administration"),
        *("option", "option_stance", "stance_class", "status", "completion", "truncated"),
        *("option_prob", "p_agree", "p_disagree", "r_plus", "stance", "stance_prob", "rating"),
        *("declined", "mass_unseen", "reasoning", "reasoning_tokens"),
        *("coder", "message", "agree", "words", "chain", "draw", "level", "from_run"),
    }
)


def checked_attributes(given: Mapping[Any, Any], *, where: str) -> dict[str, Any]:
    """Check the attributes of one model, prefix, wording or administration.

    Returned are, by name, a text, a bool or a float; what is null or empty is left out. A
    `UserError` is raised if a name cannot stand in a formula or means something else, or if a value
    is neither text nor a finite number nor true or false.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UserError(
                f"{where}: '{name}' cannot be the name of an attribute in a formula; use letters, "
                "digits and underscores, and begin with a letter."
            )
        if name in OWN_KEYS:
            raise UserError(f"{where}: {name} has a key of its own; move it out of attributes.")
        if name in _TAKEN:
            raise UserError(f"{where}: '{name}' means something else in the data; choose another.")
        if value is None or value == "":
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not isinstance(value, str | bool) and not (number and math.isfinite(value)):
            raise UserError(
                f"{where}.{name}: must be a text, a number, true or false, not '{value}'."
            )
        found[name] = float(value) if number else value
    return found


def read_attribute(texts: Sequence[str]) -> list[Any]:
    """Read a column of text as truth values or numbers if all of it are, else as text."""
    there = [text.strip() for text in texts if text.strip()]
    truth = {"true": True, "false": False, "yes": True, "no": False}
    if there and all(text.lower() in truth for text in there):
        return [truth.get(text.strip().lower()) for text in texts]
    try:
        numbers = [float(text) for text in there]
    except ValueError:
        numbers = []
    if there and len(numbers) == len(there) and all(map(math.isfinite, numbers)):
        return [float(text) if text.strip() else None for text in texts]
    return [text.strip() or None for text in texts]


def attribute_coordinates(
    given_by_label: Mapping[Any, Mapping[str, Any]], what: str = "models"
) -> dict[str, np.ndarray]:
    """Lay checked attributes by model (or prefix, wording, ...) out as one array each."""
    out: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(n for given in given_by_label.values() for n in given):
        kinds = {type(g[name]): label for label, g in given_by_label.items() if name in g}
        if len(kinds) > 1:
            (one, first), (other, second) = list(kinds.items())[:2]
            raise UserError(
                f"attributes: '{name}' is {_KINDS[one]} for '{first}' but {_KINDS[other]} for "
                f"'{second}'; give all {what} the same kind of value."
            )
        kind = next(iter(kinds))
        values = [given.get(name) for given in given_by_label.values()]
        if kind is bool:
            coded = [MISSING if v is None else int(v) for v in values]
            out[name] = np.array(coded, dtype=np.int8)
        elif kind is float:
            out[name] = np.array([np.nan if v is None else v for v in values])
        else:
            out[name] = np.array(["" if v is None else v for v in values], dtype=object)
    return out


def spread(
    values: Mapping[str, np.ndarray], places: Sequence[tuple[int, ...]], shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Lay attributes ``[place]`` out over several dimensions; there is no value elsewhere."""
    none: Mapping[str, Any] = {"O": "", "f": np.nan, "i": MISSING}
    at = tuple(np.array(places, dtype=int).reshape(len(places), len(shape)).T)
    out = {}
    for name, given in values.items():
        out[name] = np.full(shape, none[given.dtype.kind], dtype=given.dtype)
        out[name][at] = given
    return out


def check_distinct(names: Mapping[str, Sequence[str] | Mapping[str, Any]]) -> None:
    """Refuse a name that stands for attributes of two kinds of things."""
    owner: dict[str, str] = {}
    for what, own in names.items():
        for name in own:
            if owner.setdefault(name, what) != what:
                raise UserError(
                    f"attributes: '{name}' is declared for {owner[name]} and for {what}; give one "
                    "of them another name."
                )


_KINDS = {bool: "true or false", float: "a number", str: "a text"}


def check_given(data: xr.Dataset, names: Sequence[str], models: Sequence[str]) -> None:
    """Refuse to analyse models that lack an attribute which a formula uses."""
    for name in names:
        known = name in _OPTIONAL or name not in _TAKEN
        if not known or name not in data.coords:
            continue
        values = data[name]
        if set(values.dims) == {*CELL_DIMS[1:]}:
            # The order of options, which a prefix has in all of its cells or in none.
            values = values.isel(item=0, variant=0, run=0)
        if values.dims in _OF:
            _check_named(data, values)
        if data[name].dims != ("model",):
            continue
        values = data[name].sel(model=list(models))
        lacking = [str(m) for m, v in zip(models, values.values, strict=True) if _absent(v)]
        if not lacking:
            continue
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        key = name if name in OWN_KEYS else f"attributes.{name}"
        raise UserError(
            f"analysis: the formulas use '{name}', which model '{lacking[0]}'{more} does not have; "
            f"give it as respondents.{lacking[0]}.{key} (for a table, under imported.models), or "
            "select the models that have it."
        )


# What attributes are of that are not those of models, and where they are given.
_OF: Mapping[tuple[Hashable, ...], tuple[str, str]] = {
    ("prefix",): ("prefix", "in the file of the prefixes, or under imported.prefix_attributes"),
    ("item", "variant"): (
        "wording",
        "in the instrument's file, or under imported.wording_attributes",
    ),
}


def _check_named(data: xr.Dataset, values: xr.DataArray) -> None:
    """Refuse an attribute of prefixes or wordings that one of those asked lacks."""
    name = values.name
    there = data["statement"].transpose("item", "variant").values != ""
    for at, value in np.ndenumerate(values.values):
        if not _absent(value) or (values.ndim == 2 and not there[at]):
            continue
        labels = [str(data[d].values[k]) for d, k in zip(values.dims, at, strict=True)]
        what, where = _OF[values.dims]
        raise UserError(
            f"analysis: the formulas use '{name}', which {what} '{' / '.join(labels)}' does not "
            f"have; give it as attributes.{name} {where}."
        )


def _absent(value: Any) -> bool:
    return bool(value == "" or value != value or value == MISSING)


def model_attributes(data: xr.Dataset) -> tuple[str, ...]:
    """Return the names of the user's own attributes in a response dataset."""
    names = (str(n) for n, c in data.coords.items() if c.dims == ("model",))
    return tuple(name for name in names if name not in _TAKEN)


def asking_attributes(data: xr.Dataset) -> tuple[str, ...]:
    """Return the names of attributes of prefixes, wordings and administrations, and of orders."""
    ways = {"variant", "prefix", "run"}
    names = (str(n) for n, c in data.coords.items() if ways & {*c.dims} and "model" not in c.dims)
    return tuple(name for name in names if name not in _TAKEN)
