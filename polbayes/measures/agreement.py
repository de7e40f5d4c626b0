"""Agreement by keying: how often a model agrees with left and with right statements.

A model that agrees with both more than it disagrees shows acquiescence, which a bias
measured on statements of one side would mistake for ideology.
"""

from collections.abc import Sequence

import pandas as pd
import xarray as xr

from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.resampling import Bootstrap
from polbayes.measures.sided import AGREE, Statistic, count_answers, summarise

_MEASURES = (
    Statistic("agree_left", (0,), lambda s: s[..., 0, AGREE]),
    Statistic("agree_right", (1,), lambda s: s[..., 1, AGREE]),
    Statistic("acquiescence", (0, 1), lambda s: s[..., AGREE].mean(axis=-1)),
)


def agreement(
    data: xr.Dataset,
    *,
    by: Sequence[str] = ("model",),
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute the proportions of agreeing answers to left- and right-keyed wordings.

    Here a wording counts on the side that agreeing with *it* expresses (its keying), and
    answers count as given: a political opposite is on the other side than
    the original (unlike in `polbayes.measures.bias.bias`).

    Parameters
    ----------
    data, by, draws, level, seed
        As for `polbayes.measures.bias.bias`.

    Returns
    -------
    pandas.DataFrame
        The columns of `polbayes.measures.bias.bias`, with the measures ``agree_left`` and
        ``agree_right``, proportions in [0, 1] of agreeing among valid answers, and
        ``acquiescence``, the mean of the two. With forced answers, ``acquiescence`` is 0.5 if a
        model agrees with one side as often as it disagrees with the other.
    """
    counts = count_answers(data, by, side_of="wording")
    return summarise(counts, _MEASURES, Bootstrap(draws, level, seed))


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    return {"agreement": agreement(job.data, **job.bootstrap)}


MEASURE = Measure(_tables, {"agreement": ("model", "measure", *INTERVAL)}, by_model=True)
