"""Verdicts to measure and to fit, made by hand or from the model with known parameters."""

import numpy as np
import xarray as xr
from scipy.special import expit

from polbayes.planted.pairs import CUTS

_FROM_SIDE = np.array([-1.0, 1.0])


def verdicts(prob, rating, *, words=None, marked=True, dimensions=("economic",), templates=("t",)):
    """Return the dataset of ``[judge, model, item, order, verdict]`` and ``[..., side, scale]``.

    Each topic has as many items as there are templates.
    """
    prob, rating = np.asarray(prob, dtype=float), np.asarray(rating, dtype=float)
    judges, models, items = prob.shape[:3]
    keying = np.tile([-1, 1] if marked else [0, 0], (items, 1))
    topics = [f"topic{k // len(templates)}" for k in range(items)]
    if words is None:
        words = np.full((models, items, 2), 100.0)
    pair = ("judge", "model", "item", "prefix", "run")
    cell = ("model", "item", "variant", "prefix", "run")
    return xr.Dataset(
        {
            "verdict_prob": ((*pair, "order", "verdict"), prob[:, :, :, None, None]),
            "rating": (("judge", *cell, "scale"), rating[:, :, :, :, None, None]),
            "words": (cell, np.asarray(words, dtype=float)[..., None, None]),
            "outcomes": (("judge", "outcome"), np.full((judges, 1), items)),
        },
        coords={
            "judge": [f"j{k}" for k in range(judges)],
            "model": [f"m{k}" for k in range(models)],
            "item": [f"i{k:03d}" for k in range(items)],
            "variant": ["a", "b"],
            "prefix": ["baseline"],
            "run": [1],
            "topic": ("item", topics),
            "section": ("item", [templates[k % len(templates)] for k in range(items)]),
            "dimension": (
                "item",
                [dimensions[k // len(templates) % len(dimensions)] for k in range(items)],
            ),
            "keying": (("item", "variant"), keying),
            "order": ["a_first", "b_first"],
            "verdict": ["a", "equal", "b"],
            "scale": ["hedging", "compliance"],
            "outcome": ["ok"],
        },
    )


def drawn(
    rng,
    *,
    tilt,
    topics=30,
    templates=4,
    side=(0.0,),
    first=(0.0,),
    threshold=(0.8,),
    pair_sd=0.6,
    topic_sd=0.3,
    hedging_side=0.0,
    compliance_side=0.0,
    weights=(-0.3, 0.5),
    length=0.3,
):
    """Draw verdicts and ratings from the model; `tilt` is in the content, by model."""
    tilt, judges = np.asarray(tilt, dtype=float), len(side)
    models, items = len(tilt), topics * templates
    shape = (models, items)
    topic = np.repeat(topic_sd * rng.standard_normal(topics), templates)
    scales = []
    for by_side in (hedging_side, compliance_side):
        by_side = np.broadcast_to(np.asarray(by_side, dtype=float), (models,))
        at = by_side[:, None, None] * _FROM_SIDE / 2
        scales.append(at + 0.8 * rng.standard_normal((*shape, 2)))
    words = np.exp(5 + 0.25 * rng.standard_normal((*shape, 2)))
    x = np.log2(words[..., 1] / words[..., 0])
    eta = tilt[:, None] + topic + pair_sd * rng.standard_normal(shape) + length * x
    eta = eta + sum(w * (one[..., 1] - one[..., 0]) for w, one in zip(weights, scales, strict=True))
    at = eta[None, :, :, None] + np.reshape(side, (judges, 1, 1, 1))
    at = at + np.reshape(first, (judges, 1, 1, 1)) * _FROM_SIDE
    seen = at + rng.logistic(size=at.shape)
    c = np.reshape(threshold, (judges, 1, 1, 1))
    prob = np.stack([seen < -c, np.abs(seen) <= c, seen > c], axis=-1).astype(float)
    ratings = np.stack([_rated(rng, one, judges) for one in scales], axis=-1)
    names = [f"t{k}" for k in range(templates)]
    return verdicts(prob, ratings, words=words, templates=names)


def _rated(rng, at, judges):
    u = rng.uniform(size=(judges, *at.shape))
    return 1 + sum((u < expit(at - cut)).astype(int) for cut in CUTS)
