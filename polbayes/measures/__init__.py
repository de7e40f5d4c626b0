"""The literature's classical measures, as tidy tables computed from coded responses.

Every table has one row per group and quantity, with estimate, interval, the numbers of included
and excluded answers, and a note if a number is missing. A dataset that lacks something a measure
needs (codes, `r_plus`, a coordinate) and a setting out of range raise a `UserError`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
import xarray as xr
from threadpoolctl import threadpool_limits

from polbayes.coding.levels import STRONG
from polbayes.config.schema import FeatureConfig
from polbayes.data.dataset import opened_responses
from polbayes.data.out_of_core import portions
from polbayes.measures.agreement import agreement
from polbayes.measures.bias import bias
from polbayes.measures.compass import compass
from polbayes.measures.consistency import consistency
from polbayes.measures.contrasts import bias_difference, reformulation_robustness
from polbayes.measures.kappa import annotator_agreement
from polbayes.measures.measure import Job
from polbayes.measures.paraphrases import (
    compare_paraphrase_sets,
    distributions,
    divergent_pairs,
    item_instability,
)
from polbayes.measures.prefix_shift import prefix_shift
from polbayes.measures.ranks import rank_agreement
from polbayes.measures.registry import compute_all
from polbayes.measures.scores import scores
from polbayes.measures.stability import stability
from polbayes.measures.text_features import feature_correlations, wording_features
from polbayes.measures.validity import validity

__all__ = [
    "agreement",
    "annotator_agreement",
    "bias",
    "bias_difference",
    "compare_paraphrase_sets",
    "compass",
    "consistency",
    "distributions",
    "divergent_pairs",
    "feature_correlations",
    "item_instability",
    "measure_all",
    "prefix_shift",
    "rank_agreement",
    "reformulation_robustness",
    "scores",
    "stability",
    "validity",
    "wording_features",
]


# Threads of linear algebra wait for each other on a busy machine, at a hundred times the cost.
@threadpool_limits.wrap(limits=1, user_api="blas")
def measure_all(
    data: xr.Dataset | str | Path,
    *,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
    strong: float = STRONG,
    paraphrase_sets: Mapping[str, Sequence[str]] | None = None,
    reformulation_sets: Mapping[str, Sequence[str]] | None = None,
    features: FeatureConfig | None = None,
) -> dict[str, pd.DataFrame]:
    """Compute every classical measure that the dataset allows.

    Parameters
    ----------
    data
        A coded response dataset, or the folder of a run, of which one model at a time is read
        where that is enough.
    draws, level, seed, strong, paraphrase_sets, reformulation_sets, features
        See `polbayes.measures.measure.Job`.

    Returns
    -------
    dict
        Tables by name: comparisons of wordings, prefixes, instruments or models need several of
        them, measures of answer probabilities need `r_plus`.
    """
    job = partial(
        Job,
        draws=draws,
        level=level,
        seed=seed,
        strong=strong,
        paraphrase_sets=paraphrase_sets,
        reformulation_sets=reformulation_sets,
        features=features,
    )
    if isinstance(data, xr.Dataset):
        whole: xr.Dataset = data
        models = (whole.isel(model=[k]) for k in range(whole.sizes["model"]))
        return compute_all(map(job, models), lambda: job(whole))
    with opened_responses(data) as opened:
        return compute_all(map(job, portions(data)), lambda: job(opened))
