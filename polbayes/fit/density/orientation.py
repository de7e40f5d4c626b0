"""The orientation of the scale if discriminations may have either sign.

Reflecting all thetas and all discriminations of a dimension leaves the likelihood unchanged.
A model known to be right of the middle, the anchor, selects one of the two.
"""

import numpy as np

from polbayes.fit.density.layout import Layout
from polbayes.fit.spec.cells import Cells, levels
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import by_item

# Rough factor from the proportion agreeing minus the proportion disagreeing to the predictor.
_UNIT = 2.0
# Enough for the gaps of a table to settle to within some per cent.
_FILLINGS = 30


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
    keyed answers by model and item, centred by item. The models of one random walk are one row:
    items that were asked at different times have nothing else in common.
    """
    frame = cells.frame
    walks = [g.factors[:-1] for g in spec.parts["theta"].groups if g.walk]
    row = levels(frame, walks[0] if walks and walks[0] else ["model"])[0]
    score = _scores(cells) * frame["keying"].to_numpy(dtype=float)
    answers = frame.assign(score=score, row=row)
    table = answers.pivot_table("score", "row", "item", observed=True)
    table = table - table.mean()
    dimension = frame.drop_duplicates("item").set_index("item")["dimension"]
    block = next(
        b for b in layout.blocks if b.part == "discrimination" and b.group and by_item(b.group.term)
    )
    assert block.group is not None
    at = {item: block.start + k for k, item in enumerate(block.group.levels["item"])}
    start = np.zeros(layout.blocks[-1].stop)
    for name, anchor in spec.anchors.items():
        here = table.loc[:, dimension[table.columns].to_numpy() == name]
        left, size, right = _first_pair(here.to_numpy())
        side = np.sign(left[here.index.get_loc(row[(frame["model"] == anchor).argmax()])]) or 1.0
        start[[at[item] for item in here]] = _UNIT * side * right * size / np.sqrt(len(here))
    return start


def _first_pair(table: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the first singular vectors and value of a table with gaps, filled from themselves."""
    known, filled = np.isfinite(table), np.nan_to_num(table)
    for _ in range(_FILLINGS):
        left, size, right = np.linalg.svd(filled, full_matrices=False)
        guess = size[0] * np.outer(left[:, 0], right[0])
        if known.all():
            break
        filled = np.where(known, table, guess)
    return left[:, 0], float(size[0]), right[0]


def _scores(cells: Cells) -> np.ndarray:
    """Return ``[cell]`` the mean answer, from -1 to 1."""
    if cells.value.size:
        return np.nan_to_num(2.0 * cells.value - 1.0)
    points = np.linspace(-1.0, 1.0, cells.counts.shape[1])
    return np.asarray(cells.counts @ points / np.maximum(cells.counts.sum(axis=1), 1.0))
