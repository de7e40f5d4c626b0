"""The questions of a design, and the seed of each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.data.dataset import CELL_DIMS, STATUS
from polbayes.data.json_lines import Cell
from polbayes.data.provenance import json_digest, text_digest
from polbayes.instrument.design import called_in_prompts
from polbayes.instrument.prompts import in_context, render
from polbayes.instrument.scales import coded
from polbayes.respondents.base import Question

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray


class PendingQuestions(Sequence[Question]):
    """The pending cells of one model of a design as questions, each created on access.

    They are sorted by prompt, so that neighbours share long beginnings; the runs of a prompt are
    adjacent. `answers` maps prefixes to the kind of answer they ask for; ``open`` if not given.
    """

    def __init__(self, design: "xr.Dataset", model: str, answers: Mapping[str, str]) -> None:
        one = design.sel(model=model)
        self.model = model
        self._called = called_in_prompts(one)[model]
        self.template = str(one["template"].item())
        self.chat = bool(one["chat"].item())
        order = CELL_DIMS[1:]
        self._labels = [one[dim].values.tolist() for dim in order]
        self._places = [{label: k for k, label in enumerate(labels)} for labels in self._labels]
        self._statement = one["statement"].transpose("item", "variant").values
        self._keying = one["keying"].transpose("item", "variant").values
        self._dimension = one["dimension"].values
        self._prefix_text = one["prefix_text"].values
        self._options = options_by_cell(one)
        contexts = one["prefix_context"].values if "prefix_context" in one.coords else ()
        self._contexts = [json.loads(str(text) or "{}") for text in contexts]
        self._answers = answers
        self._pending = one["status"].transpose(*order).values == STATUS["pending"]
        where = np.argwhere(self._pending)
        # Prompts of many cells share what comes first in the template.
        keys = [_ranks(self._prefix_text)[where[:, 2]]]
        keys.append(_ranks(self._statement)[where[:, 0], where[:, 1]])
        if self.template.find("{statement}") < self.template.find("{prefix}"):
            keys.reverse()
        self._indices = where[np.lexsort((where[:, 3], *keys[::-1]))]

    def __len__(self) -> int:
        return len(self._indices)

    def __iter__(self) -> Iterator[Question]:
        return (self[n] for n in range(len(self)))

    def __getitem__(self, n: int) -> Question:  # type: ignore[override]
        return self._question(*self._indices[n])

    def of(self, cell: Cell) -> Question | None:
        """Return the question of a cell (item, variant, prefix, run), if there is one."""
        at = [places.get(label) for places, label in zip(self._places, cell, strict=True)]
        i, v, p, r = at
        if i is None or v is None or p is None or r is None or not self._pending[i, v, p, r]:
            return None
        return self._question(i, v, p, r)

    def _question(self, i: int, v: int, p: int, r: int) -> Question:
        items, variants, prefixes, runs = self._labels
        statement = str(self._statement[i, v])
        context = self._contexts[p] if self._contexts else {}
        options = json.loads(str(self._options[i, v, p, r]) or "{}")
        system, before = in_context(context, statement=statement, model_name=self._called)
        return Question(
            item=str(items[i]),
            variant=str(variants[v]),
            prefix=str(prefixes[p]),
            run=int(runs[r]),
            statement=statement,
            keying=int(self._keying[i, v]),
            dimension=str(self._dimension[i]),
            prompt=render(
                self.template,
                prefix=str(self._prefix_text[p]),
                statement=statement,
                model_name=self._called,
                options=options,
            ),
            answer=self._answers.get(str(prefixes[p]), "open"),
            options=coded(options),
            system=system,
            before=before,
        )


def options_by_cell(data: "xr.Dataset") -> "NDArray[Any]":
    """Return for each item, variant, prefix and run the options that are listed, as JSON."""
    shape = tuple(data.sizes[dim] for dim in CELL_DIMS[1:])
    if "prefix_options" not in data.coords:
        return np.broadcast_to(np.array("", dtype=object), shape)
    texts = data["prefix_options"]
    own = tuple(data.sizes[d] if d in texts.dims else 1 for d in CELL_DIMS[1:])
    laid = texts.transpose(*(d for d in CELL_DIMS[1:] if d in texts.dims)).values.reshape(own)
    return np.broadcast_to(laid, shape)


def _ranks(texts: "NDArray[Any]") -> "NDArray[np.int64]":
    """Return the rank of each text, in the shape of `texts`."""
    _, rank = np.unique(texts.astype(str), return_inverse=True)
    return np.asarray(rank).reshape(texts.shape)


def cell_seed(seed: int, model: str, question: Question) -> int:
    """Return the seed of one cell's answer, below 2**64, the same on every machine.

    It is a function of the run's seed, the respondent's name, and the question's item, variant,
    prefix and run.
    """
    labels = [seed, model, question.item, question.variant, question.prefix, question.run]
    return int(json_digest(labels, size=8), 16)


def prompt_digest(prompt: str) -> str:
    """Return a digest that identifies a prompt in a journal."""
    return text_digest(prompt, size=8)


def question_digest(question: Question) -> str:
    """Return what tells one question, with the turns before it, from another in a journal."""
    if question.system:
        whole = [question.system, *question.before, question.prompt, question.options]
        return prompt_digest(json.dumps(whole))
    if question.options:
        whole = [*question.before, question.prompt, question.options]
        return prompt_digest(json.dumps(whole))
    if not question.before:
        return prompt_digest(question.prompt)
    return prompt_digest(json.dumps([*question.before, question.prompt]))
