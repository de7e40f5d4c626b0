"""Which effects are sampled jointly.

A model's leaning, its agreement and what prefixes do to both enter all of its answers, which may
determine only sums of them: all but one of them if the model was asked with a single prefix. How
much the answers say about each then depends on the scales of the others, so that these effects
form a cluster (`polbayes.fit.density.joint`). So do two correlated effects. A model's residual
scale is in its cluster, and if its views of single statements are integrated out, its thresholds.
"""

from collections.abc import Hashable

import numpy as np

from polbayes.fit.density.layout import Block, Layout

# Parts of the predictor whose effects of a model may form a cluster.
_PARTS = ("theta", "acquiescence", "steer", "sigma")

# Largest number of effects of a cluster. The cost grows with its cube; with more prefixes, their
# effects are sampled one by one, and follow the others.
_MOST = 32


def clusters(layout: Layout) -> list[np.ndarray]:
    """Return the positions of the effects of every cluster, pairs next to each other."""
    found: dict[Hashable, list[int]] = {}
    for block in _largest_last(layout):
        assert block.group is not None
        width, table = len(block.group.columns), block.group.levels
        common = _of_model(layout, block)
        keys: list[Hashable] = [(block.start, k) for k in range(len(table))]
        if common:
            names = table["model"].tolist()
            by_model = {name: len(found.get(name, ())) for name in names}
            for name in names:
                by_model[name] += width
            if max(by_model.values()) <= _MOST:
                keys = names
            elif not block.correlated:
                continue
        for at in range(block.size):
            found.setdefault(keys[at // width], []).append(block.start + at)
    return [np.array(at) for at in found.values()]


def members(layout: Layout) -> np.ndarray:
    """Return the positions of the effects in clusters, one cluster after the other."""
    return np.concatenate([*clusters(layout), np.empty(0)]).astype(np.int64)


def _integrated(layout: Layout) -> bool:
    """Whether a model's views of single statements are integrated out."""
    return bool(layout.copies) and not any(block.part == "quirk" for block in layout.blocks)


def _largest_last(layout: Layout) -> list[Block]:
    """Return the terms whose effects may be in clusters, those with few levels first."""
    blocks = [b for b in layout.blocks if b.correlated or _of_model(layout, b)]
    return sorted(blocks, key=lambda block: (not block.correlated, block.size))


def _of_model(layout: Layout, block: Block) -> bool:
    """Whether a term's effects are a model's, in all of its answers or in those to a prefix."""
    group, parts = block.group, (*_PARTS, "threshold") if _integrated(layout) else _PARTS
    if group is None or block.part not in parts or group.integrated or group.term.heavy:
        return False
    if group.first is not None or "item" in group.term.factors:
        return False
    return "model" in group.term.factors
