"""The one rule for verdicts: on which side, or that the answers do not tell.

A verdict is about a difference on [-1, 1], negative being left: a model's lean on statements like
these against the centre, the lean of one model against another's, or a shift of it. A difference
within ``[-rope, rope]`` is practically none (the region of practical equivalence, ROPE). The rule
compares the whole interval with the region (Kruschke 2018): ``left`` or ``right`` where all of the
interval lies beyond the region on that side, ``equal`` where all of it lies inside, and otherwise
``open``. Kruschke takes the interval of highest density; here it is equal-tailed, as all intervals
are, so that the verdict does not depend on the scale the bias is written on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from polbayes.instrument.poles import POLITICAL, Pole, Poles

LEFT, RIGHT, EQUAL, OPEN = "left", "right", "equal", "open"
# What a verdict is about, as the column ``against`` has it. ``again`` is about a model asked twice,
# whose answers may differ for other reasons than that it moved.
Against = Literal["centre", "model", "before", "again"]
_EQUAL: Mapping[str, str] = {
    "centre": "stands at the centre in practice",
    "model": "is equal in practice",
    "before": "did not move in practice",
    "again": "answered alike in practice",
}
_DECISIONS = (LEFT, RIGHT, EQUAL, OPEN)


def in_words(decision: str, against: Against = "centre", poles: Poles = POLITICAL) -> str:
    """Say a decision; the model that another is compared with is ``it``."""
    if decision not in (LEFT, RIGHT):
        return _EQUAL[against] if decision == EQUAL else "open: these data do not tell"
    pole = side_of(decision, poles)
    return {
        "centre": f"leans {pole.towards}",
        "model": f"is {pole.of} it",
        "before": f"moved {pole.towards}",
        "again": f"answered further {pole.towards}",
    }[against]


def in_short(decision: str, poles: Poles = POLITICAL, *, equal: str = "equal in practice") -> str:
    """Say a decision in figures and columns; nothing where there is none."""
    if decision not in (LEFT, RIGHT):
        return {EQUAL: equal, OPEN: "open"}.get(decision, "")
    return side_of(decision, poles).word


def at_centre(decision: str, poles: Poles = POLITICAL) -> str:
    """Say a decision about the centre in figures and columns."""
    return in_short(decision, poles, equal="centre in practice")


def side_of(decision: str, poles: Poles) -> Pole:
    """Return the words for the side that a decision is for."""
    return poles.negative if decision == LEFT else poles.positive


def decide(lower: float, upper: float, rope: float) -> str:
    """Decide by Kruschke's (2018) rule from an interval and a region [-rope, rope]."""
    if upper < -rope:
        return LEFT
    if lower > rope:
        return RIGHT
    return EQUAL if lower >= -rope and upper <= rope else OPEN


@dataclass(frozen=True)
class Verdict:
    """What is decided of one difference, and how probable it is."""

    decision: str  # one of LEFT, RIGHT, EQUAL and OPEN; empty without an estimate
    estimate: float
    lower: float
    upper: float
    rope: float
    chances: Mapping[str, float]  # probability of being left of, inside and right of the region

    @property
    def probability(self) -> float:
        """Probability of what was decided; where it is open, of the likeliest."""
        return self.chances.get(self.decision, max(self.chances.values()))


def verdict_of(row: Mapping[str, Any]) -> Verdict:
    """Read a verdict off a row of ``contrasts`` or ``drift``."""
    places = {LEFT: "p_left_of_rope", EQUAL: "p_inside", RIGHT: "p_right_of_rope"}
    estimate, lower, upper, rope = (float(row[n]) for n in ("estimate", "lower", "upper", "rope"))
    decision = str(row["decision"]) if row["decision"] in _DECISIONS else ""
    chances = {place: float(row[name]) for place, name in places.items()}
    return Verdict(decision, estimate, lower, upper, rope, chances)


def from_centre(contrasts: pd.DataFrame) -> Iterator[tuple[str, str, Verdict]]:
    """Yield model, dimension and verdict of every lean against the centre.

    The mean of several dimensions, ``total``, is left out: a model may be left on one of them and
    right on another.
    """
    rows = contrasts[(contrasts["measure"] == "lean") & (contrasts["against"] == "centre")]
    for row in rows[rows["dimension"] != "total"].to_dict(orient="records"):
        yield str(row["model_a"]), str(row["dimension"]), verdict_of(row)
