"""Drawing from the posterior."""

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from polbayes.config.schema import SamplerConfig
from polbayes.data.progress import bars
from polbayes.errors import UserError, check_known
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import Built
from polbayes.fit.families.kinds import COMPILED
from polbayes.fit.sampling.interruption import postponed
from polbayes.fit.sampling.nuts import Drawn, compiled_for_nutpie, draw_with_nutpie, drawn_of
from polbayes.fit.sampling.pilot import DEPTH, length, restarted

BACKENDS = ("nutpie", "pymc", "laplace", "advi")
MASS_MATRICES = ("diagonal", "low_rank")

# Shortest warm-up, but for that of a first answer.
_TUNE = 50


def check_sampler(config: SamplerConfig) -> None:
    """Refuse an unknown sampler, or settings that it does not have.

    Raises
    ------
    UserError
        If the backend or the mass matrix is unknown, or the backend has no such matrix, or needs
        a longer warm-up.
    """
    check_known("sampler", config.backend, known=BACKENDS, where="sampler.backend")
    check_known("mass matrix", config.mass_matrix, known=MASS_MATRICES, where="sampler.mass_matrix")
    if config.mass_matrix != MASS_MATRICES[0] and config.backend != "nutpie":
        raise UserError(
            f"sampler.mass_matrix: {config.backend} has no {config.mass_matrix} matrix; use "
            "sampler.backend=nutpie, or sampler.mass_matrix=diagonal."
        )
    if config.tune < _TUNE and config.backend != "laplace":
        raise UserError(
            f"sampler.tune: must be at least {_TUNE}, not {config.tune}; convergence cannot be "
            "judged with less."
        )


def sample(built: Built, config: SamplerConfig, *, seed: int) -> Drawn:
    """Sample the posterior with NUTS, or approximate it (``laplace``, ``advi``).

    Returns the posterior and the sampler's statistics, with dimensions ``chain, draw`` first
    and without warm-up draws.
    """
    if config.backend == "advi":
        from polbayes.fit.sampling.approximate import approximate

        return approximate(built.model, config, seed=seed)
    if config.backend == "laplace":
        from polbayes.fit.sampling.laplace import laplace

        return laplace(built, config, seed=seed)
    return _NUTS[config.backend](built, config, seed)


def _nutpie(built: Built, config: SamplerConfig, seed: int) -> Drawn:
    with postponed():
        compiled = compiled_density(built)
    pilot = length(config)
    if compiled is None:
        with postponed():
            compiled = _compiled_model(built)
    elif pilot:
        found, _ = draw_with_nutpie(compiled, pilot, seed, depth=DEPTH, progress=False)
        drawn = {str(name): found[name].to_numpy()[0] for name in found}
        compiled = compiled_density(restarted(built, drawn))
    return draw_with_nutpie(compiled, config, seed)


def compiled_density(built: Built) -> Any:
    """Return the model compiled for nutpie, from the function common to all specs."""
    if not isinstance(built, Built):
        return None
    if any(block.correlated and block.scales[1] > 2 for block in built.layout.sampled.blocks):
        return None
    return compiled_for_nutpie(Density(built))


def _compiled_model(built: Built) -> Any:
    import nutpie

    starts = built.model.rvs_to_initial_values
    # Starting points that already differ by chain get no further jitter.
    jitter = {variable for variable, start in starts.items() if start is None}
    with warnings.catch_warnings():
        # Numba warns about products of matrices in Bambi's models.
        warnings.filterwarnings("ignore", message=".*is faster on contiguous arrays")
        return nutpie.compile_pymc_model(built.model, jitter_rvs=jitter)


def _pymc(built: Built, config: SamplerConfig, seed: int) -> Drawn:
    import pymc as pm

    if built.spec.observation.kind > max(COMPILED):
        # Its function has an address, which may differ in other processes.
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
            progressbar=bars(),
            compute_convergence_checks=False,
            compile_kwargs={"mode": "NUMBA"},
        )
    drawn = drawn_of(trace)
    if drawn[0].sizes["draw"] < config.draws:
        # PyMC also swallows interruptions.
        raise KeyboardInterrupt
    return drawn


def _has_starts(built: Built) -> bool:
    """Whether the model defines separate starting points for its chains."""
    return any(start is not None for start in built.model.rvs_to_initial_values.values())


_NUTS: Mapping[str, Callable[[Built, SamplerConfig, int], Drawn]] = {
    "nutpie": _nutpie,
    "pymc": _pymc,
}
