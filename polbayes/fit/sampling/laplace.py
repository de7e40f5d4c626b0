"""A fast first answer: Laplace's approximation, corrected as far as it needs to be.

Given the scales, the coordinates of the effects (`polbayes.fit.density.expansion`) are their
deviates standardised by what the answers say about them. Nested approximations (Rue, Martino and
Chopin 2009) integrate the effects out by the determinant of their curvature for every value of the
scales; in these coordinates it is the part of the density by which they are standardised, and
the mode of all coordinates is that of the scales with the effects integrated out.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import Built
from polbayes.fit.sampling.diagnose import pareto_limit
from polbayes.fit.sampling.gaussian import Gaussian, LogDensity, at_mode, corrected
from polbayes.fit.sampling.importance import pareto_smoothed
from polbayes.fit.sampling.short_chains import moved

# Draws of the approximation for each one that importance resampling keeps.
_MORE = 2

# So many are enough to see that the tail of the ratios is far too heavy.
_FIRST, _HOPELESS = 200, 1.0

# Ratios that differ by less are equal up to rounding: the approximation is exact.
_ROUNDING = 1e-4


def laplace(built: Built, config: SamplerConfig, *, seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """Approximate the posterior and correct the approximation.

    Draws of Laplace's approximation are resampled by their importance ratios if the tail of these
    is light (Pareto k at most `pareto_limit`), and else those of the corrected
    approximation (`polbayes.fit.sampling.gaussian.corrected`). If the tail of its ratios is
    heavy, too, its draws are moved by ``transitions`` of ``short_chains`` Markov chains.

    Returns
    -------
    posterior : xarray.Dataset
        As `polbayes.fit.sampling.sample.sample` returns it. Of moved draws, the dimension ``chain``
        has all chains after some number of transitions, from the middle to the last one.
    sample_stats : xarray.Dataset
        ``diverging``, which nothing does; ``pareto_k`` of the last approximation, and its
        ``pareto_limit``; and ``transitions``, 0 for resampled draws.

    Raises
    ------
    UserError
        If a term has more than two correlated coefficients.
    """
    if any(block.correlated and block.scales[1] > 2 for block in built.layout.sampled.blocks):
        raise UserError(
            "sampler.backend: 'laplace' has no terms with more than two correlated coefficients; "
            "use || in place of | or sampler=nutpie."
        )
    density = Density(built)
    points, k, transitions = _drawn(density, density.start(seed), config, seed)
    shape = (config.chains, config.short_chains)
    stats = xr.Dataset(
        {
            "diverging": (("chain", "draw"), np.zeros(shape, dtype=bool)),
            "pareto_k": k,
            "pareto_limit": pareto_limit(_MORE * config.chains * config.short_chains),
            "transitions": transitions,
        }
    )
    return _named(density, points, shape), stats


def _drawn(
    density: LogDensity, start: np.ndarray, config: SamplerConfig, seed: int
) -> tuple[np.ndarray, float, int]:
    """Return ``[draw, coordinate]``, Pareto k, and the number of transitions."""
    rng, limit = (
        np.random.default_rng(seed),
        pareto_limit(_MORE * config.chains * config.short_chains),
    )
    first = at_mode(density, start)
    found, k = resampled(density, first, config.chains * config.short_chains, rng)
    if k <= limit:
        return found, k, 0
    better = corrected(density, first, seed=seed)
    found, k = resampled(density, better, config.chains * config.short_chains, rng)
    if k <= limit:
        return found, k, 0
    kept = _kept(config.transitions, config.chains)
    z = rng.standard_normal((config.short_chains, better.size))
    points = moved(density, better, z, transitions=config.transitions, kept=kept, seed=seed)
    return points.reshape(-1, better.size), k, config.transitions


def _kept(transitions: int, chains: int) -> Sequence[int]:
    """Return the transitions after which draws are kept, in the second half."""
    half = transitions // 2
    return [transitions - (chains - 1 - k) * half // chains for k in range(chains)]


def resampled(
    density: LogDensity, around: Gaussian, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Resample draws of an approximation by Pareto-smoothed importance ratios.

    Returns
    -------
    draws : numpy.ndarray
        ``[draw, coordinate]``, in random order. If the tail is far too heavy, a few that are not
        resampled.
    k : float
        The tail shape of the ratios; 0 if they are equal.
    """
    points, ratios = _ratios(density, around, _FIRST, rng)
    if np.ptp(ratios) > _ROUNDING:
        k = pareto_smoothed(ratios[None])[1]
        if k[0] > _HOPELESS:
            return points, float(k[0])
    points, ratios = _ratios(density, around, _MORE * draws, rng)
    if np.ptp(ratios) < _ROUNDING:
        return points[:draws], 0.0
    weights, k = pareto_smoothed(ratios[None])
    total = np.cumsum(np.exp(weights[0]))
    places = (np.arange(draws) + rng.uniform()) / draws * total[-1]
    chosen = np.minimum(np.searchsorted(total, places), len(points) - 1)
    return points[rng.permutation(chosen)], float(k[0])


def _ratios(
    density: LogDensity, around: Gaussian, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw from an approximation; return the points, and logarithms of their ratios."""
    z = rng.standard_normal((draws, around.size))
    points = around.at(z)
    return points, np.array([density(x)[0] for x in points]) + (z**2).sum(axis=1) / 2


def _named(density: Density, points: np.ndarray, shape: tuple[int, int]) -> xr.Dataset:
    """Return the values of draws ``[draw, coordinate]`` by name."""
    values = [density.values(x) for x in points]
    found = {}
    for name, first in values[0].items():
        if np.size(first):
            drawn = np.array([one[name] for one in values], dtype=float)
            dims = ("chain", "draw", *(f"{name}_dim_{k}" for k in range(drawn.ndim - 1)))
            found[name] = (dims, drawn.reshape(*shape, *drawn.shape[1:]))
    return xr.Dataset(found, coords={"chain": np.arange(shape[0]), "draw": np.arange(shape[1])})
