"""The response dataset: its codes, and how it is written, read and merged.

The dataset is described in `docs/dataset.md`. Dimensions are
``model, item, variant, prefix, run`` (with ``option`` and ``stance_class`` where
needed); a cell that is not part of the design has status `NOT_ASKED`.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.data.files import replacing
from polbayes.errors import UserError, check_known

if TYPE_CHECKING:
    import netCDF4
    import pandas as pd
    import xarray as xr

CELL_DIMS = ("model", "item", "variant", "prefix", "run")

STATUS = {"pending": 0, "ok": 1, "refused": 2, "invalid": 3, "error": 4, "empty": 5, "truncated": 6}
NOT_ASKED = -128
# Of a question that adaptive probing could have put, and did not (`polbayes.run.adaptive`).
NOT_CHOSEN = -127
# Statuses of questions that were put, or are still to be, are at least this.
ASKED = 0

# Statuses of unreadable answers: no text, cut off before it said anything, or neither.
UNREADABLE = ("empty", "truncated", "invalid")
# Codes of statuses with an answer, however good.
ANSWERED = tuple(STATUS[name] for name in ("ok", "refused", *UNREADABLE))

STANCE = {"disagree": -1, "neutral": 0, "agree": 1, "unrelated": 2, "refused": 3}
MISSING = -128
STANCE_CLASSES = tuple(STANCE)

# The four-level scale of answers, from which the middle is left out.
LEVELS = ("strongly disagree", "disagree", "agree", "strongly agree")

_FLAGS: Mapping[str, Mapping[str, int]] = {
    "status": {"not_asked": NOT_ASKED, "not_chosen": NOT_CHOSEN, **STATUS},
    "stance": {"missing": MISSING, **STANCE},
}
COMPRESSED: Mapping[str, Any] = {"zlib": True, "complevel": 4}


def flag_attributes(variable: str) -> dict[str, Any]:
    """Return the CF attributes that describe the codes of `variable`."""
    flags = _FLAGS[variable]
    return {
        "flag_values": np.array(list(flags.values()), dtype=np.int8),
        "flag_meanings": " ".join(flags),
    }


def write_dataset(
    data: "xr.Dataset", path: Path, *, fill: "Callable[[netCDF4.Dataset], None] | None" = None
) -> None:
    """Write a dataset atomically.

    Parameters
    ----------
    data
        Any dataset with names and attributes that netCDF can hold.
    path
        Destination; an existing file is replaced at the end in one step.
    fill
        Writes further content into the file before it replaces an earlier one.

    Raises
    ------
    UserError
        If the file cannot be written; an earlier one is still there.
    """
    with replacing(path) as temporary:
        data.to_netcdf(temporary, engine="netcdf4", encoding=_encoding(data))
        if fill is not None:
            from netCDF4 import Dataset

            with Dataset(temporary, "a") as file:
                fill(file)


def _encoding(data: "xr.Dataset") -> dict[Hashable, dict[str, Any]]:
    encoding: dict[Hashable, dict[str, Any]] = {}
    for name, variable in data.variables.items():
        if variable.dtype.kind in "OUT" and variable.ndim:
            # Characters compress well; netCDF's variable-length strings do not at all.
            encoding[name] = {"dtype": "S1", **COMPRESSED}
        elif variable.dtype.kind in "fiu" and variable.ndim:
            encoding[name] = dict(COMPRESSED)
            if variable.dtype.kind in "iu":
                encoding[name]["_FillValue"] = None
    return encoding


def responses_path(path: str | Path) -> Path:
    """Return the response file that a path refers to: itself, or that of a run's folder."""
    path = Path(path)
    return path / "responses.nc" if path.is_dir() else path


def open_responses(path: str | Path, *, models: Sequence[str] | None = None) -> "xr.Dataset":
    """Read a response dataset into memory.

    Parameters
    ----------
    path
        A ``responses.nc`` or the folder of the run that holds it.
    models
        Names of the models to read; all by default.

    Returns
    -------
    xarray.Dataset
        Over ``model, item, variant, prefix, run``, see `docs/dataset.md`.

    Raises
    ------
    UserError
        If the file is missing, damaged or not a response dataset, or has no such model.
    """
    with opened_responses(path) as data:
        chosen = data
        if models is not None:
            known = [str(name) for name in data["model"].values]
            check_known("model", *models, known=known, where=str(responses_path(path)))
            chosen = data.isel(model=[known.index(name) for name in models])
        with reading(responses_path(path)):
            return chosen.load()


@contextmanager
def opened_responses(path: str | Path) -> "Iterator[xr.Dataset]":
    """Open a response dataset whose answers are read on access, and close it afterwards.

    Parameters
    ----------
    path
        A ``responses.nc`` or the folder of the run that holds it.

    Yields
    ------
    xarray.Dataset
        As from `open_responses`, with only its coordinates in memory.

    Raises
    ------
    UserError
        If the file is missing, damaged or not a response dataset.
    """
    path = responses_path(path)
    with opened(path) as data:
        missing = [dim for dim in CELL_DIMS if dim not in data.dims]
        if missing:
            raise UserError(f"{path}: not a response dataset (it has no dimension '{missing[0]}').")
        with reading(path):
            for name in data.coords:
                data.variables[name].load()
        yield data


@contextmanager
def opened(path: Path) -> "Iterator[xr.Dataset]":
    """Open a netCDF file, whose values are read on access, and close it afterwards."""
    import xarray as xr

    if not path.is_file():
        raise UserError(f"{path}: no such file.")
    with reading(path):
        data = xr.open_dataset(path, engine="netcdf4")
    with data:
        yield data


@contextmanager
def reading(path: str | Path) -> "Iterator[None]":
    """Say what is wrong if a netCDF file cannot be read."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(
            f"{path}: not a readable netCDF file ({error}); it may be truncated."
        ) from error


def check_whole(path: Path) -> None:
    """Refuse a netCDF file of ours that was cut short or overwritten after it was finished."""
    from netCDF4 import Dataset

    try:
        Dataset(path).close()
    except OSError as error:
        raise UserError(
            f"{path}: was finished before and is no longer a readable netCDF file; delete it, "
            "and the same command makes it again."
        ) from error


def read_dataset(path: Path) -> "xr.Dataset":
    """Read a netCDF file into memory and close it."""
    with opened(path) as data, reading(path):
        return data.load()


def merge(datasets: Sequence["xr.Dataset"]) -> "xr.Dataset":
    """Merge response datasets of different models, runs, prefixes or items into one.

    Parameters
    ----------
    datasets
        Response datasets; where two share a cell, its answers must be equal.

    Returns
    -------
    xarray.Dataset
        On the union of the coordinates; cells of none of them are `NOT_ASKED`.

    Raises
    ------
    UserError
        If none is given, or two disagree about a statement, a prefix or an answer.
    """
    import xarray as xr

    if not datasets:
        raise UserError("nothing to merge: give at least one response dataset.")
    fill = {
        name: _FILL.get(str(name), {"f": np.nan, "i": MISSING}.get(var.dtype.kind, ""))
        for data in datasets
        for name, var in data.variables.items()
        if name not in data.dims
    }
    indexes = {
        dim: _union([data[dim].values for data in datasets if dim in data.dims])
        for dim in (*CELL_DIMS, "option", "stance_class", "axis", "answer_level")
        if any(dim in data.dims for data in datasets)
    }
    aligned = [
        data.reindex({d: i for d, i in indexes.items() if d in data.dims}, fill_value=fill)
        for data in datasets
    ]
    merged = aligned[0]
    for other in aligned[1:]:
        merged = _combine(merged, other, fill)
    shared = {k: v for k, v in datasets[0].attrs.items() if all(_same(d, k, v) for d in datasets)}
    return xr.Dataset(merged.data_vars, merged.coords, shared)


# Other integers default to `MISSING`, other texts to empty ones, other numbers to NaN.
_FILL = {"status": NOT_ASKED, "keying": 0, "direction": 0, "truncated": 0, "declined": 0}


def _union(values: Sequence[np.ndarray]) -> np.ndarray:
    found = dict.fromkeys(value for array in values for value in array.tolist())
    kind = values[0].dtype if values[0].dtype.kind == "i" else object
    return np.array(list(found), dtype=kind)


def _combine(a: "xr.Dataset", b: "xr.Dataset", fill: Mapping[Any, Any]) -> "xr.Dataset":
    import xarray as xr

    out = a.copy()
    for name, theirs in b.variables.items():
        if name in b.dims:
            continue
        if name not in a.variables:
            out[name] = b[name]
            continue
        absent = fill[name]
        in_a = ~_is(a[name], absent)
        in_b = ~_is(b[name], absent)
        clash = in_a & in_b & (a[name] != b[name])
        if bool(clash.any()):
            at = np.argwhere(clash.values)[0]
            cell = {
                str(d): clash[d].values.tolist()[k] for d, k in zip(clash.dims, at, strict=True)
            }
            raise UserError(f"the datasets to merge disagree about '{name}' at {cell}.")
        out[name] = xr.where(in_a, a[name], b[name]).transpose(*theirs.dims)
        out[name].attrs = a[name].attrs
    return out.set_coords([c for c in (*a.coords, *b.coords) if c in out.variables])


def _is(values: "xr.DataArray", absent: Any) -> "xr.DataArray":
    return values.isnull() if isinstance(absent, float) and np.isnan(absent) else values == absent


def _same(data: "xr.Dataset", key: Hashable, value: Any) -> bool:
    return bool(key in data.attrs and np.array_equal(data.attrs[key], value))


def to_frame(
    data: "xr.Dataset",
    variables: Sequence[str] | None = None,
    *,
    columns: Collection[str] | None = None,
    labels: bool = False,
) -> "pd.DataFrame":
    """Turn a response dataset into one row per cell that was asked.

    Parameters
    ----------
    data
        A response dataset.
    variables
        Names of the variables to keep; by default all that have one value a cell.
    columns
        Names of the dimensions and coordinates to keep, those with texts as categories in
        alphabetical order; by default all, as they are.
    labels
        Whether codes (``status``, ``stance``, ``coder``) are written as their meanings, such as
        ``agree``, ``missing`` or ``none``.

    Returns
    -------
    pandas.DataFrame
        Columns ``model, item, variant, prefix, run``, the coordinates along them (``keying``,
        ``dimension``, ``statement``, ...) and the variables.
    """
    import pandas as pd

    names = [
        str(name)
        for name, variable in data.data_vars.items()
        if set(variable.dims) <= set(CELL_DIMS) and (variables is None or name in variables)
    ]
    table = data[sorted({*names, "status"})].drop_dims(
        [d for d in data.dims if d not in CELL_DIMS], errors="ignore"
    )
    dims = [d for d in CELL_DIMS if d in data.dims]
    sizes = [data.sizes[d] for d in dims]

    def on_cells(name: str, values: np.ndarray) -> np.ndarray:
        own = [size if d in table[name].dims else 1 for d, size in zip(dims, sizes, strict=True)]
        return np.broadcast_to(values.reshape(own), sizes)

    def in_order(name: str) -> np.ndarray:
        return table[name].transpose(*[d for d in dims if d in table[name].dims]).to_numpy()

    asked = on_cells("status", in_order("status") >= ASKED)
    out: dict[str, Any] = {}
    for name in map(str, [*dims, *(c for c in table.variables if c not in dims)]):
        if name not in names and (name not in data.coords or name not in (columns or (name,))):
            continue
        values = in_order(name)
        if columns is None or values.dtype.kind not in "OUT":
            out[name] = on_cells(name, values)[asked]
            continue
        codes, texts = pd.factorize(values.ravel(), sort=True)
        codes = on_cells(name, codes.astype(np.min_scalar_type(-len(texts) - 1)))[asked]
        out[name] = pd.Categorical.from_codes(codes, categories=texts)
    for name in out if labels else ():
        about = data[name].attrs
        if "flag_meanings" in about:
            meanings = str(about["flag_meanings"]).split()
            words = dict(zip(np.ravel(about["flag_values"]).tolist(), meanings, strict=True))
            out[name] = pd.Series(out[name]).map(words)
    return pd.DataFrame(out)
