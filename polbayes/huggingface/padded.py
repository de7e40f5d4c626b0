"""A causal LM asked in padded batches of whole prompts, which works with every model."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polbayes.huggingface.continuation import Ids
from polbayes.huggingface.portions import Portion, inference
from polbayes.huggingface.sampling import SampledOnly, Sampler
from polbayes.huggingface.tree_attention import takes, token_log_probabilities

# Prompts in one pass. On a CPU more need more memory without saving time.
_ROWS, _MOST_ROWS = {"cpu": 16}, 256

# Mean difference allowed between log probabilities that should be equal. Errors are tenths or
# more.
_TOLERANCE = {"float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-1}


def tolerance(model: Any) -> float:
    """Return the mean difference allowed between equal log probabilities of a model."""
    return _TOLERANCE[str(model.dtype).removeprefix("torch.")]


def same(found: Any, expected: Any, again: Any, model: Any) -> bool:
    """Return whether log probabilities are the expected ones but for rounding.

    `again` are the expected ones from batches of another size. On a card large models in 16 bits
    differ more from batch to batch than `tolerance` allows.
    """
    rounding = float(abs(again - expected).mean())
    return float(abs(found - expected).mean()) <= max(tolerance(model), 2 * rounding)


class PlainPass:
    """Feeds every prompt whole; has the methods of `SharedPass` in `shared_prefix`."""

    def __init__(self, model: Any, *, ends: Sequence[int], pad: int, rows: int | None) -> None:
        self._model = model
        self._pad = pad
        self._rows = Portion(rows or _ROWS.get(model.device.type, _MOST_ROWS))
        # The checkpoint's own defaults (penalties, top-p, ...) would change the samples.
        defaults = type(model.generation_config)
        model.generation_config = defaults(pad_token_id=pad, eos_token_id=list(ends) or None)

    @cached_property
    def can_pad(self) -> bool:
        """Whether prompts of different lengths may be fed together."""
        if not takes(self._model, "position_ids"):
            return False
        short, long = (self._pad,), (self._pad,) * 9
        batches = [long, short], [short], [short] * 18  # the last has as many tokens as the first
        with inference():
            padded, alone, again = (
                self._logits(rows, 1)[-1, 0].log_softmax(dim=0) for rows in batches
            )
        return same(padded, alone, again, self._model)

    def log_probabilities(
        self,
        sequences: Sequence[Ids],
        reads: Sequence[tuple[int, int, int]],
        *,
        most: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the log probability of tokens after beginnings of sequences (read).

        At most `most` sequences are fed together.
        """
        found = np.full(len(reads), np.nan)
        of_sequence: dict[Ids, list[int]] = {}
        for n, (row, *_) in enumerate(reads):
            of_sequence.setdefault(sequences[row], []).append(n)
        fed = list(of_sequence)

        def work(rows: Sequence[int]) -> None:
            here = [(k, n) for k, row in enumerate(rows) for n in of_sequence[fed[row]]]
            # Positions count from the end, as rows are padded on the left.
            back = [len(fed[rows[k]]) - reads[n][1] for k, n in here]
            logits = self._logits([fed[row] for row in rows], max(back))
            at = [(k + 1) * max(back) - places for (k, _), places in zip(here, back, strict=True)]
            tokens = [reads[n][2] for _, n in here]
            values = token_log_probabilities(logits.flatten(0, 1), at, tokens)
            found[[n for _, n in here]] = values

        self._over(range(len(fed)), [len(ids) for ids in fed], work, most=most)
        return found

    def continued(
        self, prompts: Sequence[Ids], seeds: Sequence[int], room: Sequence[int], sampler: Sampler
    ) -> list[list[int]]:
        """Generate after each prompt, to the end of the answer or the limit."""
        answers: list[list[int]] = [[] for _ in prompts]

        def work(rows: Sequence[int]) -> None:
            drawn = self._generated(
                [prompts[n] for n in rows], [seeds[n] for n in rows], room[rows[0]], sampler
            )
            for n, tokens in zip(rows, drawn, strict=True):
                answers[n] = tokens

        for size in sorted(set(room)):
            rows = [n for n, given in enumerate(room) if given == size]
            self._over(rows, [len(prompt) for prompt in prompts], work)
        return answers

    def searched(
        self,
        prompts: Sequence[Ids],
        room: Sequence[int],
        search: Callable[[Any, Any, Any, int], Sequence[Any]],
    ) -> Mapping[Ids, Any]:
        """Search for an answer after each distinct prompt, which determines it."""
        rooms = dict(zip(prompts, room, strict=True))
        different = list(rooms)
        found: dict[Ids, Any] = {}

        def work(rows: Sequence[int]) -> None:
            asked = [different[n] for n in rows]
            here = search(self._model, *self._padded(asked), rooms[asked[0]])
            found.update(zip(asked, here, strict=True))

        for size in sorted(set(rooms.values())):
            rows = [n for n, prompt in enumerate(different) if rooms[prompt] == size]
            self._over(rows, [len(prompt) for prompt in different], work)
        return found

    def _over(
        self,
        rows: Sequence[int],
        lengths: Sequence[int],
        work: Callable[[list[int]], None],
        *,
        most: int | None = None,
    ) -> None:
        """Do the work for all rows, grouped by similar length, longest first."""
        order = sorted(rows, key=lambda n: -lengths[n])
        alike = [order] if self.can_pad else _by_length(order, lengths)
        for group in alike:
            self._rows.over(len(group), partial(_stretch, work, group), most=most)

    def _padded(self, prompts: Sequence[Ids]) -> tuple[Any, Any]:
        """Return ids and attention mask (row, position), padded on the left."""
        import torch

        width = max(map(len, prompts))
        ids = np.full((len(prompts), width), self._pad, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, width - len(prompt) :] = prompt
            mask[row, width - len(prompt) :] = 1
        device = self._model.device
        return torch.as_tensor(ids, device=device), torch.as_tensor(mask, device=device)

    def _logits(self, prompts: Sequence[Ids], keep: int) -> Any:
        """Return the logits of the last `keep` positions (row, position, token) as float32."""
        ids, mask = self._padded(prompts)
        extra = {"logits_to_keep": keep} if takes(self._model, "logits_to_keep") else {}
        if takes(self._model, "position_ids"):
            extra["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
        with inference():
            out = self._model(input_ids=ids, attention_mask=mask, use_cache=False, **extra)
        return out.logits[:, -keep:].float()

    def _generated(
        self, prompts: Sequence[Ids], seeds: Sequence[int], room: int, sampler: Sampler
    ) -> list[list[int]]:
        from transformers import LogitsProcessorList

        ids, mask = self._padded(prompts)
        start = ids.shape[1]
        with inference():
            out = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                do_sample=False,
                max_new_tokens=room,
                logits_processor=LogitsProcessorList([SampledOnly(sampler, seeds, start)]),
            )
        new: list[list[int]] = out[:, start:].tolist()
        return new


def _by_length(rows: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for n in rows:
        groups.setdefault(lengths[n], []).append(n)
    return list(groups.values())


def _stretch(
    work: Callable[[list[int]], None], group: Sequence[int], start: int, stop: int
) -> None:
    work(list(group[start:stop]))
