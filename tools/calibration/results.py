"""Ranks on file: one row per data set, one column per quantity, so that a run can resume."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from polbayes.errors import UserError
from tools.calibration.sbc import Ranked

if TYPE_CHECKING:
    import pandas as pd

ABOUT = ("simulation", "r_hat", "ess", "repeated")


def append(path: Path, ranked: Ranked) -> None:
    """Append one data set, after a header if the file is new.

    Raises
    ------
    UserError
        If the file has other quantities.
    """
    row = {
        "simulation": ranked.number,
        "r_hat": f"{ranked.r_hat:.3f}",
        "ess": f"{ranked.ess:.0f}",
        "repeated": int(ranked.repeated),
        **ranked.ranks,
    }
    new = not path.exists()
    if not new:
        with path.open(newline="", encoding="utf-8") as file:
            if next(csv.reader(file), []) != list(row):
                raise UserError(f"{path}: has the ranks of other quantities; remove it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, row, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def load(path: Path) -> "pd.DataFrame":
    """Load the ranks of a case; no rows if there is no file yet.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    import pandas as pd

    if not path.exists():
        return pd.DataFrame(columns=list(ABOUT))
    try:
        return pd.read_csv(path)
    except (ValueError, OSError) as error:
        raise UserError(f"{path}: not a table of ranks ({error}); remove it.") from error
