"""Additions to a run that do not change the meaning of its contents.

More runs, prefixes, models, wordings, items and instruments leave every cell that was asked as it
is; the journal checks cell by cell that its text is unchanged. In a config written before a key
existed, that key has its default, so the default of a new key must preserve earlier behaviour.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from polbayes.config.schema import RunConfig

_LISTS = ("instruments", "wordings")
# None selects all.
_SELECTIONS = ("items", "variants")


def without_additions(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config without what was added to an earlier one."""
    out = dict(new)
    if old.get("imported") is not None or new.get("imported") is not None:
        return out
    if _chosen(old) <= _chosen(new):
        out["models"] = old["models"]
        added = new["respondents"].keys() - old["respondents"].keys()
        out["respondents"] = {k: v for k, v in new["respondents"].items() if k not in added}
    for key in _LISTS:
        if set(old[key]) <= set(new[key]):
            out[key] = old[key]
    for key in _SELECTIONS:
        out[key] = _narrowed(old[key], new[key])
    only = _narrowed(old["prefixes"]["only"], new["prefixes"]["only"])
    out["prefixes"] = {**new["prefixes"], "only": only}
    runs = (old["elicitation"]["runs"], new["elicitation"]["runs"])
    if runs[0] < runs[1]:
        out["elicitation"] = {**new["elicitation"], "runs": runs[0]}
    return out


def _chosen(config: Mapping[str, Any]) -> set[str]:
    """Return the names of the models that are asked."""
    return set(config["respondents"] if config["models"] is None else config["models"])


def _narrowed(old: Any, new: Any) -> Any:
    """Return the earlier of two selections by name if the later one includes it."""
    if old is None:
        return new
    return old if new is None or set(old) <= set(new) else new


_REFERENCE = re.compile(r"\$\{(\w+)\}")


def with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with every key."""
    return _filled(config, RunConfig, config)


def departures(config: Mapping[str, Any], schema: Any = RunConfig) -> dict[str, Any]:
    """Return a config, or a group of it, without the keys that have their defaults."""
    return _left(_filled(config, schema, config), schema, config)


def _filled(values: Mapping[str, Any], schema: Any, whole: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(values)
    for field, hint in _fields(schema):
        if field.name not in values:
            out[field.name] = _default(field, whole)
        out[field.name] = _each(out[field.name], hint, whole, _filled)
    return out


def _left(values: Mapping[str, Any], schema: Any, whole: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(values)
    for field, hint in _fields(schema):
        if values[field.name] == _each(_default(field, whole), hint, whole, _filled):
            del out[field.name]
        else:
            out[field.name] = _each(values[field.name], hint, whole, _left)
    return out


def _fields(schema: Any) -> list[tuple[Field[Any], Any]]:
    hints = get_type_hints(schema)
    return [(field, hints[field.name]) for field in fields(schema)]


def _each(value: Any, hint: Any, whole: Mapping[str, Any], function: Any) -> Any:
    """Apply a function to a group of keys, or to each of several under the user's names."""
    schema = next((t for t in (hint, *get_args(hint)) if is_dataclass(t)), None)
    if schema is None or not isinstance(value, Mapping):
        return value
    if get_origin(hint) is dict:
        return {
            name: function(one, schema, whole) if isinstance(one, Mapping) else one
            for name, one in value.items()
        }
    return function(value, schema, whole)


def _default(field: Field[Any], whole: Mapping[str, Any]) -> Any:
    """Return a default as it stands in a resolved config."""
    if field.default_factory is not MISSING:
        made = field.default_factory()
        return {} if is_dataclass(made) else made
    if isinstance(field.default, str):
        return _REFERENCE.sub(lambda found: str(whole.get(found[1], found[0])), field.default)
    return field.default
