"""Densities of single numbers (coefficients, scales, distances, correlations) and their slopes.

Each is a function of an unconstrained coordinate x: the value itself, the logarithm of a positive
value, or the logit of (1 + r) / 2 for a correlation r. The density of x includes the Jacobian and
is up to a constant.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polbayes.fit.compilation import compiled
from polbayes.fit.density.layout import Block, Layout
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.priors import CONSTANT, Prior
from polbayes.fit.spec.spec import Spec

# Densities. Under LKJ(eta) the correlation r of two variables has (1 + r) / 2 ~ Beta(eta, eta).
NORMAL, STUDENT_T, LAPLACE, GAMMA, LOG_NORMAL, CORRELATION, KNOWN = range(7)


@dataclass(frozen=True)
class Priors:
    """Priors of all sampled numbers except the effects.

    `coefficients`, `scales`, `gaps` and `tails` have one prior per number, and `readings` those of
    the gamma variables of confusion matrices (`polbayes.fit.coder_errors.confusion`). If effects
    are a scale times a deviate, the scale may be negative: only its absolute value
    counts, and a sampler that can pass through zero avoids the long tail of the logarithm of a
    small scale.
    """

    coefficients: list[Prior]
    scales: list[Prior]
    gaps: list[Prior]
    readings: list[Prior]
    tails: list[Prior]


def priors_of(layout: Layout, spec: Spec, cells: Cells) -> Priors:
    """Look up the priors in a spec."""
    scales = [spec.prior(*scale, "sd") for scale in layout.scales]
    for block in layout.blocks:
        if not block.correlated:
            for k in range(block.scales[0], sum(block.scales)):
                scales[k] = scales[k].unfolded() or scales[k]
    gaps = spec.observation.gaps(len(cells.points))
    shapes = cells.read.coder.prior.tolist() if cells.read else []
    return Priors(
        [spec.prior(part, term) for part, term, _ in layout.coefficients],
        scales,
        [spec.cutpoint_prior] * gaps,
        [Prior("Gamma", (shape, 1.0)) for shape in shapes],
        [spec.prior(part, name, "nu") for part, name in layout.tails],
    )


def correlation_prior(block: Block, spec: Spec) -> Prior:
    """Look up the prior of a term's correlations."""
    assert block.group is not None
    return spec.prior(block.part, block.group.term.name, "cor")


@dataclass(frozen=True)
class Scalars:
    """Some numbers with priors.

    ``[number]`` `kind` is one of the densities above, and ``[number, 3]`` `arguments` its own (for
    `KNOWN` the value); `positive` says whether the coordinate is the logarithm, and `at` where it
    is, -1 for `KNOWN`.
    """

    kind: np.ndarray
    arguments: np.ndarray
    positive: np.ndarray
    at: np.ndarray

    @property
    def sampled(self) -> int:
        """Number of coordinates."""
        return int((self.at >= 0).sum())

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Arguments of `evaluate`, in order."""
        return self.kind, self.arguments, self.positive, self.at


def scalars(priors: Sequence[Prior]) -> Scalars:
    """Translate priors."""
    rows = [_row(prior) for prior in priors]
    kind = np.array([k for k, _, _ in rows], dtype=np.int64)
    arguments = np.array([a for _, a, _ in rows], dtype=float).reshape(len(rows), 3)
    positive = np.array([p for _, _, p in rows], dtype=bool)
    at = np.where(kind == KNOWN, -1, np.cumsum(kind != KNOWN) - 1)
    return Scalars(kind, arguments, positive, at)


def _row(prior: Prior) -> tuple[int, tuple[float, float, float], bool]:
    """Return density, arguments, and whether the values are positive."""
    v = prior.values
    match prior.name:
        case "Normal":
            return NORMAL, (v[0], v[1], 0.0), False
        case "StudentT":
            return STUDENT_T, (v[1], v[2], v[0]), False
        case "Cauchy":
            return STUDENT_T, (v[0], v[1], 1.0), False
        case "Laplace":
            return LAPLACE, (v[0], v[1], 0.0), False
        case "HalfNormal":
            return NORMAL, (0.0, v[0], 0.0), True
        case "HalfStudentT":
            return STUDENT_T, (0.0, v[1], v[0]), True
        case "HalfCauchy":
            return STUDENT_T, (0.0, v[0], 1.0), True
        case "Exponential":
            return GAMMA, (1.0, v[0], 0.0), True
        case "Gamma":
            return GAMMA, (v[0], v[1], 0.0), True
        case "LogNormal":
            return LOG_NORMAL, (v[0], v[1], 0.0), True
        case "LKJ":
            return CORRELATION, (v[0], 0.0, 0.0), False
    assert prior.name == CONSTANT
    return KNOWN, (v[0], 0.0, 0.0), False


@compiled
def _density(kind: int, value: float, a: np.ndarray) -> tuple[float, float]:
    """Return the log-density at a value and its slope."""
    if kind == NORMAL:
        z = (value - a[0]) / a[1]
        return -0.5 * z * z, -z / a[1]
    if kind == STUDENT_T:
        z = (value - a[0]) / a[1]
        return (
            -0.5 * (a[2] + 1.0) * math.log1p(z * z / a[2]),
            -(a[2] + 1.0) * z / ((a[2] + z * z) * a[1]),
        )
    if kind == LAPLACE:
        z = (value - a[0]) / a[1]
        return -abs(z), -math.copysign(1.0, z) / a[1]
    if kind == GAMMA:
        return (a[0] - 1.0) * math.log(value) - a[1] * value, (a[0] - 1.0) / value - a[1]
    z = (math.log(value) - a[0]) / a[1]  # LOG_NORMAL
    return -0.5 * z * z - math.log(value), -(z / a[1] + 1.0) / value


@compiled
def evaluate(
    x: np.ndarray, kind: np.ndarray, arguments: np.ndarray, positive: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Compute ``[number]`` values, their slopes, those of the log-density, and the log-density."""
    size = kind.shape[0]
    values, slopes, of_density, total = np.empty(size), np.zeros(size), np.zeros(size), 0.0
    for k in range(size):
        a = arguments[k]
        if kind[k] == KNOWN:
            values[k] = a[0]
        elif kind[k] == CORRELATION:
            share, rest = 1.0 / (1.0 + math.exp(-x[at[k]])), 1.0 / (1.0 + math.exp(x[at[k]]))
            values[k], slopes[k] = share - rest, 2.0 * share * rest
            total += a[0] * (math.log(share) + math.log(rest))
            of_density[k] = a[0] * (rest - share)
        elif positive[k]:
            values[k] = slopes[k] = math.exp(x[at[k]])
            logp, slope = _density(kind[k], values[k], a)
            total += logp + x[at[k]]
            of_density[k] = slope * values[k] + 1.0
        else:
            values[k], slopes[k] = x[at[k]], 1.0
            logp, of_density[k] = _density(kind[k], values[k], a)
            total += logp
    return values, slopes, of_density, total
