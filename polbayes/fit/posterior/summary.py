"""Tables of the posterior: one row per quantity, with an equal-tailed interval."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.posterior.coefficients import coefficient_tables
from polbayes.fit.posterior.intervals import flat, interval_table

_DRAW = ("chain", "draw")


def summarise(
    posterior: xr.Dataset, *, level: float, items: pd.DataFrame | None = None
) -> dict[str, pd.DataFrame]:
    """Summarise a posterior into the tables of the report."""
    names = ("theta", "theta_asked", "lean")
    tables = {name: interval_table(posterior[name], level, left=True) for name in names}
    if scale := posterior.attrs.get("scale"):
        tables["theta"]["scale"] = scale
    tables["bias_posterior"] = _bias(posterior, level)
    if "bias_item" in posterior:
        found = interval_table(posterior["bias_item"], level, left=True)
        tables["bias_by_item"] = found.dropna(subset="estimate", ignore_index=True)
    measures = {
        name: posterior.get(name)
        for name in ("decisiveness", "repetition")
        if "decisiveness" in posterior
    }
    tables |= _stacked("decisiveness", measures, level, of="measure")
    tables["pairwise"] = pairwise(posterior)
    tables["ranks"] = ranks(posterior)
    if "acquiescence" in posterior:
        tables["acquiescence"] = interval_table(posterior["acquiescence"], level)
    effects = {
        "acquiescence": posterior.get("prefix_acquiescence"),
        "steer": posterior.get("prefix_steer"),
    }
    tables |= _stacked("prefix_effects", effects, level)
    scales = {"wording": posterior.get("wording_scale"), "prompt": posterior.get("prompt_scale")}
    if "prefix_scale" in posterior:
        for name in posterior["prefix_effect"].values:
            scales[f"prefix_{name}"] = posterior["prefix_scale"].sel(prefix_effect=name, drop=True)
    tables |= _stacked("sensitivity", scales, level)
    if "difficulty" in posterior:
        tables["items"] = _items(posterior, items, level)
    if "confusion" in posterior:
        tables["confusion"] = interval_table(posterior["confusion"], level)
    if "validity" in posterior:
        tables["validity_posterior"] = interval_table(posterior["validity"], level)
    tables |= coefficient_tables(posterior, level)
    tables |= instrument_tables(posterior, level)
    if "wording" in posterior:
        tables["wordings"] = interval_table(posterior["wording"], level).dropna(subset="estimate")
    return tables


def positions(posterior: xr.Dataset, name: str = "theta") -> xr.DataArray:
    """Return theta or lean with the mean over dimensions asked as a further one, ``"total"``."""
    theta = posterior[name]
    total = theta.mean("dimension").expand_dims(dimension=["total"], axis=-1)
    return xr.concat([theta, total.transpose(*theta.dims)], dim="dimension")


def pairwise(posterior: xr.Dataset) -> pd.DataFrame:
    """Return the probability that one model is left of another, for every ordered pair asked."""
    rows = []
    for dimension, names, draws in asked_positions(posterior):
        for k, a in enumerate(names):
            p_left = (draws[:, [k]] < draws).mean(axis=0)
            rows += [(a, b, dimension, float(p_left[n])) for n, b in enumerate(names) if n != k]
    return pd.DataFrame(rows, columns=["model_a", "model_b", "dimension", "p_left"])


def ranks(posterior: xr.Dataset) -> pd.DataFrame:
    """Return the probability of every rank of every model asked, rank 1 being furthest left."""
    rows = []
    for dimension, models, draws in asked_positions(posterior):
        order = draws.argsort(axis=-1).argsort(axis=-1) + 1
        for k, model in enumerate(models):
            share = np.bincount(order[..., k].ravel(), minlength=len(models) + 1)[1:]
            for rank, count in enumerate(share, start=1):
                rows.append((model, dimension, rank, count / share.sum()))
    return pd.DataFrame(rows, columns=["model", "dimension", "rank", "probability"])


def asked_positions(posterior: xr.Dataset) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each dimension, the models asked about it, and draws ``[draw, model]`` of theta."""
    theta = positions(posterior)
    for dimension in theta["dimension"].values:
        draws = flat(theta.sel(dimension=dimension, drop=True).transpose(*_DRAW, "model"))
        asked = ~np.isnan(draws).any(axis=0)
        yield dimension, theta["model"].values[asked], draws[:, asked]


def _bias(posterior: xr.Dataset, level: float) -> pd.DataFrame:
    by_dimension = interval_table(posterior["bias"], level, left=True)
    total = interval_table(posterior["bias_total"], level, left=True)
    return pd.concat([by_dimension, total.assign(dimension="total")], ignore_index=True)[
        by_dimension.columns
    ]


def _stacked(
    name: str, variables: Mapping[str, xr.DataArray | None], level: float, *, of: str = "effect"
) -> dict[str, pd.DataFrame]:
    tables = []
    for effect, values in variables.items():
        if values is not None:
            table = interval_table(values, level)
            table.insert(values.ndim - 2, of, effect)
            tables.append(table)
    return {name: pd.concat(tables, ignore_index=True)} if tables else {}


def _items(posterior: xr.Dataset, items: pd.DataFrame | None, level: float) -> pd.DataFrame:
    table = _of_items(posterior, "difficulty", level)
    if "discrimination" in posterior:
        other = _of_items(posterior, "discrimination", level)
        if posterior["discrimination"].attrs.get("sign") == "either":
            positive = (posterior["discrimination"] > 0).mean(("chain", "draw"))
            other["discrimination_p_positive"] = positive.to_numpy()
        table = table.merge(other, on="item")
    table = table.assign(level=level)
    return table if items is None else items.merge(table, on="item")


def _of_items(posterior: xr.Dataset, name: str, level: float) -> pd.DataFrame:
    table = interval_table(posterior[name], level)
    bounds = {"estimate": name, "lower": f"{name}_lower", "upper": f"{name}_upper"}
    return table[["item", *bounds]].rename(columns=bounds)


ALL_MODELS = "mean of the models"
# With fewer models a correlation is one of very few points, and near 1 or -1 by chance.
LEAST_MODELS = 3
_QUANTITIES = ("theta", "bias")


def instrument_tables(posterior: xr.Dataset, level: float) -> dict[str, pd.DataFrame]:
    """Summarise the models' leanings by instrument, if theta differs by instrument."""
    levels, differences, correlations = list[pd.DataFrame](), [], []
    for quantity in _QUANTITIES:
        name = f"{quantity}_instrument"
        if name not in posterior:
            continue
        values = posterior[name]
        table = interval_table(values, level, left=True).assign(quantity=quantity)
        levels.append(table.dropna(subset="estimate"))
        for first, second in combinations(values["instrument"].values, 2):
            one, other = (values.sel(instrument=i, drop=True) for i in (first, second))
            about = {"first": first, "second": second, "quantity": quantity}
            table = interval_table(_with_mean(one - other), level, left=True)
            differences.append(table.dropna(subset="estimate").assign(**about))
            if values.sizes["model"] >= LEAST_MODELS:
                table = interval_table(correlation(one, other), level)
                correlations.append(table.dropna(subset="estimate").assign(**about))
    if not levels:
        return {}
    pairs = ["dimension", "first", "second", "quantity"]
    tables = {
        "by_instrument": _ordered(levels, ["model", "dimension", "instrument", "quantity"]),
        "instrument_differences": _ordered(differences, ["model", *pairs]),
    }
    if correlations:
        tables["instrument_correlations"] = _ordered(correlations, pairs)
    return tables


def _with_mean(values: xr.DataArray) -> xr.DataArray:
    """Append the mean over the models."""
    mean = values.mean("model").expand_dims(model=[ALL_MODELS], axis=2)
    return xr.concat([values, mean], dim="model")


def correlation(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return Pearson's correlation over the models that have both, in every draw.

    Both are ``[chain, draw, model, ...]``; NaN for fewer than `LEAST_MODELS`.
    """
    both = one.notnull() & other.notnull()
    a, b = (x.where(both) - x.where(both).mean("model") for x in (one, other))
    found = (a * b).sum("model") / np.sqrt((a**2).sum("model") * (b**2).sum("model"))
    return found.where(both.sum("model") >= LEAST_MODELS)


def _ordered(tables: list[pd.DataFrame], first: list[str]) -> pd.DataFrame:
    whole = pd.concat(tables, ignore_index=True)
    return whole[[*first, *(c for c in whole.columns if c not in first)]]
