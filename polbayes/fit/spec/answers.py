"""The answers that count: selected, received and usable."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import ANSWERED
from polbayes.data.prose import form, plural
from polbayes.errors import UserError, check_known

STANCE_POINTS = ("disagree", "neutral", "agree")
# Shrinkage towards the middle that gives answers of exactly 0 or 1 a finite logit:
# (y (n - 1) + 1/2) / n with n = 1000 (Smithson & Verkuilen 2006 use the sample size as n;
# with a fixed n one model's data do not change another's).
_SQUEEZE = 1000.0

# Up to this many models are listed with their unusable answers, and of more models so many.
_LISTED, _NAMED = 8, 3


def selection(select: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the values to keep by variable; a config may give a single value."""
    return {
        str(name): tuple(value) if isinstance(value, list | tuple) else (value,)
        for name, value in select.items()
    }


def selected(frame: pd.DataFrame, select: Mapping[str, tuple[Any, ...]]) -> pd.DataFrame:
    """Keep the rows with selected values."""
    for name, values in select.items():
        known = frame[name].unique().tolist()
        check_known("value", *values, known=known, where=f"analysis.select.{name}")
        frame = frame[frame[name].isin(values)]
    if frame.empty:
        raise UserError("analysis.select: the selection leaves no cell of the data.")
    return frame


def came_back(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Drop, and count, questions not yet asked or failed."""
    came = frame["status"].isin(ANSWERED)
    if came.all():
        return frame
    missing = int((~came).sum())
    were = form(missing, "was", "were")
    notes.append(f"{plural(missing, 'cell')} {were} not asked yet, or failed, and left out.")
    return frame[came]


def _of(some: int, every: int) -> str:
    return f"{some:,} of {plural(every, 'answer')} ({some / every:.1%})"


def note_unusable(
    usable: pd.Series, models: pd.Series, notes: list[str], *, response: str, why: str
) -> None:
    """Count answers with `why` for a reason by model, and refuse data without usable ones."""
    lost = (~usable).groupby(models).agg(["sum", "size"])
    lost = lost[lost["sum"] > 0]
    if len(lost) <= _LISTED:
        notes += [f"{model}: {why} in {_of(*row)}." for model, row in lost.iterrows()]
    else:
        share = (lost["sum"] / lost["size"]).nlargest(_NAMED)
        most = ", ".join(f"{model} ({part:.1%})" for model, part in share.items())
        every = _of(lost["sum"].sum(), lost["size"].sum())
        sentence = f"{why} in {every} of {len(lost)} models, most often of {most}."
        notes.append(sentence[0].upper() + sentence[1:])
    if not usable.any():
        raise UserError(
            f"fit: none of the {plural(len(usable), 'answer')} has a usable {response}; "
            "measures/validity.csv shows what came back instead."
        )


def rating_points(data: xr.Dataset) -> tuple[str, ...]:
    """Return the labels of the points of ratings, from lowest to highest."""
    return tuple(str(data["rating"].attrs["rating_points"]).split("; "))


def squeezed(value: np.ndarray) -> np.ndarray:
    """Move numbers in [0, 1] off its ends."""
    return np.asarray((value * (_SQUEEZE - 1) + 0.5) / _SQUEEZE)
