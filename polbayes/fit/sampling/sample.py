"""Drawing from the posterior."""

import logging
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError, check_known
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import Built
from polbayes.fit.families.kinds import COMPILED
from polbayes.fit.sampling.interruption import postponed

BACKENDS = ("nutpie", "pymc", "advi")


def check_sampler(config: SamplerConfig) -> None:
    """Refuse a sampler that there is not.

    Raises
    ------
    UserError
        If the backend is unknown.
    """
    check_known("sampler", config.backend, known=BACKENDS, where="sampler.backend")


def sample(built: Built, config: SamplerConfig, *, seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """Sample the posterior with NUTS, or approximate it where the backend is ``advi``.

    Returned are the posterior and the sampler's statistics, with dimensions ``chain, draw`` first;
    warm-up draws are not kept.
    """
    if config.backend == "advi":
        from polbayes.fit.sampling.approximate import approximate

        return approximate(built.model, config, seed=seed)
    trace = _NUTS[config.backend](built, config, seed)
    return trace.posterior, trace.sample_stats


def _nutpie(built: Built, config: SamplerConfig, seed: int) -> Any:
    with postponed():
        compiled = compiled_density(built) or _compiled_model(built)
    return draw_with_nutpie(compiled, config, seed)


def draw_with_nutpie(compiled: Any, config: SamplerConfig, seed: int) -> Any:
    """Draw from a model that is compiled for nutpie."""
    import nutpie

    sampler = nutpie.sample(
        compiled,
        draws=config.draws,
        tune=config.tune,
        chains=config.chains,
        seed=seed,
        target_accept=config.target_accept,
        progress_bar=sys.stderr.isatty(),
        save_warmup=False,
        blocking=False,
    )
    try:
        return sampler.wait()
    except BaseException:
        # Left to itself, nutpie returns what it has when interrupted, as if that were all.
        sampler.cancel()
        raise


def compiled_density(built: Built) -> Any:
    """Return the model as nutpie samples it, from one function that all specs have in common."""
    if not isinstance(built, Built):
        return None
    if any(block.correlated and block.scales[1] > 2 for block in built.layout.sampled.blocks):
        return None
    return compiled_for_nutpie(Density(built))


class Sampled(Protocol):
    """A log-posterior that can be sampled, and what is kept of each draw."""

    @property
    def size(self) -> int:
        """How many coordinates there are."""

    def start(self, seed: int) -> np.ndarray:
        """Return ``[coordinate]`` where a chain starts."""

    def values(self, x: np.ndarray) -> Mapping[str, Any]:
        """Return what the coordinates stand for, by name."""

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-posterior and its gradient."""


def compiled_for_nutpie(density: Sampled) -> Any:
    """Return a log-posterior as nutpie samples it."""
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


def _compiled_model(built: Built) -> Any:
    import nutpie

    starts = built.model.rvs_to_initial_values
    # What has a start of its own, which differs by chain, is not moved again.
    jitter = {variable for variable, start in starts.items() if start is None}
    with warnings.catch_warnings():
        # Numba says so of products of matrices in the models that Bambi makes.
        warnings.filterwarnings("ignore", message=".*is faster on contiguous arrays")
        return nutpie.compile_pymc_model(built.model, jitter_rvs=jitter)


def _pymc(built: Built, config: SamplerConfig, seed: int) -> Any:
    import pymc as pm

    if built.spec.observation.kind > max(COMPILED):
        # Its function is known by an address, which other processes need not share.
        raise UserError(
            f"sampler.backend: pymc cannot sample family {built.spec.family}, which comes from "
            "another package; use sampler=nutpie."
        )
    logging.getLogger("pymc").setLevel(logging.WARNING)
    with built.model:
        trace = pm.sample(
            draws=config.draws,
            tune=config.tune,
            chains=config.chains,
            random_seed=seed,
            init="adapt_diag" if _has_starts(built) else "jitter+adapt_diag",
            target_accept=config.target_accept,
            progressbar=sys.stderr.isatty(),
            compute_convergence_checks=False,
            compile_kwargs={"mode": "NUMBA"},
        )
    if trace.posterior.sizes["draw"] < config.draws:
        # PyMC, too, keeps an interruption to itself.
        raise KeyboardInterrupt
    return trace


def _has_starts(built: Built) -> bool:
    """Whether the model says where its chains start, with a distance between them."""
    return any(start is not None for start in built.model.rvs_to_initial_values.values())


_NUTS: Mapping[str, Callable[[Built, SamplerConfig, int], Any]] = {
    "nutpie": _nutpie,
    "pymc": _pymc,
}
