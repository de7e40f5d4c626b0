"""The sampler's draws in a file, so that nothing is sampled twice.

Settings of the report can change without the posterior: the level of the intervals, the
region of practical equivalence, the planned study.
"""

from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from polbayes.data.groups import write_groups
from polbayes.data.provenance import digest
from polbayes.fit.density.layout import Layout

# The variables from which all reported quantities are computed
# (`polbayes.fit.density.model.Built`).
_NAMES = ("b", "sd", "effects", "gap", "reading", "nu")


@dataclass(frozen=True)
class DrawsCache:
    """Draws stored in a file."""

    path: Path  # the file, which may not exist yet
    key: str  # a hash of everything that determines the draws

    def load(self, layout: Layout) -> tuple[xr.Dataset, xr.Dataset] | None:
        """Return the draws and the sampler's statistics, or None as in `load_draws`."""
        return load_draws(self.path, self._made_from(layout))

    def save(self, drawn: xr.Dataset, stats: xr.Dataset, layout: Layout) -> None:
        """Write the draws atomically."""
        names = [n for n in map(str, drawn.data_vars) if n in _NAMES or n.startswith("cor_")]
        save_draws(self.path, drawn[names], stats, self._made_from(layout))

    def _made_from(self, layout: Layout) -> str:
        """Return a hash that includes the layout of effects, which another version may change."""
        places = [
            (b.part, b.start, b.size, b.group.term.name, b.group.labels) if b.group else b.part
            for b in layout.sampled.blocks
        ]
        copies = [layout.sampled.copies] if layout.sampled.copies else []
        return digest([self.key, places, layout.coefficients, layout.scales, *copies])


def load_draws(path: Path, made_from: str) -> tuple[xr.Dataset, xr.Dataset] | None:
    """Load draws and the sampler's statistics; None if there are none that match.

    `made_from` is a hash of everything that determines the draws.
    """
    if not path.is_file():
        return None
    try:
        with xr.open_dataset(path, group="posterior", engine="netcdf4") as found:
            # Remove the file's mark, which must not get into other files.
            if found.attrs.pop("made_from", None) != made_from:
                return None
            drawn = found.load()
        with xr.open_dataset(path, group="sample_stats", engine="netcdf4") as found:
            return drawn, found.load()
    except (OSError, ValueError, RuntimeError):
        return None


def save_draws(path: Path, drawn: xr.Dataset, stats: xr.Dataset, made_from: str) -> None:
    """Write draws and the sampler's statistics atomically.

    Parameters
    ----------
    path, made_from
        See `load_draws`.
    drawn, stats
        See `polbayes.fit.sampling.sample.sample`.
    """
    kept = drawn.assign_attrs(made_from=made_from)
    write_groups(path, {"posterior": kept, "sample_stats": stats})
