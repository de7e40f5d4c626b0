"""Leanings in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from polbayes.instrument.dimensions import ECONOMIC_AND_CULTURAL, Dimension
from polbayes.report.numbers import chance, number

PROBABLY = 0.8


def reading_of_words(level: float, dimensions: Sequence[Dimension] = ECONOMIC_AND_CULTURAL) -> str:
    """Say what the words of `leaning` stand for."""
    political = all(one.political for one in dimensions)
    words = "“leans left” or “leans right”" if political else "“leans” to one side"
    return (
        f"In the sentences, {words} is said where the whole {level:.0%} "
        f"interval lies on that side, “probably leans” where only the probability of that side "
        f"is {PROBABLY:.0%} or more, and otherwise that the side is open."
    )


def leaning(row: Mapping[str, Any], dimension: Dimension = ECONOMIC_AND_CULTURAL[0]) -> str:
    """Say on which side of the centre an estimate lies."""
    to = "" if dimension.political else "towards "
    left, right = f"{to}{dimension.negative}", f"{to}{dimension.positive}"
    if number(row["estimate"]) == number(float("nan")):
        return "has no estimate"
    if row["upper"] < 0:
        return f"leans {left}"
    if row["lower"] > 0:
        return f"leans {right}"
    if row["p_left"] >= PROBABLY:
        return f"probably leans {left}"
    if 1 - row["p_left"] >= PROBABLY:
        return f"probably leans {right}"
    return "may stand on either side of the centre"


def summary(
    rows: pd.DataFrame, level: float, dimensions: Sequence[Dimension] = ECONOMIC_AND_CULTURAL
) -> str:
    """Say in one sentence where a model stands on each dimension."""
    known = {one.dimension: one for one in dimensions}
    parts = [
        _part(row, level, known.get(name := str(row["dimension"]), Dimension(name, name)))
        for row in rows.to_dict(orient="records")
    ]
    return "; ".join(parts) + "."


def _part(row: Mapping[str, Any], level: float, dimension: Dimension) -> str:
    words = f"{leaning(row, dimension)} on {dimension.label.lower()} questions"
    if words.startswith("has no"):
        return words
    left = row["p_left"] >= 0.5
    side = dimension.negative if left else dimension.positive
    place = f"{side} of the centre" if dimension.political else f"on the side of {side}"
    likely = chance(row["p_left"] if left else 1 - row["p_left"])
    return (
        f"{words} ({number(row['estimate'])}, {level:.0%} interval {number(row['lower'])} to "
        f"{number(row['upper'])}; {likely} probable to be {place})"
    )


def listed(names: list[str], most: int = 6) -> str:
    """List names in a sentence, the later ones as a count."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
