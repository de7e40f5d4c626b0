"""Tables of measures as labelled arrays: label columns become dimensions, numbers become arrays."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from pandas.api.types import is_numeric_dtype

from polbayes.data.tables import read_csv
from polbayes.errors import UserError, unknown

# Columns that identify a row, in any table of `polbayes.measures.measure_all`.
LABELS = (
    *("model", "dimension", "instrument", "prefix", "item", "variant", "answers", "kind", "set"),
    *("first", "second", "measure"),
)
# Labels implied by others of the table, which would only add empty cells.
_IMPLIED = {"answers": ("kind",), "variant": ("kind",)}
_PRESENT = "present"


def as_dataset(table: pd.DataFrame, dims: Sequence[str] | None = None) -> xr.Dataset:
    """Convert a tidy table of measures to arrays over its labels."""
    chosen = _dims(table) if dims is None else list(dims)
    for name in chosen:
        if name not in table:
            raise unknown("column", name, map(str, table.columns), where="dims")
    levels = {name: list(dict.fromkeys(table[name].astype(str))) for name in chosen}
    at = tuple(
        table[name].astype(str).map({v: k for k, v in enumerate(levels[name])}).to_numpy()
        for name in chosen
    )
    shape = tuple(len(levels[name]) for name in chosen)
    present = np.zeros(shape, dtype=bool)
    if len(table):
        flat = np.ravel_multi_index(at, shape) if chosen else np.zeros(len(table), dtype=int)
        if len(np.unique(flat)) < len(table):
            raise UserError(
                f"dims: {', '.join(chosen)} do not tell the rows apart; name further columns."
            )
        present[at] = True
    variables = {_PRESENT: (chosen, present)}
    for column in (c for c in table.columns if c not in chosen):
        numeric = is_numeric_dtype(table[column])
        values = np.full(shape, np.nan if numeric else "", dtype=float if numeric else object)
        found = table[column] if numeric else table[column].fillna("").astype(str)
        values[at] = found.to_numpy(dtype=values.dtype)
        variables[str(column)] = (chosen, values)
    coords = {name: np.array(levels[name], dtype=object) for name in chosen}
    return xr.Dataset(variables, coords)


def _dims(table: pd.DataFrame) -> list[str]:
    there = [name for name in LABELS if name in table]
    implied = {i for name in there for i in _IMPLIED.get(name, ())}
    kept = [name for name in there if name not in implied]
    return kept if not table.duplicated(kept).any() else there


def load_measures(folder: str | Path) -> dict[str, xr.Dataset]:
    """Load the measures of a finished run as labelled arrays.

    Parameters
    ----------
    folder
        The run's folder.

    Returns
    -------
    dict
        Datasets by table, see `polbayes.measures.measure_all` and `as_dataset`.

    Raises
    ------
    UserError
        If the run has no measures.
    """
    paths = sorted((Path(folder) / "measures").glob("*.csv"))
    if not paths:
        raise UserError(f"{folder}: has no measures; was the stage measure done?")
    return {path.stem: as_dataset(read_csv(path)) for path in paths}
