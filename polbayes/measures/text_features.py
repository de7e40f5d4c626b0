"""Text features of the wordings asked, and their correlations: Haller et al. (2024).

Sections 4 and 4.3, and Figure 6. The features themselves are `polbayes.features`.
"""

from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import FeatureConfig
from polbayes.data.dataset import ASKED
from polbayes.features import FEATURES, text_features, to_measure
from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.resampling import Bootstrap, item_weights, percentile_interval

_COLUMNS = (
    *("first", "second", "measure", "estimate", "p", "lower", "upper"),
    *("lower_item", "upper_item", "n", "n_excluded", "n_items", "level", "note"),
)
# Relative deviations smaller than this are rounding.
_ROUNDING = 1e-12


def wording_features(
    data: xr.Dataset, names: Sequence[str] | None = None, config: FeatureConfig | None = None
) -> pd.DataFrame:
    """Compute text features of the wordings of a dataset.

    Parameters
    ----------
    data
        A response dataset.
    names, config
        As for `polbayes.features.text_features`.

    Returns
    -------
    pandas.DataFrame
        One row per planned wording: ``item``, ``variant``, ``kind``, ``statement`` and
        the features, NaN if a wording has none.
    """
    dims = ("item", "variant")
    rest = [d for d in data["status"].dims if d not in dims]
    asked = (data["status"] >= ASKED).any(rest).transpose(*dims).to_numpy()
    i, v = np.nonzero(asked)
    table = pd.DataFrame(
        {
            "item": data["item"].values[i],
            "variant": data["variant"].values[v],
            "kind": data["kind"].transpose(*dims).values[i, v],
            "statement": data["statement"].transpose(*dims).values[i, v],
        }
    )
    found = text_features(table["statement"], names, config)
    return table.join(found.set_index("statement"), on="statement")


def feature_correlations(
    table: pd.DataFrame, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Correlate the text features of wordings (Figure 6).

    Parameters
    ----------
    table
        From `wording_features`.
    draws, level, seed
        Bootstrap resamples of items, coverage in (0, 1), and seed.

    Returns
    -------
    pandas.DataFrame
        One row per pair of features, ``first`` and ``second``: ``estimate``, Pearson's correlation
        in [-1, 1]; ``lower``, ``upper`` (Fisher's z) and two-sided ``p``, which treat wordings as
        independent, as the study does; ``lower_item``, ``upper_item`` from resampling items with
        all their wordings, which are alike.
    """
    bootstrap = Bootstrap(draws, level, seed)
    names = [name for name in FEATURES if name in table.columns]
    distinct = table.drop_duplicates(["item", "statement"])
    rows = []
    for first, second in combinations(names, 2):
        both = distinct[["item", first, second]].dropna()
        row = {"first": first, "second": second, "measure": "pearson", "level": level}
        row |= _correlation(both, first, second, bootstrap)
        rows.append({**row, "n_excluded": len(distinct) - len(both)})
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _correlation(
    both: pd.DataFrame, first: str, second: str, bootstrap: Bootstrap
) -> dict[str, Any]:
    items, code = np.unique(both["item"].to_numpy(dtype=str), return_inverse=True)
    x, y = (_standardised(both[name].to_numpy(dtype=float)) for name in (first, second))
    nothing = dict.fromkeys(("p", "lower", "upper", "lower_item", "upper_item"), np.nan)
    row: dict[str, Any] = {"n": len(both), "n_items": len(items), "estimate": np.nan, **nothing}
    if x is None or y is None:
        same = " and ".join(n for n, v in ((first, x), (second, y)) if v is None)
        return {**row, "note": f"{same}: the same in all wordings"}
    r = float(np.clip(np.mean(x * y), -1, 1))
    row |= {"estimate": r, "note": ""}
    if len(both) > 3 and abs(r) < 1 - _ROUNDING:
        row |= _of_independent(r, len(both), bootstrap.level)
    if len(items) < 2:
        return {**row, "note": "only one item: no interval by item"}
    parts = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    sums = np.zeros((len(items), parts.shape[1]))
    np.add.at(sums, code, parts)
    n, *moments = (item_weights(items.tolist(), bootstrap.draws, bootstrap.seed) @ sums).T
    mx, my, xx, yy, xy = (m / n for m in moments)
    spread = np.maximum(xx - mx**2, 0) * np.maximum(yy - my**2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.where(spread > _ROUNDING, (xy - mx * my) / np.sqrt(spread), np.nan)
    row["lower_item"], row["upper_item"], _ = percentile_interval(drawn, bootstrap.level)
    return row


def _of_independent(r: float, n: int, level: float) -> dict[str, float]:
    """Return p and Fisher's interval of a correlation of n independent pairs."""
    from scipy import stats

    t = r * np.sqrt((n - 2) / (1 - r * r))
    half = NormalDist().inv_cdf((1 + level) / 2) / np.sqrt(n - 3)
    return {
        "p": float(2 * stats.t.sf(abs(t), n - 2)),
        "lower": float(np.tanh(np.arctanh(r) - half)),
        "upper": float(np.tanh(np.arctanh(r) + half)),
    }


def _standardised(values: np.ndarray) -> np.ndarray | None:
    """Return values with mean 0 and mean square 1; None if they are all the same."""
    if not values.size:
        return None
    apart = values - values.mean()
    spread = float(np.sqrt(np.mean(apart**2)))
    return None if spread <= _ROUNDING * max(1.0, float(np.abs(values).max())) else apart / spread


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    if job.features is None:
        return {}
    names = to_measure(job.features, probabilities=job.probabilities)
    if not names:
        return {}
    table = wording_features(job.data, names, job.features)
    tables = {"text_features": table}
    if len(names) > 1:
        tables["feature_correlations"] = feature_correlations(table, **job.bootstrap)
    return tables


MEASURE = Measure(
    _tables,
    {
        "text_features": (),
        "feature_correlations": (
            *("first", "second", *INTERVAL, "lower_item", "upper_item", "n", "level"),
        ),
    },
)
