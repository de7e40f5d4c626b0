"""A fast first answer: Laplace's approximation where it will do, and else a short run of NUTS.

Given the scales, the coordinates of the effects (`polbayes.fit.density.expansion`) are their
deviates standardised by what the answers say about them. Nested approximations (Rue, Martino and
Chopin 2009) integrate the effects out by the determinant of their curvature for every value of the
scales; in these coordinates it is the part of the density by which they are standardised, and
the mode of all coordinates is that of the scales with the effects integrated out. That holds as
far as the curvature of the likelihood does not itself change with other coordinates. It changes
with decisiveness, which the units of the coordinates (`polbayes.fit.density.units`) take into
account where answers are numbers. Where they are points of a scale, the curvature at the mode is
not that of the posterior, and the importance ratios show it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import Built
from polbayes.fit.families.kinds import ORDINAL
from polbayes.fit.posterior.naming import name_positions
from polbayes.fit.sampling.diagnose import ESS_LAPLACE, pareto_limit, settled
from polbayes.fit.sampling.gaussian import Gaussian, LogDensity, at_mode
from polbayes.fit.sampling.importance import pareto_smoothed
from polbayes.fit.sampling.imputation import with_integrated
from polbayes.fit.sampling.nuts import compiled_for_nutpie, draw_with_nutpie
from polbayes.fit.sampling.pilot import DEPTH, restarted

# As in ``conf/sampler/laplace.yaml``.
QUICK = SamplerConfig(backend="laplace", chains=4, tune=40, draws=60, target_accept=0.8)

# Longest trajectory of a short run, in doublings.
_DEPTH = 6

# A second run, where positions have not settled in the first, is longer by these factors.
_TUNE, _DRAWS = 2, 4
# Of more coordinates it would take many minutes and cover positions no better
# (``benchmarks/size.py``).
_MOST = 10_000

# Draws of the approximation for each one that importance resampling keeps: k is hardly known from
# fewer.
_MORE = 20

# So many are enough to see that the tail of the ratios is far too heavy.
_FIRST, _HOPELESS = 200, 1.0

# Chains start so many standard deviations from the mode.
_NEAR = 0.1

# Pilots before a short run of numbers.
_PILOTS = 2

# The coordinates among the values of a draw.
_PLACE = "coordinates"

# Ratios that differ by less are equal up to rounding: the approximation is exact.
_ROUNDING = 1e-4


def laplace(built: Built, config: SamplerConfig, *, seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """Approximate the posterior, and see whether the approximation will do.

    Draws of Laplace's approximation are resampled by their importance ratios if the tail of these
    is light (Pareto k at most `pareto_limit`) and there are effectively enough of them. Otherwise
    ``chains`` chains of NUTS make ``tune`` and ``draws`` transitions from near the mode of the
    effects, in which the curvature is the metric unless the ratios are far too heavy. If
    positions (theta, theta_asked or lean) have not settled, a longer run goes on where they ended,
    unless there are more than 10,000 coordinates.

    Returns
    -------
    posterior : xarray.Dataset
        As `polbayes.fit.sampling.sample.sample` returns it.
    sample_stats : xarray.Dataset
        ``diverging``; ``pareto_k`` of the approximation, its ``pareto_limit`` and the number of
        ``effective`` draws; and ``transitions`` of a chain, 0 for resampled draws.

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
    density, shape = Density(built), (config.chains, config.draws)
    limit = pareto_limit(_MORE * config.chains * config.draws)
    around = at_mode(density, density.start(seed))
    rng = np.random.default_rng(seed)
    points, k, effective = np.empty(0), np.inf, 0.0
    if around is not None:
        points, k, effective = resampled(density, around, config.chains * config.draws, rng)
    if k <= limit and effective >= ESS_LAPLACE:
        drawn = _named(density, points, shape)
        diverging = xr.DataArray(np.zeros(shape, dtype=bool), dims=("chain", "draw"))
        transitions = 0
    else:
        near = around if k <= _HOPELESS else None
        drawn, diverging, transitions = _short_run(built, density, near, config, seed)
    about = {"pareto_k": k, "pareto_limit": limit, "effective": effective}
    about["transitions"] = transitions
    return drawn, xr.Dataset({"diverging": diverging, **about})


@dataclass(frozen=True)
class _Moved:
    """A density in other coordinates, which are part of its draws."""

    density: Density
    around: Gaussian | None = None  # standardises the coordinates
    places: np.ndarray | None = None  # ``[place, coordinate]`` to start from

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.density.size

    def start(self, seed: int) -> np.ndarray:
        """Return ``[coordinate]`` a chain's starting point."""
        if self.places is not None:
            return np.asarray(np.random.default_rng(seed).choice(self.places))
        if self.around is None:
            return self.density.start(seed)
        return _NEAR * np.random.default_rng(seed).standard_normal(self.size)

    def _at(self, x: np.ndarray) -> np.ndarray:
        return x if self.around is None else self.around.at(x)

    def values(self, x: np.ndarray) -> dict[str, Any]:
        """Return the values at the coordinates, by name, and in a first run the coordinates."""
        place = {} if self.places is not None else {_PLACE: x.copy()}
        return {**self.density.values(self._at(x)), **place}

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-density and its gradient."""
        value, slope = self.density(self._at(x))
        return value, slope if self.around is None else self.around.slope(slope)


def _short_run(
    built: Built, density: Density, around: Gaussian | None, config: SamplerConfig, seed: int
) -> tuple[xr.Dataset, xr.DataArray, int]:
    """Return draws, which of them diverged, and the number of transitions of a chain.

    `around` is not far from the posterior: its curvature serves as a metric. Without it, the
    coordinates of numbers are those around what pilots find; stances tell too little in so few
    draws.
    """
    if around is None and built.spec.observation.kind != ORDINAL:
        settings = replace(config, chains=1)
        for pilot in range(_PILOTS):
            found, _ = draw_with_nutpie(
                compiled_for_nutpie(density), settings, seed + pilot, depth=DEPTH
            )
            built = restarted(built, {str(name): found[name].to_numpy()[0] for name in found})
            density = Density(built)
    moved = _Moved(density, around)
    drawn, stats = draw_with_nutpie(compiled_for_nutpie(moved), config, seed, depth=_DEPTH)
    if density.size <= _MOST and not settled(
        name_positions(built, with_integrated(built, drawn, seed=seed))
    ):
        config = replace(config, tune=_TUNE * config.tune, draws=_DRAWS * config.draws)
        moved = replace(moved, places=drawn[_PLACE].to_numpy()[:, -1].copy())
        del drawn, stats  # of large designs these are gigabytes
        drawn, stats = draw_with_nutpie(compiled_for_nutpie(moved), config, seed, depth=_DEPTH)
    return drawn.drop_vars(_PLACE, errors="ignore"), stats["diverging"], config.tune + config.draws


def resampled(
    density: LogDensity, around: Gaussian, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, float, float]:
    """Resample draws of an approximation by Pareto-smoothed importance ratios.

    Returns
    -------
    draws : numpy.ndarray
        ``[draw, coordinate]``, in random order. If the tail is far too heavy, a few that are not
        resampled.
    k : float
        The tail shape of the ratios; 0 if they are equal.
    effective : float
        The number of independent draws of the posterior that know a mean as well.
    """
    points, ratios = _ratios(density, around, _FIRST, rng)
    if np.ptp(ratios) > _ROUNDING:
        k = pareto_smoothed(ratios[None])[1]
        if k[0] > _HOPELESS:
            return points, float(k[0]), 0.0
    points, ratios = _ratios(density, around, _MORE * draws, rng)
    if np.ptp(ratios) < _ROUNDING:
        return points[:draws], 0.0, float(draws)
    logs, k = pareto_smoothed(ratios[None])
    weights = np.exp(logs[0])
    total, effective = np.cumsum(weights), 1 / (weights**2).sum()  # they add up to 1
    places = (np.arange(draws) + rng.uniform()) / draws * total[-1]
    chosen = np.minimum(np.searchsorted(total, places), len(points) - 1)
    return points[rng.permutation(chosen)], float(k[0]), float(effective)


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
