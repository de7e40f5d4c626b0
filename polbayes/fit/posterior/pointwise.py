"""The log-likelihood cell by cell and draw by draw, some cells at a time.

Leaving cells out measures how well a cell is predicted from all others. The others carry no
information about an effect that enters only one cell, whereas the draws are conditioned on
the cell; such effects are therefore integrated out over their own distribution.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import xarray as xr

from polbayes.fit.coder_errors.confusion import expand
from polbayes.fit.coder_errors.misclassification import Coder
from polbayes.fit.density import kernel, scores
from polbayes.fit.density.layout import Gathering
from polbayes.fit.density.model import Built
from polbayes.fit.density.observed import likelihood_parts
from polbayes.fit.families import kinds
from polbayes.fit.families.ordinal import multinomial

_T = TypeVar("_T")

PARTS = ("answers", "validity")
# Seed of what is drawn where there are very many answers.
_SAMPLE = 20250801


@dataclass(frozen=True)
class Likelihood:
    """One of a model's likelihoods, at the cells that inform it."""

    part: str  # answers or validity
    kind: int  # observation model (`polbayes.fit.density.kernel`)
    at: np.ndarray  # [cell] rows of the model's cells
    answers: np.ndarray  # [cell, column] in the kernel's format
    # [cell] constants that the kernel omits: the log multinomial coefficient of counts, or
    # the Jacobian that turns a density of logit(y) into one of y
    constant: np.ndarray
    gathering: Gathering  # which effects enter each cell, without integrated ones
    # [cell, scale] multipliers of the squared scales in the variance of the integrated effects
    own_scale: np.ndarray
    coder: Coder | None = None  # who read the answers, where what was read may be wrong
    of: int = 0  # number of cells that these are drawn from, or are

    @property
    def integrated(self) -> np.ndarray:
        """``[cell]`` whether an effect is integrated out."""
        return np.asarray(self.own_scale.any(axis=1))


@dataclass(frozen=True)
class Draws:
    """Draws as matrices."""

    effects: np.ndarray  # [draw, effect]
    gaps: np.ndarray  # [draw, gap] distances of the cutpoints; no columns if there are none
    scales: np.ndarray  # [draw, scale]
    readings: np.ndarray  # [draw, number] gamma variables of confusion matrices, if any
    tails: np.ndarray  # [draw, tail] degrees of freedom of t distributions, if any


def of_each(function: Callable[[int], _T], numbers: Sequence[int]) -> list[_T]:
    """Call a function of the number of each draw, or of each group, on all processors."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(function, numbers))


def draws_of(drawn: xr.Dataset) -> Draws:
    """Return draws as matrices, one chain after the other."""
    count = drawn.sizes["chain"] * drawn.sizes["draw"]

    def matrix(name: str) -> np.ndarray:
        if name not in drawn:
            return np.empty((count, 0))
        values = drawn[name].to_numpy()
        return np.ascontiguousarray(values.reshape(count, values.shape[-1]), dtype=float)

    return Draws(*(matrix(name) for name in ("effects", "gap", "sd", "reading", "nu")))


def likelihoods(
    built: Built, *, integrate: bool = True, single: bool = False, most: int | None = None
) -> dict[str, Likelihood]:
    """Return the likelihoods of a model by part; see `leave_one_out` for `integrate`.

    Those of answers one by one if they are to be `single`, even if they were summed up; and of so
    many at most, drawn at random, the same for every spec.
    """
    cells = built.cells.every if single else built.cells
    out: dict[str, Likelihood] = {}
    number = np.arange(len(cells.frame))
    place = built.cells.spread(number) if single and built.cells.single else number
    parts = likelihood_parts(built.layout, built.spec, cells)
    for part, (kind, answers, whole) in zip(PARTS, parts, strict=False):
        said = cells.answered > 0 if part == "answers" else np.ones(len(answers), dtype=bool)
        at = np.flatnonzero(said)
        of = len(at)
        if most is not None and len(at) > most:
            at = np.sort(np.random.default_rng(_SAMPLE).choice(at, most, replace=False))
        gathering, given = whole.at(place[at]), answers[at]
        own_scale = np.zeros((len(at), len(built.layout.scales)))
        if integrate and kind in (kinds.ORDINAL, kinds.BINOMIAL):
            gathering, own_scale = _without_own(gathering, built)
        coder = cells.read.coder if cells.read is not None and kind == kinds.READ else None
        constant = _constant(kind, given, built)
        if cells.single is not None:  # what the sum of the answers' own comes to
            of_each = likelihood_parts(built.layout, built.spec, cells.single)
            each = _constant(kind, of_each[len(out)][1], built)
            constant = np.bincount(cells.of, each, len(cells.frame))[at]
        out[part] = Likelihood(part, kind, at, given, constant, gathering, own_scale, coder, of)
    return out


def _constant(kind: int, answers: np.ndarray, built: Built) -> np.ndarray:
    if kind == kinds.READ:
        return multinomial(answers[:, scores.READINGS :])
    if kind == kinds.BINOMIAL:
        return multinomial(answers)
    return built.spec.observation.constant(answers)


# Smallest size of a group that sums to zero of which one effect can be integrated out.
_ENOUGH = 5


def _without_own(gathering: Gathering, built: Built) -> tuple[Gathering, np.ndarray]:
    """Remove the effects that enter only one cell from its predictor.

    This is possible for varying intercepts of agreement or belief.
    If n of them sum to zero, because their mean is another term, a shift t of one predictor
    is a shift of its effect by t (1 - 1/n), of the others by -t/n and of the mean by t/n. With
    effects u of variance s² and a flat prior of the mean, the predictor is then normal around
    its value without u n / (n - 1), the mean over the others, with variance s² n / (n - 1).
    """
    index, roles = gathering.index, gathering.roles
    weight = np.broadcast_to(gathering.weight, index.shape).copy()
    own_scale = np.zeros((len(index), len(built.layout.scales)))
    for block in built.layout.blocks:
        group = block.group
        if group is None or group.matrix is not None or group.term.heavy or group.term.walk:
            continue
        if group.entering is not None:
            continue
        others = np.full(block.size, np.inf)
        if group.centred_in is not None:
            others = np.bincount(group.centred_in)[group.centred_in] - 1.0
        for term in np.flatnonzero((index[0] >= block.start) & (index[0] < block.stop)):
            if not (term < roles[1] or roles[2] <= term < roles[3]):
                continue  # discriminations and thresholds do not shift the predictor
            level = index[:, term] - block.start
            once = np.bincount(level, minlength=block.size)[level] == 1
            alone = np.flatnonzero(once & (others[level] >= _ENOUGH - 1))
            share = 1 / others[level[alone]]
            own_scale[alone, block.every_scale[level[alone]]] += weight[alone, term] ** 2 * (
                1 + share
            )
            weight[alone, term] *= -share
    if not own_scale.any():
        return gathering, own_scale
    return replace(gathering, weight=weight), own_scale


def log_likelihood(part: Likelihood, draws: Draws, cells: slice | np.ndarray) -> np.ndarray:
    """Return ``[cell, draw]`` the log-likelihood of some cells."""
    rows = np.arange(len(part.at))[cells]
    g, answers = part.gathering.at(rows), np.ascontiguousarray(part.answers[rows])
    spread = np.sqrt(draws.scales**2 @ part.own_scale[rows].T)
    out = np.empty((len(draws.effects), len(rows)))
    whole = not part.own_scale[rows].any()
    for k, effects in enumerate(draws.effects):
        eta, own = kernel.forward(effects, *g.plain)
        sharp, _ = kernel.sharpness(effects, *g.plain)
        gaps = draws.gaps[k] if part.kind in (kinds.ORDINAL, kinds.READ) else np.empty(0)
        if whole:
            tables = expand(draws.readings[k], *part.coder.sizes) if part.coder else np.empty(0)
            out[k] = kernel.pointwise(eta, own, gaps, tables, part.kind, answers)
        else:
            out[k] = kernel.shifted(eta, own, sharp * spread[k], gaps, answers)
    return out.T + part.constant[rows, None]
