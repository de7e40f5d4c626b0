"""Verdicts and counts in sentences, and what respondents are called in them."""

from dataclasses import dataclass

from polbayes.data import prose
from polbayes.fit.posterior.verdicts import EQUAL, LEFT, OPEN, RIGHT, Against, Verdict, in_words
from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.numbers import chance, count, number


@dataclass(frozen=True)
class Noun:
    """A noun; its text is the singular."""

    one: str
    many: str

    def __str__(self) -> str:
        """Return the singular, as sentences have it."""
        return self.one

    @property
    def a(self) -> str:
        """The singular with its article."""
        return f"{'an' if self.one[0] in 'aeiou' else 'a'} {self.one}"


MODEL = Noun("model", "models")


def reading_of_verdicts(
    level: float, rope: float, poles: Poles = POLITICAL, who: Noun = MODEL
) -> str:
    """Explain the words of `standing`."""
    return (
        "The verdicts are about the lean, the expected answer to a new statement like those "
        f"asked, {poles.scale}. Up to {number(rope)} from the centre "
        f"counts as the centre in practice; changing sides in {50 * rope:.3g} of 100 answers moves "
        f"it by that much. {who.a.capitalize()} “{in_words(LEFT, poles=poles)}” or "
        f"“{in_words(RIGHT, poles=poles)}” where its whole {level:.0%} "
        "interval lies beyond that margin, “stands at the centre in practice” where all of it lies "
        "inside (Kruschke 2018); otherwise these data do not tell."
    )


def standing(
    verdict: Verdict, level: float, against: Against = "centre", poles: Poles = POLITICAL
) -> str:
    """Describe a verdict with its interval and probability."""
    if not verdict.decision:
        return "has no estimate"
    what = "lean" if against == "centre" else "difference of lean"
    low, high = number(verdict.lower), number(verdict.upper)
    return (
        f"{in_words(verdict.decision, against, poles)} ({what} {number(verdict.estimate)}, "
        f"{level:.0%} interval {low} to {high}; {chances(verdict, against, poles)})"
    )


def chances(verdict: Verdict, against: Against = "centre", poles: Poles = POLITICAL) -> str:
    """Return the probability of the decision; of all three possibilities if open."""
    if verdict.decision == OPEN:
        places = _places(against, poles)
        return ", ".join(f"{name} {chance(verdict.chances[at])}" for at, name in places.items())
    beyond = "within" if verdict.decision == EQUAL else "beyond"
    margin = f"{beyond} the margin of {number(verdict.rope)}"
    return f"{chance(verdict.probability)} probable to be {margin}"


def _places(against: Against, poles: Poles) -> dict[str, str]:
    """Return words for a difference, by what it is a difference from."""
    ends = poles.negative, poles.positive
    low, high = {
        "centre": tuple(pole.word for pole in ends),
        "model": tuple(f"{pole.of} it" for pole in ends),
        "before": tuple(f"moved {pole.towards}" for pole in ends),
        "again": tuple(f"further {pole.towards}" for pole in ends),
    }[against]
    middle = {"centre": "centre", "model": "equal", "before": "not moved", "again": "alike"}
    return {LEFT: low, EQUAL: middle[against], RIGHT: high}


def listed(names: list[str], most: int = 6) -> str:
    """List names in a sentence, the last ones as a count."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def plural(number_of: float, name: str) -> str:
    """Count something in words, with the numbers of a report: ``1 prefix``, ``2 prefixes``."""
    return prose.plural(number_of, name, count)
