"""Effects of the stages: alignment, commitment and activated values, against the baseline."""

import pandas as pd
import xarray as xr

from polbayes.errors import UserError
from polbayes.measures.resampling import Bootstrap
from polbayes.roleplay.measures.location import frame, over_scenarios
from polbayes.roleplay.measures.units import (
    by_scenario,
    mean_over,
    missing_units,
    unit_measures,
    with_all_stages,
)

_LABELS = ("measure", "model", "stage", "twin", "positive")
POSITIVE = {
    "alignment": "liberal",
    "commitment": "committed",
    "activated": "more values",
    "entropy": "flatter profile",
}


def stage_curves(
    data: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compute the measures of every model by stage.

    Parameters
    ----------
    data, draws, level, seed
        As for `polbayes.roleplay.measures.alignment.alignment`.

    Returns
    -------
    pandas.DataFrame
        The columns of `polbayes.roleplay.measures.alignment.alignment`, one row per ``measure``
        (``alignment``; ``commitment`` in [0, 5]; ``activated``, a number of values; ``entropy``, in
        nats), ``model``, ``stage`` (``stages`` is the mean over the four) and ``twin``. Of
        alignment, **positive is liberal**; the others are not tested against 0.
    """
    bootstrap = Bootstrap(draws, level, seed)
    found = unit_measures(data)
    rows = []
    for name, meaning in POSITIVE.items():
        units = with_all_stages(found[name])
        described = over_scenarios(by_scenario(units), bootstrap, missing_units(units))
        rows += [{**row, "measure": name, "positive": meaning} for row in described]
    table = frame(rows, _LABELS)
    tested = ["t", "df", "p", "effect_size", "effect_lower", "effect_upper"]
    table.loc[table["measure"] != "alignment", tested] = float("nan")
    return table


def ablation(
    data: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Compare every stage with the plain question of the same scenario.

    The difference is taken within a scenario and wording, so that bold baselines are no effect.

    Parameters
    ----------
    data, draws, level, seed
        As for `stage_curves`.

    Returns
    -------
    pandas.DataFrame
        As from `stage_curves`, of stage minus baseline, with paired t tests. For the model ``all``
        the sample are the differences of the models, as in the published test.
    """
    bootstrap = Bootstrap(draws, level, seed)
    if "baseline" not in data["stage"].values:
        raise UserError("ratings: there is no 'baseline' that stages could be compared with.")
    found = unit_measures(data)
    rows = []
    for name, meaning in POSITIVE.items():
        units = with_all_stages(found[name])
        gain = units.drop_sel(stage="baseline") - units.sel(stage="baseline", drop=True)
        scenarios = by_scenario(gain)
        described = over_scenarios(scenarios, bootstrap, missing_units(gain))
        # The same summary with models in place of scenarios.
        of_models = mean_over("scenario", scenarios)
        models = of_models.rename(model="scenario").expand_dims(model=["all"])
        described += [
            {**row, "note": row["note"].replace("scenario", "model")}
            for row in over_scenarios(models, bootstrap)
        ]
        rows += [{**row, "measure": name, "positive": meaning} for row in described]
    return frame(rows, _LABELS)
