"""The loop over all cells: the log-likelihood and its gradient in one pass.

All effects of a model are one long vector; every term defines, for each cell, which effect
enters and how. With PyTensor's operations this would take some thirty passes over
the cells, and as many scatters for the gradient; one loop that computes the value
and its slopes together is a single pass. Numba compiles everything here.

A model's decisiveness k multiplies the whole distance to the cutpoints,
P(y <= j) = logistic(k (c_j - eta)): the predictor is multiplied by k, and so is the family's own
parameter if it is a width or a residual scale.
"""

import math
from typing import Any

import numba
import numpy as np
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from polbayes.fit.compilation import compiled, compiled_with
from polbayes.fit.density import scores, shifts, together
from polbayes.fit.density.scores import (
    BY_CUTS,
    BY_ETA,
    BY_OWN,
    BY_SPREAD,
    cell_logp,
    prepare,
    workspace,
)
from polbayes.fit.density.shifts import score_shifted

_compiled = compiled_with(scores, shifts, together)

# How a term enters: see `forward`.
ROLES = 8
ASKED, DISCRIMINATED, BELIEVED, LOG_DISCRIMINATION, DISCRIMINATION, OWN, DECISIVENESS, SPREAD = (
    range(ROLES)
)


@numba.njit(inline="always")
def _sum(
    effects: np.ndarray, index: np.ndarray, weight: np.ndarray, cell: int, first: int, stop: int
) -> float:
    """Add up the effects of some terms that enter one cell."""
    row = cell if weight.shape[0] > 1 else 0
    total = 0.0
    for term in range(first, stop):
        total += weight[row, term] * effects[index[cell, term]]
    return total


@numba.njit(inline="always")
def _scatter(
    gradient: np.ndarray,
    slope: float,
    index: np.ndarray,
    weight: np.ndarray,
    cell: int,
    first: int,
    stop: int,
) -> None:
    """Add the slope of a sum (`_sum`) to those of the effects in it."""
    row = cell if weight.shape[0] > 1 else 0
    for term in range(first, stop):
        gradient[index[cell, term]] += weight[row, term] * slope


@compiled
def forward(
    effects: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``eta`` and ``own``, both ``[cell]``, from the effects; for arguments see `evaluate`.

    With A, D, B, L, S, O and K the weighted sums of the effects whose terms have the roles
    `ASKED`, `DISCRIMINATED`, `BELIEVED`, `LOG_DISCRIMINATION`, `DISCRIMINATION`, `OWN` and
    `DECISIVENESS`, ``eta = exp(K) * (A + keying * (exp(L) * S * D + B))`` and ``own = O``, S being
    1 without such terms.
    """
    cells = index.shape[0]
    eta = np.empty(cells)
    own = np.empty(cells)
    sums = np.empty(ROLES)
    signed = roles[DISCRIMINATION + 1] > roles[DISCRIMINATION]
    for cell in range(cells):
        for role in range(ROLES):
            sums[role] = _sum(effects, index, weight, cell, roles[role], roles[role + 1])
        scale = math.exp(sums[LOG_DISCRIMINATION]) * (sums[DISCRIMINATION] if signed else 1.0)
        belief = scale * sums[DISCRIMINATED] + sums[BELIEVED]
        eta[cell] = math.exp(sums[DECISIVENESS]) * (sums[ASKED] + keying[cell] * belief)
        own[cell] = sums[OWN]
    return eta, own


@compiled
def sharpness(
    effects: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``[cell]`` decisiveness, and its product with the spread of integrated effects."""
    cells = index.shape[0]
    decisiveness, spread = np.empty(cells), np.empty(cells)
    for cell in range(cells):
        k = _sum(effects, index, weight, cell, roles[DECISIVENESS], roles[DECISIVENESS + 1])
        s = _sum(effects, index, weight, cell, roles[SPREAD], roles[SPREAD + 1])
        decisiveness[cell] = math.exp(k)
        spread[cell] = decisiveness[cell] * s
    return decisiveness, spread


@compiled
def _slopes_of_gaps(slopes: np.ndarray, size: int) -> np.ndarray:
    """Turn slopes with respect to unit cutpoints into slopes with respect to their distances."""
    of_cuts = slopes[BY_CUTS : BY_CUTS + size + 1]
    gradient = slopes[BY_CUTS + size + 1 : BY_CUTS + 2 * size + 1].copy()
    for gap in range(size):
        # A wider gap raises every cutpoint above it; recentring on the middle lowers all of them.
        middle = ((size // 2 > gap) + ((size + 1) // 2 > gap)) / 2.0
        gradient[gap] += of_cuts[gap + 1 :].sum() - of_cuts.sum() * middle
    return gradient


@_compiled
def evaluate(
    effects: np.ndarray,
    gaps: np.ndarray,
    confusion: np.ndarray,
    kind: int,
    answers: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
    steady: np.ndarray,
    fresh: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the log-likelihood and its gradients with respect to effects, gaps and confusion.

    Cells are in an order in which most terms stay the same from one cell to the next. The sums
    of these steady terms, and their slopes, are kept until one of them changes.

    Parameters
    ----------
    effects, gaps
        All effects of the model, and the distances of the cutpoints (may be empty).
    confusion
        Confusion matrices of coded answers, ``[table, point, reading]`` as one vector, with none as
        the last point; empty for other answers.
    kind, answers
        Observation model and ``[cell, column]`` answers
        (`polbayes.fit.families.base.Family.answers`).
    index, weight, roles, keying, steady, fresh
        See `polbayes.fit.density.layout.Gathering`.
    """
    r, cells = roles, index.shape[0]
    signed = r[DISCRIMINATION + 1] > r[DISCRIMINATION]
    decided, shifted = r[DECISIVENESS + 1] > r[DECISIVENESS], r[SPREAD + 1] > r[SPREAD]
    eta, own, spread = np.empty(cells), np.empty(cells), np.empty(cells if shifted else 0)
    sharp, growth, sign = 1.0, 1.0, 1.0
    sharps, growths, discriminated = np.empty(cells), np.empty(cells), np.empty(cells)
    signs = np.empty(cells if signed else 0)
    base, log_scale, log_sharp = np.zeros(ROLES), 0.0, 0.0
    for cell in range(cells):
        if fresh[cell]:
            for role in range(ROLES):
                base[role] = _sum(effects, index, weight, cell, r[role], steady[role])
        asked = base[0] + _sum(effects, index, weight, cell, steady[0], r[1])
        discriminated[cell] = base[1] + _sum(effects, index, weight, cell, steady[1], r[2])
        believed = base[2] + _sum(effects, index, weight, cell, steady[2], r[3])
        last = log_scale
        log_scale = base[3] + _sum(effects, index, weight, cell, steady[3], r[4])
        if log_scale != last:
            growth = math.exp(log_scale)
        if signed:
            sign = signs[cell] = base[4] + _sum(effects, index, weight, cell, steady[4], r[5])
        own[cell] = base[5] + _sum(effects, index, weight, cell, steady[5], r[6])
        if decided:
            last = log_sharp
            log_sharp = base[6] + _sum(effects, index, weight, cell, steady[6], r[7])
            if log_sharp != last:
                sharp = math.exp(log_sharp)
        if shifted:
            spread[cell] = sharp * (base[7] + _sum(effects, index, weight, cell, steady[7], r[8]))
        sharps[cell], growths[cell] = sharp, growth
        belief = growth * sign * discriminated[cell] + believed
        eta[cell] = sharp * (asked + keying[cell] * belief)
    cuts, slopes, ready, _ = workspace(gaps, confusion)
    logp, slope_of = np.empty(cells), np.empty((3 if shifted else 2, cells))
    if shifted:
        score_shifted(eta, own, spread, gaps, cuts, answers, logp, slope_of, slopes)
    else:
        for cell in range(cells):
            if cell == 0 or own[cell] != own[cell - 1]:
                prepare(kind, own[cell], gaps, cuts, ready)
            logp[cell] = cell_logp(
                kind, eta[cell], ready, gaps, cuts, confusion, answers, cell, slopes
            )
            slope_of[BY_ETA, cell], slope_of[BY_OWN, cell] = slopes[BY_ETA], slopes[BY_OWN]
    gradient, due, since = np.zeros(effects.shape[0]), np.zeros(ROLES), 0
    for cell in range(cells):
        if fresh[cell]:
            for role in range(ROLES):
                _scatter(gradient, due[role], index, weight, since, r[role], steady[role])
                due[role] = 0.0
            since = cell
        slope = slope_of[BY_ETA, cell] * sharps[cell]
        due[0] += slope
        _scatter(gradient, slope, index, weight, cell, steady[0], r[1])
        slope *= keying[cell]
        due[2] += slope
        _scatter(gradient, slope, index, weight, cell, steady[2], r[3])
        slope *= growths[cell]
        if signed:
            of_sign = slope * discriminated[cell]
            due[4] += of_sign
            _scatter(gradient, of_sign, index, weight, cell, steady[4], r[5])
            slope *= signs[cell]
        due[1] += slope
        _scatter(gradient, slope, index, weight, cell, steady[1], r[2])
        slope *= discriminated[cell]
        due[3] += slope
        _scatter(gradient, slope, index, weight, cell, steady[3], r[4])
        due[5] += slope_of[BY_OWN, cell]
        _scatter(gradient, slope_of[BY_OWN, cell], index, weight, cell, steady[5], r[6])
        if decided:
            slope = slope_of[BY_ETA, cell] * eta[cell]
            if shifted:
                slope += slope_of[BY_SPREAD, cell] * spread[cell]
            due[6] += slope
            _scatter(gradient, slope, index, weight, cell, steady[6], r[7])
        if shifted:
            slope = slope_of[BY_SPREAD, cell] * sharps[cell]
            due[7] += slope
            _scatter(gradient, slope, index, weight, cell, steady[7], r[8])
    for role in range(ROLES):
        _scatter(gradient, due[role], index, weight, since, r[role], steady[role])
    of_confusion = slopes[slopes.shape[0] - confusion.shape[0] :].copy()
    return logp.sum(), gradient, _slopes_of_gaps(slopes, gaps.shape[0]), of_confusion


@_compiled
def pointwise(
    eta: np.ndarray,
    own: np.ndarray,
    gaps: np.ndarray,
    confusion: np.ndarray,
    kind: int,
    answers: np.ndarray,
) -> np.ndarray:
    """Return ``[cell]`` the log-likelihood of every cell; see `forward` and `evaluate`."""
    cuts, slopes, ready, _ = workspace(gaps, confusion)
    logp = np.empty(eta.shape[0])
    for cell in range(eta.shape[0]):
        if cell == 0 or own[cell] != own[cell - 1]:
            prepare(kind, own[cell], gaps, cuts, ready)
        logp[cell] = cell_logp(kind, eta[cell], ready, gaps, cuts, confusion, answers, cell, slopes)
    return logp


@_compiled
def shifted(
    eta: np.ndarray, own: np.ndarray, spread: np.ndarray, gaps: np.ndarray, answers: np.ndarray
) -> np.ndarray:
    """Return ``[cell]`` log of the mean likelihood of counts over normal shifts of the predictor.

    ``spread`` is the ``[cell]`` standard deviation of the shifts, 0 for none; `forward` and
    `evaluate` describe the rest.
    """
    none = np.empty(0)
    cuts, slopes, _, _ = workspace(gaps, none)
    logp, slope = np.empty(eta.shape[0]), np.empty((3, eta.shape[0]))
    score_shifted(eta, own, spread, gaps, cuts, answers, logp, slope, slopes)
    return logp


@intrinsic
def _contiguous(context: Any, array: Any) -> Any:
    """Declare an array as C-contiguous, which its type does not say."""
    signature = array.copy(layout="C")(array)

    def unchanged(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, args[0])

    return signature, unchanged


@_compiled
def evaluate_arrays(
    effects: np.ndarray,
    gaps: np.ndarray,
    confusion: np.ndarray,
    kind: np.ndarray,
    answers: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    roles: np.ndarray,
    keying: np.ndarray,
    steady: np.ndarray,
    fresh: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Call `evaluate` as PyTensor does.

    Scalars are arrays without dimensions, and no type declares an array as contiguous, without
    which the loop takes a third longer. All arrays but the first three must be contiguous.
    """
    total, gradient, of_gaps, of_confusion = evaluate(
        effects.copy(),
        gaps.copy(),
        confusion.copy(),
        kind.item(),
        _contiguous(answers),
        _contiguous(index),
        _contiguous(weight),
        _contiguous(roles),
        _contiguous(keying),
        _contiguous(steady),
        _contiguous(fresh),
    )
    return np.array(total), gradient, of_gaps, of_confusion
