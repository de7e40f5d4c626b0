"""The posterior on the scale of a reference or a population.

0 is its mean, and 1 the standard deviation of its respondents or persons.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from polbayes.errors import UserError
from polbayes.fit.posterior.populations import spreads
from polbayes.fit.spec.spec import POPULATION, REFERENCE

# Positions with the origin of theta, besides theta itself.
_ALIKE = ("theta_instrument", "theta_mode", "theta_language")


def on_reference(
    posterior: xr.Dataset, models: Sequence[str], dimension_of: Mapping[str, str]
) -> xr.Dataset:
    """Express positions and items in standard deviations from the mean of the reference.

    In every draw and dimension, with the mean m and the standard deviation s (n - 1) of theta over
    the reference, theta becomes (theta - m) / s. The predictor stays the same: a positive
    discrimination a becomes a s and the difficulty b (b - m) / s; of discriminations of either
    sign, where the predictor has a theta - b, the difficulty becomes b - a m. Positions on the
    statements asked have a mean and standard deviation of their own. Other effects keep the unit of
    the predictor.

    Parameters
    ----------
    posterior
        With ``theta[model, dimension]``.
    models
        The reference (`polbayes.fit.spec.reference.reference_models`).
    dimension_of
        The dimension of every item.
    """
    about = _about(posterior["theta"], models)
    asked = _about(posterior["theta_asked"], models) if "theta_asked" in posterior else about
    return _rescaled(posterior, about, asked, dimension_of).assign_attrs(scale=REFERENCE)


def on_population(
    posterior: xr.Dataset, population: str, dimension_of: Mapping[str, str], *, held: float
) -> xr.Dataset:
    """Express positions and items in standard deviations of persons from their mean.

    As `on_reference`, with the position of a population as mean and the spread of its persons
    (`polbayes.fit.posterior.populations`) as standard deviation, in every draw.

    Parameters
    ----------
    posterior
        With ``theta[model, dimension]`` and ``decisiveness[model]``.
    population
        The respondent that is a population.
    dimension_of
        The dimension of every item.
    held
        Decisiveness of respondents whose answers do not tell it.

    Raises
    ------
    UserError
        If the persons have no spread in some draws, as views of single statements explain their
        answers.
    """
    values = spreads(posterior, [population], held=held)[:, 0]
    if none := float((values <= 0).mean()):
        raise UserError(
            f"analysis.scale: in {none:.1%} of the draws the persons of {population} do not differ "
            "in their positions, so that these have no standard deviation to be a unit; use "
            "analysis.scale=statements or reference."
        )
    shape = [posterior.sizes[name] for name in ("chain", "draw")]
    unit = xr.DataArray(values.reshape(shape), dims=("chain", "draw"))
    unit = unit.expand_dims(dimension=posterior["dimension"])
    mean, asked = (
        posterior[name if name in posterior else "theta"].sel(model=population, drop=True)
        for name in ("theta", "theta_asked")
    )
    new = _rescaled(posterior, (mean, unit), (asked, unit), dimension_of)
    return new.assign_attrs(scale=POPULATION)


def _rescaled(
    posterior: xr.Dataset,
    about: tuple[xr.DataArray, xr.DataArray],
    asked: tuple[xr.DataArray, xr.DataArray],
    dimension_of: Mapping[str, str],
) -> xr.Dataset:
    """Express positions and items in units from a middle: `about` theta, and `asked` of theirs."""
    mean, unit = about
    out = {"theta": (posterior["theta"] - mean) / unit}
    out |= {name: (posterior[name] - mean) / unit for name in _ALIKE if name in posterior}
    if "theta_asked" in posterior:
        middle, spread = asked
        out["theta_asked"] = (posterior["theta_asked"] - middle) / spread
    if "difficulty" in posterior:
        out |= _of_items(posterior, mean, unit, dimension_of)
    kept = {name: values.transpose(*posterior[name].dims) for name, values in out.items()}
    for name in kept:
        kept[name].attrs = dict(posterior[name].attrs)
    return posterior.assign(kept)


def _about(theta: xr.DataArray, models: Sequence[str]) -> tuple[xr.DataArray, xr.DataArray]:
    """Return mean and standard deviation over the reference."""
    known = theta.sel(model=list(models))
    return known.mean("model"), known.std("model", ddof=1)


def _of_items(
    posterior: xr.Dataset,
    mean: xr.DataArray,
    unit: xr.DataArray,
    dimension_of: Mapping[str, str],
) -> dict[str, xr.DataArray]:
    """Return difficulties and discriminations that leave the predictor as it is."""
    b, a = posterior["difficulty"], posterior.get("discrimination")
    labels = np.array([dimension_of[str(item)] for item in b["item"].values], dtype=object)
    of_item = xr.DataArray(labels, dims="item", coords={"item": b["item"]})
    m, s = (values.sel(dimension=of_item).drop_vars("dimension") for values in (mean, unit))
    if a is None:
        return {"difficulty": (b - m) / s}
    signed = a.attrs.get("sign") == "either"
    return {"difficulty": b - a * m if signed else (b - m) / s, "discrimination": a * s}
