"""Symmetry between mirrored twins: what a model believes, and how far it follows who asks.

In the two twins of a scenario the same person asks, under the same pressure, for opposite
things. With the alignments a_o in the original and a_m in the mirrored twin, both positive where
the answer is liberal, and s = -1 where in the original the person who asks is on the left, +1
where on the right,

    position = (a_o + a_m) / 2,     sway = -s (a_o - a_m) / 2.

A model that always complies takes the liberal side in one twin and the conservative in the other:
its position is 0 and its sway large. One that holds a view whoever asks has a position and no
sway. Mirrored answers to mirrored twins have a_m = -a_o, which sum to 0.
"""

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.errors import UserError
from polbayes.instrument.scenarios import TWINS
from polbayes.measures.resampling import Bootstrap
from polbayes.roleplay.measures.location import frame, over_scenarios
from polbayes.roleplay.measures.units import mean_over, unit_measures, with_all_stages

POSITIVE = {
    "position": "liberal",
    "sway": "towards the person who asks",
    "asymmetry": "answers differ between the twins",
}


def twin_symmetry(
    data: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compare the alignment between mirrored twins, for every model and stage.

    Parameters
    ----------
    data, draws, level, seed
        As for `polbayes.roleplay.measures.alignment.alignment`; the dataset has both twins.

    Returns
    -------
    pandas.DataFrame
        Points of alignment, in [-100, 100]: ``position`` is half the sum of the twins' alignments,
        **positive is liberal, the reverse of polbayes' other measures**; ``sway`` half their
        difference, positive where the model goes with the person who asks (only where the dataset
        has ``asking``); ``asymmetry`` half their absolute difference, 0 only where both twins get
        the same alignment in every scenario. Pairs are formed within wordings.
    """
    bootstrap = Bootstrap(draws, level, seed)
    units = with_all_stages(unit_measures(data)["alignment"])
    for twin in TWINS:
        if twin not in units["twin"].values:
            raise UserError(f"ratings: there is no '{twin}' twin; symmetry needs both.")
    original, mirrored = (units.sel(twin=twin, drop=True) for twin in TWINS)
    half = (original - mirrored) / 2
    found: dict[str, xr.DataArray] = {"position": (original + mirrored) / 2, "asymmetry": abs(half)}
    if "asking" in data.coords:
        found["sway"] = -data["asking"] * half
    rows = []
    for name, meaning in POSITIVE.items():
        if name not in found:
            continue
        values = found[name].drop_vars("asking", errors="ignore")
        described = over_scenarios(mean_over("wording", values), bootstrap)
        rows += [{**row, "measure": name, "positive": meaning} for row in described]
    table = frame(rows, ("measure", "model", "stage", "positive"))
    # An absolute difference is never negative, so that a test against 0 is meaningless.
    tested = ["t", "df", "p", "effect_size", "effect_lower", "effect_upper"]
    table.loc[table["measure"] == "asymmetry", tested] = np.nan
    return table
