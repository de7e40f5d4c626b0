"""The cutpoints between the points of the scale, and each judge's use of the scale.

The cutpoints are in units of the rating scale. Their distances, the widths of the points, are free,

    gap[k] = even[k] exp(g[k]) * sum(often even) / sum(often even exp(g)),

where ``even`` are the widths of points with cutpoints midway between the neighbouring points that
occur, ``often`` is the frequency of a point, and g is normal with an estimated scale: as smooth as
the ratings suggest. One unit of the latent rating is thus one point of the scale where ratings are,
and its origin is fixed likewise: the mean of the cutpoints, weighted by the frequency of the
adjacent points, is that of even widths. (Fixing the outermost cutpoints would make the unit depend
on points that judges hardly use.)

Points that attract judges, such as 5, 10 and 15, become wider; unused points do not occur. The
widths are the same for all judges up to one number per judge: the cutpoints of judge j are
``stretch[j]`` times as far from their mean, which describes a judge who keeps to the middle (above
1) or goes to the ends (below 1).
"""

import numpy as np

from polbayes.fit.compilation import compiled


@compiled
def expand(g: np.ndarray, even: np.ndarray, often: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``[gap]`` distances of cutpoints, and the share of each in fixing the unit."""
    raw = even * np.exp(g)
    share = often * raw
    whole = share.sum()
    return raw * ((often * even).sum() / whole), share / whole


@compiled
def placed(gaps: np.ndarray, around: np.ndarray, middle: float) -> np.ndarray:
    """Place the cutpoints with mean `middle`, weighted by ``[cutpoint]`` `around`."""
    cuts = np.zeros(gaps.shape[0] + 1)
    cuts[1:] = np.cumsum(gaps)
    return cuts + (middle - (around * cuts).sum())


@compiled
def pull_back(
    gaps: np.ndarray, share: np.ndarray, around: np.ndarray, of_cuts: np.ndarray
) -> np.ndarray:
    """Turn slopes with respect to cutpoints into slopes with respect to g."""
    of_logs = np.empty(gaps.shape[0])
    after, weight, total = 0.0, 0.0, of_cuts.sum()
    for k in range(gaps.shape[0] - 1, -1, -1):
        after += of_cuts[k + 1]
        weight += around[k + 1]
        of_logs[k] = gaps[k] * (after - total * weight)
    return of_logs - share * of_logs.sum()
