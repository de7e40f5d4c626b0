"""Draws of the integrated effects, given everything else.

Sampling without them and drawing them afterwards, draw by draw, gives the joint posterior: derived
quantities do not depend on how it was sampled.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import xarray as xr

from polbayes.fit.compilation import compiled, compiled_with
from polbayes.fit.density import kernel, scores, shifts, together
from polbayes.fit.density.model import Built
from polbayes.fit.density.observed import answers_of
from polbayes.fit.density.scores import cell_logp, prepare, workspace
from polbayes.fit.density.shifts import lay_nodes, likeliest_shift, most_answers
from polbayes.fit.families.kinds import ORDINAL

# The density of an effect is linear between nodes, whose distance is given in widths of its
# narrowest part and is larger away from the edges of the likelihood; and 0 where its logarithm has
# fallen by this much from the peak, which happens within that distance. For few answers the nodes
# are those of the likelihood, so many times finer.
_FINER, _NODES, _FAR, _CUT_OFF = 3.0, 192, 300.0, 1e-5
_STEP, _GROWING, _COARSEST, _NEGLIGIBLE, _WIDEST, _MOST = 0.5, 0.15, 0.2, 12.0, 7.0, 8192


@compiled
def _inverted(
    uniform: float, place: np.ndarray, density: np.ndarray, first: int, stop: int
) -> float:
    """Invert the distribution function of a piecewise linear density."""
    whole = 0.0
    for j in range(first + 1, stop + 1):
        whole += 0.5 * (density[j - 1] + density[j]) * (place[j] - place[j - 1])
    wanted, j = uniform * whole, first + 1
    while j < stop:
        mass = 0.5 * (density[j - 1] + density[j]) * (place[j] - place[j - 1])
        if wanted <= mass:
            break
        wanted -= mass
        j += 1
    step, low = place[j] - place[j - 1], density[j - 1]
    rise = density[j] - low
    # Solve low t + rise t^2 / 2 for the fraction t of the step.
    wanted /= step
    root = math.sqrt(max(low * low + 2.0 * rise * wanted, 0.0))
    share = 2.0 * wanted / max(low + root, 1e-300)
    return place[j - 1] + min(max(share, 0.0), 1.0) * step


@compiled
def _like_at_nodes(
    eta: float, ready: np.ndarray, answers: np.ndarray, table: np.ndarray, number: int
) -> float:
    """Write the likelihood of few answers at the nodes into a table, and return its sum.

    `polbayes.fit.density.shifts.score_shifted` does this for many cells; the last rows
    of the table are its workspace.
    """
    size, shrunk, total = answers.shape[0] - 1, math.exp(-eta), 0.0
    like, chance, rest = table[3], table[4], table[5]
    like[:number] = table[1, :number]
    for k in range(size):
        below, above = int(answers[k]), int(answers[k + 1])
        if below + above == 0:
            continue
        factor = shrunk * ready[2 * size - 1 + k]
        for j in range(number):
            x = factor * table[2, j]
            rest[j] = 1.0 / (1.0 + x)
            chance[j] = x * rest[j]
        for _ in range(below):
            for j in range(number):
                like[j] *= chance[j]
        for _ in range(above):
            for j in range(number):
                like[j] *= rest[j]
    for j in range(number):
        total += like[j]
    return total


@compiled_with(scores, shifts, together)
def draw_shifts(
    eta: np.ndarray,
    own: np.ndarray,
    spread: np.ndarray,
    gaps: np.ndarray,
    answers: np.ndarray,
    uniform: np.ndarray,
) -> np.ndarray:
    """Draw ``[cell]`` standardised shifts of the predictor from their distribution given answers.

    The density is proportional to exp(-z^2 / 2) p(answers | eta + spread z) and log-concave; its
    distribution function is inverted at ``uniform[cell]``, in (0, 1). For the other arguments see
    `polbayes.fit.density.kernel.shifted`.
    """
    none = np.empty(0)
    cuts, slopes, ready, _ = workspace(gaps, none)
    table, number, before = np.empty((6, _NODES)), 0, -1.0
    most, far = most_answers(answers), abs(cuts[0])
    z, density, place = np.empty(eta.shape[0]), np.empty(_MOST), np.empty(_MOST)
    for cell in range(eta.shape[0]):
        if cell == 0 or own[cell] != own[cell - 1]:
            prepare(ORDINAL, own[cell], gaps, cuts, ready)
        s = spread[cell]
        if s != before:
            number, before = lay_nodes(s, most, _FINER, table), s
        if number > 0 and abs(eta[cell]) + far * ready[0] + 6.0 * s < _FAR:
            total = _like_at_nodes(eta[cell], ready, answers[cell], table, number)
            like = table[3]
            if like[0] + like[number - 1] < _CUT_OFF * total:
                z[cell] = _inverted(uniform[cell], table[0], like, 0, number - 1)
                continue
        start, bend = likeliest_shift(eta[cell], s, ready, cuts, answers, cell)
        narrow = _STEP / math.sqrt(1.0 + s * s * max(bend, 1.0))
        highest, first = 0.0, _MOST // 2
        stop = first
        for side in (-1, 1):
            at, j = start, _MOST // 2
            while 0 < j < _MOST - 1:
                value = -0.5 * at * at
                value += cell_logp(
                    ORDINAL, eta[cell] + s * at, ready, gaps, cuts, none, answers, cell, slopes
                )
                if j == _MOST // 2:
                    highest = value
                place[j], density[j] = at, math.exp(value - highest)
                if abs(at - start) > _WIDEST or not value >= highest - _NEGLIGIBLE:
                    break
                # Far from the edges between points the density is smooth.
                edge = np.inf
                for k in range(cuts.shape[0]):
                    if answers[cell, k] + answers[cell, k + 1] > 0.0:
                        edge = min(edge, abs(cuts[k] * ready[0] - eta[cell] - s * at))
                step = min(max(narrow, _GROWING * edge / max(s, 1e-12)), _COARSEST)
                at += side * step
                j += side
            if side < 0:
                first = j
            else:
                stop = j
        z[cell] = _inverted(uniform[cell], place, density, first, stop)
    return z


def with_integrated(built: Built, drawn: xr.Dataset, *, seed: int) -> xr.Dataset:
    """Add the integrated effects to the draws, ``[chain, draw, ...]``."""
    whole, sampled = built.layout, built.layout.sampled
    if whole.integrating is None:
        return drawn
    block = whole.blocks[-1]
    assert block.group is not None
    g = sampled.answers
    answers = answers_of(built.spec, built.cells)
    effects = drawn["effects"].to_numpy()
    flat = np.ascontiguousarray(effects.reshape(-1, effects.shape[-1]))
    gaps = drawn["gap"].to_numpy().reshape(len(flat), -1) if "gap" in drawn else None
    out = np.empty((len(flat), block.stop))
    out[:, : block.start] = flat[:, : block.start]
    # A shift adds to agreement; the keying gives beliefs their sign.
    sign = built.cells.frame["keying"].to_numpy() if block.part in _BELIEVED else 1.0
    place = block.start + block.group.index

    def impute(k: int) -> None:
        eta, own = kernel.forward(flat[k], *g.plain)
        sharp, spread = kernel.sharpness(flat[k], *g.plain)
        here = np.empty(0) if gaps is None else gaps[k]
        uniform = np.random.default_rng([seed, k]).random(len(eta))
        z = draw_shifts(eta, own, spread, here, answers, uniform)
        out[k, place] = sign * z * spread / sharp

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(impute, range(len(flat))))
    values = out.reshape(*effects.shape[:2], -1)
    dims = (*drawn["effects"].dims[:2], "effect")
    return drawn.drop_vars("effects").assign(effects=(dims, values))


_BELIEVED = ("quirk", "steer", "difficulty", "theta")
