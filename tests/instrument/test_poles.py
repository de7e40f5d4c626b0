"""The words for the two ends of a run."""

import pytest

from polbayes.instrument.dimensions import ECONOMIC_AND_CULTURAL, Dimension
from polbayes.instrument.poles import POLITICAL, poles_of

CARE = Dimension("care", "Care", "harm", "care")
WORLD = Dimension("world", "World", "nation", "globe")


def words(poles):
    low = poles.negative
    return low.word, low.noun, low.towards, low.to, low.of, low.leaning


def test_politics_goes_from_left_to_right():
    assert poles_of(ECONOMIC_AND_CULTURAL) == POLITICAL
    assert words(POLITICAL) == (
        *("left", "the left", "left"),
        *("to the left", "left of", "left-leaning"),
    )
    assert POLITICAL.header("Bias") == "Bias (negative = left)"
    assert POLITICAL.scale == "from −1 (always left) to 1 (always right)"
    assert POLITICAL.on("total") == POLITICAL


@pytest.mark.parametrize("dimensions", [[CARE], [CARE, Dimension("all", "All", "harm", "care")]])
def test_dimensions_that_share_their_poles_have_these(dimensions):
    poles = poles_of(dimensions)
    assert words(poles) == (
        *("harm", "harm", "towards harm"),
        *("towards harm", "on the harm side of", "harm-leaning"),
    )
    assert poles.header("Bias") == "Bias (negative = harm)"
    assert poles.on("care") == poles.on("total") == poles


@pytest.mark.parametrize("other", [WORLD, ECONOMIC_AND_CULTURAL[0]])
def test_dimensions_with_different_poles_have_their_own_and_the_run_has_signs(other):
    poles = poles_of([CARE, other])
    assert words(poles) == (
        *("negative", "the negative pole", "towards the negative pole"),
        *("towards the negative pole", "on the negative side of", "negative-leaning"),
    )
    assert poles.header("Bias") == "Bias"
    assert poles.on("care") == poles_of([CARE])
    assert poles.on(other.dimension) == poles_of([other])
    assert poles.on("total") == poles
    assert (poles.on("care").label, poles.label) == ("Care", "")


def test_poles_that_are_called_by_their_sign_are_named():
    own = Dimension("mood", "Mood", "negative", "positive")
    assert poles_of([own]).header("Bias") == "Bias (negative = negative)"
