"""Attention of a long pass, part by part, over only those keys that tokens of a part may see.

Layers other than attention are faster with more tokens at once, because the weights are read once
for all of them. Attention is not: in a pass over a tree a token sees few of the others, and masked
scores are computed all the same.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode


class NarrowAttention(TorchFunctionMode):
    """While active, attention over `shape` tokens and keys is computed part by part.

    A part is its first token, the one after its last, and the positions of the keys that its tokens
    may see; the parts cover all tokens in order. Models that do not use PyTorch's
    `scaled_dot_product_attention` are not affected.
    """

    def __init__(self, shape: tuple[int, int], parts: Sequence[tuple[int, int, Any]]) -> None:
        super().__init__()
        self._shape = shape
        self._parts = parts

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call a function of PyTorch, attention in parts."""
        given = kwargs or {}
        mask = given.get("attn_mask")
        if func is not scaled_dot_product_attention or len(args) != 3 or mask is None:
            return func(*args, **given)
        query, key, value = args
        fed = (query.shape[-2], key.shape[-2])
        if fed != self._shape or tuple(mask.shape[-2:]) != self._shape:
            return func(*args, **given)
        found = []
        for start, stop, keys in self._parts:
            narrow = given | {"attn_mask": mask[..., start:stop, :].index_select(-1, keys)}
            here = (query[..., start:stop, :], *(x.index_select(-2, keys) for x in (key, value)))
            found.append(func(*here, **narrow))
        return torch.cat(found, dim=-2)
