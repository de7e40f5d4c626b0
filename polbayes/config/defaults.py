"""What of a config is said, and what is default.

A config that was written before a key existed means that key's default, and two configs are the
same where they depart from the defaults in the same way. A new key must therefore have a default
under which everything is as it was before.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from polbayes.config.schema import RunConfig

_REFERENCE = re.compile(r"\$\{(\w+)\}")


def with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with every key there is."""
    return _filled(config, RunConfig, config)


def departures(config: Mapping[str, Any], schema: Any = RunConfig) -> dict[str, Any]:
    """Return a config, or a group of it, without what is as it is by default."""
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


def _fields(schema: Any) -> list[tuple["Field[Any]", Any]]:
    hints = get_type_hints(schema)
    return [(field, hints[field.name]) for field in fields(schema)]


def _each(value: Any, hint: Any, whole: Mapping[str, Any], function: Any) -> Any:
    """Apply a function to a group of keys, or to each of several under names of the user's own."""
    schema = next((t for t in (hint, *get_args(hint)) if is_dataclass(t)), None)
    if schema is None or not isinstance(value, Mapping):
        return value
    if get_origin(hint) is dict:
        return {
            name: function(one, schema, whole) if isinstance(one, Mapping) else one
            for name, one in value.items()
        }
    return function(value, schema, whole)


def _default(field: "Field[Any]", whole: Mapping[str, Any]) -> Any:
    """Return a default as it stands in a resolved config."""
    if field.default_factory is not MISSING:
        made = field.default_factory()
        return {} if is_dataclass(made) else made
    if isinstance(field.default, str):
        return _REFERENCE.sub(lambda found: str(whole.get(found[1], found[0])), field.default)
    return field.default
