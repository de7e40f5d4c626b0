"""Parameters drawn from the prior, with numpy and only the documented equations."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from polbayes.fit.spec.priors import CONSTANT, Prior
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import BoundGroup, BoundPart

TermKey = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Parameters:
    """One draw of all parameters of a model.

    Parameters
    ----------
    parts
        ``[cell]`` value of each part, by name (discriminations, widths and residual scales as
        logarithms).
    terms
        ``[cell]`` value of each group-specific term, by part and grouping factors.
    scales
        Standard deviations by ``"part: term [level]"``.
    correlations
        ``[column, column]`` by part and grouping factors.
    gaps
        Distances of the cutpoints; empty if there are none.
    coefficients
        Of the common terms, by ``"part: column"``.
    tails
        Degrees of freedom of t distributions, by ``"part: term"``.
    """

    parts: Mapping[str, np.ndarray]
    terms: Mapping[TermKey, np.ndarray]
    scales: Mapping[str, float]
    correlations: Mapping[TermKey, np.ndarray]
    gaps: np.ndarray
    coefficients: Mapping[str, float]
    tails: Mapping[str, float] = field(default_factory=dict)


def draw(prior: Prior, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from one prior.

    Parameters
    ----------
    prior
        Any but LKJ.
    size
        Number of draws.
    rng
        Source of randomness.
    """
    from scipy import stats

    v = prior.values
    if prior.name == CONSTANT:
        return np.full(size, v[0])
    distribution = {
        "Normal": lambda: stats.norm(v[0], v[1]),
        "StudentT": lambda: stats.t(v[0], v[1], v[2]),
        "Cauchy": lambda: stats.cauchy(v[0], v[1]),
        "Laplace": lambda: stats.laplace(v[0], v[1]),
        "HalfNormal": lambda: stats.halfnorm(scale=v[0]),
        "HalfStudentT": lambda: stats.t(v[0], 0, v[1]),
        "HalfCauchy": lambda: stats.halfcauchy(scale=v[0]),
        "Exponential": lambda: stats.expon(scale=1 / v[0]),
        "Gamma": lambda: stats.gamma(v[0], scale=1 / v[1]),
        "LogNormal": lambda: stats.lognorm(v[1], scale=np.exp(v[0])),
    }[prior.name]()
    drawn = np.asarray(distribution.rvs(size, random_state=rng))
    return np.abs(drawn) if prior.positive else drawn


def draw_parameters(
    spec: Spec, parts: Mapping[str, BoundPart], points: int, rng: np.random.Generator
) -> Parameters:
    """Draw all parameters of a model from its prior.

    Effects are independent normal numbers. If they sum to zero, their mean is subtracted,
    which gives the normal distribution conditioned on that sum.

    Parameters
    ----------
    spec
        The analysis spec.
    parts
        The spec bound to a design.
    points
        Number of points of the response; 0 for continuous ones.
    rng
        Source of randomness.
    """
    values: dict[str, np.ndarray] = {}
    terms: dict[TermKey, np.ndarray] = {}
    scales: dict[str, float] = {}
    correlations: dict[TermKey, np.ndarray] = {}
    coefficients: dict[str, float] = {}
    tails: dict[str, float] = {}
    for name, part in parts.items():
        total = np.zeros(1)
        if part.common is not None:
            beta = [draw(spec.prior(name, term), 1, rng)[0] for term in part.common.terms]
            names = [f"{name}: {column}" for column in part.common.names]
            coefficients |= dict(zip(names, map(float, beta), strict=True))
            total = (part.common.matrix @ np.array(beta))[part.common.index]
        for group in part.groups:
            key = (name, group.term.factors)
            sd = draw(spec.prior(name, group.term.name, "sd"), _scales(group), rng)
            scales |= dict(zip(_labels(name, group), map(float, sd), strict=True))
            correlation = _correlation(spec, name, group, rng)
            if correlation is not None:
                correlations[key] = correlation
            nu = np.inf
            if group.term.heavy:
                nu = float(draw(spec.prior(name, group.term.name, "nu"), 1, rng)[0])
                tails[f"{name}: {group.term.name}"] = nu
            terms[key] = _term(group, sd, correlation, nu, rng)
            total = total + terms[key]
        values[name] = total
    gaps = np.empty(0)
    if spec.family == "cumulative" and points > 2:
        gaps = draw(spec.cutpoint_prior, points - 2, rng)
    return Parameters(values, terms, scales, correlations, gaps, coefficients, tails)


def _scales(group: BoundGroup) -> int:
    return len(group.scales) if group.scales else len(group.columns)


def _labels(part: str, group: BoundGroup) -> list[str]:
    of = group.scales or (group.columns if group.matrix is not None else ("",))
    return [f"{part}: {group.term.name}" + (f" [{label}]" if label else "") for label in of]


def _correlation(
    spec: Spec, part: str, group: BoundGroup, rng: np.random.Generator
) -> np.ndarray | None:
    """Draw from LKJ(eta), under which a single correlation is 2 Beta(eta, eta) - 1."""
    if len(group.columns) == 1 or not group.term.correlated:
        return None
    if len(group.columns) > 2:
        raise NotImplementedError("more than two correlated coefficients")
    eta = spec.prior(part, group.term.name, "cor").values[0]
    r = 2 * rng.beta(eta, eta) - 1
    return np.array([[1, r], [r, 1]])


def _term(
    group: BoundGroup,
    sd: np.ndarray,
    correlation: np.ndarray | None,
    nu: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw a term's effects and return ``[cell]`` its contribution to every cell."""
    columns = len(group.columns)
    each = sd[group.scale_of][:, None] if group.scales else np.broadcast_to(sd, (1, columns))
    root = np.eye(columns) if correlation is None else np.linalg.cholesky(correlation)
    shape = (len(group.levels), columns)
    deviates = rng.standard_t(nu, shape) if np.isfinite(nu) else rng.standard_normal(shape)
    effects = each * (deviates @ root.T)
    if group.centred_in is not None:
        for code in np.unique(group.centred_in):
            inside = group.centred_in == code
            effects[inside] -= effects[inside].mean(axis=0)
    if group.matrix is None:
        return effects[group.index, 0]
    return (effects[group.index] * group.matrix).sum(axis=1)
