"""The mode of the effects: where the chains start, and which effects are drawn centred.

From a start at random the first trajectories gain so much energy that they may end where the
likelihood is flat and its surroundings are steep, and a chain that is there stays there: the
width of the cutpoints of a model that never answers at the ends has no upper bound but its prior.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polbayes.fit import kernel
from polbayes.fit.cells import Cells
from polbayes.fit.layout import Block, Gathering, Layout
from polbayes.fit.operation import KINDS, answers_of, validity_answers
from polbayes.fit.spec import Spec

# Scales of effects while their mode is looked for: first all the same, then as found.
_FIRST_SCALE = 0.5
_ROUNDS = 3
_LEAST_SCALE, _LARGEST_SCALE = 0.1, 3.0

# A varying effect is drawn as it is ("centred") where the data know the effects of its scale with
# this reliability on average, and as a standardised deviate ("non-centred") where they do not: the
# funnel between a scale and its effects opens where the data know the effects less well than their
# scale does. This changes how fast the posterior is explored, not the posterior.
_CENTRE_FROM = 0.9

# Coefficients, effects and logarithms of scales are looked for within this distance of 0: where
# all answers are the same number, the likelihood has no bound as the residual scale goes to 0.
_FARTHEST = 50.0

# Step of second differences of a cell's log-likelihood.
_STEP = 1e-2

# Chains start this far from the mode at most: in scales for effects, in units for coefficients
# and in logarithms for what is positive.
_JITTER = 0.3


@dataclass(frozen=True)
class Start:
    """Values near the mode, for every variable of the model.

    Parameters
    ----------
    coefficients
        ``[coefficient]`` of the common parts.
    scales
        ``[scale]`` of the group-specific terms.
    effects
        ``[effect]`` group-specific effects at their place in the vector (zeros before them).
    gaps
        ``[gap]`` distances of the cutpoints.
    information
        ``[effect]`` curvature of the log-likelihood along each effect alone.
    """

    coefficients: np.ndarray
    scales: np.ndarray
    effects: np.ndarray
    gaps: np.ndarray
    information: np.ndarray

    def free(self, block: Block) -> np.ndarray:
        """Return a term's effects in the coordinates that the constraints leave free.

        The inverse of what the model does to them (`polbayes.fit.model`).
        """
        effects, within = self.effects[block.start : block.stop], block.within()
        last = np.setdiff1d(np.arange(block.size), block.free)
        move = np.zeros(block.size)
        for at in last:
            others = within == within[at]
            n = others.sum()
            move[others] = np.sqrt(n) * effects[at] / (n + np.sqrt(n))
        return (effects - move)[block.free]


def find_start(layout: Layout, spec: Spec, cells: Cells) -> Start:
    """Maximise the likelihood with a normal penalty on every effect.

    Parameters
    ----------
    layout
        Where the effects are.
    spec
        The analysis spec.
    cells
        Distinct cells and their answers.
    """
    rows, coefficients = layout.matrix.shape
    ordinal = spec.family == "cumulative" and len(cells.points) > 2
    gaps = len(cells.points) - 2 if ordinal else 0
    x = np.zeros(coefficients + layout.blocks[-1].stop - rows + gaps)
    scale_of, scales = _scale_of_effects(layout), np.full(len(layout.scales), _FIRST_SCALE)
    for _ in range(_ROUNDS):
        x = _mode(x, layout, spec, cells, gaps, scales[scale_of])
        inner, widths = x[coefficients : len(x) - gaps], np.exp(x[len(x) - gaps :])
        effects = np.concatenate([layout.matrix @ x[:coefficients], inner])
        information = np.zeros(len(effects))
        for kind, answers, at in _terms(layout, spec, cells):
            information += _information(effects, widths, kind, answers, at)
        # The expected square of an effect has its uncertainty in it (one step of EM).
        squares = inner**2 + 1 / (information[rows:] + scales[scale_of] ** -2.0)
        scales = np.sqrt(np.bincount(scale_of, weights=squares) / np.bincount(scale_of))
        scales = np.clip(scales, _LEAST_SCALE, _LARGEST_SCALE)
    for block in layout.blocks:
        within = block.within()
        if (within >= 0).any():
            here = effects[block.start : block.stop]
            number = np.unique(within, return_inverse=True)[1]
            here -= (np.bincount(number, weights=here) / np.bincount(number))[number]
    return Start(x[:coefficients], scales, effects, widths, information)


def centre(layout: Layout, start: Start) -> Layout:
    """Decide for every scale of every term how its effects are drawn.

    The reliability of an effect with variance s² that the data know with information I is
    s² I / (1 + s² I).

    Parameters
    ----------
    layout
        The effects.
    start
        Their mode.
    """
    blocks = []
    for block in layout.blocks:
        if block.group is not None and not (block.correlated and block.scales[1] > 2):
            scale_of, first = block.every_scale, block.scales[0]
            known = start.scales[scale_of] ** 2 * start.information[block.start : block.stop]
            sums = np.bincount(scale_of - first, weights=known / (1 + known))
            mean = sums / np.bincount(scale_of - first)
            if block.correlated:
                mean[:] = mean.mean()
            block = replace(block, centred=tuple(bool(m >= _CENTRE_FROM) for m in mean))
        blocks.append(block)
    return replace(layout, blocks=tuple(blocks))


def _terms(layout: Layout, spec: Spec, cells: Cells) -> list[tuple[int, np.ndarray, Gathering]]:
    """Return kind, answers and gathering of each part of the likelihood."""
    terms = [(KINDS[spec.family], answers_of(spec.family, cells), layout.answers)]
    if layout.validity is not None:
        terms.append((kernel.BINOMIAL, validity_answers(cells), layout.validity))
    return terms


def _information(
    effects: np.ndarray, gaps: np.ndarray, kind: int, answers: np.ndarray, at: Gathering
) -> np.ndarray:
    """Return ``[effect]`` the curvature of one part of the likelihood along each effect."""
    gaps = gaps if kind == kernel.ORDINAL else np.empty(0)
    eta, own = kernel.forward(effects, *at.plain)

    def curvature(of_eta: float, of_own: float) -> np.ndarray:
        below, here, above = (
            kernel.pointwise(eta + k * of_eta, own + k * of_own, gaps, kind, answers)
            for k in (-_STEP, 0.0, _STEP)
        )
        return np.maximum(2 * here - below - above, 0.0) / _STEP**2

    entering = effects[at.index] * at.weight
    scale = np.exp(entering[:, at.roles[3] : at.roles[4]].sum(axis=1))
    discriminated = entering[:, at.roles[1] : at.roles[2]].sum(axis=1)
    of_eta, of_own = curvature(1.0, 0.0), curvature(0.0, 1.0)
    slope = (1.0, scale, 1.0, scale * discriminated, 1.0)  # of eta (or own), by role
    total = np.zeros(len(effects))
    for role, by in enumerate(slope):
        by_cell = (of_own if role == kernel.OWN else of_eta) * by**2
        for term in range(at.roles[role], at.roles[role + 1]):
            weight = at.weight[:, term] ** 2 * by_cell
            total += np.bincount(at.index[:, term], weights=weight, minlength=len(effects))
    return total


def _scale_of_effects(layout: Layout) -> np.ndarray:
    """Return ``[effect]`` the scale of every group-specific effect, in the vector's order."""
    pieces = [block.every_scale for block in layout.blocks if block.group is not None]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=int)


def _mode(
    x: np.ndarray, layout: Layout, spec: Spec, cells: Cells, gaps: int, scale: np.ndarray
) -> np.ndarray:
    """Find the coefficients, effects and logarithms of gaps that are most likely."""
    from scipy.optimize import minimize

    rows, coefficients = layout.matrix.shape
    terms = _terms(layout, spec, cells)
    precision = np.concatenate([np.full(coefficients, 0.25), scale**-2.0, np.ones(gaps)])

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        inner = len(x) - gaps
        effects = np.concatenate([layout.matrix @ x[:coefficients], x[coefficients:inner]])
        value, gradient = precision @ x**2 / 2, precision * x
        for kind, answers, at in terms:
            widths = np.exp(x[inner:]) if kind == KINDS[spec.family] else np.empty(0)
            total, slopes, of_gaps = kernel.evaluate(
                effects, widths, kind, answers, *at.arrays.values()
            )
            value -= total
            gradient[:coefficients] -= layout.matrix.T @ slopes[:rows]
            gradient[coefficients:inner] -= slopes[rows:]
            gradient[inner:][: len(widths)] -= of_gaps * widths
        return value, gradient

    bounds = [(-_FARTHEST, _FARTHEST)] * len(x)
    found = minimize(loss, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    return np.asarray(found.x)


def around(value: np.ndarray, spread: "np.ndarray | float" = 1.0) -> Any:
    """Return an expression that draws a start around a value, anew for every chain.

    Parameters
    ----------
    value
        The middle.
    spread
        Its unit.
    """
    return np.asarray(value, dtype=float) + _jitter(value) * spread


def around_positive(value: np.ndarray) -> Any:
    """Return an expression that draws a start around a positive value, anew for every chain.

    Parameters
    ----------
    value
        The middle.
    """
    import pytensor.tensor as pt

    return np.asarray(value, dtype=float) * pt.exp(_jitter(value))


def _jitter(value: np.ndarray) -> Any:
    import pytensor.tensor as pt

    return pt.random.uniform(-_JITTER, _JITTER, size=np.shape(value))
