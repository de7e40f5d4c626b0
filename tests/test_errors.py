import pytest

from polbayes.errors import UserError, check_known, unknown


def test_a_close_name_is_suggested():
    error = unknown("prefix", "baselin", ["truth", "baseline"], where="prefixes.only")
    assert isinstance(error, UserError)
    assert str(error) == (
        "prefixes.only: unknown prefix 'baselin'; did you mean 'baseline'? known: baseline, truth."
    )


def test_a_far_name_is_not_suggested_and_the_place_is_optional():
    assert str(unknown("model", "zzz", ("left", "right"))) == (
        "unknown model 'zzz'; known: left, right."
    )


def test_nothing_known_is_said():
    assert str(unknown("model", "a", [])) == "unknown model 'a'; known: none."


def test_what_is_no_text_is_shown_too():
    assert str(unknown("run", 3, [1, 2])) == "unknown run '3'; known: 1, 2."


def test_the_first_name_that_is_not_known_is_refused():
    check_known("model", known=["left"])
    check_known("model", "left", "right", known={"left": 1, "right": 2}, where="models")
    with pytest.raises(UserError, match=r"^models: unknown model 'lift'; did you mean 'left'\?"):
        check_known("model", "right", "lift", "zzz", known=("left", "right"), where="models")
