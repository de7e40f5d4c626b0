"""The posterior of a mixed model under its public names."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from polbayes.fit.mixed.model import MixedModel

_OWN = {"sigma": "sigma", "kappa": "phi"}


def name_posterior(model: MixedModel, drawn: xr.Dataset) -> xr.Dataset:
    """Give the posterior of a mixed model, ``[chain, draw, ...]``, its public names.

    These are ``coefficient[term]``, on the link's scale and for the predictors of the formula;
    ``threshold[threshold_name]`` of an ordinal response; ``group_sd[group_term]`` and
    ``group_effect[group_level]``, with coordinates ``group``, ``varying`` and (effects) ``level``;
    ``sigma`` of a Gaussian and ``phi``, the precision, of a beta response.
    """
    out: dict[str, Any] = {}
    names, values = _coefficients(model, drawn)
    if names:
        out["coefficient"] = (("chain", "draw", "term"), values)
    coords: dict[str, Any] = {"term": list(names)} if names else {}
    if "threshold" in drawn:
        out["threshold"] = (("chain", "draw", "threshold_name"), drawn["threshold"].to_numpy())
        pairs = zip(model.points[:-1], model.points[1:], strict=True)
        coords["threshold_name"] = [f"{low}|{high}" for low, high in pairs]
    if model.groups:
        groups, further = _groups(model, drawn)
        out |= groups
        coords |= further
    for theirs, ours in _OWN.items():
        if theirs in drawn:
            out[ours] = (("chain", "draw"), drawn[theirs].to_numpy())
    data = xr.Dataset(out, {**_texts(coords), "chain": drawn["chain"], "draw": drawn["draw"]})
    data.attrs = {}
    return data


def _texts(coords: Mapping[str, Any]) -> dict[str, Any]:
    """Turn labels into Python strings, which netCDF preserves."""
    return {
        name: (value[0], np.array(value[1], dtype=object))
        if isinstance(value, tuple)
        else np.array(value, dtype=object)
        for name, value in coords.items()
    }


def _coefficients(model: MixedModel, drawn: xr.Dataset) -> tuple[list[str], np.ndarray]:
    shape = (drawn.sizes["chain"], drawn.sizes["draw"], -1)
    names = [name for term in model.common for name in term.names]
    pieces = [drawn[term.variable].to_numpy().reshape(shape) for term in model.common]
    slopes = np.concatenate(pieces, axis=-1) if pieces else np.empty((*shape[:2], 0))
    if not model.intercept:
        return names, slopes
    centred = drawn["Intercept"].to_numpy().reshape(shape)
    intercept = centred - (slopes @ model.matrix.mean(axis=0))[..., None]
    return ["Intercept", *names], np.concatenate([intercept, slopes], axis=-1)


def _groups(model: MixedModel, drawn: xr.Dataset) -> tuple[dict[str, Any], dict[str, Any]]:
    shape = (drawn.sizes["chain"], drawn.sizes["draw"], -1)
    sds, effects = list[np.ndarray](), list[np.ndarray]()
    sd_labels, labels = list[tuple[str, str]](), list[tuple[str, str, str]]()
    for group in model.groups:
        sds.append(drawn[f"{group.variable}_sigma"].to_numpy().reshape(shape))
        sd_labels += [(group.group, term) for term in group.terms]
        effects.append(drawn[group.variable].to_numpy().reshape(shape))
        labels += [(group.group, term, level) for level in group.levels for term in group.terms]
    out = {
        "group_sd": (("chain", "draw", "group_term"), np.concatenate(sds, axis=-1)),
        "group_effect": (("chain", "draw", "group_level"), np.concatenate(effects, axis=-1)),
    }
    coords = {
        "group_term": [f"{group}: {term}" for group, term in sd_labels],
        "group_level": [f"{group}: {term} [{level}]" for group, term, level in labels],
        **_beside("group_term", "sd_", sd_labels),
        **_beside("group_level", "", labels),
    }
    return out, coords


def _beside(dim: str, prefix: str, labels: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """Return the parts of the labels of a dimension as coordinates along it."""
    names = ("group", "varying", "level")
    columns = zip(*labels, strict=True)
    return {f"{prefix}{n}": (dim, list(c)) for n, c in zip(names, columns, strict=False)}


def stack(parts: Mapping[str, xr.Dataset], by: str) -> xr.Dataset:
    """Concatenate the posteriors of several strata."""
    order = {
        dim: _union([part[dim].values for part in parts.values() if dim in part.dims])
        for dim in ("term", "threshold_name", "group_term", "group_level")
    }
    whole = [
        part.drop_vars([c for c in part.coords if c not in part.dims]).reindex(
            {dim: labels for dim, labels in order.items() if dim in part.dims}
        )
        for part in parts.values()
    ]
    data = xr.concat(whole, dim=by, join="outer", data_vars="all", coords="minimal")
    data = data.assign_coords({by: np.array(list(parts), dtype=object)})
    data = data.transpose("chain", "draw", by, ...)
    return data.assign_coords(_remembered(parts, data))


def _union(values: Sequence[np.ndarray]) -> list[str]:
    return list(dict.fromkeys(str(v) for array in values for v in array))


def _remembered(parts: Mapping[str, xr.Dataset], data: xr.Dataset) -> dict[str, Any]:
    """Return the coordinates along the dimensions, which each stratum has separately."""
    found: dict[str, dict[str, str]] = {}
    dims: dict[str, str] = {}
    for part in parts.values():
        for name, coord in part.coords.items():
            if coord.ndim == 1 and name not in part.dims:
                dim = str(coord.dims[0])
                dims[str(name)] = dim
                pairs = zip(part[dim].values, coord.values, strict=True)
                found.setdefault(str(name), {}).update(pairs)
    return {
        name: (dims[name], np.array([labels[v] for v in data[dims[name]].values], dtype=object))
        for name, labels in found.items()
    }
