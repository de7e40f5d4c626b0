"""Sampling answers for annotators from strata, the same number from each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import ANSWERED, CELL_DIMS
from polbayes.errors import UserError
from polbayes.measures.grouping import group_cells, on_cells
from polbayes.measures.resampling import generator

ABOUT = ("statement", "keying", "kind", "dimension", "instrument", "prefix_text", "checkpoint")


def sample_answers(
    data: xr.Dataset, *, strata: Sequence[str], per_stratum: int, seed: int
) -> pd.DataFrame:
    """Draw answers without replacement, the same number from every stratum."""
    texts, answered = _texts(data)
    written = np.array([bool(text.strip()) for text in texts.reshape(-1)]).reshape(texts.shape)
    eligible = answered & written
    if not eligible.any():
        raise UserError("annotation: the run has no answers in words to be labelled.")
    try:
        groups = group_cells(data, strata, eligible)
    except UserError as error:
        raise UserError(f"annotation.strata: {str(error).removeprefix('by: ')}") from error
    strata_of = groups.codes[0].reshape(-1)
    sizes = np.bincount(strata_of[strata_of >= 0], minlength=len(groups.labels))
    drawn = [
        _draw(np.flatnonzero(strata_of == code), per_stratum, seed, groups.labels[code])
        for code in np.flatnonzero(sizes)
    ]
    cells = np.concatenate(drawn)
    cells = generator(seed, "annotation", "order").permutation(np.sort(cells))
    frame = _frame(data, texts, cells, texts.shape)
    taken = np.minimum(sizes, per_stratum)
    frame["stratum_size"] = sizes[strata_of[cells]]
    frame["weight"] = (sizes / np.maximum(taken, 1))[strata_of[cells]]
    frame.attrs = {
        "n_answers": int(eligible.sum()),
        "n_empty": int((answered & ~written).sum()),
        "n_strata": int((sizes > 0).sum()),
        "n_short": int(((sizes > 0) & (sizes < per_stratum)).sum()),
    }
    return frame


def _texts(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the raw answers over the cells, and which cells were answered."""
    if "completion" not in data or "status" not in data:
        raise UserError(
            "annotation: the run has no answers in words; where probabilities of options were "
            "read, there is nothing to label."
        )
    answered = np.isin(on_cells(data, "status"), ANSWERED)
    values = on_cells(data, "completion").reshape(-1).tolist()
    texts = np.array([v if isinstance(v, str) else "" for v in values], dtype=object)
    return texts.reshape(answered.shape), answered


def _draw(members: np.ndarray, number: int, seed: int, label: tuple[Any, ...]) -> np.ndarray:
    if len(members) <= number:
        return members
    return generator(seed, "annotation", *label).choice(members, size=number, replace=False)


def _frame(
    data: xr.Dataset, texts: np.ndarray, cells: np.ndarray, shape: tuple[int, ...]
) -> pd.DataFrame:
    at = np.unravel_index(cells, shape)
    names = [*CELL_DIMS, *(n for n in ABOUT if n in data.coords)]
    columns = {name: on_cells(data, name)[at] for name in names}
    return pd.DataFrame({**columns, "response": texts[at]})
