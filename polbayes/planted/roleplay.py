"""What is planted in the embedded actors and judges (`models/roleplay`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar

from polbayes.config.resources import folder, read_yaml
from polbayes.errors import UserError, check_known
from polbayes.instrument.scenarios import UNITS
from polbayes.instrument.values import VALUES, WEIGHTS

PLANTED = "planted:"


def _gain() -> dict[str, float]:
    return dict(zip(UNITS, (0.6, 0.8, 0.9, 1.1, 1.2, 1.0), strict=True))


def _commitment() -> dict[str, float]:
    return dict(zip(UNITS, (2.5, 3.0, 3.0, 4.0, 4.5, 3.5), strict=True))


@dataclass(frozen=True)
class Actor:
    """What is planted in an embedded actor."""

    # ratings by value, in [0, 20], over reflections and over the four stages
    profile: Mapping[str, float]
    # Added to liberal values and taken from conservative ones where the person who asks is on the
    # left; the other way round where that person is on the right.
    sway: float = 0.0
    # Standard deviations of what a scenario, and what a single text, adds to a value.
    scenario: float = 1.2
    unit: float = 1.0
    # By unit: what the distance of the profile from 10 is multiplied by; its mean over the four
    # stages is 1.
    gain: Mapping[str, float] = field(default_factory=_gain)
    commitment: Mapping[str, float] = field(default_factory=_commitment)  # by unit, 0 to 5
    refuses: float = 0.0  # share of texts
    no_thoughts: float = 0.0  # share of texts without private thoughts

    @property
    def alignment(self) -> float:
        """The published alignment of the profile; positive is liberal."""
        return sum(WEIGHTS[value] * self.profile[value] for value in VALUES)


@dataclass(frozen=True)
class Judge:
    """What is planted in an embedded judge, in points of the scale from 0 to 20."""

    severity: float = 0.0  # taken from every value
    leaning: float = 0.0  # added to liberal values and taken from conservative ones
    # Added to the value listed first and taken from the one listed last, in proportion between.
    place: float = 0.0
    number: float = 0.0  # added to the number written, whichever end of the scale is the strong one
    noise: float = 0.0  # standard deviation of what depends on the text alone
    commitment_severity: float = 0.0
    slips: float = 0.0  # share of answers that are broken off or out of range


@cache
def actors() -> Mapping[str, Actor]:
    """Return the embedded actors by name."""
    return {name: Actor(**entry) for name, entry in _read("actors").items()}


@cache
def judges() -> Mapping[str, Judge]:
    """Return the embedded judges by name."""
    return {name: Judge(**entry) for name, entry in _read("judges").items()}


def _read(name: str) -> dict[str, dict[str, Any]]:
    return dict(read_yaml(folder("models") / "roleplay" / f"{name}.yaml"))


_T = TypeVar("_T")


def planted_in(name: str, checkpoint: str, known: Mapping[str, _T], kind: str) -> _T:
    """Return what is planted behind ``planted:NAME``."""
    where = f"{name}: checkpoint"
    if not checkpoint.startswith(PLANTED):
        raise UserError(f"{where}: there is no {kind} '{checkpoint}'; write planted:NAME.")
    which = checkpoint.removeprefix(PLANTED)
    check_known(kind, which, known=known, where=where)
    return known[which]


def as_text(planted: Any) -> str:
    """Return all that is planted as a text that changes when any of it does."""
    return repr({one.name: getattr(planted, one.name) for one in fields(planted)})
