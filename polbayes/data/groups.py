"""Groups of variables in one netCDF file or sampler's result, as ArviZ has them.

They are an ``InferenceData`` before ArviZ 1, and an xarray ``DataTree`` since; files are the same.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from polbayes.data.files import replacing


def group_of(found: Any, name: str) -> xr.Dataset:
    """Return a group of an ``InferenceData`` or a ``DataTree``."""
    group = found[name]
    return group if isinstance(group, xr.Dataset) else group.to_dataset()


def write_groups(path: Path, groups: Mapping[str, xr.Dataset]) -> None:
    """Write groups atomically to a netCDF file that any version of ArviZ reads, compressed."""
    encoding = {
        f"/{group}": {
            str(name): {"zlib": True}
            for name, variable in data.variables.items()
            if variable.dtype.kind in "biuf" and variable.ndim
        }
        for group, data in groups.items()
    }
    with replacing(path) as temporary:
        xr.DataTree.from_dict(dict(groups)).to_netcdf(
            temporary, engine="netcdf4", encoding=encoding
        )
