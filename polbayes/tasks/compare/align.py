"""Alignment of runs: which of their statements, prefixes and respondents are the same.

Different things with the same name are renamed ``name @ run``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from polbayes.config.schema import RunConfig
from polbayes.data.dataset import ASKED, merge
from polbayes.data.prose import plural
from polbayes.errors import UserError
from polbayes.instrument.design import called_in_prompts
from polbayes.instrument.dimensions import dimension_coordinates, dimensions_of, together
from polbayes.tasks.compare.asked import Asked, asked_otherwise
from polbayes.tasks.compare.finished import FinishedRun

_ANSWERS = ("completion", "p_agree", "p_disagree", "rating")
_SHOWN = 5
# What is said of snapshots of one checkpoint.
_UNMOVED = (
    "are the same checkpoint: the model itself cannot have drifted, and what differs comes from "
    "how it was asked, sampled or read."
)


@dataclass(frozen=True)
class Aligned:
    """Several runs as one dataset."""

    data: xr.Dataset  # has the coordinate `from_run` along `model`
    # The name in `data` by the run's label and the model's name there.
    models: Mapping[tuple[str, str], str]
    # What besides time may make two snapshots of a model, the earlier first, answer differently.
    cautions: Mapping[tuple[str, str], tuple[str, ...]]
    # Whether the runs are linked: in every dimension they share statements or respondents.
    linked: bool
    notes: tuple[str, ...]
    parts: Mapping[str, xr.Dataset]  # the answers of each run under the names in `data`

    @property
    def snapshots(self) -> tuple[tuple[str, str], ...]:
        """The same model at two times, the earlier first."""
        return tuple(self.cautions)

    def caution(self, before: str, after: str) -> str:
        """Return what besides time may make two respondents differ; empty for nothing."""
        return " ".join(f"They {said}" for said in self.cautions.get((before, after), ()))


@dataclass
class _Versions:
    """The versions of a name in the runs so far, each with its runs."""

    found: dict[str, list[tuple[Any, list[str]]]] = field(default_factory=dict)

    def add(self, name: str, content: Any, run: str, same: Callable[[Any, Any], bool]) -> int:
        """Return the version number of some content, a new one if it is new."""
        versions = self.found.setdefault(name, [])
        for number, (other, runs) in enumerate(versions):
            if same(other, content):
                runs.append(run)
                return number
        versions.append((content, [run]))
        return len(versions) - 1

    def name(self, name: str, number: int) -> str:
        """Name a version: unchanged if it is the only one, else with its run."""
        versions = self.found[name]
        return name if len(versions) == 1 else f"{name} @ {versions[number][1][0]}"


def align(
    runs: Sequence[FinishedRun], *, by_name: bool = False, item: str = "statement"
) -> Aligned:
    """Align runs and merge their answers.

    Models of the same name are the same respondent if they answered alike, or always (`by_name`).
    In notes, an item is called `item`.
    """
    check_poolable(runs)
    notes: list[str] = []
    parts = {run.label: run.responses for run in runs}
    parts = _renamed(parts, "item", _statements, _same_item, notes, item)
    parts = _renamed(parts, "prefix", _prefixes, lambda a, b: a == b, notes, "prefix")
    names, parts = _respondents(parts, notes, by_name=by_name)
    data = merge(list(_mergeable(parts).values()))
    from_run = [
        ", ".join(run for (run, _), name in names.items() if name == model)
        for model in data["model"].values
    ]
    data = data.assign_coords(from_run=("model", np.array(from_run, dtype=object)))
    data.attrs["notes"] = "\n".join(
        f"{run}: {line}"
        for run, part in parts.items()
        for line in str(part.attrs.get("notes", "")).splitlines()
        if line
    )
    linked = _linked(parts, notes, item)
    configs = {run.label: run.config for run in runs}
    cautions = _snapshots(parts, names, configs, notes, item)
    return Aligned(data, names, cautions, linked, tuple(notes), parts)


def check_poolable(runs: Sequence[FinishedRun]) -> None:
    """Refuse runs with different kinds of answers."""
    kinds = {run.folder: _kind(run.responses) for run in runs}
    (first, kind), *others = kinds.items()
    for folder, other in others:
        if other != kind:
            raise UserError(
                f"runs: {first} holds {kind} and {folder} holds {other}, which cannot be pooled; "
                "compare runs with the same kind of answers."
            )


def _kind(data: xr.Dataset) -> str:
    if "rating" in data:
        points = str(data["rating"].attrs.get("rating_points", ""))
        return f"ratings on the scale {points.replace('; ', ', ')}"
    return "answer probabilities" if "p_agree" in data else "answers in words"


def _renamed(
    parts: Mapping[str, xr.Dataset],
    dim: str,
    contents: Callable[[xr.Dataset], dict[str, Any]],
    same: Callable[[Any, Any], bool],
    notes: list[str],
    what: str,
) -> dict[str, xr.Dataset]:
    """Distinguish different things, called `what`, with the same label along `dim`."""
    versions = _Versions()
    numbers = {
        run: {
            name: versions.add(name, content, run, same) for name, content in contents(part).items()
        }
        for run, part in parts.items()
    }
    differing = [name for name, found in versions.found.items() if len(found) > 1]
    if differing:
        more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
        named = "Prefixes" if what == "prefix" else f"{what.capitalize()}s"
        notes.append(
            f"{named} that are not the same in all runs, though they have the same name, are "
            f"treated as different ones: {', '.join(differing[:_SHOWN])}{more}."
        )
    out = {}
    for run, part in parts.items():
        labels = [versions.name(name, number) for name, number in numbers[run].items()]
        out[run] = part.assign_coords({dim: np.array(labels, dtype=object)})
    return out


def _statements(data: xr.Dataset) -> dict[str, Any]:
    """Return for every item what it measures, and its wordings."""
    about = ("dimension", "direction", "instrument")
    texts = {n: data[n].transpose("item", "variant").values for n in ("statement", "kind")}
    keying = data["keying"].transpose("item", "variant").values
    variants = [str(v) for v in data["variant"].values]
    return {
        str(item): (
            tuple(str(data[name].values[row]) for name in about),
            {
                variant: (texts["statement"][row, v], texts["kind"][row, v], int(keying[row, v]))
                for v, variant in enumerate(variants)
                if texts["statement"][row, v]
            },
        )
        for row, item in enumerate(data["item"].values)
    }


def _same_item(one: Any, other: Any) -> bool:
    """Return whether two items are the same in what they measure and in shared wordings."""
    shared = set(one[1]) & set(other[1])
    return bool(one[0] == other[0] and all(one[1][v] == other[1][v] for v in shared))


def _prefixes(data: xr.Dataset) -> dict[str, Any]:
    names = ("prefix_text", "prefix_answer", "prefix_context")
    none = [""] * data.sizes["prefix"]
    texts = [data[name].values if name in data.coords else none for name in names]
    each = zip(*texts, strict=True)
    return {
        str(p): tuple(map(str, one)) for p, one in zip(data["prefix"].values, each, strict=True)
    }


def _respondents(
    parts: Mapping[str, xr.Dataset], notes: list[str], *, by_name: bool
) -> tuple[dict[tuple[str, str], str], dict[str, xr.Dataset]]:
    """Distinguish the same respondent in two runs from two snapshots of a model."""
    why = "the checkpoint is the same and no question got another answer"
    why = "they have the same name and were asked in several modes" if by_name else why
    versions = _Versions()
    numbers = {
        (run, str(model)): versions.add(
            str(model),
            part.sel(model=model),
            run,
            (lambda one, other: True) if by_name else _same_respondent,
        )
        for run, part in parts.items()
        for model in part["model"].values
    }
    names = {key: versions.name(key[1], number) for key, number in numbers.items()}
    once: dict[str, list[str]] = {}
    for name, found in versions.found.items():
        for number, (_, runs) in enumerate(found):
            if len(runs) > 1:
                once.setdefault(" and ".join(runs), []).append(versions.name(name, number))
    for place, same in once.items():
        notes.append(f"The same respondent in {place}, because {why}: {', '.join(same)}.")
    out = {
        run: part.assign_coords(
            model=np.array([names[run, str(m)] for m in part["model"].values], dtype=object)
        )
        for run, part in parts.items()
    }
    return names, out


def _same_respondent(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Return whether two runs asked one respondent: equal answers where both asked."""
    for name in ("checkpoint", "revision", "template", "chat"):
        if one[name].item() != other[name].item():
            return False
    if [*called_in_prompts(one).values()] != [*called_in_prompts(other).values()]:
        return False
    a, b = xr.align(one, other, join="inner")
    asked = (a["status"] >= ASKED) & (b["status"] >= ASKED)
    if not bool(asked.any()):
        return True
    shared = [name for name in _ANSWERS if name in a and name in b]
    for name in shared:
        equal = (a[name] == b[name]) | (a[name].isnull() & b[name].isnull())
        if not bool((equal | ~asked).all()):
            return False
    return bool(shared)


def _mergeable(parts: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Drop codes whose meaning differs between runs, and refuse attributes of mixed kinds."""
    flags = {str(part["coder"].attrs) for part in parts.values() if "coder" in part}
    if len(flags) > 1:
        parts = {run: part.drop_vars("coder") for run, part in parts.items()}
    parts = _with_dimensions(parts)
    kinds: dict[str, tuple[str, bool]] = {}
    for run, part in parts.items():
        for name, coord in part.coords.items():
            if coord.dims == ("model",):
                first, kind = kinds.setdefault(str(name), (run, coord.dtype.kind in "if"))
                if kind != (coord.dtype.kind in "if"):
                    raise UserError(
                        f"runs: the attribute '{name}' of the models is text in one of {first} "
                        f"and {run} and a number in the other; give it the same kind of value."
                    )
    return dict(parts)


def _with_dimensions(parts: Mapping[str, xr.Dataset]) -> Mapping[str, xr.Dataset]:
    """Let every run declare the dimensions of all if one has its own."""
    if not any("score" in part.coords for part in parts.values()):
        return parts
    every = together(d for part in parts.values() for d in dimensions_of(part))
    out = {}
    for run, part in parts.items():
        own: list[Mapping[str, float]] = [{} for _ in part["item"].values]
        if "score" in part.coords:
            names, table = part["score"].values, part["weight"].transpose("item", "score").values
            own = [dict(zip(names, row, strict=True)) for row in table]
            part = part.drop_dims("score")
        out[run] = part.assign_coords(dimension_coordinates(every, own))
    return out


def _asked(data: xr.Dataset, dimension: str) -> set[tuple[str, str]]:
    """Return the items of a dimension that were asked, and the models that were asked."""
    part = data.isel(item=np.flatnonzero(data["dimension"].values == dimension))
    asked = part["status"] >= ASKED
    found = set()
    for dim in ("item", "model"):
        there = asked.any([d for d in asked.dims if d != dim])
        found |= {(dim, str(label)) for label in part[dim].values[there.values]}
    return found


def _linked(parts: Mapping[str, xr.Dataset], notes: list[str], item: str) -> bool:
    """Return whether the runs are linked in every dimension, and note by what."""
    whole = True
    for one in together(d for part in parts.values() for d in dimensions_of(part)):
        dimension = one.dimension
        every = {run: _asked(part, dimension) for run, part in parts.items()}
        sets = {run: found for run, found in every.items() if found}
        if len(sets) < 2:
            continue
        connected = _connected(list(sets.values()))
        shared = set.intersection(*sets.values())
        items_shared = sum(kind == "item" for kind, _ in shared)
        models_shared = len(shared) - items_shared
        notes.append(
            f"On {dimension} questions all runs have {plural(items_shared, item)} and "
            f"{plural(models_shared, 'respondent')} in common."
        )
        whole &= connected
    return whole


def _connected(sets: list[set[tuple[str, str]]]) -> bool:
    reached, rest = set(sets[0]), sets[1:]
    while any(reached & other for other in rest):
        for other in [o for o in rest if reached & o]:
            reached |= other
        rest = [o for o in rest if not o <= reached]
    return not rest


def _snapshots(
    parts: Mapping[str, xr.Dataset],
    names: Mapping[tuple[str, str], str],
    configs: Mapping[str, RunConfig],
    notes: list[str],
    item: str,
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Pair the same model at different times, by its name or its checkpoint.

    Returns what besides time may make a pair answer differently.
    """
    chains: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for (run, label), name in names.items():
        chains.setdefault(("model", label), []).append((run, name))
    alone = {c[0][1] for c in chains.values() if len(c) == 1}
    for run, part in parts.items():
        for model, checkpoint in zip(part["model"].values, part["checkpoint"].values, strict=True):
            if checkpoint and str(model) in alone:
                chains.setdefault(("checkpoint", str(checkpoint)), []).append((run, str(model)))
    of = {name: (configs[run], label) for (run, label), name in names.items()}
    cautions: dict[tuple[str, str], tuple[str, ...]] = {}
    holds: dict[str, list[str]] = {}  # what is said of pairs, and of which
    for (kind, _), chain in chains.items():
        runs = [run for run, _ in chain]
        if kind == "checkpoint" and len(set(runs)) < len(runs):
            continue  # which of them is meant cannot be told
        for (run, before), (later, after) in pairwise(chain):
            if before == after:
                continue
            if set(parts[run]["item"].values) & set(parts[later]["item"].values):
                one, other = parts[run].sel(model=before), parts[later].sel(model=after)
                own = (Asked(one, *of[before]), Asked(other, *of[after]))
                said = asked_otherwise(*own, item)
                if all(one.fixed for one in own) and _same_checkpoint(one, other):
                    said = (*said, _UNMOVED)
                cautions[before, after] = said
            else:
                said = ("were asked nothing in common, so that no drift is given.",)
            for sentence in said:
                holds.setdefault(sentence, []).append(f"{before} and {after}")
    notes += [f"{'; '.join(names)} {sentence}" for sentence, names in holds.items()]
    return cautions


def _same_checkpoint(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Return whether two snapshots are one revision of one checkpoint."""
    same = all(one[name].item() == other[name].item() for name in ("checkpoint", "revision"))
    return same and bool(one["checkpoint"].item())
