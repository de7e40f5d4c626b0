"""How two snapshots of a model were asked and read otherwise than each other."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr

from polbayes.config.schema import TEXTS, CoderConfig, RunConfig
from polbayes.data.dataset import ASKED
from polbayes.report.asked import coders_of
from polbayes.respondents import how_asked, setting_defaults

_PART = "part of what looks like drift may come from the difference."
# What the texts of an item are called, by what an item is.
_TEXTS = {"statement": "wordings", "pair": "requests"}
# Coordinates and attributes of a model that say how it was asked, and not what it is.
_HOW = ("template", "chat", "called", "decoding", "reasoning_effort", "thinking_tokens")
_KNOWN = ("elicitation.template", *(f"respondent.{name}" for name in _HOW))
# Settings that say which probabilities are read.
_OF_OPTIONS = ("lexicon", "lexicon_size")
# Settings of a coder that do not change how it reads.
_IDLE = ("batch_size", "device")
_LONGEST = 30


@dataclass(frozen=True)
class Asked:
    """One model of a run: its answers, the run's config, and what it is called in there."""

    data: xr.Dataset
    config: RunConfig
    name: str

    @property
    def fixed(self) -> bool:
        """Whether it stays what it is: what a server or a table calls by one name may not."""
        respondent = self.config.respondents.get(self.name)
        return respondent is not None and respondent.backend != "chat_api"


def asked_otherwise(one: Asked, other: Asked, item: str) -> tuple[str, ...]:
    """Say how the questions put to two snapshots, and the reading of the answers, differ."""
    asked = [*_numbers(one, other, item), *_settings(one, other)]
    read = _reading(one, other)
    return (
        *((f"were not asked alike ({', '.join(asked)}): {_PART}",) if asked else ()),
        *((f"were not read alike ({', '.join(read)}): {_PART}",) if read else ()),
    )


def _numbers(one: Asked, other: Asked, item: str) -> list[str]:
    """Count what only one of two was asked."""
    first, second = (_design(asked.data, item) for asked in (one, other))
    return [
        f"{what}: {len(first[what])} and {len(second[what])}, "
        f"{len(first[what] & second[what])} in common"
        for what in first
        if first[what] != second[what]
    ]


def _design(data: xr.Dataset, item: str) -> dict[str, set[Any]]:
    """Return what a model was asked: statements, wordings, prefixes and repetitions."""
    asked = data["status"].transpose("item", "variant", "prefix", "run").values >= ASKED
    axes = {f"{item}s": (0,), _TEXTS[item]: (0, 1), "prefixes": (2,), "repetitions": (3,)}
    dims = ("item", "variant", "prefix", "run")
    return {
        name: {
            tuple(str(data[dims[d]].values[k]) for d, k in zip(kept, at, strict=True))
            for at in np.argwhere(asked.any(tuple(d for d in range(4) if d not in kept)))
        }
        for name, kept in axes.items()
    }


def _settings(one: Asked, other: Asked) -> list[str]:
    """Name the settings of the questions that are not the same."""
    first, second = ({name: _coordinate(a.data, name) for name in _HOW} for a in (one, other))
    own, others = _declared(one), _declared(other)
    # Of imported answers it is not known how they were asked.
    if own and others:
        usual = setting_defaults({})
        for name in dict.fromkeys([*own, *others]):
            first[name], second[name] = (each.get(name, usual[name]) for each in (own, others))
    return [
        _said(name.removeprefix("respondent."), first[name], second[name])
        for name in first
        if first[name] != second[name]
    ]


def _coordinate(data: xr.Dataset, name: str) -> Any:
    """Return a coordinate of one model; nothing where it has no text."""
    value = data.coords[name].item() if name in data.coords else None
    return value if not isinstance(value, str) or value else None


def _declared(asked: Asked) -> dict[str, Any]:
    """Return the declared settings of a model's questions that its coordinates do not have."""
    respondent, how = asked.config.respondents.get(asked.name), asked.config.elicitation
    if respondent is None or asked.config.imported is not None:
        return {}
    settings = {f"respondent.{name}": getattr(respondent, name) for name in ("backend", "dtype")}
    settings |= how_asked(respondent, how)
    if how.kind not in TEXTS:
        settings |= {f"elicitation.{name}": getattr(how, name) for name in _OF_OPTIONS}
    return {name: value for name, value in settings.items() if name not in _KNOWN}


def _reading(one: Asked, other: Asked) -> list[str]:
    """Name what read the answers, if it is not the same."""
    if not any(coders_of(asked.data) for asked in (one, other)):
        return []
    first, second = one.config.coding, other.config.coding
    if first.coders != second.coders:
        return [f"coders: {', '.join(first.coders)} and {', '.join(second.coders)}"]
    members = (
        m for name in first.coders if name in first.models for m in first.models[name].weights
    )
    return [
        f"another {name}"
        for name in dict.fromkeys([*first.coders, *members])
        if _of_coder(first.models, name) != _of_coder(second.models, name)
    ]


def _of_coder(models: Mapping[str, CoderConfig], name: str) -> Any:
    """Return the settings of a coder that say how it reads."""
    about = asdict(models[name]) if name in models else {}
    return {key: value for key, value in about.items() if key not in _IDLE}


def _said(name: str, first: Any, second: Any) -> str:
    """Say two values of a setting, or only that they differ if they are long or not set."""
    both = [str(value) for value in (first, second)]
    if None in (first, second) or max(map(len, both)) > _LONGEST:
        return f"another {name}"
    return f"{name}: {' and '.join(both)}"
