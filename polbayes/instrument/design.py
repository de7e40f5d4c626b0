"""The design: an empty response dataset that says everything about what will be asked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import xarray as xr

from polbayes.data.dataset import CELL_DIMS, LEVELS, MISSING, NOT_ASKED, STATUS, flag_attributes
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.covariates import attribute_coordinates, check_distinct, spread
from polbayes.instrument.dimensions import dimension_coordinates, together
from polbayes.instrument.prompts import Lexicon, Prefix, stances_of_words
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.instrument.scales import AGREE_FIRST, agree_first

# Before the id of a wording, where it is the name of a kind, too.
_ID = "id:"

# What the coordinate's type can hold.
_MOST_RUNS = int(np.iinfo(np.int16).max)


@dataclass(frozen=True)
class ModelInfo:
    """What the design says about one respondent.

    Parameters
    ----------
    model
        The respondent's name, unique in the run.
    template
        The prompt template as text, with its fields.
    called
        What prompts call it; empty for its name.
    chat
        Whether the prompt is sent as a user's turn through the model's chat template.
    family, instruct, checkpoint, revision
        Group-level predictors and provenance; empty or None where unknown.
    attributes
        Further group-level predictors (`polbayes.instrument.covariates`).
    thinking_tokens
        The most tokens of thinking before an answer.
    thinking_marks
        Where its thinking begins and ends, besides the usual marks; empty for those alone.
    """

    model: str
    template: str
    chat: bool = False
    family: str = ""
    instruct: bool | None = None
    checkpoint: str = ""
    revision: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    thinking_tokens: int = 0
    thinking_marks: tuple[str, ...] = ()
    called: str = ""


def design(
    instruments: Sequence[Instrument],
    prefixes: Sequence[Prefix],
    models: Sequence[ModelInfo],
    *,
    variants: Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    runs: int = 1,
    seed: int = 0,
    lexicon: Lexicon | None = None,
) -> xr.Dataset:
    """Lay out every cell that will be asked.

    Parameters
    ----------
    instruments
        Their items are asked together; item ids must not repeat across them.
    prefixes, models
        What is crossed with the wordings.
    variants
        Ids or kinds of the wordings to ask (``"original"``, ``"paraphrase"``, ...), patterns of
        ids (``"paraphrase_a_*"``), or ``"id:opposite"`` for the one with that id where it is a
        kind, too; all by default.
    items
        Ids of the items to ask; all by default.
    runs
        Independent repetitions, from 1 to 32767.
    seed
        Fixes the order of options where a prefix has one that differs by cell.
    lexicon
        The answer options, which say with those of the shipped lexicons what options agree.

    Returns
    -------
    xarray.Dataset
        `status` over ``model, item, variant, prefix, run``, pending where a wording exists and
        `NOT_ASKED` where not, with all coordinates of `docs/dataset.md`.

    Raises
    ------
    UserError
        If a selection names something that is not there, or leaves nothing to ask.
    """
    if not 1 <= runs <= _MOST_RUNS:
        raise UserError(f"runs: must be from 1 to {_MOST_RUNS}, not {runs}.")
    if not models:
        raise UserError("respondents: there is none; declare at least one.")
    check_variants(instruments, variants)
    chosen = _choose_items(instruments, items)
    ids, texts, attributes = _wordings([item for _, item in chosen], variants)
    asked = np.where(texts["statement"] != "", STATUS["pending"], NOT_ASKED).astype(np.int8)
    shape = (len(models), *asked.shape, len(prefixes), runs)
    status = np.broadcast_to(asked[None, :, :, None, None], shape).copy()
    per_model = _of_models(models)
    per_prefix = attribute_coordinates(
        {
            p.prefix: {name: v for name, v in p.attributes.items() if name != AGREE_FIRST}
            for p in prefixes
        },
        "prefixes",
    )
    labels = {
        "item": [item.item for _, item in chosen],
        "variant": ids,
        "prefix": [p.prefix for p in prefixes],
        "run": np.arange(1, runs + 1, dtype=np.int16),
    }
    orders = _orders(prefixes, labels, seed, lexicon)
    check_distinct(
        {"models": per_model, "prefixes": [*per_prefix, *orders], "wordings": attributes}
    )
    coords = {
        "model": [m.model for m in models],
        **labels,
        **{name: (("item", "variant"), values) for name, values in texts.items()},
        "prefix_text": ("prefix", [p.text for p in prefixes]),
        "prefix_answer": ("prefix", [p.answer for p in prefixes]),
        **_of_prefixes(prefixes),
        **orders,
        **{name: ("item", values) for name, values in _of_items(chosen).items()},
        **{name: ("model", values) for name, values in per_model.items()},
        **{name: ("prefix", values) for name, values in per_prefix.items()},
        **{name: (("item", "variant"), values) for name, values in attributes.items()},
        **_points([item for _, item in chosen]),
        **dimension_coordinates(
            together(d for i in instruments for d in i.dimensions),
            [item.weights for _, item in chosen],
        ),
    }
    scales = {p.scale.points if p.scale else () for p in prefixes}
    points = {"rating_points": "; ".join(*scales)} if len(scales) == 1 and any(scales) else {}
    return xr.Dataset(
        {"status": (CELL_DIMS, status, flag_attributes("status"))},
        coords={name: _strings(value) for name, value in coords.items()},
        attrs={
            "title": "Answers of language models to political statements",
            "Conventions": "CF-1.11",
            "instruments": "; ".join(f"{i.id}: {i.title}. {i.citation}" for i in instruments),
            **points,
        },
    )


def _of_prefixes(prefixes: Sequence[Prefix]) -> dict[str, Any]:
    """Return as JSON the system prompts and turns, if there are any."""
    given = [{"system": p.system, "turns": p.turns} for p in prefixes]
    contexts = [json.dumps(one) if any(one.values()) else "" for one in given]
    return {"prefix_context": ("prefix", contexts)} if any(contexts) else {}


def _orders(
    prefixes: Sequence[Prefix], labels: Mapping[str, Any], seed: int, lexicon: Lexicon | None
) -> dict[str, Any]:
    """Return for each cell the options in its order as JSON, and whether agreement is first."""
    dims = CELL_DIMS[1:]
    drawn = any(p.scale and p.scale.drawn for p in prefixes)
    shape = [len(labels[dim]) if drawn or dim == "prefix" else 1 for dim in dims]
    texts = np.full(shape, "", dtype=object)
    first = np.full(shape, MISSING, dtype=np.int8)
    for n, prefix in enumerate(prefixes):
        if prefix.scale is None:
            texts[:, :, n] = json.dumps(dict(prefix.options)) if prefix.options else ""
            first[:, :, n] = _agree_first(prefix, lexicon)
            continue
        for i, v, r in np.ndindex(shape[0], shape[1], shape[3]):
            cell = (labels["item"][i], labels["variant"][v], prefix.prefix, int(labels["run"][r]))
            arranged = prefix.scale.arranged(seed, *cell)
            texts[i, v, n, r] = json.dumps(arranged)
            first[i, v, n, r] = prefix.scale.agree_first(arranged)
    found = {"prefix_options": texts} if (texts != "").any() else {}
    found |= {AGREE_FIRST: first} if (first != MISSING).any() else {}
    if not drawn:
        return {name: ("prefix", values[0, 0, :, 0]) for name, values in found.items()}
    return {name: (dims, values) for name, values in found.items()}


def _agree_first(prefix: Prefix, lexicon: Lexicon | None) -> int:
    """Return whether a prefix without a scale has agreement first, as it or its options say."""
    said = prefix.attributes.get(AGREE_FIRST)
    if said is None:
        known = stances_of_words(lexicon) if prefix.options else {}
        said = agree_first(prefix.options.values(), known)
    elif said not in (0, 1):
        raise UserError(
            f"prefix '{prefix.prefix}': attributes.{AGREE_FIRST}: must be true or false, "
            f"not '{said}'."
        )
    return MISSING if said is None else int(said)


def _wordings(
    items: Sequence[Item], wanted: Sequence[str] | None
) -> tuple[list[str], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the ids of wordings, and ``[item, variant]`` their texts and their attributes."""
    chosen = [_choose_variants(item, wanted) for item in items]
    ids = list(dict.fromkeys(v.variant for variants in chosen for v in variants))
    if not ids:
        raise UserError("variants: the selection leaves no wording to ask.")
    shape, place = (len(items), len(ids)), {variant: column for column, variant in enumerate(ids)}
    statement, kind = (np.full(shape, "", dtype=object) for _ in range(2))
    keying = np.zeros(shape, dtype=np.int8)
    known: dict[tuple[int, int], Mapping[str, Any]] = {}
    for row, (item, variants) in enumerate(zip(items, chosen, strict=True)):
        for wording in variants:
            at = (row, place[wording.variant])
            known[at] = wording.attributes
            statement[at], kind[at] = wording.text, wording.kind
            keying[at] = item.direction * wording.polarity
    attributes = spread(attribute_coordinates(known, "wordings"), list(known), shape)
    return ids, {"statement": statement, "kind": kind, "keying": keying}, attributes


def _of_items(chosen: Sequence[tuple[Instrument, Item]]) -> dict[str, object]:
    return {
        "dimension": [item.dimension for _, item in chosen],
        "direction": np.array([item.direction for _, item in chosen], dtype=np.int8),
        "instrument": [instrument.id for instrument, _ in chosen],
        **{name: [getattr(i, name) for _, i in chosen] for name in ("section", "topic", "source")},
    }


def _of_models(models: Sequence[ModelInfo]) -> dict[str, Any]:
    instruct = [MISSING if m.instruct is None else m.instruct for m in models]
    called = {"called": [m.called for m in models]} if any(m.called for m in models) else {}
    return {
        **called,
        "template": [m.template for m in models],
        "chat": np.array([m.chat for m in models], dtype=np.int8),
        "family": [m.family for m in models],
        "instruct": np.array(instruct, dtype=np.int8),
        **{name: [getattr(m, name) for m in models] for name in ("checkpoint", "revision")},
        **attribute_coordinates({m.model: m.attributes for m in models}),
    }


def called_in_prompts(data: xr.Dataset) -> dict[str, str]:
    """Return what prompts call each model of a design or response dataset: its name by default."""
    models = [str(name) for name in np.atleast_1d(data["model"].values)]
    given = np.atleast_1d(data["called"].values) if "called" in data.coords else models
    # Models of a run without the coordinate have no text in a comparison.
    own = [name if isinstance(name, str) else "" for name in given]
    return {model: name or model for model, name in zip(models, own, strict=True)}


def _points(items: Sequence[Item]) -> dict[str, object]:
    """Lay out the points of answers on four levels; nothing where no item has any."""
    four = len(LEVELS)
    axes = list(
        dict.fromkeys(a for item in items for a, p in item.points.items() if len(p) == four)
    )
    if not axes:
        return {}
    points = np.full((len(items), len(axes), four), np.nan)
    for row, item in enumerate(items):
        for axis, values in item.points.items():
            if len(values) == four:
                points[row, axes.index(axis)] = values
    return {
        "axis": axes,
        "answer_level": list(LEVELS),
        "points": (("item", "axis", "answer_level"), points),
    }


def _strings(value: object) -> object:
    """Give text coordinates the object type, so that no later merge truncates them."""
    if isinstance(value, tuple):
        dims, data = value
        return dims, np.asarray(data, dtype=object) if _is_text(data) else data
    return np.asarray(value, dtype=object) if _is_text(value) else value


def _is_text(data: object) -> bool:
    return isinstance(data, list) and all(isinstance(x, str) for x in data)


def _choose_items(
    instruments: Sequence[Instrument], items: Sequence[str] | None
) -> list[tuple[Instrument, Item]]:
    every: dict[str, tuple[Instrument, Item]] = {}
    for instrument in instruments:
        for item in instrument.items:
            if item.item in every:
                raise UserError(
                    f"item '{item.item}' is in '{every[item.item][0].id}' and in "
                    f"'{instrument.id}'; item ids must differ between instruments."
                )
            every[item.item] = (instrument, item)
    if items is None:
        return list(every.values())
    check_known("item", *items, known=every, where="items")
    if not items:
        raise UserError("items: the list is empty; name at least one item.")
    return [every[name] for name in dict.fromkeys(items)]


def _choose_variants(item: Item, wanted: Sequence[str] | None) -> list[Variant]:
    if wanted is None:
        return list(item.variants)
    return [v for v in item.variants if is_wanted(v, wanted)]


def is_wanted(variant: Variant, wanted: Sequence[str]) -> bool:
    """Tell whether a selection names a wording by its id, its kind or a pattern."""
    if {variant.variant, variant.kind, f"{_ID}{variant.variant}"} & set(wanted):
        return True
    return any(fnmatchcase(variant.variant, name) for name in wanted if "*" in name)


def check_variants(instruments: Sequence[Instrument], wanted: Sequence[str] | None) -> None:
    """Refuse a wanted wording that no item has."""
    every = [v for i in instruments for item in i.items for v in item.variants]
    ids = [v.variant for v in every]
    known = {*ids, *(v.kind for v in every), *(f"{_ID}{name}" for name in ids)}
    for name in wanted or ():
        if name not in known and not ("*" in name and any(fnmatchcase(v, name) for v in ids)):
            raise unknown("wording", name, known, where="variants")
