"""Models in their order from left to right, with the certainty of every neighbouring pair."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.posterior.intervals import summary
from polbayes.fit.posterior.summary import asked_positions

ALL, REFERENCE = "all", "reference"


def neighbours(
    posterior: xr.Dataset, *, level: float, reference: Sequence[str] = ()
) -> pd.DataFrame:
    """Order the models by the posterior median of theta, and compare each with the next.

    Parameters
    ----------
    posterior
        With ``theta[model, dimension]``.
    level
        Probability of the intervals, in (0, 1).
    reference
        Models that are also ordered among themselves.

    Returns
    -------
    pandas.DataFrame
        For every dimension, and for their mean (``total``) if there are several, the pairs from
        left to right: ``model`` and ``next``, the probability ``p_left`` that the first is left of
        the second, and the distance between them. ``among`` is ``all``, or ``reference`` for the
        order without the other models.
    """
    sets = (ALL, REFERENCE) if reference else (ALL,)
    rows = []
    for dimension, models, draws in asked_positions(posterior):
        if dimension == "total" and posterior.sizes["dimension"] == 1:
            continue
        median = np.median(draws, axis=0)
        for among in sets:
            at = np.flatnonzero((among == ALL) | np.isin(models, list(reference)))
            at = at[np.argsort(median[at], kind="stable")]
            for place, (one, other) in enumerate(pairwise(at), start=1):
                apart = draws[:, other] - draws[:, one]
                rows.append(
                    {"among": among, "dimension": str(dimension), "place": place}
                    | {"model": str(models[one]), "next": str(models[other])}
                    | {"p_left": float((apart > 0).mean())}
                    | summary(apart, level)
                    | {"level": level}
                )
    columns = ["among", "dimension", "place", "model", "next", "p_left"]
    return pd.DataFrame(rows, columns=[*columns, "estimate", "sd", "lower", "upper", "level"])
