"""Words for the two ends of what is measured: left and right, or an instrument's own poles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polbayes.instrument.dimensions import Dimension, dimensions_of

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Pole:
    """Words for one end."""

    word: str  # "left", as in "the left side"
    noun: str  # "the left", as in "a statement of the left"
    towards: str  # "left", as in "leans left", "further left" and "always left"
    to: str  # "to the left", as in "moves it to the left"
    of: str  # "left of", as in "left of the centre"

    @property
    def leaning(self) -> str:
        """The pole as an adjective, such as ``left-leaning``."""
        return f"{self.word}-leaning"


@dataclass(frozen=True)
class Poles:
    """Words for both ends of a run, or of one of its dimensions, which then has a label."""

    negative: Pole
    positive: Pole
    label: str = field(default="", compare=False)
    own: Mapping[str, "Poles"] = field(default_factory=dict, compare=False)

    def on(self, dimension: str) -> "Poles":
        """Return the words for one dimension; for what is none, those of the run."""
        return self.own.get(dimension, self)

    def header(self, name: str) -> str:
        """Add to the header of estimates which side is negative, if it is one for all of them."""
        return name if self == _SIGNS else f"{name} (negative = {self.negative.word})"

    @property
    def scale(self) -> str:
        """Say what the ends of the scale of leans and biases are."""
        return f"from −1 (always {self.negative.towards}) to 1 (always {self.positive.towards})"


def poles_of(dimensions: Iterable[Dimension]) -> Poles:
    """Return the words for the ends of a run: of its dimensions if they share their poles.

    Where they do not, the ends of the run are the negative and the positive pole, and each
    dimension has its own.
    """
    own = {one.dimension: _of_one(one) for one in dimensions}
    first, *others = own.values()
    shared = replace(first, label="")
    return replace(_SIGNS if any(other != first for other in others) else shared, own=own)


def poles_in(data: "xr.Dataset") -> Poles:
    """Return the words for the ends of the dimensions that a response dataset declares."""
    return poles_of(dimensions_of(data))


def _of_one(one: Dimension) -> Poles:
    if one.political:
        return replace(POLITICAL, label=one.label)
    return Poles(_named(one.negative), _named(one.positive), one.label)


def _side(word: str) -> Pole:
    return Pole(word, f"the {word}", word, f"to the {word}", f"{word} of")


def _named(word: str, noun: str = "") -> Pole:
    towards = f"towards {noun or word}"
    return Pole(word, noun or word, towards, towards, f"on the {word} side of")


POLITICAL = Poles(_side("left"), _side("right"))
_SIGNS = Poles(_named("negative", "the negative pole"), _named("positive", "the positive pole"))
