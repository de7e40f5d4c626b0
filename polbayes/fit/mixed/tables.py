"""Tables of the posterior of a mixed model: one row per quantity, with an interval."""

import pandas as pd
import xarray as xr

from polbayes.fit.posterior.intervals import coverage_table


def summarise(posterior: xr.Dataset, *, level: float) -> dict[str, pd.DataFrame]:
    """Summarise the posterior of a mixed model into the tables of the report."""
    tables = {}
    coefficients = []
    for name, dim, prefix in (
        ("coefficient", "term", ""),
        ("threshold", "threshold_name", "threshold "),
        ("phi", None, "phi"),
    ):
        if name in posterior:
            table = _table(posterior[name], level)
            labels = prefix if dim is None else prefix + table[dim].astype(str)
            table = table.drop(columns=[dim] if dim else []).assign(term=labels)
            coefficients.append(table)
    if coefficients:
        whole = pd.concat(coefficients, ignore_index=True)
        tables["coefficients"] = _ordered(whole, posterior, ["term"])
    scales = []
    if "group_sd" in posterior:
        scales.append(_with_pieces(posterior, "group_sd", "sd_", ("group", "varying"), level))
    if "sigma" in posterior:
        table = _table(posterior["sigma"], level)
        scales.append(table.assign(group="residual", varying=""))
    if scales:
        whole = pd.concat(scales, ignore_index=True).drop(columns=["p_positive"])
        tables["group_sds"] = _ordered(whole, posterior, ["group", "varying"])
    if "group_effect" in posterior:
        names = ("group", "varying", "level")
        table = _with_pieces(posterior, "group_effect", "", names, level)
        tables["group_effects"] = _ordered(table, posterior, list(names))
    return tables


def _table(values: xr.DataArray, level: float) -> pd.DataFrame:
    """Summarise a variable, without quantities that a stratum lacks."""
    return coverage_table(values, level).dropna(subset="estimate")


def _with_pieces(
    posterior: xr.Dataset, name: str, prefix: str, pieces: tuple[str, ...], level: float
) -> pd.DataFrame:
    """Summarise a variable with composite labels, with a column for each of their parts."""
    dim = str(posterior[name].dims[-1])
    table = _table(posterior[name], level)
    for piece in pieces:
        beside = dict(zip(posterior[dim].values, posterior[f"{prefix}{piece}"].values, strict=True))
        table[piece] = table[dim].map(beside)
    return table.drop(columns=[dim])


def _ordered(table: pd.DataFrame, posterior: xr.Dataset, names: list[str]) -> pd.DataFrame:
    """Order the columns and rows by stratum."""
    numbers = ["estimate", "sd", "lower", "upper", "p_positive", "coverage"]
    by = [c for c in table.columns if c not in (*names, *numbers)]
    columns = [*by, *names, *(n for n in numbers if n in table.columns)]
    if by:
        order = {str(v): k for k, v in enumerate(posterior[by[0]].values)}
        table = table.sort_values(by[0], key=lambda c: c.astype(str).map(order), kind="stable")
    return table[columns].reset_index(drop=True)
