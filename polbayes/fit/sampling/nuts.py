"""NUTS by nutpie, for compiled models and for log-densities in Python."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.data.groups import group_of
from polbayes.data.progress import bars

# Posterior and statistics, with dimensions ``chain, draw`` first and without warm-up draws.
Drawn: TypeAlias = tuple[xr.Dataset, xr.Dataset]


class Sampled(Protocol):
    """A log-posterior to sample, and the values to keep of each draw."""

    @property
    def size(self) -> int:
        """Number of coordinates."""

    def start(self, seed: int) -> np.ndarray:
        """Return ``[coordinate]`` a chain's starting point."""

    def values(self, x: np.ndarray) -> Mapping[str, Any]:
        """Return the values at the coordinates, by name."""

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-posterior and its gradient."""


def compiled_for_nutpie(density: Sampled) -> Any:
    """Return a log-posterior compiled for nutpie."""
    import nutpie

    found = density.values(density.start(0))
    shapes = {name: np.shape(value) for name, value in found.items() if np.size(value)}

    def expand(x: np.ndarray) -> dict[str, np.ndarray]:
        values = density.values(x)
        return {name: np.asarray(values[name], dtype=float) for name in shapes}

    return nutpie.compiled_pyfunc.from_pyfunc(
        density.size,
        lambda: density,
        lambda *_: expand,
        [np.dtype(float)] * len(shapes),
        list(shapes.values()),
        list(shapes),
        make_initial_point_fn=density.start,
    )


def draw_with_nutpie(
    compiled: Any, config: SamplerConfig, seed: int, *, depth: int = 10, progress: bool = True
) -> Drawn:
    """Sample a model compiled for nutpie, and return what `sample` does.

    A trajectory has at most 2 to the power of `depth` steps.
    """
    import nutpie

    sampler = nutpie.sample(
        compiled,
        draws=config.draws,
        tune=config.tune,
        chains=config.chains,
        seed=seed,
        target_accept=config.target_accept,
        maxdepth=depth,
        low_rank_modified_mass_matrix=config.mass_matrix == "low_rank",
        progress_bar=progress and bars(),
        save_warmup=False,
        blocking=False,
    )
    try:
        trace = sampler.wait()
    except BaseException:
        # By default an interrupted nutpie returns the draws so far as if it had finished.
        sampler.cancel()
        raise
    return drawn_of(trace)


def drawn_of(trace: Any) -> Drawn:
    """Return the posterior and the statistics of a trace."""
    return group_of(trace, "posterior"), group_of(trace, "sample_stats")
