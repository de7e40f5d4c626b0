"""Fitting: from cells and a spec to a named posterior in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polbayes.data.files import replacing
from polbayes.errors import UserError
from polbayes.fit.cells import Cells
from polbayes.fit.components import with_variances
from polbayes.fit.imputation import with_integrated
from polbayes.fit.interruption import postponed
from polbayes.fit.kept import Kept
from polbayes.fit.model import Built, build
from polbayes.fit.readout import read_off
from polbayes.fit.sample import sample
from polbayes.fit.spec import Spec
from polbayes.fit.terms import BoundPart, bind

if TYPE_CHECKING:
    import xarray as xr

    from polbayes.config.schema import SamplerConfig


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Parameters
    ----------
    posterior
        See `polbayes.fit.readout.read_off` and `polbayes.fit.components.with_variances`.
    sample_stats
        The sampler's own statistics, ``[chain, draw]``.
    built
        The model, with the spec's parts bound to the data.
    drawn
        The draws of the model's own variables, and of the effects that were integrated out.
    again
        Whether they were drawn before.
    """

    posterior: "xr.Dataset"
    sample_stats: "xr.Dataset"
    built: Built
    drawn: "xr.Dataset"
    again: bool = False

    @property
    def parts(self) -> Mapping[str, BoundPart]:
        """The spec bound to the data."""
        return self.built.parts

    def save(self, path: Path) -> None:
        """Write ``posterior.nc``, whole or not at all, as ArviZ reads it."""
        save_posterior(self.posterior, self.sample_stats, path)


def fit(
    spec: Spec,
    cells: Cells,
    config: "SamplerConfig",
    *,
    seed: int,
    kept: Kept | None = None,
) -> Fit:
    """Fit a spec to cells.

    Parameters
    ----------
    spec
        The analysis spec.
    cells
        What `polbayes.fit.cells.gather_cells` makes of a coded dataset.
    config
        The sampler.
    seed
        Fixes the draws.
    kept
        Where draws are kept, to be loaded where they are there.

    Raises
    ------
    UserError
        If the data cannot identify the spec.
    """
    parts = bind(spec, cells)
    with postponed():
        built = build(spec, cells, parts)
    found = kept.load(built.layout) if kept else None
    drawn, stats = found or sample(built, config, seed=seed)
    if kept and not found:
        kept.save(drawn, stats, built.layout)
    drawn = with_integrated(built, drawn, seed=seed)
    named = read_off(built, drawn)
    posterior = with_variances(named, built, drawn)
    return Fit(posterior, stats, built, drawn, again=found is not None)


def save_posterior(posterior: "xr.Dataset", sample_stats: "xr.Dataset", path: Path) -> None:
    """Write a ``posterior.nc``, whole or not at all, as ArviZ reads it."""
    import arviz as az

    with replacing(path) as temporary:
        idata = az.InferenceData(posterior=posterior, sample_stats=sample_stats)
        idata.to_netcdf(str(temporary))


def load_posterior(path: Path) -> "xr.Dataset":
    """Load the posterior group of a ``posterior.nc`` into memory.

    Raises
    ------
    UserError
        If the file is missing or damaged.
    """
    import xarray as xr

    if not path.is_file():
        raise UserError(f"{path}: no such file; run the stage fit first.")
    try:
        with xr.open_dataset(path, group="posterior", engine="netcdf4") as data:
            return data.load()
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{path}: not a readable posterior ({error}); run fit again.") from error
