"""Groups of cells: the assignment of the dataset's cells to the rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from polbayes.data.dataset import ASKED, CELL_DIMS
from polbayes.errors import UserError, check_known
from polbayes.instrument.dimensions import dimensions_of

TOTAL = "total"


@dataclass(frozen=True)
class Groups:
    """The group and the item of each cell."""

    by: tuple[str, ...]  # names of the coordinates that define the groups
    # For each group its values of `by`, in the order of the dataset.
    labels: tuple[tuple[Any, ...], ...]
    # Item ids, sorted, so that nothing depends on their order in the dataset.
    items: tuple[str, ...]
    # One or two arrays over the cells with the number of their group, -1 for none; two if a
    # cell counts for its own dimension and for all dimensions together.
    codes: tuple[np.ndarray, ...]
    item_codes: np.ndarray  # for each cell the position of its item in `items`


def asked_cells(data: xr.Dataset, dims: Sequence[str] = CELL_DIMS) -> np.ndarray:
    """Return over `dims` which cells were planned, in any run if `run` is not among them."""
    asked = data["status"] >= ASKED
    return asked.any([d for d in CELL_DIMS if d not in dims]).transpose(*dims).to_numpy()


def on_cells(data: xr.Dataset, name: str, dims: Sequence[str] = CELL_DIMS) -> np.ndarray:
    """Return a variable or coordinate over `dims`, without a copy if possible."""
    if name not in data.variables:
        raise UserError(f"the dataset has no '{name}'; was it coded, and is it a design's dataset?")
    values = data[name].transpose(*[d for d in dims if d in data[name].dims])
    shape = [data.sizes[d] if d in values.dims else 1 for d in dims]
    return np.broadcast_to(values.values.reshape(shape), [data.sizes[d] for d in dims])


def group_cells(
    data: xr.Dataset, by: Sequence[str], cells: np.ndarray, *, dims: Sequence[str] = CELL_DIMS
) -> Groups:
    """Assign cells to groups, without empty ones.

    Parameters
    ----------
    data
        A response dataset.
    by
        Coordinates along the cells. With ``dimension`` there is a further level, ``total``, of all
        dimensions together.
    cells
        Over `dims`: the cells that count.
    """
    check_by(data, by, dims)
    levels, coded = [], []
    for name in by:
        names, codes = _levels(data, name)
        levels.append(names)
        coded.append(_spread(data, name, codes, dims))
    if "dimension" in by:
        levels[by.index("dimension")].append(TOTAL)
    sizes = [len(names) for names in levels]
    raw = [_ravel(coded, sizes, cells)]
    if "dimension" in by:
        at = by.index("dimension")
        total = np.full_like(coded[at], sizes[at] - 1)
        raw.append(_ravel([*coded[:at], total, *coded[at + 1 :]], sizes, cells))
    present = np.unique(np.concatenate([r[r >= 0] for r in raw]))
    positions = [np.unravel_index(c, sizes) if by else () for c in present]
    labels = [tuple(n[k] for n, k in zip(levels, at, strict=True)) for at in positions]
    items, item_codes = np.unique(np.asarray(data["item"].values, dtype=str), return_inverse=True)
    return Groups(
        by=tuple(by),
        labels=tuple(labels),
        items=tuple(items.tolist()),
        codes=tuple(np.where(r >= 0, np.searchsorted(present, r), -1) for r in raw),
        item_codes=_spread(data, "item", item_codes, dims),
    )


def cluster_by(data: xr.Dataset, groups: Groups, name: str) -> Groups:
    """Resample units other than items."""
    values = np.asarray(data[name].values, dtype=str)
    labels, codes = np.unique(values, return_inverse=True)
    item_codes = _spread(data, name, codes.reshape(values.shape), CELL_DIMS)
    return replace(groups, items=tuple(labels.tolist()), item_codes=item_codes)


def check_by(data: xr.Dataset, by: Sequence[str], dims: Sequence[str] = CELL_DIMS) -> None:
    """Refuse a grouping by coordinates along other dimensions."""
    known = [str(name) for name, c in data.coords.items() if set(c.dims) <= set(dims) and c.ndim]
    check_known("coordinate", *by, known=known, where="by")
    if len(set(by)) < len(by):
        raise UserError("by: a coordinate is named twice.")


def sum_by_item(groups: Groups, where: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
    """Sum the cells in `where` over ``group, item``: their values, or 1 for each."""
    shape = (len(groups.labels), len(groups.items))
    total = np.zeros(shape[0] * shape[1])
    for codes in groups.codes:
        use = where & (codes >= 0)
        index = codes[use] * shape[1] + groups.item_codes[use]
        weights = None if values is None else values[use]
        total += np.bincount(index, weights=weights, minlength=total.size)
    return total.reshape(shape)


def _levels(data: xr.Dataset, name: str) -> tuple[list[Any], np.ndarray]:
    values = data[name].values
    flat = values.reshape(-1).tolist()
    names = list(dict.fromkeys(flat))
    if name == "dimension":
        known = [one.dimension for one in dimensions_of(data)]
        names.sort(key=lambda d: known.index(d) if d in known else len(known))
    position = {value: k for k, value in enumerate(names)}
    codes = np.array([position[value] for value in flat], dtype=np.int64)
    return names, codes.reshape(values.shape)


def _spread(data: xr.Dataset, name: str, codes: np.ndarray, dims: Sequence[str]) -> np.ndarray:
    return on_cells(data.assign_coords(_codes=(data[name].dims, codes)), "_codes", dims)


def _ravel(coded: Sequence[np.ndarray], sizes: Sequence[int], cells: np.ndarray) -> np.ndarray:
    code = np.zeros(cells.shape, dtype=np.int64)
    for part, size in zip(coded, sizes, strict=True):
        code = code * size + part
    return np.where(cells, code, -1)
