"""Groups of variables in one netCDF file or sampler's result, as ArviZ has them.

They are an ``InferenceData`` before ArviZ 1, and an xarray ``DataTree`` since; files are the same.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from polbayes.data.dataset import reading
from polbayes.data.files import replacing


def group_of(found: Any, name: str) -> xr.Dataset:
    """Return a group of an ``InferenceData`` or a ``DataTree``."""
    group = found[name]
    return group if isinstance(group, xr.Dataset) else group.to_dataset()


def read_groups(path: Path) -> Any:
    """Return what a netCDF file holds, as the installed version of ArviZ has it, in memory.

    The file is closed: HDF5 can crash if a stage opens a file that is still open here.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    import arviz as az

    eager = {"data.load": "eager"}
    with reading(path):
        if eager.keys() <= az.rcParams.keys():  # type: ignore[attr-defined]
            with az.rc_context(eager):  # type: ignore[attr-defined]
                return az.from_netcdf(str(path))
        with az.from_netcdf(str(path)) as found:  # since ArviZ 1
            return found.load()


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
