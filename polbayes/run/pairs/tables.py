"""The estimates of the model of verdicts as tables."""

from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from polbayes.fit.posterior.intervals import tails
from polbayes.fit.posterior.verdicts import decide
from polbayes.judging.pairs import RATINGS, SCALE
from polbayes.run.pairs.design import design_table
from polbayes.run.pairs.fit import PARTS, PairsFit

ALL = "all"
_SAMPLE = ("chain", "draw")
_OF_JUDGES = {
    "judge_side": "side",
    "judge_first": "first",
    "judge_length": "length",
    "threshold": "threshold",
    "hedging_severity": "hedging",
    "compliance_severity": "compliance",
    "hedging_judge_side": "hedging_by_side",
    "compliance_judge_side": "compliance_by_side",
}


def tables(fit: PairsFit, *, level: float, rope: float) -> dict[str, pd.DataFrame]:
    """Summarise a fit.

    Parameters
    ----------
    fit
        The fit.
    level
        Of the intervals.
    rope
        Up to which a difference on [-1, 1] does not matter (`polbayes.fit.posterior.verdicts`).

    Returns
    -------
    dict of pandas.DataFrame
        ``tilt``: in logits, positive to the right, with the probabilities of either side; by
        dimension, and ``all`` is their mean. ``tilt_parts``: what content, hedging, compliance and
        length add to it. ``favour``: the same as probabilities (`polbayes.run.pairs.fit`), with
        the decision.
        ``tilt_pairs``: differences of two models. ``rating_sides``: differences of hedging and of
        compliance between the sides. ``verdict_judges``: effects of the judges. ``verdict_sds``:
        standard deviations. ``verdict_design``: how many topics and judges are enough.
    """
    posterior = fit.posterior
    found = {
        "tilt": _signed(with_mean(posterior["tilt"]), level),
        "tilt_parts": _parts(posterior["tilt_part"], level),
        "favour": _favour(posterior, level, rope),
        "tilt_pairs": _pairs(with_mean(posterior["tilt"]), level),
        "rating_sides": _rating_sides(fit, level),
        "verdict_judges": _judges(posterior, level),
        "verdict_sds": _sds(posterior, level),
        "verdict_design": design_table(fit, level=level),
    }
    return {name: table for name, table in found.items() if len(table)}


def with_mean(values: xr.DataArray) -> xr.DataArray:
    """Add the mean over dimensions, called ``all``; where there is one dimension, call it so."""
    if values.sizes["dimension"] == 1:
        return values.assign_coords(dimension=[ALL])
    mean = values.mean("dimension").expand_dims(dimension=[ALL])
    return xr.concat([values, mean], "dimension")


def interval(values: np.ndarray, level: float) -> dict[str, float]:
    """Return the mean of draws, and the bounds of the central interval."""
    lower, upper = np.quantile(values, tails(level))
    return {"estimate": float(np.mean(values)), "lower": float(lower), "upper": float(upper)}


def _rows(values: xr.DataArray) -> Iterable[tuple[dict[str, str], np.ndarray]]:
    dims = [str(dim) for dim in values.dims if dim not in _SAMPLE]
    flat = values.stack(sample=_SAMPLE).transpose(*dims, "sample")
    labels = [flat[dim].values.astype(str) for dim in dims]
    for at in np.ndindex(*(len(names) for names in labels)):
        key = {dim: names[k] for dim, names, k in zip(dims, labels, at, strict=True)}
        yield key, flat.values[at]


def _table(values: xr.DataArray, level: float, **more: object) -> pd.DataFrame:
    rows = [{**key, **interval(draws, level)} for key, draws in _rows(values)]
    return pd.DataFrame(rows).assign(**more, level=level)


def _signed(values: xr.DataArray, level: float) -> pd.DataFrame:
    rows = [{**key, **interval(draws, level), **_sides(draws)} for key, draws in _rows(values)]
    return pd.DataFrame(rows).assign(level=level)


def _sides(draws: np.ndarray) -> dict[str, float]:
    return {"p_left": float((draws < 0).mean()), "p_right": float((draws > 0).mean())}


def _parts(values: xr.DataArray, level: float) -> pd.DataFrame:
    values = with_mean(values).sel(dimension=ALL, drop=True)
    return _signed(values.transpose(*_SAMPLE, "model", "part").sel(part=list(PARTS)), level)


def _favour(posterior: xr.Dataset, level: float, rope: float) -> pd.DataFrame:
    rows = []
    for key, draws in _rows(with_mean(posterior["favour"])):
        found = interval(draws, level)
        rows.append(
            {
                **key,
                **found,
                "measure": "favour",
                "p_left_of_rope": float((draws < -rope).mean()),
                "p_inside": float((np.abs(draws) <= rope).mean()),
                "p_right_of_rope": float((draws > rope).mean()),
                "decision": decide(found["lower"], found["upper"], rope),
            }
        )
    equal = _table(with_mean(posterior["equal"]), level, measure="equal")
    return pd.concat([pd.DataFrame(rows), equal], ignore_index=True).assign(rope=rope, level=level)


def _pairs(values: xr.DataArray, level: float) -> pd.DataFrame:
    values = values.sel(dimension=ALL).stack(sample=_SAMPLE)
    rows = []
    for a, b in combinations(values["model"].values.astype(str).tolist(), 2):
        draws = values.sel(model=a).values - values.sel(model=b).values
        rows.append({"model_a": a, "model_b": b, **interval(draws, level), **_sides(draws)})
    return pd.DataFrame(rows).assign(level=level) if rows else pd.DataFrame()


def _rating_sides(fit: PairsFit, level: float) -> pd.DataFrame:
    """Return differences right minus left, in logits and in points of the scale from 1 to 5."""
    posterior, tables = fit.posterior, []
    for scale in RATINGS:
        if f"{scale}_side" not in posterior:
            continue
        right, left = expected_ratings(posterior, scale)
        for unit, values in (("logits", posterior[f"{scale}_side"]), ("points", right - left)):
            table = _signed(values.transpose(*_SAMPLE, "model"), level)
            tables.append(table.assign(scale=scale, unit=unit))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def expected_ratings(posterior: xr.Dataset, scale: str) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the expected rating, 1 to 5, of answers for the right and for the left, by model."""
    side, at = posterior[f"{scale}_side"], posterior[f"{scale}_level"]
    cuts = posterior[f"{scale}_cut"]
    cut = cuts.rename({str(cuts.dims[-1]): "cut"})
    right, left = (_points(at + sign * side / 2, cut) for sign in (1, -1))
    return right, left


def _points(at: xr.DataArray, cut: xr.DataArray) -> xr.DataArray:
    """Return the expected rating."""
    return SCALE[0] + xr.apply_ufunc(expit, at - cut).sum("cut")


def _judges(posterior: xr.Dataset, level: float) -> pd.DataFrame:
    there: Mapping[str, str] = {k: v for k, v in _OF_JUDGES.items() if k in posterior}
    tables = [_table(posterior[name], level, effect=effect) for name, effect in there.items()]
    return pd.concat(tables, ignore_index=True)


def _sds(posterior: xr.Dataset, level: float) -> pd.DataFrame:
    names = [str(name) for name in posterior.data_vars if str(name).endswith("_sd")]
    names += [name for name in (f"{scale}_weight" for scale in RATINGS) if name in posterior]
    rows = [{"parameter": n, **interval(posterior[n].values.ravel(), level)} for n in names]
    return pd.DataFrame(rows).assign(level=level)
