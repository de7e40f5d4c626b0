"""Token sequences as a tree in which every shared beginning occurs once.

Nodes are in preorder of the sorted sequences, so that a node comes after its ancestors, and the
ancestors of later nodes that precede a node are ancestors of that node, too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Trie:
    """Token sequences that share beginnings.

    Each node has its token, its parent (-1 for none) and its depth; `paths` are the nodes of each
    sequence from the first token to the last.
    """

    tokens: Ints
    parents: Ints
    depths: Ints
    paths: tuple[Ints, ...]


def build(sequences: Sequence[Sequence[int]]) -> Trie:
    """Arrange token sequences as a trie.

    Examples
    --------
    >>> trie = build([(5, 7, 8), (5, 6), (5, 7)])
    >>> trie.tokens.tolist(), trie.parents.tolist()
    ([5, 6, 7, 8], [-1, 0, 0, 2])
    >>> [path.tolist() for path in trie.paths]
    [[0, 2, 3], [0, 1], [0, 2]]
    """
    tokens: list[int] = []
    parents: list[int] = []
    paths: list[Ints] = [np.empty(0, dtype=np.int64)] * len(sequences)
    path: list[int] = []
    before: Sequence[int] = ()
    for n in sorted(range(len(sequences)), key=lambda n: tuple(sequences[n])):
        shared = _common(before, sequences[n])
        del path[shared:]
        for token in sequences[n][shared:]:
            parents.append(path[-1] if path else -1)
            path.append(len(tokens))
            tokens.append(token)
        paths[n] = np.array(path, dtype=np.int64)
        before = sequences[n]
    depths = np.zeros(len(tokens), dtype=np.int64)
    for where in paths:
        depths[where] = np.arange(len(where))
    return Trie(
        np.array(tokens, dtype=np.int64),
        np.array(parents, dtype=np.int64),
        depths,
        paths=tuple(paths),
    )


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common beginning of two sequences."""
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length


def ancestors(trie: Trie, node: int) -> Ints:
    """Return the nodes before a node, from the first token on."""
    found: list[int] = []
    parent = int(trie.parents[node])
    while parent >= 0:
        found.append(parent)
        parent = int(trie.parents[parent])
    return np.array(found[::-1], dtype=np.int64)


def visible(trie: Trie, columns: Ints, nodes: Iterable[int]) -> NDArray[np.bool_]:
    """Return which tokens each node may attend to: itself and its ancestors."""
    chosen = np.asarray(nodes, dtype=np.int64)
    cached = len(columns) - len(chosen)
    parents = trie.parents[chosen]
    # Preorder: ancestors outside the stretch are at the end of the path before it.
    at = np.searchsorted(columns, parents)
    seen = np.zeros((len(chosen), len(columns)), dtype=bool)
    for row in range(len(chosen)):
        if parents[row] >= chosen[0]:
            seen[row] = seen[at[row] - cached]
        elif parents[row] >= 0:
            seen[row, : at[row] + 1] = True
        seen[row, cached + row] = True
    return seen
