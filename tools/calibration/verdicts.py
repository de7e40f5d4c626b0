"""Verdicts and ratings made by hand, or drawn from the model with known parameters.

They are drawn from the model's equation, without the code that fits it.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from polbayes.planted.pairs import CUTS

_SIDES = np.array([-1.0, 1.0])


def verdicts(
    prob: ArrayLike,
    rating: ArrayLike,
    *,
    words: ArrayLike | None = None,
    marked: bool = True,
    templates: Sequence[str] = ("t",),
) -> xr.Dataset:
    """Return a dataset as that of `polbayes.run.pairs.verdicts`, with one prefix and one run.

    `prob` is over ``judge, model, item, order, verdict``, `rating` over ``judge, model, item, side,
    scale``. Each topic has as many items as there are templates.
    """
    prob, rating = np.asarray(prob, dtype=float), np.asarray(rating, dtype=float)
    judges, models, items = prob.shape[:3]
    length = np.full((models, items, 2), 100.0) if words is None else np.asarray(words, dtype=float)
    pair = ("judge", "model", "item", "prefix", "run")
    cell = ("model", "item", "variant", "prefix", "run")
    per_topic = len(templates)
    return xr.Dataset(
        {
            "verdict_prob": ((*pair, "order", "verdict"), prob[:, :, :, None, None]),
            "rating": (("judge", *cell, "scale"), rating[:, :, :, :, None, None]),
            "words": (cell, length[..., None, None]),
            "outcomes": (("judge", "outcome"), np.full((judges, 1), items)),
        },
        coords={
            "judge": [f"j{k}" for k in range(judges)],
            "model": [f"m{k}" for k in range(models)],
            "item": [f"i{k:03d}" for k in range(items)],
            "variant": ["a", "b"],
            "prefix": ["baseline"],
            "run": [1],
            "topic": ("item", [f"topic{k // per_topic}" for k in range(items)]),
            "section": ("item", [templates[k % per_topic] for k in range(items)]),
            "dimension": ("item", ["economic"] * items),
            "keying": (("item", "variant"), np.tile([-1, 1] if marked else [0, 0], (items, 1))),
            "order": ["a_first", "b_first"],
            "verdict": ["a", "equal", "b"],
            "scale": ["hedging", "compliance"],
            "outcome": ["ok"],
        },
    )


def simulate(
    rng: np.random.Generator,
    *,
    tilt: ArrayLike,
    topics: int = 30,
    templates: int = 4,
    side: Sequence[float] = (0.0,),
    first: Sequence[float] = (0.0,),
    threshold: Sequence[float] = (0.8,),
    pair_sd: float = 0.6,
    topic_sd: float = 0.3,
    hedging_side: ArrayLike = 0.0,
    compliance_side: ArrayLike = 0.0,
    weights: tuple[float, float] = (-0.3, 0.5),
    length: float = 0.3,
    rated: bool = True,
) -> xr.Dataset:
    """Draw verdicts, and ratings if `rated`; `tilt` is in the content, by model."""
    content, judges = np.asarray(tilt, dtype=float), len(side)
    shape = (len(content), topics * templates)
    topic = np.repeat(topic_sd * rng.standard_normal(topics), templates)
    shown = []
    for by_side in (hedging_side, compliance_side):
        own = np.broadcast_to(np.asarray(by_side, dtype=float), shape[:1])
        shown.append(own[:, None, None] * _SIDES / 2 + 0.8 * rng.standard_normal((*shape, 2)))
    words = np.exp(5 + 0.25 * rng.standard_normal((*shape, 2)))
    eta = content[:, None] + topic + pair_sd * rng.standard_normal(shape)
    eta = eta + length * np.log2(words[..., 1] / words[..., 0])
    if rated:
        for weight, one in zip(weights, shown, strict=True):
            eta = eta + weight * (one[..., 1] - one[..., 0])
    at = eta[None, :, :, None] + np.reshape(side, (judges, 1, 1, 1))
    at = at + np.reshape(first, (judges, 1, 1, 1)) * _SIDES
    seen = at + rng.logistic(size=at.shape)
    equal = np.reshape(threshold, (judges, 1, 1, 1))
    prob = np.stack([seen < -equal, np.abs(seen) <= equal, seen > equal], axis=-1)
    ratings = np.stack([_rated(rng, one, judges) for one in shown], axis=-1)
    if not rated:
        ratings = np.full(ratings.shape, np.nan)
    names = [f"t{k}" for k in range(templates)]
    return verdicts(prob, ratings, words=words, templates=names)


def _rated(rng: np.random.Generator, at: NDArray[np.float64], judges: int) -> NDArray[np.float64]:
    u = rng.uniform(size=(judges, *at.shape))
    return 1.0 + sum((u < expit(at - cut)).astype(float) for cut in CUTS)
