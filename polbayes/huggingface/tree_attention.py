"""Forward passes in which token sequences share beginnings.

The sequences form a trie whose nodes are fed once each, packed without padding: a mask lets every
token see its own earlier tokens only, position ids count these, and the keys and values of earlier
passes are kept for the beginnings of later ones.
"""

import inspect
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polbayes.huggingface.trie import Ints, Trie, ancestors, visible

# Tokens whose attention is computed at once (benchmarks/engine.py); other layers take all.
PART = {"cpu": 32}

# Keys and values of each layer, dimensions row, head, position, dim; None if a layer reuses those
# of another one.
Layers = list[tuple[Any, Any]]


def takes(model: Any, name: str) -> bool:
    """Return whether a model's forward pass has an argument of this name."""
    return name in inspect.signature(model.forward).parameters


def forward(model: Any, ids: Any, *, positions: Any, seen: Any, cache: Any, read: Any) -> Any:
    """Feed tokens after those whose keys and values are cached."""
    import torch

    # Additive, because eager attention interprets booleans differently.
    mask = torch.zeros(seen.shape, dtype=model.dtype, device=seen.device)
    mask.masked_fill_(~seen, torch.finfo(model.dtype).min)
    only = {"logits_to_keep": read} if takes(model, "logits_to_keep") else {}
    out = model(
        input_ids=ids,
        attention_mask=mask[:, None],
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        **only,
    )
    return (out.logits if only else out.logits[:, read]).float()


def token_log_probabilities(logits: Any, rows: Any, tokens: Any) -> NDArray[np.float64]:
    """Return log probabilities of tokens from logits (row, token) in float32."""
    import torch

    row = torch.as_tensor(rows, device=logits.device)
    token = torch.as_tensor(tokens, device=logits.device)
    picked = logits[row, token] - logits.logsumexp(dim=1)[row]
    return np.asarray(picked.cpu().double().numpy())


class TreePass:
    """Feeds a trie to a causal LM, stretch by stretch in the order of its nodes."""

    def __init__(self, model: Any, trie: Trie) -> None:
        self._model = model
        self._trie = trie
        # Nodes whose keys and values are cached, in ascending order.
        self._columns: Ints = np.empty(0, dtype=np.int64)
        self._layers: Layers = []

    def run(self, start: int, stop: int, read: Ints) -> Any:
        """Feed the nodes from `start` to before `stop`; all earlier ones must have been fed."""
        import torch
        from transformers import DynamicCache

        device = self._model.device
        nodes = np.arange(start, stop)
        path = ancestors(self._trie, start)
        columns = np.concatenate([path, nodes])
        seen = visible(self._trie, columns, nodes)
        # The rest is not needed again, even if memory runs out and the stretch is fed anew.
        self._columns, self._layers = path, self.cached([path]) if len(path) else []
        cache: Any = DynamicCache(self._layers)
        with self._attention(columns, start, stop):
            logits = forward(
                self._model,
                torch.as_tensor(self._trie.tokens[None, nodes], device=device),
                positions=torch.as_tensor(self._trie.depths[None, nodes], device=device),
                seen=torch.as_tensor(seen[None], device=device),
                cache=cache,
                read=torch.as_tensor(read - start, device=device),
            )
        self._columns = columns
        self._layers = [(layer.keys, layer.values) for layer in cache.layers]
        return logits[0]

    def _attention(self, columns: Ints, start: int, stop: int) -> AbstractContextManager[Any]:
        """Return the context for feeding a stretch, given the nodes with cached keys."""
        import torch

        from polbayes.huggingface.block_attention import NarrowAttention

        device = self._model.device
        size = PART.get(device.type)
        if size is None or stop - start <= size:
            return nullcontext()
        parts = []
        for first in range(start, stop, size):
            last = min(first + size, stop)
            nodes = np.concatenate([ancestors(self._trie, first), np.arange(first, last)])
            keys = torch.as_tensor(np.searchsorted(columns, nodes), device=device)
            parts.append((first - start, last - start, keys))
        return NarrowAttention((stop - start, len(columns)), parts)

    def cached(self, paths: Sequence[Ints], width: int = 0) -> Layers:
        """Return keys and values of paths that end in the last stretch."""
        import torch

        width = max(width, *map(len, paths))
        at = np.zeros((len(paths), width), dtype=np.int64)
        for row, path in enumerate(paths):
            at[row, width - len(path) :] = np.searchsorted(self._columns, path)
        where = torch.as_tensor(at, device=self._model.device)

        def chosen(values: Any) -> Any:
            return None if values is None else values[0][:, where].transpose(0, 1)

        return [(chosen(keys), chosen(values)) for keys, values in self._layers]
