"""The orientation of the scale if discriminations may have either sign.

Reflecting all thetas and all discriminations of a dimension leaves the posterior unchanged, so that
either of its halves contains everything. The half is bounded by the plane at right angles to theta
at the mode, with hardly any probability near it. A model known to be right of the middle, the
anchor, only says which of the two it is: if its own theta were the bound, a chain would often meet
it wherever the anchor is not far from the middle.
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
    models, weights = _positions(layout, spec, cells)
    rows = zip(spec.anchors.values(), weights, strict=True)
    return np.stack([own[models.index(anchor)] for anchor, own in rows])


def halves(layout: Layout, spec: Spec, cells: Cells, effects: np.ndarray) -> np.ndarray:
    """Return the planes that bound the posterior, as weights of the effects.

    Over ``[dimension, effect]``, in the order of the anchors: the sum of the models' thetas,
    weighted by those at the mode, is positive. `effects` are those of the mode, of common and
    group-specific terms.
    """
    weights = _positions(layout, spec, cells)[1]
    return np.stack([(own[:, : len(effects)] @ effects) @ own for own in weights])


def _positions(layout: Layout, spec: Spec, cells: Cells) -> tuple[list[str], list[np.ndarray]]:
    """Return the models, and their thetas by dimension as weights of the effects.

    These are ``[model, effect]`` for every anchor, means over the model's cells on its dimension,
    and 0 for models without any.
    """
    g = layout.answers
    theta = slice(g.roles[1], g.roles[2])
    index = g.index[:, theta]
    weight = np.broadcast_to(g.weight[:, theta], index.shape)
    model, names = levels(cells.frame, ["model"])
    found = []
    for dimension in spec.anchors:
        here = (cells.frame["dimension"] == dimension).to_numpy()
        own = np.zeros((len(names), layout.size))
        number = np.bincount(model[here], minlength=len(names))[model[here]]
        np.add.at(own, (model[here][:, None], index[here]), weight[here] / number[:, None])
        found.append(own)
    return [str(name) for name in names["model"]], found


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
