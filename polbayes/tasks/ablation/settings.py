"""The settings that an ablation varies, from the config, checked before anything is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from polbayes.config.ranges import check_ranges
from polbayes.config.schema import ElicitationConfig, RunConfig
from polbayes.errors import UserError, check_known
from polbayes.instrument.prompts import Lexicon
from polbayes.measures.resampling import generator

T = TypeVar("T")

# The name of the run's own settings if no other name stands for the same.
OWN = "as the run"
# Keys that a decoding may change: how an answer is generated, and how many there are.
_DECODING_KEYS = (
    *("decoding", "runs", "max_new_tokens", "top_k", "top_p", "temperature"),
    *("beams", "penalty_alpha"),
)


@dataclass(frozen=True)
class Reading:
    """A lexicon for reading stored masses."""

    size: int  # options of every stance, at most
    composition: int  # 0 for the first options, else the number of a random selection
    lexicon: Lexicon


def decodings(config: RunConfig) -> dict[str, ElicitationConfig]:
    """Return the distinct decodings by name, the run's own first."""
    own, found = config.elicitation, dict[str, ElicitationConfig]()
    known = {f.name: f for f in fields(ElicitationConfig)}
    for name, keys in config.ablation.decodings.items():
        where = f"ablation.decodings.{name}"
        _check_name(name, "ablation.decodings")
        for key, value in keys.items():
            check_known("key", key, known=_DECODING_KEYS, where=where)
            wanted = type(known[key].default)
            if isinstance(value, bool) or not isinstance(
                value, (int, float) if wanted is float else wanted
            ):
                raise UserError(f"{where}.{key}: '{value}' is not a {_CALLED[wanted]}.")
        changed: dict[str, Any] = dict(keys)
        found[name] = replace(own, **changed)
        check_ranges(found[name], where)
    return _own_first(found, own)


def _own_first(found: Mapping[str, T], own: T) -> dict[str, T]:
    """Put the run's own setting first, under its name if it has one, and drop duplicates."""
    names = [name for name, setting in found.items() if setting == own]
    ordered = {names[0] if names else OWN: own}
    for name, setting in found.items():
        if setting not in ordered.values():
            ordered[name] = setting
    return ordered


_CALLED: Mapping[type, str] = {int: "whole number", float: "number", str: "name"}


def coder_lists(config: RunConfig) -> dict[str, list[str]]:
    """Return the distinct lists of coders by name, the run's own first."""
    found: dict[str, list[str]] = {}
    for name, coders in config.ablation.coders.items():
        _check_name(name, "ablation.coders")
        if not coders or not all(isinstance(coder, str) for coder in coders):
            raise UserError(f"ablation.coders.{name}: must be a list of coders, such as [nli].")
        found[name] = list(coders)
    return _own_first(found, list(config.coding.coders))


def _check_name(name: str, where: str) -> None:
    if not name.strip() or name == OWN:
        raise UserError(f"{where}: '{name}' cannot name a setting; choose another name.")


def readings(config: RunConfig, whole: Lexicon) -> list[Reading]:
    """Return the lexicons to read with: the whole one, first options, and random subsets."""
    settings = config.ablation
    number = {s: whole.stance.count(s) for s in (-1, 0, 1)}
    most = max(number.values())
    found = [Reading(most, 0, whole)]
    for size in sorted(set(settings.lexicon_sizes)):
        if size >= most:
            continue
        found.append(Reading(size, 0, whole.first(size)))
        for k in range(1, settings.compositions + 1):
            rng = generator(config.seed, "lexicon", size, k)
            places = {s: _drawn(rng, n, size) for s, n in number.items()}
            found.append(Reading(size, k, whole.chosen(places, size)))
    return found


def _drawn(rng: np.random.Generator, number: int, size: int) -> list[int]:
    picked: list[int] = rng.choice(number, size=min(size, number), replace=False).tolist()
    return picked
