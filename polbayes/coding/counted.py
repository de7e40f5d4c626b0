"""Tables of counts: one row for all identical answers of a cell, or for their share."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from polbayes.config.schema import ImportConfig
from polbayes.data.dataset import CELL_DIMS
from polbayes.errors import UserError

_MOST = int(np.iinfo(np.int16).max)


def one_row_an_answer(
    rows: pd.DataFrame, config: ImportConfig, *, at: Callable[[int], str]
) -> pd.DataFrame:
    """Repeat every row as often as its count says, the answers of a cell as runs.

    `at` describes the row of an index.
    """
    if "count" not in rows:
        if "size" in rows:
            raise UserError("imported: 'size' is the size of a sample whose shares are 'count'.")
        return rows
    for where, given in (("columns", config.columns), ("constants", config.constants)):
        if "run" in given:
            raise UserError(
                f"imported.{where}: 'run' is given beside 'count', but a counted answer has no "
                "run of its own; leave one of them out."
            )
    cell = [dim for dim in CELL_DIMS if dim != "run"]
    if "size" in rows:
        rows = _sized(rows, cell, at)
    counts = rows["count"].fillna("").str.strip()
    # Software that stores missing numbers as floats writes 3.0 for 3.
    wrong = np.flatnonzero(~counts.str.fullmatch(r"[0-9]{1,9}(\.0+)?"))
    if wrong.size:
        raise UserError(
            f"{at(rows.index[wrong[0]])}: the count '{counts.iloc[wrong[0]]}' is not a whole "
            "number."
        )
    numbers = counts.astype(float).astype(int)
    whole = numbers.groupby([rows[dim] for dim in cell]).transform("sum")
    if whole.max() > _MOST:
        raise UserError(
            f"{at(whole.idxmax())}: its cell has {whole.max():,} answers; at most {_MOST:,} can be "
            "taken."
        )
    if not whole.max():
        raise UserError("imported.columns.count: all counts are 0; there is no answer to import.")
    repeated = rows.drop(columns=["count", "size"], errors="ignore").loc[rows.index.repeat(numbers)]
    return repeated.assign(run=(repeated.groupby(cell).cumcount() + 1).astype(str))


def _sized(rows: pd.DataFrame, cell: list[str], at: Callable[[int], str]) -> pd.DataFrame:
    """Turn weighted counts or shares of a cell into whole counts of a sample of its size.

    Rounded by largest remainders, so that they sum to the size: the effective number of persons,
    for weights w (sum w)² / sum w² (Kish 1965).
    """
    numbers = {}
    for name in ("count", "size"):
        numbers[name] = pd.to_numeric(rows[name].fillna("").str.strip(), errors="coerce")
        wrong = np.flatnonzero(~(np.isfinite(numbers[name]) & (numbers[name] >= 0)))
        if wrong.size:
            where = at(rows.index[wrong[0]])
            text = rows[name].iloc[wrong[0]]
            raise UserError(f"{where}: the {name} '{text}' is not a number from 0 on.")
    keys = [rows[dim] for dim in cell]
    differing = numbers["size"].groupby(keys).transform("nunique") > 1
    if differing.any():
        raise UserError(f"{at(differing.idxmax())}: its cell has another 'size' in another row.")
    whole = numbers["count"].groupby(keys).transform("sum")
    exact = numbers["size"].round() * numbers["count"] / whole.where(whole > 0, 1.0)
    low = np.floor(exact)
    missing = (exact.groupby(keys).transform("sum") - low.groupby(keys).transform("sum")).round()
    order = (exact - low).groupby(keys).rank(method="first", ascending=False)
    return rows.assign(count=(low + (order <= missing)).astype(int).astype(str))
