"""The probabilities of answer options in a table."""

import numpy as np
import xarray as xr

from polbayes.coding.logs.reader import MASSES
from polbayes.coding.table_rows import PROBABILITIES, TableRows
from polbayes.data.dataset import CELL_DIMS
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon
from polbayes.probing.consolidation import UNSEEN, with_masses

_UNLISTED = "mass_unseen"


def with_probabilities(
    data: xr.Dataset, rows: TableRows, cells: tuple[np.ndarray, ...]
) -> xr.Dataset:
    """Add the masses of agreeing, neutral and disagreeing options, where the table has them."""
    if PROBABILITIES[0] not in rows.frame:
        return data
    there = [(stance, name) for stance, name in MASSES.items() if name in rows.frame]
    read = {name: _read(rows, name) for name in (*(n for _, n in there), _UNLISTED)}
    if np.isnan(read["p_agree"]).all():
        raise UserError(
            f"{rows.name}: no row has probabilities of the options; if its answers are words, map "
            "'answer' in place of 'p_agree' and 'p_disagree'."
        )
    if "p_neutral" in read and not np.nansum(read["p_neutral"]):
        there = [pair for pair in there if pair[1] != "p_neutral"]
    names = {1: "agree", 0: "neutral", -1: "disagree"}
    lexicon = Lexicon("imported", tuple(names[s] for s, _ in there), tuple(s for s, _ in there))
    mass = np.full((*data["status"].shape, len(there)), np.nan, dtype=np.float32)
    mass[cells] = np.stack([read[name] for _, name in there], axis=-1)
    if not np.isnan(read[_UNLISTED]).all():
        unseen = np.full(data["status"].shape, np.nan, dtype=np.float32)
        unseen[cells] = read[_UNLISTED]
        data = data.assign({_UNLISTED: (CELL_DIMS, unseen, UNSEEN)})
    return with_masses(data, mass, lexicon)


def _read(rows: TableRows, name: str) -> np.ndarray:
    """Return a column as numbers from 0 to 1, NaN where there is none."""
    if name not in rows.frame:
        return np.full(len(rows.frame), np.nan)
    values = np.full(len(rows.frame), np.nan)
    for n, (row, text) in enumerate(rows.frame[name].items()):
        if text is None or not text.strip():
            continue
        try:
            values[n] = float(text)
        except ValueError:
            values[n] = np.inf
        # Rounding can take a sum of probabilities above 1.
        if not 0 <= values[n] <= 1 + 1e-6:
            raise UserError(f"{rows.at(row)}: {name} '{text}' is not a probability from 0 to 1.")
    return values
