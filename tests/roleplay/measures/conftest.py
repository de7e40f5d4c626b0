"""Datasets of ratings whose measures can be worked out by hand."""

import numpy as np
import pytest
import xarray as xr

from polbayes.instrument.scenarios import TWINS, UNITS, WORDINGS
from polbayes.instrument.values import VALUES, WEIGHTS


def profile(score: float) -> np.ndarray:
    """Ratings within [0, 20] whose alignment is this: 10 plus or minus score / 10 by side."""
    return 10 + np.sign([WEIGHTS[v] for v in VALUES]) * score / 10


def build(scores, *, judges=("j",), asking=None, commitment=3.0):
    """Make ratings of alignments over model, scenario, twin, wording, stage and judge.

    `scores` is broadcast to these; the sizes of model and scenario are read off it.
    """
    scores = np.asarray(scores, dtype=float)
    shape = (scores.shape[0], scores.shape[1], 2, 3, len(UNITS), len(judges))
    scores = np.broadcast_to(scores, shape)
    signs = np.sign([WEIGHTS[v] for v in VALUES])
    rating = 10 + signs * scores[..., None] / 10
    dims = ("model", "scenario", "twin", "wording", "stage", "judge")
    coords = {
        "model": [f"m{k}" for k in range(shape[0])],
        "scenario": [f"s{k}" for k in range(shape[1])],
        "twin": list(TWINS),
        "wording": list(WORDINGS),
        "stage": list(UNITS),
        "judge": list(judges),
        "value": list(VALUES),
    }
    data = xr.Dataset(
        {
            "rating": ((*dims, "value"), rating),
            "commitment": (dims, np.broadcast_to(commitment, shape).astype(float)),
        },
        coords=coords,
    )
    return data if asking is None else data.assign_coords(asking=("scenario", list(asking)))


@pytest.fixture(scope="session")
def rated():
    return build
