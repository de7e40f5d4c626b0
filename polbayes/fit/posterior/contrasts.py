"""Differences between models, and from the centre, with the verdict on each."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.posterior.intervals import summary
from polbayes.fit.posterior.summary import positions
from polbayes.fit.posterior.verdicts import decide

MODEL, CENTRE = "model", "centre"


def contrasts(posterior: xr.Dataset, *, level: float, rope: float) -> pd.DataFrame:
    """Compare every model with every other and with the centre, by lean, bias and theta."""
    rows = []
    for measure, dimension, values in _measured(posterior):
        names = [str(model) for model in values["model"].values]
        draws = values.transpose("chain", "draw", "model").to_numpy().reshape(-1, len(names))
        about = {"measure": measure, "dimension": dimension}
        width = np.nan if measure == "theta" else rope
        for a, model in enumerate(names):
            if measure != "theta":
                place = {**about, "against": CENTRE, "model_a": model, "model_b": None}
                rows.append({**place, **summary_of(draws[:, a], level=level, rope=width)})
            for b in range(a + 1, len(names)):
                pair = {**about, "against": MODEL, "model_a": model, "model_b": names[b]}
                difference = draws[:, a] - draws[:, b]
                rows.append({**pair, **summary_of(difference, level=level, rope=width)})
    return pd.DataFrame(rows)


def summary_of(draws: np.ndarray, *, level: float, rope: float) -> dict[str, float | str | None]:
    """Summarise the draws of a difference (negative = left) and decide whether it matters.

    `rope` is half the width of the region of practical equivalence; NaN for none.
    """
    if np.isnan(draws).any():
        numbers = ("estimate", "sd", "lower", "upper", "p_left")
        regions = ("rope", "p_inside", "p_left_of_rope", "p_right_of_rope")
        absent = dict.fromkeys((*numbers, *regions), np.nan)
        return {**absent, "decision": None, "level": level}
    found = summary(draws, level)
    region = not np.isnan(rope)
    return {
        **found,
        "p_left": float((draws < 0).mean()),
        "rope": rope,
        "p_inside": float((np.abs(draws) <= rope).mean()) if region else np.nan,
        "p_left_of_rope": float((draws < -rope).mean()) if region else np.nan,
        "p_right_of_rope": float((draws > rope).mean()) if region else np.nan,
        "decision": decide(found["lower"], found["upper"], rope) if region else None,
        "level": level,
    }


def _measured(posterior: xr.Dataset) -> Iterator[tuple[str, str, xr.DataArray]]:
    lean, theta = positions(posterior, "lean"), positions(posterior)
    for measure, values in (("lean", lean), ("bias", posterior["bias"]), ("theta", theta)):
        for dimension in values["dimension"].values:
            yield measure, str(dimension), values.sel(dimension=dimension)
        if measure == "bias":
            yield measure, "total", posterior["bias_total"]


def prefix_contrasts(posterior: xr.Dataset, *, level: float, rope: float) -> pd.DataFrame:
    """Decide whether a prefix changes a model's leaning by a relevant amount.

    See `prefix_effects`.
    """
    effect = prefix_effects(posterior)
    rows = []
    for model in effect["model"].values:
        for prefix in effect["prefix"].values:
            draws = effect.sel(model=model, prefix=prefix).to_numpy().ravel()
            about = {"model": str(model), "prefix": str(prefix)}
            rows.append({**about, **summary_of(draws, level=level, rope=rope)})
    return pd.DataFrame(rows)


def prefix_effects(posterior: xr.Dataset) -> xr.DataArray:
    """Return ``[chain, draw, model, prefix]`` effects of prefixes on leaning, on the bias scale.

    Each is the difference from the model's average over prefixes, multiplied by the mean slope of
    the model's expected answers.
    """
    slope = posterior["answer_slope"].mean("dimension")
    return (posterior["prefix_steer"] * slope).transpose("chain", "draw", "model", "prefix")
