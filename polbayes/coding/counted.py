"""Tables of counts: one row for all answers of a cell that were the same."""

import numpy as np
import pandas as pd

from polbayes.config.schema import ImportConfig
from polbayes.data.dataset import CELL_DIMS
from polbayes.errors import UserError

_MOST = int(np.iinfo(np.int16).max)


def one_row_an_answer(rows: pd.DataFrame, config: ImportConfig, *, name: str) -> pd.DataFrame:
    """Repeat every row as often as its count says, the answers of a cell as so many runs."""
    if "count" not in rows:
        return rows
    for where, given in (("columns", config.columns), ("constants", config.constants)):
        if "run" in given:
            raise UserError(
                f"imported.{where}: 'run' is given beside 'count', but a counted answer has no "
                "run of its own; leave one of them out."
            )
    counts = rows["count"].fillna("").str.strip()
    # Software that has missing numbers as floats writes 3.0 for 3.
    wrong = np.flatnonzero(~counts.str.fullmatch(r"[0-9]{1,9}(\.0+)?"))
    if wrong.size:
        raise UserError(
            f"{name}: row {wrong[0] + 1}: the count '{counts.iloc[wrong[0]]}' is not a whole "
            "number."
        )
    numbers = counts.astype(float).astype(int)
    cell = [dim for dim in CELL_DIMS if dim != "run"]
    whole = numbers.groupby([rows[dim] for dim in cell]).transform("sum")
    if whole.max() > _MOST:
        raise UserError(
            f"{name}: row {int(whole.argmax()) + 1}: its cell has {whole.max():,} answers; at most "
            f"{_MOST:,} can be taken."
        )
    if not whole.max():
        raise UserError(f"{name}: all counts are 0, so that there is no answer to import.")
    repeated = rows.drop(columns="count").loc[rows.index.repeat(numbers)]
    return repeated.assign(run=(repeated.groupby(cell).cumcount() + 1).astype(str))
