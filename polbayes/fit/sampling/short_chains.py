"""Many short Markov chains, in the coordinates of a normal approximation.

From draws of an approximation Hamiltonian Monte Carlo leads to the density itself. All chains move
together, so that one product of matrices serves all of them.
"""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from polbayes.fit.sampling.gaussian import Gaussian, LogDensity

# First step, the largest, the proportion of accepted moves that it is adapted to, and how fast.
_STEP, _LARGEST, _ACCEPTED, _SPEED = 0.1, 0.5, 0.75, 0.7

# Length of a trajectory in standard deviations, and its most steps.
_LENGTH, _MOST = 1.5, 16

# Steps of a chain relative to the common one: smaller ones at first, for chains that start in a
# steep place.
_FIRST, _LATER, _LAST, _EARLY = 0.3, 0.7, 1.2, 5


def moved(
    density: LogDensity,
    around: Gaussian,
    z: np.ndarray,
    *,
    transitions: int,
    kept: Sequence[int],
    seed: int,
) -> np.ndarray:
    """Move draws of an approximation towards a density.

    Parameters
    ----------
    density
        The density to sample.
    around
        The approximation.
    z
        ``[chain, direction]`` where the chains start.
    transitions
        Number of transitions. The step is adapted during the first half.
    kept
        Numbers of the transitions after which to return the chains, from 1 on.
    seed
        Fixes the chains.

    Returns
    -------
    numpy.ndarray
        ``[kept, chain, coordinate]``.
    """
    rng, step, found = np.random.default_rng(seed), _STEP, []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        state = _evaluated(density, around, z, pool)
        for turn in range(transitions):
            state, accepted = _transition(density, around, state, step, turn, rng, pool)
            if turn < transitions // 2:
                step = min(step * math.exp(_SPEED * (accepted - _ACCEPTED)), _LARGEST)
            if turn + 1 in kept:
                found.append(around.at(state[0]))
    return np.array(found)


_State = tuple[np.ndarray, np.ndarray, np.ndarray]  # directions, values and slopes of the chains


def _evaluated(
    density: LogDensity, around: Gaussian, z: np.ndarray, pool: ThreadPoolExecutor
) -> _State:
    """Evaluate a density for all chains; they are split among the processors."""

    def some(points: np.ndarray) -> list[tuple[float, np.ndarray]]:
        return [density(x) for x in points]

    parts = np.array_split(around.at(z), min(os.cpu_count() or 1, len(z)))
    found = [one for part in pool.map(some, parts) for one in part]
    slopes = around.pulled_back(np.array([slope for _, slope in found]))
    return z, np.array([value for value, _ in found]), slopes


def _transition(
    density: LogDensity,
    around: Gaussian,
    state: _State,
    step: float,
    turn: int,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor,
) -> tuple[_State, float]:
    """Make a transition of every chain; return also the mean probability of acceptance."""
    z, value, slope = state
    momentum = rng.standard_normal(z.shape)
    energy = value - (momentum**2).sum(axis=1) / 2
    own = step * rng.uniform(_FIRST if turn < _EARLY else _LATER, _LAST, (len(z), 1))
    here: _State = state
    for _ in range(math.ceil(min(_LENGTH / step, _MOST) * rng.uniform(0.5, 1.0))):
        momentum = momentum + own / 2 * here[2]
        here = _evaluated(density, around, here[0] + own * momentum, pool)
        momentum = momentum + own / 2 * here[2]
    with np.errstate(invalid="ignore", over="ignore"):
        change = here[1] - (momentum**2).sum(axis=1) / 2 - energy
    likely = np.exp(np.minimum(np.where(np.isfinite(change), change, -np.inf), 0.0))
    taken = rng.uniform(size=len(z)) < likely
    every = (
        np.where(taken[:, None], here[0], z),
        np.where(taken, here[1], value),
        np.where(taken[:, None], here[2], slope),
    )
    return every, float(likely.mean())
