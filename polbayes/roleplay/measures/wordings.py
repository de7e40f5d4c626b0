"""Sensitivity of a unit's alignment to its wording, by stage."""

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.instrument.scenarios import STAGES
from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import Bootstrap
from polbayes.roleplay.measures.location import over_scenarios
from polbayes.roleplay.measures.units import unit_measures

MEASURES = ("sd", "variance", "iqr")
_COLUMNS = (
    *("measure", "model", "stage", "twin", *INTERVAL),
    *("n", "n_excluded", "wilcoxon", "p", "level", "note"),
)


def wording_spread(
    data: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compute the alignment's spread over wordings, within scenarios and twins, and average it.

    Parameters
    ----------
    data, draws, level, seed
        As for `polbayes.roleplay.measures.alignment.alignment`.

    Returns
    -------
    pandas.DataFrame
        One row per ``measure``, ``model``, ``stage`` and ``twin``: ``sd``, the standard deviation
        (n - 1) as published, in points of alignment; ``variance``, which unlike it is not biased
        for few wordings; ``iqr``. Rows with stage ``first_minus_last`` have the difference of
        ``sd`` between the first and the last stage, with Wilcoxon's signed-rank test, one-sided.
    """
    bootstrap = Bootstrap(draws, level, seed)
    units = unit_measures(data)["alignment"]
    spread = _spread(units)
    rows = []
    for name, values in spread.items():
        rows += [{**row, "measure": name} for row in over_scenarios(values, bootstrap)]
    if {STAGES[0], STAGES[-1]} <= set(units["stage"].values.tolist()):
        sd = spread["sd"]
        change = sd.sel(stage=STAGES[0], drop=True) - sd.sel(stage=STAGES[-1], drop=True)
        for row in over_scenarios(change, bootstrap):
            at = change.sel(model=row["model"], twin=row["twin"]).values
            named = {"measure": "sd", "stage": "first_minus_last"}
            rows.append({**row, "p": np.nan, **_signed_rank(at[~np.isnan(at)]), **named})
    # A spread is never negative, so that a test against 0 is meaningless.
    rows = [{**row, "p": row["p"] if "wilcoxon" in row else np.nan} for row in rows]
    for row in rows:
        if "test" in row["note"] and "wilcoxon" not in row:
            row["note"] = ""
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _spread(units: xr.DataArray) -> dict[str, xr.DataArray]:
    # All wordings or none: the range of two is smaller than that of three.
    if units.sizes["wording"] < 2:
        nothing = units.mean("wording") * np.nan
        return dict.fromkeys(MEASURES, nothing)
    sd = units.std("wording", ddof=1, skipna=False)
    lower, upper = (units.quantile(q, "wording", skipna=False) for q in (0.25, 0.75))
    iqr = upper.drop_vars("quantile") - lower.drop_vars("quantile")
    return {"sd": sd, "variance": sd**2, "iqr": iqr}


def _signed_rank(values: np.ndarray) -> dict[str, float]:
    from scipy import stats

    if not np.any(values):
        return {"wilcoxon": np.nan, "p": np.nan}
    found = stats.wilcoxon(values, alternative="greater", method="auto")
    return {"wilcoxon": float(found.statistic), "p": float(found.pvalue)}
