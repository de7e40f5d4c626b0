"""Tables of the modes or languages in which the same models were asked, and how well they agree."""

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

# Variables that say how the same statements were asked, and the beginnings of the names of tables.
FACETS: Mapping[str, str] = {"mode": "modes", "language": "languages"}
# Parts whose values are shown: name of the posterior's variable after that of the facet, and
# whether it is the logarithm that is modelled.
_PARTS: Mapping[str, tuple[str, bool]] = {
    "acquiescence": ("agreement", False),
    "decisiveness": ("decisiveness", True),
}


def read_modes(
    built: Built, drawn: xr.Dataset, part: Callable[[str, tuple[str, ...]], xr.DataArray]
) -> dict[str, xr.DataArray]:
    """Return positions and effects by mode and by language, if the spec has several.

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
        ``mode_decisiveness[mode]``, as far as these parts are in the spec. The same for
        ``language``.
    """
    out: dict[str, xr.DataArray] = {}
    for facet in FACETS:
        if facet in used_variables(built.spec) and built.cells.frame[facet].nunique() > 1:
            out |= _read(facet, built, drawn, part)
    return out


def _read(
    facet: str,
    built: Built,
    drawn: xr.Dataset,
    part: Callable[[str, tuple[str, ...]], xr.DataArray],
) -> dict[str, xr.DataArray]:
    by = ("model", "dimension", facet)
    positions, out = part("theta", by), {}
    factor = _discrimination(facet, built, drawn)
    if factor is not None:
        out[f"{facet}_discrimination"] = factor
        positions = positions * factor
    if "steer" in built.parts:
        positions = positions + part("steer", by)
    out[f"theta_{facet}"] = positions.transpose("chain", "draw", *by)
    for name, (variable, log_scale) in _PARTS.items():
        if name in built.parts:
            values = part(name, (facet,))
            if log_scale:
                values = xr.apply_ufunc(np.exp, values)
            out[f"{facet}_{variable}"] = values
    return out


def _discrimination(facet: str, built: Built, drawn: xr.Dataset) -> xr.DataArray | None:
    """Return the factors of theta by mode or language, if the spec has them."""
    for block in built.layout.blocks:
        group = block.group
        if block.part == "discrimination" and group and group.term.factors == (facet,):
            values = np.exp(drawn["effects"].to_numpy()[..., block.start : block.stop])
            coords = {facet: group.levels[facet].astype(object).to_numpy()}
            return xr.DataArray(values, dims=("chain", "draw", facet), coords=coords)
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
        models, and the mean ``difference``. ``mode_positions``: positions by model and mode. The
        same for languages: ``languages``, ``language_pairs``, ``language_positions``.
    """
    tables: dict[str, pd.DataFrame] = {}
    for facet, name in FACETS.items():
        if f"theta_{facet}" not in posterior:
            continue
        places = posterior[f"theta_{facet}"]
        positions = interval_table(places, level, left=True).dropna(subset="estimate")
        tables |= {
            name: _effects(facet, posterior, level),
            f"{facet}_pairs": _pairs(facet, places, level),
            f"{facet}_positions": positions,
        }
    return tables


def _effects(facet: str, posterior: xr.Dataset, level: float) -> pd.DataFrame:
    places = posterior[f"theta_{facet}"]
    leaning = places.mean("model")
    found = {"leaning": leaning - leaning.mean(facet)}
    for name in ("discrimination", "agreement", "decisiveness"):
        if f"{facet}_{name}" in posterior:
            found[name] = posterior[f"{facet}_{name}"]
    if places.sizes["model"] >= LEAST_MODELS:
        found["adds"] = _adds(facet, places)
    rows = [
        interval_table(values, level).dropna(subset="estimate").assign(quantity=name)
        for name, values in found.items()
    ]
    return _columns(rows, [facet, "dimension", "quantity"])


def _adds(facet: str, places: xr.DataArray) -> xr.DataArray:
    """Return the variance over models that the mean of the others leaves unpredicted."""
    total, number = places.sum(facet), places.sizes[facet]
    others = (total - places) / (number - 1)
    each = [
        1 - correlation(places.sel({facet: m}, drop=True), others.sel({facet: m}, drop=True)) ** 2
        for m in places[facet].values
    ]
    whole = xr.concat(each, dim=facet).assign_coords({facet: places[facet].values})
    return whole.transpose("chain", "draw", "dimension", facet)


def _pairs(facet: str, places: xr.DataArray, level: float) -> pd.DataFrame:
    rows = []
    for first, second in combinations(places[facet].values, 2):
        one, other = (places.sel({facet: m}, drop=True) for m in (first, second))
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
