"""Answers that pick a point of the scale that all prefixes of a design list."""

import json
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from polbayes.coding.option_reading import match_option
from polbayes.coding.options import Options, declare
from polbayes.data.dataset import MISSING, flag_attributes

POINTS = "rating_points"


def rating_attributes(points: tuple[str, ...]) -> dict[str, Any]:
    """Return the attributes of the variable ``rating``."""
    return {
        "long_name": "index of the answer option, from strongest disagreement",
        POINTS: "; ".join(points),
        "missing_value_code": np.int8(MISSING),
    }


def sides(points: int) -> np.ndarray:
    """Return the stance of each point: agreeing above the middle, disagreeing below."""
    return np.sign(2 * np.arange(points) - (points - 1)).astype(np.int8)


def with_ratings(data: xr.Dataset) -> xr.Dataset:
    """Add ``rating`` and its stance where an answer in words picks a point of the scale."""
    if POINTS not in data.attrs or {"rating", "p_agree"} & set(data) or "completion" not in data:
        return data
    points = tuple(str(data.attrs[POINTS]).split("; "))
    texts = data["completion"]
    codes = data["prefix_options"].broadcast_like(texts).transpose(*texts.dims)
    rating = np.array(
        [
            _point(str(t), str(c), points)
            for t, c in zip(texts.values.flat, codes.values.flat, strict=True)
        ],
        dtype=np.int8,
    ).reshape(texts.shape)
    read = rating != MISSING
    stance = np.where(read, sides(len(points))[np.where(read, rating, 0)], MISSING).astype(np.int8)
    return data.assign(
        rating=(texts.dims, rating, rating_attributes(points)),
        stance=(texts.dims, stance, flag_attributes("stance")),
    )


@cache
def _declared(codes: str, points: tuple[str, ...]) -> Options:
    listed = json.loads(codes or "{}")
    marked = {
        (point if code == point else f"{code}) {point}"): point for code, point in listed.items()
    }
    return declare(marked or {point: point for point in points}, points)


@cache
def _point(text: str, codes: str, points: tuple[str, ...]) -> int:
    if not text.strip():
        return MISSING
    point = match_option(text, _declared(codes, points))
    return MISSING if point is None else point
