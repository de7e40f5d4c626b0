"""Fitting: from cells and a spec to a named posterior in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import xarray as xr
from threadpoolctl import threadpool_limits

from polbayes.config.schema import SamplerConfig
from polbayes.data.groups import write_groups
from polbayes.errors import UserError
from polbayes.fit.density.model import Built, build
from polbayes.fit.posterior.components import with_variances
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.sampling.draws_cache import DrawsCache
from polbayes.fit.sampling.imputation import with_integrated
from polbayes.fit.sampling.interruption import postponed
from polbayes.fit.sampling.sample import sample
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import BoundPart, bind


@dataclass(frozen=True)
class Fit:
    """A fitted model."""

    # See `polbayes.fit.posterior.naming.name_posterior` and
    # `polbayes.fit.posterior.components.with_variances`
    posterior: xr.Dataset
    sample_stats: xr.Dataset  # the sampler's own, [chain, draw]
    built: Built  # the model, with the spec's parts bound to the data
    drawn: xr.Dataset  # draws of the model's variables and of integrated effects
    from_cache: bool = False  # whether they come from the cache

    @property
    def parts(self) -> Mapping[str, BoundPart]:
        """The spec bound to the data."""
        return self.built.parts


# Chains have a thread each, and threads of linear algebra on matrices this small mostly wait for
# each other.
@threadpool_limits.wrap(limits=1, user_api="blas")
def fit(
    spec: Spec, cells: Cells, config: SamplerConfig, *, seed: int, cache: DrawsCache | None = None
) -> Fit:
    """Fit a spec to cells."""
    parts = bind(spec, cells)
    with postponed():
        built = build(spec, cells, parts)
    found = cache.load(built.layout) if cache else None
    drawn, stats = found or sample(built, config, seed=seed)
    if cache and not found:
        cache.save(drawn, stats, built.layout)
    drawn = with_integrated(built, drawn, seed=seed)
    named = name_posterior(built, drawn)
    posterior = with_variances(named, built, drawn)
    return Fit(posterior, stats, built, drawn, from_cache=found is not None)


def save_posterior(
    posterior: xr.Dataset,
    sample_stats: xr.Dataset,
    path: Path,
    groups: Mapping[str, xr.Dataset] | None = None,
) -> None:
    """Write a ``posterior.nc`` atomically, in ArviZ's format, with further groups."""
    own = {"posterior": posterior, "sample_stats": sample_stats}
    write_groups(path, own | dict(groups or {}))


def load_posterior(path: Path) -> xr.Dataset:
    """Load the posterior group of a ``posterior.nc`` into memory."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; run the stage fit first.")
    try:
        with xr.open_dataset(path, group="posterior", engine="netcdf4") as data:
            return data.load()
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{path}: not a readable posterior ({error}); run fit again.") from error
