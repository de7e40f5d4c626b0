"""Positions among respondents that readers know, such as parties: the reference.

On the reference's scale 0 is the mean of its respondents and 1 their standard deviation, in every
draw, so that the uncertainty of both is in the intervals.
"""

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.posterior.intervals import flat, summary
from polbayes.fit.spec.cells import Cells, levels


def reference_tables(
    posterior: xr.Dataset, cells: Cells, models: list[str], *, level: float
) -> dict[str, pd.DataFrame]:
    """Place every model on the reference's scale, and find who of the reference is nearest.

    Parameters
    ----------
    posterior
        With ``theta[model, dimension]``.
    cells
        The answers, for the agreement of answers.
    models
        The reference (`polbayes.fit.spec.reference.reference_models`).
    level
        Probability of the intervals, in (0, 1).

    Returns
    -------
    dict
        ``reference_scale``: theta by model and dimension on the reference's scale.
        ``nearest``: for each model and each of the reference, the probability that this is the
        nearest by Euclidean distance of theta over the dimensions, the distance in units of theta,
        and the agreement of their answers (`agreement`).
    """
    theta = flat(posterior["theta"].transpose("chain", "draw", "model", "dimension"))
    names = [str(name) for name in posterior["model"].values]
    dimensions = [str(name) for name in posterior["dimension"].values]
    at = [names.index(model) for model in models]
    known = theta[:, at]
    unit = np.nanstd(known, axis=1, ddof=1, keepdims=True)
    scaled = (theta - np.nanmean(known, axis=1, keepdims=True)) / unit
    scale = [
        {"model": model, "dimension": dimension, "reference": model in models}
        | summary(scaled[:, k, d], level)
        | {"level": level}
        for k, model in enumerate(names)
        for d, dimension in enumerate(dimensions)
        if not np.isnan(theta[:, k, d]).any()
    ]
    alike = agreement(cells)
    rows = []
    for k, model in enumerate(names):
        others = [n for n in at if n != k]
        apart = np.sqrt(((theta[:, [k]] - theta[:, others]) ** 2).sum(axis=2))
        if np.isnan(apart).any():
            continue  # one of them was asked about fewer dimensions
        first = np.bincount(apart.argmin(axis=1), minlength=len(others)) / len(apart)
        for place, n in enumerate(others):
            found = summary(apart[:, place], level)
            share, items = alike.get((model, names[n]), (np.nan, 0))
            rows.append(
                {"model": model, "reference": names[n], "p_nearest": first[place]}
                | {key: found[key] for key in ("estimate", "lower", "upper")}
                | {"agreement": share, "n_items": items, "level": level}
            )
    return {"reference_scale": pd.DataFrame(scale), "nearest": pd.DataFrame(rows)}


def agreement(cells: Cells) -> dict[tuple[str, str], tuple[float, int]]:
    """Return the agreement of every two models on the statements that both answered.

    It is 1 for the same answer and 0 for the opposite end of the scale, and proportional in
    between, as voting advice applications count it; several answers of a model to a statement, in
    whatever wording, count by their proportions. With it comes the number of statements.
    """
    frame = cells.frame
    flip = (frame["keying"] * frame["direction"]).to_numpy() < 0
    if cells.counts.size:
        shares = np.where(flip[:, None], cells.counts[:, ::-1], cells.counts)
        points = np.linspace(0, 1, shares.shape[1])
    else:
        value = np.where(flip, 1 - cells.value, cells.value)
        there = np.isfinite(value)
        right = np.where(there, np.nan_to_num(value), 0.0)
        shares, points = np.stack([there - right, right], axis=1), np.array([0.0, 1.0])
    index, table = levels(frame, ["model", "item"])
    total = np.stack([np.bincount(index, column) for column in shares.T], axis=1)
    model, names = levels(table, ["model"])
    item = levels(table, ["item"])[0]
    answers = np.zeros((len(names), item.max() + 1, len(points)))
    size = total.sum(axis=1, keepdims=True)
    answers[model, item] = np.divide(total, size, out=np.zeros_like(total), where=size > 0)
    there = answers.sum(axis=2)
    near = 1 - np.abs(points[:, None] - points)
    both = there @ there.T
    sums = np.einsum("aik,kl,bil->ab", answers, near, answers, optimize=True)
    labels = [str(name) for name in names["model"]]
    return {
        (one, other): (float(sums[a, b] / both[a, b]), int(both[a, b]))
        for a, one in enumerate(labels)
        for b, other in enumerate(labels)
        if a != b and both[a, b]
    }
