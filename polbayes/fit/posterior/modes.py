"""Tables of the modes in which the same models were asked: effects, and how well modes agree."""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.density.model import Built
from polbayes.fit.posterior.intervals import interval_table
from polbayes.fit.posterior.summary import LEAST_MODELS, correlation
from polbayes.fit.spec.cells import used_variables

MODE = "mode"
_BY = ("model", "dimension", MODE)
# Parts whose values by mode are shown: name of the posterior's variable, and whether it is the
# logarithm that is modelled.
_PARTS: Mapping[str, tuple[str, bool]] = {
    "acquiescence": ("mode_agreement", False),
    "decisiveness": ("mode_decisiveness", True),
}


def read_modes(
    built: Built, drawn: xr.Dataset, part: Callable[[str, tuple[str, ...]], xr.DataArray]
) -> dict[str, xr.DataArray]:
    """Return positions and effects by mode, if the spec has several.

    Parameters
    ----------
    built, drawn
        The model, and its draws.
    part
        Averages a part of the predictor over the cells of combinations of some variables.

    Returns
    -------
    dict
        ``theta_mode[model, dimension, mode]``: discrimination of the mode times theta, plus steer;
        ``mode_discrimination[mode]``, its factor, geometric mean 1; ``mode_agreement`` and
        ``mode_decisiveness[mode]``, as far as these parts are in the spec.
    """
    if MODE not in used_variables(built.spec) or built.cells.frame[MODE].nunique() < 2:
        return {}
    positions = part("theta", _BY)
    out = {}
    factor = _discrimination(built, drawn)
    if factor is not None:
        out["mode_discrimination"] = factor
        positions = positions * factor
    if "steer" in built.parts:
        positions = positions + part("steer", _BY)
    out["theta_mode"] = positions.transpose("chain", "draw", *_BY)
    for name, (variable, log_scale) in _PARTS.items():
        if name in built.parts:
            values = part(name, (MODE,))
            out[variable] = np.exp(values) if log_scale else values
    return out


def _discrimination(built: Built, drawn: xr.Dataset) -> xr.DataArray | None:
    """Return the factors of theta by mode, if the spec has them."""
    for block in built.layout.blocks:
        group = block.group
        if block.part == "discrimination" and group and group.term.factors == (MODE,):
            values = np.exp(drawn["effects"].to_numpy()[..., block.start : block.stop])
            coords = {MODE: group.levels[MODE].astype(object).to_numpy()}
            return xr.DataArray(values, dims=("chain", "draw", MODE), coords=coords)
    return None


def mode_tables(posterior: xr.Dataset, *, level: float) -> dict[str, pd.DataFrame]:
    """Summarise `read_modes`.

    Returns
    -------
    dict
        ``modes``: by mode (and dimension) its effect on ``leaning``, relative to the mean of the
        modes, its ``discrimination``, ``agreement`` and ``decisiveness``, and what it ``adds``: the
        share of the variance of positions in this mode, over models, that the mean of the other
        modes does not predict. ``mode_pairs``: for two modes the ``correlation`` of positions over
        models, and the mean ``difference``. ``mode_positions``: positions by model and mode.
    """
    if "theta_mode" not in posterior:
        return {}
    places = posterior["theta_mode"]
    leaning = places.mean("model")
    found = {"leaning": leaning - leaning.mean(MODE)}
    for name in ("discrimination", "agreement", "decisiveness"):
        if f"mode_{name}" in posterior:
            found[name] = posterior[f"mode_{name}"]
    if places.sizes["model"] >= LEAST_MODELS:
        found["adds"] = _adds(places)
    rows = [
        interval_table(values, level).dropna(subset="estimate").assign(quantity=name)
        for name, values in found.items()
    ]
    return {
        "modes": _columns(rows, ["mode", "dimension", "quantity"]),
        "mode_pairs": _pairs(places, level),
        "mode_positions": interval_table(places, level, left=True).dropna(subset="estimate"),
    }


def _adds(places: xr.DataArray) -> xr.DataArray:
    """Return the variance over models that the mean of the other modes leaves unpredicted."""
    total, number = places.sum(MODE), places.sizes[MODE]
    others = (total - places) / (number - 1)
    each = [
        1 - correlation(places.sel({MODE: m}, drop=True), others.sel({MODE: m}, drop=True)) ** 2
        for m in places[MODE].values
    ]
    whole = xr.concat(each, dim=MODE).assign_coords({MODE: places[MODE].values})
    return whole.transpose("chain", "draw", "dimension", MODE)


def _pairs(places: xr.DataArray, level: float) -> pd.DataFrame:
    rows = []
    for first, second in combinations(places[MODE].values, 2):
        one, other = (places.sel({MODE: m}, drop=True) for m in (first, second))
        about: dict[str, Any] = {"first": first, "second": second}
        found = {"difference": (one - other).mean("model")}
        if places.sizes["model"] >= LEAST_MODELS:
            found = {"correlation": correlation(one, other), **found}
        rows += [
            interval_table(values, level).dropna(subset="estimate").assign(quantity=name, **about)
            for name, values in found.items()
        ]
    return _columns(rows, ["dimension", "first", "second", "quantity"])


def _columns(rows: list[pd.DataFrame], first: list[str]) -> pd.DataFrame:
    whole = pd.concat(rows, ignore_index=True)
    return whole[[*first, *(c for c in whole.columns if c not in first)]]
