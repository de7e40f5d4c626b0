"""Splitting labelled answers: in every part about the same shares of the classes.

Answers that belong together go to one part. Units, the larger ones first and otherwise in random
order, are put one by one where they bring the counts of the classes nearest to what they should
be; a unit of one answer so goes to the part that lacks most of its class.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from polbayes.measures.resampling import generator


def split(
    labels: np.ndarray, units: Sequence[Hashable], shares: Mapping[str, float], *, seed: int
) -> dict[str, np.ndarray]:
    """Split answers."""
    number = {unit: k for k, unit in enumerate(dict.fromkeys(units))}
    unit_of = np.array([number[unit] for unit in units], dtype=np.int64)
    counts = np.zeros((len(number), int(labels.max(initial=0)) + 1))
    np.add.at(counts, (unit_of, labels), 1)
    parts = [name for name, share in shares.items() if share > 0]
    wanted = np.array([shares[name] for name in parts])
    part_of = _assign(counts, wanted / wanted.sum(), generator(seed, "training", "split"))
    chosen = part_of[unit_of] if len(units) else unit_of
    return {
        name: np.flatnonzero(chosen == parts.index(name))
        if name in parts
        else np.array([], dtype=np.int64)
        for name in shares
    }


def _assign(counts: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the part of each unit, from its counts (unit, class) and the shares (part)."""
    total = counts.sum(axis=0)
    # What is still too much (part, class), in shares of the class so that rare ones count as much.
    excess = -shares[:, None] * total
    order = rng.permutation(len(counts))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    weight = 1 / np.maximum(total, 1)
    out = np.empty(len(counts), dtype=np.int64)
    for unit in order:
        # By how much the squared distance from what is wanted grows.
        growth = (weight * counts[unit] * (2 * excess + counts[unit])).sum(axis=1)
        out[unit] = int(growth.argmin())
        excess[out[unit]] += counts[unit]
    return out
