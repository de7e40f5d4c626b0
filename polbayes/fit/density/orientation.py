"""The orientation of the scale if discriminations may have either sign.

Reflecting all thetas and all discriminations of a dimension leaves the likelihood unchanged.
A model known to be right of the middle, the anchor, selects one of the two.
"""

import numpy as np

from polbayes.fit.density.layout import Layout
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import by_item

# Rough factor from the proportion agreeing minus the proportion disagreeing to the predictor.
_UNIT = 2.0


def anchored(layout: Layout, spec: Spec, cells: Cells) -> np.ndarray:
    """Return theta of every anchor as weights of the effects, ``[dimension, effect]``.

    It is the mean over the anchor's cells on that dimension, in the order of the anchors.
    """
    g, frame = layout.answers, cells.frame
    theta = slice(g.roles[1], g.roles[2])
    weights = np.zeros((len(spec.anchors), layout.size))
    for row, (dimension, model) in enumerate(spec.anchors.items()):
        own = g.at(np.flatnonzero((frame["model"] == model) & (frame["dimension"] == dimension)))
        weight = np.broadcast_to(own.weight[:, theta], own.index[:, theta].shape)
        np.add.at(weights[row], own.index[:, theta], weight / len(own.index))
    return weights


def first_discriminations(layout: Layout, spec: Spec, cells: Cells) -> np.ndarray:
    """Return starting values of discriminations ``[effect]``, zeros for all other effects.

    If all were 0, so would be the slope of theta, and the search would not move. On each
    dimension they are the items' part of the first pair of singular vectors of the table of mean
    keyed answers by model and item, centred by item.
    """
    frame = cells.frame
    answers = frame.assign(score=_scores(cells) * frame["keying"].to_numpy(dtype=float))
    table = answers.pivot_table("score", "model", "item", observed=True)
    table = (table - table.mean()).fillna(0.0)
    dimension = frame.drop_duplicates("item").set_index("item")["dimension"]
    block = next(
        b for b in layout.blocks if b.part == "discrimination" and b.group and by_item(b.group.term)
    )
    assert block.group is not None
    at = {item: block.start + k for k, item in enumerate(block.group.levels["item"])}
    start = np.zeros(layout.blocks[-1].stop)
    for name, anchor in spec.anchors.items():
        here = table.loc[:, dimension[table.columns].to_numpy() == name]
        left, size, right = np.linalg.svd(here.to_numpy(), full_matrices=False)
        side = np.sign(left[here.index.get_loc(anchor), 0]) or 1.0
        start[[at[item] for item in here]] = _UNIT * side * right[0] * size[0] / np.sqrt(len(here))
    return start


def _scores(cells: Cells) -> np.ndarray:
    """Return ``[cell]`` the mean answer, from -1 to 1."""
    if cells.value.size:
        return np.nan_to_num(2.0 * cells.value - 1.0)
    points = np.linspace(-1.0, 1.0, cells.counts.shape[1])
    return np.asarray(cells.counts @ points / np.maximum(cells.counts.sum(axis=1), 1.0))
