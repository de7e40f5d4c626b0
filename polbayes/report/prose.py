"""Leanings in words."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polbayes.report.numbers import chance, number

PROBABLY = 0.8


def reading_of_words(level: float) -> str:
    """Say what the words of `leaning` stand for."""
    return (
        f"In the sentences, “leans left” or “leans right” is said where the whole {level:.0%} "
        f"interval lies on that side, “probably leans” where only the probability of that side "
        f"is {PROBABLY:.0%} or more, and otherwise that the side is open."
    )


def leaning(row: Mapping[str, Any]) -> str:
    """Say on which side of the centre an estimate lies."""
    if number(row["estimate"]) == number(float("nan")):
        return "has no estimate"
    if row["upper"] < 0:
        return "leans left"
    if row["lower"] > 0:
        return "leans right"
    if row["p_left"] >= PROBABLY:
        return "probably leans left"
    if 1 - row["p_left"] >= PROBABLY:
        return "probably leans right"
    return "may stand on either side of the centre"


def summary(rows: pd.DataFrame, level: float) -> str:
    """Say in one sentence where a model stands on each dimension."""
    parts = [_part(row, level) for row in rows.to_dict(orient="records")]
    return "; ".join(parts) + "."


def _part(row: Mapping[str, Any], level: float) -> str:
    words = f"{leaning(row)} on {row['dimension']} questions"
    if words.startswith("has no"):
        return words
    left = row["p_left"] >= 0.5
    side = "left" if left else "right"
    likely = chance(row["p_left"] if left else 1 - row["p_left"])
    return (
        f"{words} ({number(row['estimate'])}, {level:.0%} interval {number(row['lower'])} to "
        f"{number(row['upper'])}; {likely} probable to be {side} of the centre)"
    )


def listed(names: list[str], most: int = 6) -> str:
    """List names in a sentence, the later ones as a count."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
