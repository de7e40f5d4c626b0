"""Numbers and texts as a reader meets them."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.fit.posterior.contrasts import summary_of
from polbayes.fit.posterior.verdicts import verdict_of
from polbayes.report.figures.style import label, labels, wrapped
from polbayes.report.numbers import chance, count, interval, number, share
from polbayes.report.prose import listed, plural, standing
from polbayes.report.visible import visible

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.824, "−0.82"), (0.0, "0.00"), (-0.001, "0.00"), (12.345, "12.35"), (NAN, "–")],
)
def test_numbers_have_a_true_minus_and_zero_has_no_sign(value: float, text: str) -> None:
    assert number(value) == text


def test_an_interval_with_a_missing_end_is_missing() -> None:
    assert interval(-1.104, 0.5) == "[−1.10, 0.50]"
    assert interval(NAN, 0.5) == "–"


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.0, "<\u00a01%"), (1.0, ">\u00a099%"), (0.5, "50%"), (0.014, "1%"), (NAN, "–")],
)
def test_no_probability_is_shown_as_certain(probability: float, text: str) -> None:
    assert chance(probability) == text


def test_shares_and_counts() -> None:
    assert share(0.1234) == "12.3%"
    assert count(1234567) == "1\u202f234\u202f567"
    assert count(NAN) == "–"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a⟨U+001B⟩[31mb"),
        ("a\x00b\x7f", "a⟨U+0000⟩b⟨U+007F⟩"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\ud800b", "a⟨U+D800⟩b"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("one\r\ntwo\rthree\tfour\n", "one\ntwo⟨U+000D⟩three\tfour\n"),
        ("é 漢 🙂", "é 漢 🙂"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_nothing_visible_is_hidden_or_unwritable(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown
    left = {unicodedata.category(c) for c in shown if c not in "\n\t\u200c\u200d"}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_a_long_label_keeps_both_ends() -> None:
    name = "meta-llama/Llama-3.1-405B-Instruct-Turbo-2024"
    short = label(name, 20)
    assert len(short) == 20
    assert short.startswith("meta-llama")
    assert short.endswith("2024")


def test_labels_that_differ_stay_apart() -> None:
    names = ["a" * 30 + "1" + "z" * 30, "a" * 30 + "2" + "z" * 30]
    drawn = labels(names, 20)
    assert len(set(drawn)) == 2
    assert all(len(text) <= 20 for text in drawn)
    assert labels(["x", "y", "x"]) == ["x", "y", "x"]


def test_labels_hold_no_formula_and_no_missing_glyph() -> None:
    assert label("$x_1$") == r"\$x_1\$"
    assert label("漢 a") == "□ a"
    assert label("two\nlines") == "two lines"


def test_wrapped_statements_are_short_enough() -> None:
    text = wrapped("word " * 60, width=30, lines=2)
    assert text.count("\n") == 1
    assert text.endswith("…")
    assert wrapped("", width=30, lines=2) == ""


def _verdict(draws: list[float], against: str = "centre") -> str:
    row = summary_of(np.array(draws), level=0.5, rope=0.1)
    return standing(verdict_of(row), 0.5, against)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("draws", "against", "said"),
    [
        (
            [-0.5, -0.4, -0.3, -0.2, 0.3],
            "centre",
            "leans left (lean −0.22, 50% interval −0.40 to −0.20; 80% probable to be beyond the "
            "margin of 0.10)",
        ),
        (
            [0.2, 0.2, 0.2, 0.2],
            "model",
            "is right of it (difference of lean 0.20, 50% interval 0.20 to 0.20; >\u00a099% "
            "probable to be beyond the margin of 0.10)",
        ),
        (
            [-0.1, 0.0, 0.0, 0.1, 0.3],
            "before",
            "did not move in practice (difference of lean 0.06, 50% interval 0.00 to 0.10; 80% "
            "probable to be within the margin of 0.10)",
        ),
        (
            [-0.2, -0.2, 0.0, 0.0, 0.2],
            "centre",
            "open: these data do not tell (lean −0.04, 50% interval −0.20 to 0.00; left 40%, "
            "centre 40%, right 20%)",
        ),
        ([NAN, 1.0], "centre", "has no estimate"),
    ],
)
def test_the_verdict_is_said_with_its_own_probability(
    draws: list[float], against: str, said: str
) -> None:
    assert _verdict(draws, against) == said


@pytest.mark.parametrize(
    ("number_of", "name", "text"),
    [
        (1, "prefix", "1 prefix"),
        (2, "prefix", "2 prefixes"),
        (1200, "answer", "1\u202f200 answers"),
    ],
)
def test_plurals(number_of: float, name: str, text: str) -> None:
    assert plural(number_of, name) == text


def test_lists_of_names() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcd"), most=2) == "a, b and 2 more"
