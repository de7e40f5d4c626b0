"""Draws from the posterior of a Gaussian random-intercept model, without a Markov chain.

Given the residual standard deviation sigma and that of the intercepts tau, the coefficients
and the intercepts have a normal posterior that depends only on sums over rows and groups
(e.g. Lindley and Smith 1972). Integrating them out leaves a density of two numbers, which
is tabulated. The cost does not depend on the number of rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import minimize

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.mixed.columns import RESPONSE
from polbayes.fit.mixed.model import MixedModel
from polbayes.fit.mixed.spec import MixedSpec
from polbayes.fit.spec import priors
from polbayes.fit.spec.spec import common_names

BACKEND = "exact"
_POINTS = 160
# The density is tabulated until it has fallen to exp(-_DEPTH) of its maximum.
_DEPTH = 14.0
_CHUNK = 2000


@dataclass(frozen=True)
class Sums:
    """The sufficient statistics of the posterior."""

    rows: int  # number of rows
    # Sums of products of predictors [coefficient, coefficient], of predictors and the response
    # [coefficient], and of the squared response, after the means of the groups were taken off
    xx: np.ndarray
    xy: np.ndarray
    yy: float
    # [group] rows, [group, coefficient] sums of predictors and [group] of the response; no groups
    # where there are no random intercepts
    group_rows: np.ndarray
    group_x: np.ndarray
    group_y: np.ndarray
    precision: np.ndarray  # [coefficient] of the normal priors; precision 0 is a flat prior
    mean: np.ndarray


@dataclass(frozen=True)
class Conditional:
    """The posterior of the coefficients at some points of sigma and tau."""

    log_density: np.ndarray  # [point] marginal likelihood of sigma and tau
    # [point, coefficient] mean, and [point, coefficient, coefficient] lower Cholesky factor of the
    # precision, of the coefficients
    mean: np.ndarray
    root: np.ndarray


def check_exact(spec: MixedSpec) -> None:
    """Refuse a spec whose posterior cannot be sampled exactly."""
    if not spec.simple:
        raise UserError(
            "sampler.backend: 'exact' is for mixed models of family gaussian with at most one "
            "group-specific term, an intercept (1 | group); use sampler=nutpie."
        )
    for name in common_names(spec.formula.common):
        prior = spec.prior(name)
        if prior is not None and prior.name != "Normal":
            raise UserError(
                f"sampler.backend: 'exact' needs normal priors of the coefficients, not {prior} "
                f"for {name}; use sampler=nutpie."
            )


def draw(model: MixedModel, config: SamplerConfig, *, seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """Draw from the posterior of a model that `check_exact` accepts: posterior and statistics.

    Draws come in antithetic pairs around the posterior mean given sigma and tau, so that
    means of coefficients have hardly any Monte Carlo error.
    """
    rng = np.random.default_rng(seed)
    chains, draws = config.chains, config.draws
    pairs = -(-chains * draws // 2)
    sums = _sums(model)
    log_sigma, log_tau = _scales(sums, _log_prior(model), pairs, rng)
    given = _in_chunks(sums, log_sigma, log_tau)
    noise = rng.standard_normal(given.mean.shape)
    step = np.linalg.solve(given.root.transpose(0, 2, 1), noise[..., None])[..., 0]
    beta = _mirrored(given.mean, step)
    sigma, tau = (np.repeat(np.exp(v), 2) for v in (log_sigma, log_tau))
    variables: dict[str, np.ndarray] = {"sigma": sigma, **_by_term(model, beta)}
    if model.groups:
        name = model.groups[0].variable
        variables[f"{name}_sigma"] = tau
        noise = rng.standard_normal((pairs, len(sums.group_rows)))
        variables[name] = _intercepts(sums, beta, sigma, tau, _mirrored(0 * noise, noise))
    posterior = {
        name: (
            ("chain", "draw", *(f"{name}_{k}" for k in range(values.ndim - 1))),
            values[: chains * draws].reshape(chains, draws, *values.shape[1:]),
        )
        for name, values in variables.items()
    }
    coords = {"chain": np.arange(chains), "draw": np.arange(draws)}
    stats = {"diverging": (("chain", "draw"), np.zeros((chains, draws), dtype=bool))}
    return xr.Dataset(posterior, coords), xr.Dataset(stats, coords)


def _mirrored(centre: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return ``centre + step`` and ``centre - step`` one after the other, ``[2 point, ...]``."""
    both = np.stack([centre + step, centre - step], axis=1)
    return both.reshape(-1, *centre.shape[1:])


def _by_term(model: MixedModel, beta: np.ndarray) -> dict[str, np.ndarray]:
    """Split the columns of the coefficients by the terms of the model."""
    variables = {"Intercept": beta[:, 0]} if model.intercept else {}
    at = int(model.intercept)
    for term in model.common:
        variables[term.variable] = beta[:, at : at + len(term.names)]
        at += len(term.names)
    return variables


def _sums(model: MixedModel) -> Sums:
    """Sum over the rows of a model, with centred predictors if it has an intercept."""
    x = model.matrix
    terms = list(model.mean.common_terms.values())
    if model.intercept:
        x = np.column_stack([np.ones(len(x)), x - x.mean(axis=0)])
        terms = [model.mean.intercept_term, *terms]
    y = model.bambi.data[RESPONSE].to_numpy(dtype=float)
    widths = [1] * model.intercept + [len(term.names) for term in model.common]
    index = np.empty(0, dtype=int)
    if model.groups:
        index = np.asarray(model.mean.group_specific_terms[model.groups[0].variable].group_index)
    return sums_of(
        x,
        y,
        index,
        precision=_spread(terms, widths, "sigma") ** -2.0,
        mean=_spread(terms, widths, "mu"),
    )


def _spread(terms: list[Any], widths: list[int], argument: str) -> np.ndarray:
    """Return an argument of the terms' priors for every coefficient."""
    pieces = [
        np.broadcast_to(np.asarray(term.prior.args[argument], dtype=float), width)
        for term, width in zip(terms, widths, strict=True)
    ]
    return np.concatenate(pieces) if pieces else np.empty(0)


def sums_of(
    x: np.ndarray, y: np.ndarray, group: np.ndarray, *, precision: np.ndarray, mean: np.ndarray
) -> Sums:
    """Compute sums over predictors ``[row, coefficient]`` and response ``[row]``.

    `group` is ``[row]``, empty without groups; `precision` and `mean`, ``[coefficient]``, are those
    of the normal priors.
    """
    groups = int(group.max()) + 1 if len(group) else 0
    rows = np.bincount(group, minlength=groups).astype(float)
    group_x, group_y = np.zeros((groups, x.shape[1])), np.zeros(groups)
    if groups:
        np.add.at(group_x, group, x)
        np.add.at(group_y, group, y)
        x = x - (group_x / rows[:, None])[group]
        y = y - (group_y / rows)[group]
    return Sums(len(y), x.T @ x, x.T @ y, float(y @ y), rows, group_x, group_y, precision, mean)


def conditional(sums: Sums, log_sigma: np.ndarray, log_tau: np.ndarray) -> Conditional:
    """Return the posterior of the coefficients at points of sigma and tau.

    With flat priors the density is the restricted likelihood (REML), up to a constant.
    """
    size = sums.xx.shape[0]
    sigma2, tau2 = np.exp(2 * log_sigma)[:, None], np.exp(2 * log_tau)[:, None]
    # The part of the group means that the intercepts do not absorb.
    weight = 1 / (sums.group_rows * (1 + sums.group_rows * tau2 / sigma2))
    outer = (sums.group_x[:, :, None] * sums.group_x[:, None, :]).reshape(-1, size * size)
    precision = (sums.xx + (weight @ outer).reshape(-1, size, size)) / sigma2[..., None]
    precision += np.diag(sums.precision)
    linear = (sums.xy + weight @ (sums.group_x * sums.group_y[:, None])) / sigma2
    linear += sums.precision * sums.mean
    square = (sums.yy + weight @ sums.group_y**2) / sigma2[:, 0]
    square += sums.precision @ sums.mean**2
    root = np.linalg.cholesky(precision)
    half = np.linalg.solve(root, linear[..., None])
    mean = np.linalg.solve(root.transpose(0, 2, 1), half)[..., 0]
    log_det_v = 2 * sums.rows * log_sigma
    log_det_v += np.log1p(sums.group_rows * tau2 / sigma2).sum(axis=1)
    log_det = 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    density = -0.5 * (log_det_v + log_det + square - (half[..., 0] ** 2).sum(axis=1))
    return Conditional(density, mean, root)


def _in_chunks(sums: Sums, log_sigma: np.ndarray, log_tau: np.ndarray) -> Conditional:
    """Compute `conditional` in bounded memory."""
    parts = [
        conditional(sums, log_sigma[k : k + _CHUNK], log_tau[k : k + _CHUNK])
        for k in range(0, len(log_sigma), _CHUNK)
    ]
    return Conditional(
        np.concatenate([p.log_density for p in parts]),
        np.concatenate([p.mean for p in parts]),
        np.concatenate([p.root for p in parts]),
    )


def _intercepts(
    sums: Sums, beta: np.ndarray, sigma: np.ndarray, tau: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """Draw the random intercepts ``[draw, group]`` given everything else."""
    precision = sums.group_rows / sigma[:, None] ** 2 + 1 / tau[:, None] ** 2
    residual = sums.group_y - beta @ sums.group_x.T
    return residual / sigma[:, None] ** 2 / precision + noise / np.sqrt(precision)


Density = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _log_prior(model: MixedModel) -> Density:
    """Return the log prior density of log sigma and log tau."""
    residual = model.parameters["sigma"].prior
    spread = None
    if model.groups:
        term = model.mean.group_specific_terms[model.groups[0].variable]
        spread = term.prior.args["sigma"]

    def density(log_sigma: np.ndarray, log_tau: np.ndarray) -> np.ndarray:
        total = log_density(residual, np.exp(log_sigma)) + log_sigma
        return total if spread is None else total + log_density(spread, np.exp(log_tau)) + log_tau

    return density


def log_density(prior: Any, values: np.ndarray) -> np.ndarray:
    """Return the log density of one of Bambi's priors of positive numbers, up to a constant."""
    arguments = {name: float(np.squeeze(value)) for name, value in prior.args.items()}
    return priors.log_density(priors.Prior.of(prior.name, arguments), values)


def _scales(
    sums: Sums, log_prior: Density, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw log sigma and log tau, both ``[size]``, from their tabulated density.

    Cells of the table are drawn by systematic sampling in random order, and points uniformly within
    a cell.
    """
    axes, table = _tabulated(sums, log_prior)
    weight = np.exp(table - table.max()).ravel()
    ends = np.cumsum(weight) / weight.sum()
    cell = np.searchsorted(ends, (np.arange(size) + rng.random()) / size)
    cell = rng.permutation(np.minimum(cell, len(ends) - 1))
    places = np.unravel_index(cell, table.shape)
    drawn = []
    for axis, place in zip(axes, places, strict=True):
        width = axis[1] - axis[0] if len(axis) > 1 else 0.0
        drawn.append(axis[place] + width * (rng.random(size) - 0.5))
    return drawn[0], drawn[1]


def _table(sums: Sums, log_prior: Density, axes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the log density ``[sigma, tau]`` on the grid of two axes."""
    log_sigma, log_tau = (g.ravel() for g in np.meshgrid(*axes, indexing="ij"))
    density = _in_chunks(sums, log_sigma, log_tau).log_density + log_prior(log_sigma, log_tau)
    return density.reshape(len(axes[0]), len(axes[1]))


def _tabulated(sums: Sums, log_prior: Density) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return the axes of a grid over the density, and the log density there."""

    def density(log_sigma: np.ndarray, log_tau: np.ndarray) -> np.ndarray:
        return conditional(sums, log_sigma, log_tau).log_density + log_prior(log_sigma, log_tau)

    mode = _mode(sums, density)
    depth = _DEPTH
    while True:
        log_sigma = _reach(lambda v: density(v, np.full_like(v, mode[1])), mode[0], depth)
        if not len(sums.group_rows):
            axes = log_sigma, mode[1:]
            return axes, _table(sums, log_prior, axes)
        log_tau = _reach(lambda v: density(np.full_like(v, mode[0]), v), mode[1], depth)
        table = _table(sums, log_prior, (log_sigma, log_tau))
        border = max(table[0].max(), table[-1].max(), table[:, 0].max(), table[:, -1].max())
        # A density that is not aligned with the axes extends beyond the box of its sections.
        if border < table.max() - _DEPTH + 2 or depth > 64 * _DEPTH:
            return (log_sigma, log_tau), table
        depth *= 2


def _mode(sums: Sums, density: Density) -> np.ndarray:
    """Return the mode of log sigma and log tau; without groups log tau is 0."""
    grouped = len(sums.group_rows) > 0

    def loss(at: np.ndarray) -> float:
        return -float(density(at[:1], at[1:] if grouped else np.zeros(1))[0])

    square = sums.yy + (sums.group_y**2 / np.maximum(sums.group_rows, 1)).sum()
    spread = 0.5 * np.log(square / sums.rows)
    start = [spread, spread - 1] if grouped else [spread]
    options = {"xatol": 1e-5, "fatol": 1e-6, "maxiter": 2000}
    best = minimize(loss, start, method="Nelder-Mead", options=options)
    return np.resize(best.x, 2) if grouped else np.array([best.x[0], 0.0])


def _reach(section: Callable[[np.ndarray], np.ndarray], mode: float, depth: float) -> np.ndarray:
    """Return the points on one axis where the density has fallen by `depth`, on either side."""
    steps = np.geomspace(1e-5, 15, 80)
    ends = []
    for side in (-1.0, 1.0):
        fallen = section(np.array([mode])) - section(mode + side * steps) >= depth
        ends.append(mode + side * steps[np.argmax(fallen) if fallen.any() else -1])
    return np.linspace(ends[0], ends[1], _POINTS)
