"""A causal LM asked so that prompts share beginnings, and runs a whole prompt."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polbayes.huggingface.continuation import Ids
from polbayes.huggingface.portions import Portion, fitting, inference, kept_bytes, step_bytes
from polbayes.huggingface.sampling import Sampler
from polbayes.huggingface.tree_attention import Layers, TreePass, forward, token_log_probabilities
from polbayes.huggingface.trie import build

# Tokens in one pass of prompts, and answers generated at once. On a CPU more need more memory
# without saving time (benchmarks/engine.py).
_TOKENS = {"cpu": 512}
_ROWS = {"cpu": 64}
_MOST_TOKENS, _MOST_ROWS = 2048, 512

_WORTH_KEEPING = 0.85


class SharedPass:
    """Feeds every shared stretch of prompts once, to a causal LM that supports it."""

    def __init__(self, model: Any, *, ends: Sequence[int], rows: int | None) -> None:
        self._model = model
        self._ends = ends
        kind = model.device.type
        self._sequences = Portion(rows or 1 << 30)
        self._rows = Portion(rows or _ROWS.get(kind, _MOST_ROWS))
        each = kept_bytes(model) + step_bytes(model)
        self.tokens = Portion(fitting(model.device, each, most=_TOKENS.get(kind, _MOST_TOKENS)))

    def log_probabilities(
        self, sequences: Sequence[Ids], reads: Sequence[tuple[int, int, int]]
    ) -> NDArray[np.float64]:
        """Return the log probability of tokens after beginnings of sequences."""
        order = sorted(range(len(sequences)), key=lambda n: sequences[n])
        rank = np.argsort(order)
        of_read = rank[[row for row, *_ in reads]] if reads else np.empty(0, dtype=np.int64)
        found = np.full(len(reads), np.nan)

        def work(start: int, stop: int) -> None:
            here = np.flatnonzero((of_read >= start) & (of_read < stop))
            wanted = [(int(of_read[n]) - start, *reads[n][1:]) for n in here.tolist()]
            found[here] = self._of_trie([sequences[n] for n in order[start:stop]], wanted)

        with inference():
            self._sequences.over(len(order), work)
        return found

    def _of_trie(
        self, sequences: Sequence[Ids], reads: Sequence[tuple[int, int, int]]
    ) -> NDArray[np.float64]:
        trie = build(sequences)
        at = np.array([trie.paths[row][place] for row, place, _ in reads], dtype=np.int64)
        tokens = np.array([token for *_, token in reads], dtype=np.int64)
        marked = np.unique(at)
        found = np.full(len(reads), np.nan)
        tree = TreePass(self._model, trie)

        def work(start: int, stop: int) -> None:
            read = marked[(marked >= start) & (marked < stop)]
            logits = tree.run(start, stop, read)
            here = np.flatnonzero((at >= start) & (at < stop))
            rows = np.searchsorted(read, at[here])
            found[here] = token_log_probabilities(logits, rows, tokens[here])

        self.tokens.over(len(trie.tokens), work)
        return found

    def continued(
        self, prompts: Sequence[Ids], seeds: Sequence[int], room: Sequence[int], sampler: Sampler
    ) -> list[list[int]]:
        """Generate after each prompt, to the end of the answer or the limit."""
        order = sorted(range(len(prompts)), key=lambda n: prompts[n])
        answers: list[list[int]] = [[] for _ in prompts]

        def work(start: int, stop: int) -> None:
            rows = order[start:stop]
            written = self._written(
                [prompts[n] for n in rows],
                np.array([seeds[n] for n in rows], dtype=np.uint64),
                np.array([room[n] for n in rows]),
                sampler,
            )
            for n, tokens in zip(rows, written, strict=True):
                answers[n] = tokens

        longest = max((len(p) + r for p, r in zip(prompts, room, strict=True)), default=0)
        each = longest * kept_bytes(self._model) + step_bytes(self._model)
        most = fitting(self._model.device, each, most=max(1, len(prompts)))
        with inference():
            self._rows.over(len(order), work, most=most)
        return answers

    def _written(
        self, prompts: Sequence[Ids], seeds: Any, room: Any, sampler: Sampler
    ) -> list[list[int]]:
        import torch

        from polbayes.huggingface.kv_cache import roomy_cache

        device = self._model.device
        different = sorted(set(prompts))
        place = {prompt: n for n, prompt in enumerate(different)}
        which = torch.as_tensor([place[prompt] for prompt in prompts], device=device)
        logits, layers = self._prefilled(different)
        logits, most = logits[which], int(room.max())
        cache = roomy_cache(layers, which, most)
        lengths = np.array([len(prompt) for prompt in prompts])
        width = int(lengths.max())
        answers: list[list[int]] = [[] for _ in prompts]
        rows, going = np.arange(len(prompts)), np.ones(len(prompts), dtype=bool)
        for step in range(most):
            drawn = sampler.draw(logits, seeds[rows], step)
            for row, token in zip(rows[going], drawn[going].tolist(), strict=True):
                answers[row].append(token)
            going &= ~np.isin(drawn, self._ends) & (step + 1 < room[rows])
            if not going.any():
                break
            # Dropping finished rows copies the others, so it is not done for a few.
            if going.mean() <= _WORTH_KEEPING:
                cache.batch_select_indices(torch.as_tensor(np.flatnonzero(going), device=device))
                rows, drawn, going = rows[going], drawn[going], going[going]
            seen = np.arange(width + step + 1) >= (width - lengths[rows])[:, None]
            # A finished row is still fed, at its last position.
            positions = lengths[rows] + np.minimum(step, room[rows] - 1)
            logits = forward(
                self._model,
                torch.as_tensor(drawn[:, None], device=device),
                positions=torch.as_tensor(positions[:, None], device=device),
                seen=torch.as_tensor(seen[:, None], device=device),
                cache=cache,
                read=torch.zeros(1, dtype=torch.long, device=device),
            )[:, 0]
        return answers

    def _prefilled(self, prompts: Sequence[Ids]) -> tuple[Any, Layers]:
        """Feed sorted prompts, and return what generation after each needs."""
        import torch

        trie = build(prompts)
        width = max(map(len, prompts))
        # Ascending, as the prompts are sorted.
        ends = np.array([path[-1] for path in trie.paths])
        tree = TreePass(self._model, trie)

        def work(start: int, stop: int) -> tuple[Any, Layers]:
            here = np.flatnonzero((ends >= start) & (ends < stop))
            logits = tree.run(start, stop, ends[here])
            return logits, tree.cached([trie.paths[n] for n in here], width) if len(here) else []

        parts = self.tokens.over(len(trie.tokens), work)
        by_layer = zip(*(layers for _, layers in parts if layers), strict=True)
        layers = [(_joined([k for k, _ in of]), _joined([v for _, v in of])) for of in by_layer]
        return torch.cat([logits for logits, _ in parts]), layers


def _joined(parts: Sequence[Any]) -> Any:
    import torch

    return None if parts[0] is None else torch.cat(list(parts))
