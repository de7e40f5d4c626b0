import errno
import os

import pytest

from polbayes.errors import UserError, check_known, of_system, unknown


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


def test_a_sentence_stays_one_line_and_shows_what_a_screen_would_obey():
    error = unknown("item", "a\nb\x1b[31m\ud800\u2028", ["a"])
    assert str(error) == "unknown item 'a\\nb\\x1b[31m\\ud800\\u2028'; known: a."


def test_a_long_text_in_a_sentence_is_cut_in_its_middle():
    said = str(UserError(f"mine.csv: unknown kind '{'x' * 100_000}'; known: a."))
    assert len(said) < 2500
    assert said.startswith("mine.csv: unknown kind 'xxx")
    assert said.endswith("xxx'; known: a.")
    assert " … " in said


def test_an_error_ends_in_what_is_to_be_added_to_a_command():
    error = UserError("No parser\n. Without one:", add=("a.b=[c,d]", "~e"))
    assert str(error) == r"No parser\n. Without one: 'a.b=[c,d]' '~e'"
    assert error.told(["polbayes", "name=a b"]) == (
        r"No parser\n. Without one: polbayes 'name=a b' 'a.b=[c,d]' '~e'"
    )
    assert UserError("No.").told(["polbayes"]) == "No."


def test_what_the_system_refuses_is_told_and_what_is_not_there_is_a_defect():
    def refused(number):
        return of_system(OSError(number, os.strerror(number), "mine.csv"))

    assert str(refused(errno.EACCES)) == "mine.csv: cannot be used (Permission denied)."
    assert str(refused(errno.ENAMETOOLONG)) == "mine.csv: cannot be used (File name too long)."
    assert refused(errno.ENOENT) is None
    assert of_system(OSError(errno.EACCES, "Permission denied")) is None
