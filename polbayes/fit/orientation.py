"""Which way is right, where discriminations may have either sign.

Turning all thetas and all discriminations of a dimension round changes nothing that is observed.
A model that is known to be right of the middle, the anchor, says which of the two is meant.
"""

import numpy as np

from polbayes.errors import UserError
from polbayes.fit.cells import Cells, levels
from polbayes.fit.layout import Layout
from polbayes.fit.spec import Spec

# From the share of agreement less that of disagreement to the predictor, roughly.
_UNIT = 2.0


def anchored(layout: Layout, spec: Spec, cells: Cells) -> np.ndarray:
    """Return what theta of every anchor is, as weights of the effects.

    Parameters
    ----------
    layout
        Where the effects are.
    spec
        The analysis spec; its anchors are in the data.
    cells
        Distinct cells.

    Returns
    -------
    numpy.ndarray
        ``[dimension, effect]``, the dimensions in the order of the anchors; the mean over the cells
        of the anchor on that dimension.
    """
    g, frame = layout.answers, cells.frame
    theta = slice(g.roles[1], g.roles[2])
    weights = np.zeros((len(spec.anchors), layout.blocks[-1].stop))
    for row, (dimension, model) in enumerate(spec.anchors.items()):
        own = g.at(np.flatnonzero((frame["model"] == model) & (frame["dimension"] == dimension)))
        weight = np.broadcast_to(own.weight[:, theta], own.index[:, theta].shape)
        np.add.at(weights[row], own.index[:, theta], weight / len(own.index))
    return weights


def first_discriminations(layout: Layout, spec: Spec, cells: Cells) -> np.ndarray:
    """Return discriminations from which the mode can be looked for.

    Where all are 0 so is the slope of theta, and the search would end where it starts. On each
    dimension they are the items' side of the first pair of singular vectors of the table of mean
    keyed answers by model and item, each item about its mean.

    Parameters
    ----------
    layout
        Where the effects are.
    spec
        The analysis spec; its anchors are in the data.
    cells
        Distinct cells and their answers.

    Returns
    -------
    numpy.ndarray
        ``[effect]``, zeros for all others.

    Raises
    ------
    UserError
        If no term of the part has one effect an item and nothing else.
    """
    block = next(
        (
            b
            for b in layout.blocks
            if b.part == "discrimination" and b.group and b.group.term.factors == ("item",)
        ),
        None,
    )
    if block is None or block.group is None or len(block.group.columns) > 1:
        raise UserError(
            "analysis.parts.discrimination: discriminations of either sign need a term (1 | item)."
        )
    frame = cells.frame
    model, models = levels(frame, ("model",))
    item, items = levels(frame, ("item",))
    score = _scores(cells) * frame["keying"].to_numpy(dtype=float)
    shape = (len(models), len(items))
    at = model * len(items) + item
    sums = np.bincount(at, weights=score, minlength=shape[0] * shape[1]).reshape(shape)
    counts = np.bincount(at, minlength=shape[0] * shape[1]).reshape(shape)
    table = np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0)
    table = np.nan_to_num(table - np.nanmean(table, axis=0), nan=0.0)
    dimension = frame["dimension"].to_numpy()[np.unique(item, return_index=True)[1]]
    start = np.zeros(layout.blocks[-1].stop)
    found = np.zeros(len(items))
    for name, anchor in spec.anchors.items():
        here = np.flatnonzero(dimension == name)
        left, size, right = np.linalg.svd(table[:, here], full_matrices=False)
        side = np.sign(left[models["model"].tolist().index(anchor), 0]) or 1.0
        found[here] = _UNIT * side * right[0] * size[0] / np.sqrt(len(models))
    place = {name: k for k, name in enumerate(items["item"])}
    for row, name in enumerate(block.group.levels["item"]):
        start[block.start + row] = found[place[name]]
    return start


def _scores(cells: Cells) -> np.ndarray:
    """Return ``[cell]`` the mean answer, from -1 to 1."""
    if cells.value.size:
        return 2.0 * cells.value - 1.0
    points = np.linspace(-1.0, 1.0, cells.counts.shape[1])
    return np.asarray(cells.counts @ points / np.maximum(cells.counts.sum(axis=1), 1.0))
