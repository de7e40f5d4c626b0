"""Verdicts in sentences."""

import re

from polbayes.fit.posterior.verdicts import EQUAL, LEFT, OPEN, RIGHT, WORDS, Against, Verdict
from polbayes.instrument.dimensions import ECONOMIC_AND_CULTURAL, Dimension
from polbayes.report.numbers import chance, count, number

# Words for a difference, by what it is a difference from.
_PLACES = {
    "centre": {LEFT: "left", EQUAL: "centre", RIGHT: "right"},
    "model": {LEFT: "left of it", EQUAL: "equal", RIGHT: "right of it"},
    "before": {LEFT: "moved left", EQUAL: "not moved", RIGHT: "moved right"},
}


def reading_of_verdicts(level: float, rope: float) -> str:
    """Explain the words of `standing`."""
    return (
        "The verdicts are about the lean, the expected answer to a new statement like those "
        f"asked, from −1 (always left) to 1 (always right). Up to {number(rope)} from the centre "
        f"counts as the centre in practice; changing sides in {50 * rope:.3g} of 100 answers moves "
        f"it by that much. A model “leans left” or “leans right” where its whole {level:.0%} "
        "interval lies beyond that margin, “stands at the centre in practice” where all of it lies "
        "inside (Kruschke 2018); otherwise these data do not tell."
    )


def standing(
    verdict: Verdict,
    level: float,
    against: Against = "centre",
    dimension: Dimension = ECONOMIC_AND_CULTURAL[0],
) -> str:
    """Describe a verdict with its interval and probability."""
    if not verdict.decision:
        return "has no estimate"
    what = "lean" if against == "centre" else "difference of lean"
    low, high = number(verdict.lower), number(verdict.upper)
    return with_poles(
        f"{WORDS[against][verdict.decision]} ({what} {number(verdict.estimate)}, {level:.0%} "
        f"interval {low} to {high}; {chances(verdict, against)})",
        dimension,
    )


def with_poles(text: str, dimension: Dimension) -> str:
    """Name the poles of a dimension that is not one of left and right."""
    if dimension.political:
        return text
    poles = {"left": dimension.negative, "right": dimension.positive}
    return re.sub(
        r"\b(leans |moved )?(left|right)\b",
        lambda m: f"{m[1]}towards {poles[m[2]]}" if m[1] else poles[m[2]],
        text,
    )


def chances(verdict: Verdict, against: Against = "centre") -> str:
    """Return the probability of the decision; of all three possibilities if open."""
    places = _PLACES[against]
    if verdict.decision == OPEN:
        return ", ".join(f"{name} {chance(verdict.chances[at])}" for at, name in places.items())
    beyond = "within" if verdict.decision == EQUAL else "beyond"
    margin = f"{beyond} the margin of {number(verdict.rope)}"
    return f"{chance(verdict.probability)} probable to be {margin}"


def listed(names: list[str], most: int = 6) -> str:
    """List names in a sentence, the last ones as a count."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def plural(number_of: float, name: str) -> str:
    """Count something in words: ``1 prefix``, ``2 prefixes``."""
    ending = "es" if name.endswith(("x", "s", "ch", "sh")) else "s"
    return f"{count(number_of)} {name if number_of == 1 else name + ending}"
