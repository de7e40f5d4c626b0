"""Tables of counts: one row for all identical answers of a cell."""

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
        return rows
    for where, given in (("columns", config.columns), ("constants", config.constants)):
        if "run" in given:
            raise UserError(
                f"imported.{where}: 'run' is given beside 'count', but a counted answer has no "
                "run of its own; leave one of them out."
            )
    counts = rows["count"].fillna("").str.strip()
    # Software that stores missing numbers as floats writes 3.0 for 3.
    wrong = np.flatnonzero(~counts.str.fullmatch(r"[0-9]{1,9}(\.0+)?"))
    if wrong.size:
        raise UserError(
            f"{at(rows.index[wrong[0]])}: the count '{counts.iloc[wrong[0]]}' is not a whole "
            "number."
        )
    numbers = counts.astype(float).astype(int)
    cell = [dim for dim in CELL_DIMS if dim != "run"]
    whole = numbers.groupby([rows[dim] for dim in cell]).transform("sum")
    if whole.max() > _MOST:
        raise UserError(
            f"{at(whole.idxmax())}: its cell has {whole.max():,} answers; at most {_MOST:,} can be "
            "taken."
        )
    if not whole.max():
        raise UserError("imported.columns.count: all counts are 0; there is no answer to import.")
    repeated = rows.drop(columns="count").loc[rows.index.repeat(numbers)]
    return repeated.assign(run=(repeated.groupby(cell).cumcount() + 1).astype(str))
