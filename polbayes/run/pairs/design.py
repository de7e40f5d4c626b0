"""How many topics and judges are enough: the precision of tilts in studies of other sizes.

With T topics, K templates and R answers to each, J judges and both orders, the variance of the
estimated tilt of a model is about::

    V = (v[topic] + v[model:topic]) / T + v[judge side] / J + v[pair] / (T K R)
        + 1 / (2 J T K R information)

where the information is that of one verdict on its location, averaged over pairs. Topics and judges
that all models share cancel in a difference of two models, which has the variance
``2 (v[model:topic] / T + v[pair] / (T K R) + 1 / (2 J T K R information))``. A tilt of the given
size is told from 0 where the interval around it does not reach 0.
"""

from statistics import NormalDist

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from polbayes.run.pairs.fit import PairsFit

TOPICS = (5, 10, 20, 30, 60, 120)
JUDGES = (1, 2, 3, 5, 8)
_NODES = 15


def design_table(fit: PairsFit, *, level: float) -> pd.DataFrame:
    """Return the precision of tilts by numbers of topics and judges."""
    judged, posterior = fit.judged, fit.posterior
    if len(judged.topics) < 2:
        return pd.DataFrame()
    flat = posterior.stack(sample=("chain", "draw"))
    zero = np.zeros(flat.sizes["sample"])
    topic, own, pair = (
        flat[name].values ** 2 if name in flat else zero
        for name in ("topic_tilt_sd", "model_topic_tilt_sd", "pair_sd")
    )
    judges = len(judged.judges)
    side = zero
    if judges > 1:
        side = (flat["judge_side"].transpose("judge", "sample").values ** 2).sum(0) / (judges - 1)
    pairs = len(judged.model) / (len(judged.models) * len(judged.topics))
    noise = 1 / (2 * pairs * information(posterior))
    reach = NormalDist().inv_cdf((1 + level) / 2)
    rows = []
    for j in sorted({*JUDGES, judges}):
        for t in sorted({*TOPICS, len(judged.topics)}):
            shared = topic / t + side / j
            single = own / t + pair / (t * pairs) + noise / (t * j)
            se, difference = np.sqrt(shared + single), np.sqrt(2 * single)
            rows.append(
                {
                    "judges": j,
                    "topics": t,
                    "verdicts": round(2 * j * t * pairs),
                    "se": float(se.mean()),
                    "least": float(reach * se.mean()),
                    "se_difference": float(difference.mean()),
                    "least_difference": float(reach * difference.mean()),
                    "own": j == judges and t == len(judged.topics),
                    "judges_known": judges > 1,
                }
            )
    return pd.DataFrame(rows).assign(level=level)


def information(posterior: xr.Dataset) -> np.ndarray:
    """Return ``[sample]`` the Fisher information of a verdict on its location, over pairs."""
    flat = posterior.stack(sample=("chain", "draw"))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    spread = flat["pair_sd"].values
    if "topic_tilt_sd" in flat:
        spread = np.sqrt(spread**2 + flat["topic_tilt_sd"].values ** 2)
    tilt = flat["tilt"].transpose(..., "sample").values.reshape(-1, len(spread))
    at = tilt[:, None] + nodes[:, None] * spread
    typical = np.exp(np.log(flat["threshold"].transpose("judge", "sample").values).mean(0))
    right, left = expit(at - typical), expit(-at - typical)
    slope_right, slope_left = right * (1 - right), left * (1 - left)
    equal = np.maximum(1 - right - left, 1e-12)
    each = slope_right**2 / right + slope_left**2 / left + (slope_right - slope_left) ** 2 / equal
    mean = (each * (weights / weights.sum())[:, None]).sum(axis=1)
    return np.asarray(mean.mean(axis=0))
