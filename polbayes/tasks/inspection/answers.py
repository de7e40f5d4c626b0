"""Searching the answers of a run."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import xarray as xr
import yaml
from numpy.typing import NDArray

from polbayes.config.schema import InspectConfig
from polbayes.data.dataset import ASKED, CELL_DIMS, NOT_ASKED, STANCE, STATUS
from polbayes.errors import check_known, unknown
from polbayes.instrument.design import called_in_prompts
from polbayes.instrument.prompts import render, with_context
from polbayes.respondents.questions import options_by_cell
from polbayes.tasks.inspection.source import Place, Source

Row = dict[str, Any]

_STATUS = {code: name for name, code in STATUS.items()}
_STANCE = {code: name for name, code in STANCE.items()}


@dataclass
class Found:
    """The search and its results."""

    rows: list[Row] = field(default_factory=list)  # the first of the answers
    matching: Counter[str] = field(default_factory=Counter)  # numbers by status
    questions: int = 0  # cells of the run in all


@dataclass(frozen=True)
class _Wanted:
    """The cells searched for: positions along each dimension, and properties of answers."""

    places: Mapping[str, NDArray[np.intp]]
    status: frozenset[str] | None
    stance: frozenset[str] | None
    text: str

    def says(self, *texts: str) -> bool:
        """Return whether one of the texts contains the text searched for."""
        return not self.text or any(self.text in one.casefold() for one in texts)


def find(source: Source, config: InspectConfig, *, limit: int | None) -> Found:
    """Search for answers."""
    data = source.data
    wanted = _wanted(data, config)
    found = Found(questions=int((data["status"] >= ASKED).sum()))
    for m in wanted.places["model"]:
        about = _Model(source.data, int(m))
        room = None if limit is None else limit - len(found.rows)
        given = _journaled if source.journal_dir else _kept
        for place, answer in given(source, about, wanted, found.matching, room=room):
            found.rows.append(about.row(place, answer))
    return found


def _wanted(data: xr.Dataset, config: InspectConfig) -> _Wanted:
    named = {
        "model": config.models,
        "item": config.items,
        "variant": config.variants,
        "prefix": config.prefixes,
        "run": None if config.runs is None else [str(run) for run in config.runs],
    }
    for key, names, known in (("status", config.status, STATUS), ("stance", config.stance, STANCE)):
        check_known(key, *(names or ()), known=known, where=f"inspect.{key}")
    return _Wanted(
        {dim: _places(data, dim, names) for dim, names in named.items()},
        None if config.status is None else frozenset(config.status),
        None if config.stance is None else frozenset(config.stance),
        (config.text or "").casefold(),
    )


def _places(data: xr.Dataset, dim: str, names: Sequence[str] | None) -> NDArray[np.intp]:
    labels = [str(label) for label in data[dim].values]
    if names is None:
        return np.arange(len(labels))
    for name in names:
        if not any(fnmatchcase(label, name) for label in labels):
            raise unknown(dim, name, labels, where=f"inspect.{_KEYS[dim]}")
    fits = [any(fnmatchcase(label, name) for name in names) for label in labels]
    return np.flatnonzero(fits)


_KEYS = dict(zip(CELL_DIMS, ("models", "items", "variants", "prefixes", "runs"), strict=True))


def _asked(data: xr.Dataset, wanted: _Wanted) -> NDArray[np.bool_]:
    """Mark the cells of a model (item, variant, prefix, run) that are asked and searched for."""
    asked = data["status"].transpose(*CELL_DIMS[1:]).values >= ASKED
    chosen = np.zeros(asked.shape, dtype=bool)
    chosen[np.ix_(*(wanted.places[dim] for dim in CELL_DIMS[1:]))] = True
    return np.asarray(asked & chosen)


def _journaled(
    source: Source, about: "_Model", wanted: _Wanted, matching: Counter[str], *, room: int | None
) -> Iterator[tuple[Place, Row]]:
    """Yield answers from the journals in order, then questions without one; count all."""
    left, n = _asked(about.data, wanted), 0
    for place, record in source.records(about.name):
        if not left[place]:
            continue
        left[place] = False
        status = str(record["status"])
        fits = wanted.status is None or status in wanted.status
        texts = (about.statement(place), record.get("text", ""), record.get("message", ""))
        if fits and wanted.stance is None and wanted.says(*texts):
            matching[status] += 1
            n += 1
            if room is None or n <= room:
                yield place, about.answer_of(record)
    if (wanted.status is None or "pending" in wanted.status) and wanted.stance is None:
        for i, v, p, r in np.argwhere(left):
            place = int(i), int(v), int(p), int(r)
            if wanted.says(about.statement(place)):
                matching["pending"] += 1
                n += 1
                if room is None or n <= room:
                    yield place, {"status": "pending"}


def _kept(
    source: Source, about: "_Model", wanted: _Wanted, matching: Counter[str], *, room: int | None
) -> Iterator[tuple[Place, Row]]:
    """Yield answers of a response dataset in its order, and count all."""
    data = about.data.transpose(*CELL_DIMS[1:], ...)
    fits = _asked(data, wanted)
    for name, names, codes in (
        ("status", wanted.status, STATUS),
        ("stance", wanted.stance, STANCE),
    ):
        if names is not None:
            known = [codes[one] for one in names]
            fits &= np.isin(data[name].values, known) if name in data else False
    if wanted.text and fits.any():
        texts = [data[name].values for name in ("completion", "message") if name in data]
        for place in map(tuple, np.argwhere(fits)):
            said = (str(text[place]) for text in texts)
            fits[place] = wanted.says(about.statement(place), *said)
    found, numbers = np.unique(data["status"].values[fits], return_counts=True)
    matching.update({_STATUS[int(c)]: int(n) for c, n in zip(found, numbers, strict=True)})
    places = np.argwhere(fits)[:room]
    if not len(places):
        return
    values = {
        str(name): variable.values
        for name, variable in data.data_vars.items()
        if variable.dims[:4] == CELL_DIMS[1:]
    }
    coders = _coders(data["coder"].attrs) if "coder" in data else {}
    for i, v, p, r in places:
        place = int(i), int(v), int(p), int(r)
        yield place, _answer({name: array[place] for name, array in values.items()}, about, coders)


def _answer(here: Mapping[str, Any], about: "_Model", coders: Mapping[int, str]) -> Row:
    numbers = ("p_agree", "p_disagree", "r_plus", "mass_unseen")
    out: Row = {
        "status": _STATUS[int(here["status"])],
        "stance": _STANCE.get(int(here.get("stance", NOT_ASKED)), ""),
        "coder": coders.get(int(here["coder"]), "") if "coder" in here else "",
        "answer": str(here.get("completion", "")),
        "message": str(here.get("message", "")),
        "truncated": bool(here.get("truncated", 0)),
        "declined": bool(here.get("declined", 0)),
        **{name: _number(here[name]) for name in numbers if name in here},
        **({"reasoning": str(here["reasoning"])} if here.get("reasoning") else {}),
    }
    for name, dim in (("option_prob", "option"), ("stance_prob", "stance_class")):
        if name in here and not np.isnan(here[name]).all():
            labels = map(str, about.data[dim].values)
            out[name] = {x: _number(y) for x, y in zip(labels, here[name], strict=True)}
    if "rating" in here and int(here["rating"]) >= 0:
        out["rating"] = int(here["rating"])
    return out


def _coders(attrs: Mapping[str, Any]) -> dict[int, str]:
    values, meanings = attrs.get("flag_values", ()), str(attrs.get("flag_meanings", ""))
    names = meanings.split()
    return {int(v): n for v, n in zip(np.atleast_1d(values), names, strict=False) if n != "none"}


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(f"{float(value):.6g}")


class _Model:
    """What the rows of one model have in common."""

    def __init__(self, data: xr.Dataset, m: int) -> None:
        self.data = data.isel(model=m)
        self.name = str(self.data["model"].item())
        self._called = called_in_prompts(self.data)[self.name]
        self._system = _system(data, self.name)
        self._template = str(self.data["template"].item()) if "template" in data else ""
        self._prefix_text = self.data["prefix_text"].values if "prefix_text" in data else None
        self._options = options_by_cell(self.data)
        self._context = self.data["prefix_context"].values if "prefix_context" in data else None
        self._chat = bool(self.data["chat"].item()) if "chat" in self.data else False
        self._labels = [self.data[dim].values.tolist() for dim in CELL_DIMS[1:]]
        per_cell = ("statement", "kind", "keying")
        self._texts = {
            name: self.data[name].transpose("item", "variant").values for name in per_cell
        }
        self._dimension = self.data["dimension"].values
        self._stances = (
            self.data["option_stance"].values.tolist() if "option_stance" in self.data else []
        )

    def answer_of(self, record: Mapping[str, Any]) -> Row:
        """Return a journal's record in the form of a response dataset."""
        out: Row = {
            "status": record["status"],
            "answer": record.get("text", ""),
            "message": record.get("message", ""),
            "truncated": bool(record.get("truncated", False)),
            "declined": record["status"] == "refused",
            **({"reasoning": record["reasoning"]} if "reasoning" in record else {}),
        }
        if "mass" in record:
            options = [str(x) for x in self.data["option"].values]
            out["option_prob"] = dict(zip(options, map(_given, record["mass"]), strict=True))
            for name, sign in (("p_agree", 1), ("p_disagree", -1)):
                mass = (m for m, s in zip(record["mass"], self._stances, strict=True) if s == sign)
                out[name] = _given(sum(m for m in mass if m is not None))
            both = out["p_agree"] + out["p_disagree"]
            out["r_plus"] = _given(out["p_agree"] / both) if both else None
        if "unseen" in record:
            out["mass_unseen"] = _given(record["unseen"])
        return out

    def statement(self, place: Place) -> str:
        """Return the wording of a cell."""
        return str(self._texts["statement"][place[:2]])

    def row(self, place: Place, answer: Mapping[str, Any]) -> Row:
        """Return everything about a cell."""
        i, v = place[:2]
        labels = [known[n] for known, n in zip(self._labels, place, strict=True)]
        item, variant, prefix, run = labels
        cell = {"model": self.name, "item": item, "variant": variant, "prefix": prefix}
        about = {name: values[i, v] for name, values in self._texts.items()}
        empty: Row = {"stance": "", "coder": "", "answer": "", "message": ""}
        return {
            **cell,
            "run": int(run),
            "dimension": str(self._dimension[i]),
            "kind": str(about["kind"]),
            "keying": int(about["keying"]),
            "statement": str(about["statement"]),
            "system": self._system,
            "chat": self._chat,
            "prompt": self._prompt(place),
            **empty,
            **answer,
        }

    def _prompt(self, place: Place) -> str:
        if not self._template or self._prefix_text is None:
            return ""
        statement = self.statement(place)
        prompt = render(
            self._template,
            prefix=str(self._prefix_text[place[2]]),
            statement=statement,
            model_name=self._called,
            options=json.loads(str(self._options[place]) or "{}"),
        )
        context = str(self._context[place[2]]) if self._context is not None else ""
        return with_context(prompt, context, statement=statement, model_name=self._called)


def _given(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _system(data: xr.Dataset, model: str) -> str:
    """Return the system prompt of a model behind a server, from its config."""
    try:
        config = yaml.safe_load(str(data.attrs.get("config", "")))
        api = config["respondents"][model]["api"]
        return str(api["system"] or "")
    except (yaml.YAMLError, KeyError, TypeError):
        return ""
