"""The cutpoints between the points of the scale, and the use that judges make of it.

The cutpoints lie in the units of the rating scale. Their distances, the widths of the points, are
free,

    gap[k] = even[k] exp(g[k]) * sum(often even) / sum(often even exp(g)),

where ``even`` are the widths that points would have with cutpoints midway between the neighbouring
points that occur, ``often`` is how often a point was given, and g is normal with a scale that is
estimated: as smooth as the ratings say. So one unit of the latent rating is one point of the scale
where ratings are, and where it lies is fixed in the same way: the mean of the cutpoints, each
counting as often as the points beside it were given, is what it would be with even widths. (To fix
the outermost cutpoints would hang the unit on what judges hardly ever use.)

Points that attract judges, such as 5, 10 and 15, become wider; points that nobody uses do not
occur. The widths are the same for all judges up to one number per judge: the cutpoints of judge j
lie ``stretch[j]`` times as far from their mean, which makes a judge who keeps to the middle (more
than 1) or goes to the ends (less than 1).
"""

import numpy as np

from polbayes.fit.compilation import compiled


@compiled
def expand(g: np.ndarray, even: np.ndarray, often: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``[gap]`` distances of cutpoints, and the share of each in what fixes the unit."""
    raw = even * np.exp(g)
    share = often * raw
    whole = share.sum()
    return raw * ((often * even).sum() / whole), share / whole


@compiled
def placed(gaps: np.ndarray, around: np.ndarray, middle: float) -> np.ndarray:
    """Place the cutpoints, whose mean is to be `middle`, weighted with ``[cutpoint]`` `around`."""
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
