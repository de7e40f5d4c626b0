"""What was asked and answered, from the response dataset."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding.responses import EXACT
from polbayes.config.resources import folder
from polbayes.data.dataset import ASKED, CELL_DIMS, STANCE, STATUS, UNREADABLE
from polbayes.data.out_of_core import by_model
from polbayes.data.prose import form, noun, plural
from polbayes.errors import UserError
from polbayes.instrument.design import called_in_prompts
from polbayes.instrument.dimensions import dimensions_of
from polbayes.instrument.poles import Poles, poles_of
from polbayes.instrument.prompts import render, with_context
from polbayes.instrument.questionnaires import load_instrument
from polbayes.report.prose import MODEL, Noun, listed
from polbayes.respondents.questions import options_by_cell

MASK = "[MASK]"
_MASSES = ("p_agree", "p_disagree")


@dataclass(frozen=True)
class Prompt:
    """One prompt as sent, and the models that got exactly this."""

    prefix: str
    models: tuple[str, ...]
    text: str
    chat: bool


def statements(data: xr.Dataset) -> pd.DataFrame:
    """List every wording asked."""
    columns = ["item", "dimension", "variant", "kind", "agreeing_is", "statement", "source"]
    if "statement" not in data.coords:
        return pd.DataFrame(columns=columns)
    grids = {name: _grid(data, name) for name in columns if name != "agreeing_is"}
    keying = _grid(data, "keying")
    at = np.nonzero(grids["statement"] != "")
    table = pd.DataFrame({name: values[at] for name, values in grids.items()}).astype(str)
    known = {one.dimension: poles_of([one]) for one in dimensions_of(data)}
    sides = zip(table["dimension"], keying[at], strict=True)
    table["agreeing_is"] = [_side(known.get(name), side) for name, side in sides]
    return table[columns]


def _side(poles: Poles | None, keying: object) -> str:
    """Return the pole that agreeing leans to."""
    if poles is None or keying not in (-1, 1):
        return "not scored" if keying == 0 else ""
    return (poles.negative if keying == -1 else poles.positive).leaning


def _grid(data: xr.Dataset, name: str) -> np.ndarray:
    """Return a coordinate of the wordings over item and variant, empty if there is none."""
    shape = (data.sizes["item"], data.sizes["variant"])
    if name not in data.coords:
        return np.full(shape, "", dtype=object)
    values = data[name].astype(object).broadcast_like(data["statement"])
    return values.transpose("item", "variant").values


def first_wordings(data: xr.Dataset) -> dict[str, str]:
    """Return the statement to show for each item: the original, else the first."""
    table = statements(data)
    original = table["kind"].eq("original")
    ordered = table.assign(later=~original).sort_values("later", kind="stable")
    first = ordered.drop_duplicates("item").set_index("item")["statement"]
    return {str(item): str(text) for item, text in first.items()}


def prompts(data: xr.Dataset) -> list[Prompt]:
    """Render the prompt of one statement for every model and prefix."""
    wordings = list(first_wordings(data).values())
    if not wordings or "template" not in data.coords or "prefix_text" not in data.coords:
        return []
    item, variant = np.argwhere(_grid(data, "statement") == wordings[0])[0].tolist()
    prompt_of = _prompts(data)
    found: dict[tuple[str, str, bool], list[str]] = {}
    for prefix, label in enumerate(data["prefix"].values.astype(str).tolist()):
        for model, name in enumerate(data["model"].values.astype(str).tolist()):
            if _at(data, "template", model=model):
                text = prompt_of((model, item, variant, prefix, 0))
                chat = bool(_at(data, "chat", model=model) or 0)
                found.setdefault((label, text, chat), []).append(name)
    return [Prompt(prefix, tuple(ms), text, chat) for (prefix, text, chat), ms in found.items()]


def example_answers(data: xr.Dataset) -> pd.DataFrame:
    """Pick one raw answer per model and outcome, from the middle of the run."""
    further = extra_texts(data)
    columns = ["model", "outcome", *CELL_DIMS[1:], "completion", *further]
    rows = [
        {
            "outcome": name,
            "completion": str(texts[cell]),
            **_cell(one, cell),
            **{n: str(_at(one, n, **dict(zip(CELL_DIMS, cell, strict=True)))) for n in further},
        }
        for one in (by_model(data, (*_CODED, "completion")) if "completion" in data else ())
        for texts in (one["completion"].transpose(*CELL_DIMS).values,)
        for name, cell in _examples(texts, _outcomes(one))
    ]
    return pd.DataFrame(rows, columns=columns)


def extra_texts(data: xr.Dataset) -> list[str]:
    """Return the names of an imported table's columns to show."""
    return [str(n) for n, c in data.coords.items() if c.attrs.get("shown") or n == "administration"]


# What the outcome of a cell is read from, the last first.
_CODED: Mapping[str, Mapping[str, int]] = {"status": STATUS, "stance": STANCE}


def _outcomes(data: xr.Dataset) -> np.ndarray:
    """Return the outcome of each cell: its stance if coded, else its status."""
    shape = tuple(data.sizes[d] for d in CELL_DIMS)
    named = np.full(shape, "", dtype=object)
    for variable, codes in _CODED.items():
        if variable in data:
            values = data[variable].transpose(*CELL_DIMS).values
            for name, code in codes.items():
                named[values == code] = name
    named[named == "ok"] = "not coded"
    return named


def _examples(texts: np.ndarray, outcome: np.ndarray) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for model in range(len(texts)):
        answered = texts[model] != ""
        for name in (*STANCE, *UNREADABLE, "error", "not coded"):
            cells = np.argwhere(answered & (outcome[model] == name))
            if len(cells):
                yield name, (model, *cells[len(cells) // 2].tolist())


def sampled_answers(data: xr.Dataset, *, most: int, room: int) -> tuple[pd.DataFrame, int]:
    """Draw answers with their prompts, the same ones every time, and count all there are.

    All models and statements get the same number, as far as they have them, until there are `most`
    or their texts have `room` characters.
    """
    shape = [data.sizes[d] for d in CELL_DIMS]
    asked = np.flatnonzero(data["status"].transpose(*CELL_DIMS).values >= ASKED)
    shuffled = asked[np.random.default_rng(0).permutation(len(asked))]
    statement = pd.Series(shuffled // max(1, prod(shape[2:])))
    turn = statement.groupby(statement).cumcount().to_numpy()
    first = shuffled[np.argsort(turn, kind="stable")[:most]]
    cells = [*zip(*(at.tolist() for at in np.unravel_index(first, shape)), strict=True)]
    answers, prompts_of = _answers_of(data, cells), _prompts(data)
    wording = _grid(data, "statement")
    names = [data[d].values.astype(str) for d in CELL_DIMS]
    rows, at, used = [], [], 0
    for cell in cells:
        row = {d: str(n[k]) for d, n, k in zip(CELL_DIMS, names, cell, strict=True)}
        row |= {"statement": str(wording[cell[1], cell[2]])}
        row |= answers[cell] | {"prompt": prompts_of(cell)}
        used += sum(map(len, row.values()))
        if used > room:
            break
        rows.append(row)
        at.append(cell)
    order = sorted(range(len(rows)), key=lambda k: at[k])
    columns = [*CELL_DIMS, "statement", "counted", "answer", "prompt"]
    return pd.DataFrame([rows[k] for k in order], columns=columns), len(asked)


def _answers_of(
    data: xr.Dataset, cells: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], dict[str, str]]:
    """Return what some cells count as, and their answers."""
    found = {}
    for model, one in enumerate(by_model(data, (*_CODED, "completion", *_MASSES))):
        answer, outcome = _texts(one), _outcomes(one)
        for cell in cells:
            if cell[0] == model:
                here = (0, *cell[1:])
                found[cell] = {"counted": str(outcome[here]), "answer": answer(here)}
    return found


def _texts(data: xr.Dataset) -> Callable[[tuple[int, ...]], str]:
    """Return what gives an answer as text; probabilities where nothing was said."""
    if "completion" in data:
        completions = data["completion"].transpose(*CELL_DIMS).values
        return lambda cell: str(completions[cell])
    if not set(_MASSES) <= set(data.data_vars):
        return lambda cell: ""
    parts = [data[name] for name in _MASSES]
    masses = [part.transpose(*(d for d in CELL_DIMS if d in part.dims)).values for part in parts]

    def masses_of(cell: tuple[int, ...]) -> str:
        agree, disagree = (float(mass[cell[: mass.ndim]]) for mass in masses)
        return f"P(agree) = {agree:.3f}, P(disagree) = {disagree:.3f}"

    return masses_of


def _prompts(data: xr.Dataset) -> Callable[[tuple[int, ...]], str]:
    """Return what gives a prompt, or one like it; an empty text where it is not known."""

    def values(name: str, dim: str) -> list[str]:
        if name not in data.coords:
            return [""] * data.sizes[dim]
        return [str(text) for text in np.broadcast_to(data[name].values, data.sizes[dim])]

    templates, examples = values("template", "model"), values("prompt_example", "prefix")
    prefixes, models = values("prefix_text", "prefix"), list(called_in_prompts(data).values())
    contexts, options = values("prefix_context", "prefix"), options_by_cell(data)
    wording = _grid(data, "statement")

    def prompt(cell: tuple[int, ...]) -> str:
        model, item, variant, prefix, _ = cell
        if not templates[model] or "prefix_text" not in data.coords:
            return examples[prefix]
        named = {"statement": str(wording[item, variant]), "model_name": models[model]}
        own = json.loads(str(options[cell[1:]]) or "{}")
        text = render(templates[model], prefix=prefixes[prefix], mask=MASK, options=own, **named)
        return with_context(text, contexts[prefix], **named)

    return prompt


def example_masses(data: xr.Dataset) -> pd.DataFrame:
    """Pick for every model the first cell with probabilities of agreeing and disagreeing."""
    columns = ["model", "item", "variant", "prefix", *_MASSES]
    rows = []
    for one in by_model(data, _MASSES) if set(_MASSES) <= set(data.data_vars) else ():
        masses = [
            (one[name].isel(run=0) if "run" in one[name].dims else one[name])
            .transpose(*CELL_DIMS[:-1])
            .values
            for name in _MASSES
        ]
        there = np.isfinite(masses).all(axis=0)
        if there.any():
            cell = tuple(int(at) for at in np.unravel_index(there.argmax(), there.shape))
            found = {name: float(mass[cell]) for name, mass in zip(_MASSES, masses, strict=True)}
            rows.append({**_cell(one, cell), **found})
    return pd.DataFrame(rows, columns=columns)


def size(data: xr.Dataset) -> dict[str, int]:
    """Count the parts of the run."""
    asked = data["status"].values >= ASKED if "status" in data else np.zeros(0)
    return {
        "models": data.sizes.get("model", 0),
        "items": data.sizes.get("item", 0),
        "wordings": len(statements(data)),
        "prefixes": data.sizes.get("prefix", 0),
        "repetitions": data.sizes.get("run", 0),
        "answers asked for": int(asked.sum()),
    }


def asked_items(data: xr.Dataset) -> dict[str, frozenset[str]]:
    """Return the items that each model was asked."""
    by_item = (data["status"] >= ASKED).any(("variant", "prefix", "run"))
    asked = by_item.transpose("model", "item").values
    items = data["item"].values.astype(str)
    return {
        str(model): frozenset(items[row])
        for model, row in zip(data["model"].values, asked, strict=True)
    }


def respondents_of(data: xr.Dataset) -> Noun:
    """Return what the respondents are called: models, unless their attribute `who` names others.

    Where some are this and others that, they are respondents.
    """
    if "who" not in data.coords or data["who"].dims != ("model",):
        return MODEL
    named = {str(name) for name in data["who"].values.tolist()}
    if not any(named):
        return MODEL
    name = named.pop() if len(named) == 1 else ""
    one = name if re.fullmatch("[a-z]{2,20}", name) else "respondent"
    return Noun(one, noun(2, one))


def unseen(data: xr.Dataset) -> tuple[list[str], int, int]:
    """Return the embedded models, the number of wordings they never saw, and that of all wordings.

    They have learnt the wordings of the shipped instruments by heart, and know no others of the
    same items, be they paraphrases or translations.
    """
    models = _embedded(data)
    if not models:
        return [], 0, 0
    asked = statements(data)["statement"]
    return models, int((~asked.isin(_shipped())).sum()), len(asked)


def items_with_points(data: xr.Dataset) -> int:
    """Count the items of the run's instruments that have published points, asked or not."""
    if "points" not in data.coords:
        return 0
    points = data["points"].transpose("item", "axis", "answer_level").values
    scored = ~np.isnan(points).any(axis=2).all(axis=1)
    found = Counter(data["instrument"].values[scored].tolist())
    return sum(max(there, _with_points(str(name))) for name, there in found.items())


@cache
def _with_points(instrument: str) -> int:
    """Count the items of a shipped instrument that have points; none of others."""
    try:
        return sum(bool(item.points) for item in load_instrument(instrument).items)
    except UserError:
        return 0


def _embedded(data: xr.Dataset) -> list[str]:
    """Return the names of the embedded models."""
    if "checkpoint" not in data.coords:
        return []
    pairs = zip(data["model"].values, np.ravel(data["checkpoint"].values), strict=False)
    return [str(model) for model, path in pairs if str(path).startswith("embedded:")]


def meaningless(models: list[str], new: int, of: str) -> str:
    """Say of embedded models that they never saw `new` of what they were asked, ``of``."""
    return (
        f"{listed(models)}: these are embedded models, trained on the wordings of the shipped "
        f"instruments alone. Of the {of} asked, {new} {form(new, 'is', 'are')} none of these, and "
        "answers to what they never saw mean nothing."
    )


def not_for_embedded(data: xr.Dataset, dim: str, name: str) -> list[str]:
    """Return a sentence if embedded models were asked other things than statements.

    These lie along `dim`, and one is a `name`.
    """
    models, count = _embedded(data), data.sizes[dim]
    said = meaningless(models, count, plural(count, name))
    return [f"Not to be used for {said}"] if models else []


@cache
def _shipped() -> frozenset[str]:
    """Return the wordings of all shipped instruments."""
    paths = sorted((folder("data") / "instruments").glob("*.yaml"))
    instruments = [load_instrument(str(path)) for path in paths]
    return frozenset(v.text for one in instruments for item in one.items for v in item.variants)


def coders_of(data: xr.Dataset) -> list[str]:
    """Return the coders that read answers and may err, in their order."""
    if "coder" not in data or "completion" not in data:
        return []
    names = str(data["coder"].attrs.get("flag_meanings", "")).split()
    codes = np.ravel(data["coder"].attrs.get("flag_values", []))
    used = set(np.unique(data["coder"].values).tolist())
    exact = ("none", *EXACT)
    return [n for n, c in zip(names, codes, strict=True) if int(c) in used and n not in exact]


def _cell(data: xr.Dataset, cell: tuple[int, ...]) -> dict[str, str]:
    return {d: str(data[d].values[k]) for d, k in zip(CELL_DIMS, cell, strict=False)}


def _at(data: xr.Dataset, name: str, **where: int) -> Any:
    """Return one value of a coordinate, an empty text if the dataset lacks it."""
    if name not in data.coords:
        return ""
    value = data[name].isel(where, missing_dims="ignore").values
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
