"""A response dataset one model at a time: written, read and reduced without holding all of it.

The file is the same as that of `polbayes.data.dataset.write_dataset`, in chunks that each belong to
one model, so that reading one model reads nothing of the others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.data.dataset import (
    COMPRESSED,
    open_responses,
    opened,
    reading,
    responses_path,
    write_dataset,
)

if TYPE_CHECKING:
    import netCDF4
    import pandas as pd
    import xarray as xr

# Values in a chunk of the file: some megabytes, less than one after compression.
_PIECE = 2**19


def portions(path: str | Path, *, cells: int = 1) -> "Iterator[xr.Dataset]":
    """Yield a response dataset in portions of whole models.

    Parameters
    ----------
    path
        A ``responses.nc`` or the folder of the run that holds it.
    cells
        Largest number of cells in a portion; a portion has at least one model.

    Yields
    ------
    xarray.Dataset
        In memory.
    """
    with opened(responses_path(path)) as data:
        names = [str(name) for name in data["model"].values]
        each = data["status"].size // len(names)
    size = max(1, cells // max(each, 1))
    for k in range(0, len(names), size):
        yield open_responses(path, models=names[k : k + size])


def by_model(data: "xr.Dataset", variables: Collection[str]) -> "Iterator[xr.Dataset]":
    """Yield some variables of a response dataset one model at a time.

    Parameters
    ----------
    data
        A response dataset. If it was only opened (`polbayes.data.dataset.opened_responses`),
        nothing else of it is read.
    variables
        Names of the variables; those that it lacks are left out.

    Yields
    ------
    xarray.Dataset
        In memory, with one model and all coordinates.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    some = data[[name for name in data.data_vars if name in variables]]
    some = some.assign_coords(data.coords)
    for k in range(data.sizes["model"]):
        with reading(data.encoding.get("source", "")):
            one = some.isel(model=[k]).load()
        yield one


def reduce_by_model(
    path: str | Path, function: "Callable[[xr.Dataset], pd.DataFrame]"
) -> "pd.DataFrame":
    """Compute a table for every model and concatenate them.

    Parameters
    ----------
    path
        A ``responses.nc`` or the folder of the run that holds it.
    function
        From a response dataset to a table, e.g. `polbayes.measures.bias`. Its results for a model
        must not depend on the others; those of measures by ``model`` do not.
    """
    import pandas as pd

    return pd.concat([function(data) for data in portions(path)], ignore_index=True)


def write_by_model(
    whole: "xr.Dataset", parts: "Iterable[xr.Dataset]", path: Path, *, text_bytes: Mapping[str, int]
) -> None:
    """Write a response dataset that comes in parts, atomically.

    `whole` has its coordinates over ``model`` and its attributes. Each part has one or more models,
    in the order of `whole`, and all have the same variables, with ``model`` as the first dimension.
    `text_bytes` is the length of the longest text of each variable, in UTF-8.
    """
    parts = iter(parts)
    first = next(parts)
    over = [str(name) for name, values in first.data_vars.items() if "model" in values.dims]
    of_models = {name: x for name, x in whole.coords.items() if "model" in x.dims}
    frame = first.drop_dims("model").assign_coords(of_models).assign_attrs(whole.attrs)

    def fill(file: "netCDF4.Dataset") -> None:
        for name in over:
            if first[name].dims[0] != "model":
                raise ValueError(f"{name}: model must be its first dimension")
            _create(file, first[name], name, text_bytes.get(name, 0))
        start = 0
        for part in chain([first], parts):
            stop = start + part.sizes["model"]
            for name in over:
                file.variables[name][start:stop] = _stored(part[name], file.variables[name])
            start = stop

    write_dataset(frame, path, fill=fill)


def text_bytes(path: Path) -> dict[str, int]:
    """Return for each text variable of a file the largest size of a text in bytes."""
    with opened(path) as data:
        stored = {str(name): values.encoding for name, values in data.data_vars.items()}
    return {
        name: int(about["original_shape"][-1])
        for name, about in stored.items()
        if "char_dim_name" in about
    }


def _create(file: "netCDF4.Dataset", values: "xr.DataArray", name: str, size: int) -> None:
    """Make an empty variable as xarray would make it of these values."""
    dims = [*map(str, values.dims)]
    shape = [1, *values.shape[1:]]
    kind: Any = values.dtype
    attributes = dict(values.attrs)
    fill: Any = False
    if values.dtype.kind == "O":
        size = max(size, 1)
        length = f"string{size}"
        if length not in file.dimensions:
            file.createDimension(length, size)
        dims, shape, kind = [*dims, length], [*shape, size], "S1"
        attributes["_Encoding"] = "utf-8"
    elif values.dtype.kind == "f":
        fill = values.dtype.type(np.nan)
    made = file.createVariable(
        name, kind, dims, fill_value=fill, chunksizes=_piece(shape), **COMPRESSED
    )
    made.setncatts(attributes)


def _piece(shape: list[int]) -> list[int]:
    """Return the shape of a chunk: whole along the last dimensions, as far as the limit allows."""
    piece = list(shape)
    for axis in range(len(piece)):
        if prod(piece) <= _PIECE:
            break
        piece[axis] = max(1, _PIECE // prod(piece[axis + 1 :]))
    return piece


def _stored(part: "xr.DataArray", variable: "netCDF4.Variable") -> np.ndarray:
    """Return values as they are stored: texts as bytes along one more dimension."""
    if part.dtype.kind != "O":
        return np.asarray(part.values)
    encode = np.frompyfunc(lambda text: text.encode("utf-8"), 1, 1)
    texts = np.asarray(encode(part.values)).astype(f"S{variable.shape[-1]}")
    return texts.reshape(*part.shape, 1).view("S1")
