"""Verdicts in sentences."""

from polbayes.fit.posterior.verdicts import EQUAL, LEFT, OPEN, RIGHT, WORDS, Against, Verdict
from polbayes.report.numbers import chance, count, number

# Where the difference is, by what it is a difference from.
_PLACES = {
    "centre": {LEFT: "left", EQUAL: "centre", RIGHT: "right"},
    "model": {LEFT: "left of it", EQUAL: "equal", RIGHT: "right of it"},
    "before": {LEFT: "moved left", EQUAL: "not moved", RIGHT: "moved right"},
}


def reading_of_verdicts(level: float, rope: float) -> str:
    """Say what the words of `standing` stand for."""
    return (
        "The verdicts are about the lean, the expected answer to a new statement like those "
        f"asked, from −1 (always left) to 1 (always right). Up to {number(rope)} from the centre "
        f"counts as the centre in practice; changing sides in {50 * rope:.3g} of 100 answers moves "
        f"it by that much. A model “leans left” or “leans right” where its whole {level:.0%} "
        "interval lies beyond that margin, “stands at the centre in practice” where all of it lies "
        "inside (Kruschke 2018); otherwise these data do not tell."
    )


def standing(verdict: Verdict, level: float, against: Against = "centre") -> str:
    """Say what a verdict is, with its interval and how probable it is."""
    if not verdict.decision:
        return "has no estimate"
    what = "lean" if against == "centre" else "difference of lean"
    low, high = number(verdict.lower), number(verdict.upper)
    return (
        f"{WORDS[against][verdict.decision]} ({what} {number(verdict.estimate)}, {level:.0%} "
        f"interval {low} to {high}; {chances(verdict, against)})"
    )


def chances(verdict: Verdict, against: Against = "centre") -> str:
    """Give the probability of what was decided; of all three possibilities where it is open."""
    places = _PLACES[against]
    if verdict.decision == OPEN:
        return ", ".join(f"{name} {chance(verdict.chances[at])}" for at, name in places.items())
    beyond = "within" if verdict.decision == EQUAL else "beyond"
    margin = f"{beyond} the margin of {number(verdict.rope)}"
    return f"{chance(verdict.probability)} probable to be {margin}"


def listed(names: list[str], most: int = 6) -> str:
    """List names in a sentence, the later ones as a count."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def plural(number_of: float, name: str, many: str = "") -> str:
    """Count something in words: ``1 prefix``, ``2 prefixes``."""
    ending = "es" if name.endswith(("x", "s", "ch", "sh")) else "s"
    return f"{count(number_of)} {name if number_of == 1 else many or name + ending}"
