"""A quick approximation of the posterior, as a preview only."""

from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.blocking import DictToArrayBijection, RaveledVars

from polbayes.config.schema import SamplerConfig
from polbayes.data.progress import bars
from polbayes.fit.sampling.importance import pareto_smoothed


def approximate(
    model: pm.Model, config: SamplerConfig, *, seed: int
) -> tuple[xr.Dataset, xr.Dataset]:
    """Approximate the posterior by independent normals (ADVI, Kucukelbir et al. 2017)."""
    compiled = {"mode": "NUMBA"}
    fitted = pm.fit(
        config.tune,
        method="advi",
        model=model,
        random_seed=seed,
        progressbar=bars(),
        compile_kwargs=compiled,
    )
    mean, sd = fitted.mean.eval(), fitted.std.eval()
    shape = (config.chains, config.draws)
    z = np.random.default_rng(seed).standard_normal((shape[0] * shape[1], len(mean)))
    places = DictToArrayBijection.map(model.initial_point(seed)).point_map_info
    named = [*model.free_RVs, *model.deterministics]
    values = model.compile_fn(
        model.replace_rvs_by_values(named), inputs=model.value_vars, **compiled
    )
    logp = model.compile_logp(**compiled)
    ratios = np.empty(len(z))
    drawn: list[list[Any]] = [[] for _ in named]
    for k, at in enumerate(mean + sd * z):
        point = DictToArrayBijection.rmap(RaveledVars(at, places))
        ratios[k] = logp(point) + z[k] @ z[k] / 2  # minus the log-density of the normal
        for variable, value in zip(drawn, values(point), strict=True):
            variable.append(value)
    posterior = xr.Dataset(
        {
            str(variable.name): _with_draws(str(variable.name), np.asarray(value), shape)
            for variable, value in zip(named, drawn, strict=True)
        },
        coords={"chain": np.arange(shape[0]), "draw": np.arange(shape[1])},
    )
    stats = xr.Dataset(
        {
            "diverging": (("chain", "draw"), np.zeros(shape, dtype=bool)),
            "pareto_k": float(pareto_smoothed(ratios[None])[1][0]),
        }
    )
    return posterior, stats


def _with_draws(name: str, values: np.ndarray, shape: tuple[int, int]) -> Any:
    dims = tuple(f"{name}_dim_{k}" for k in range(values.ndim - 1))
    return ("chain", "draw", *dims), values.reshape(*shape, *values.shape[1:])
