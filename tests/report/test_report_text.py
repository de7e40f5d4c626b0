"""Numbers and texts as a reader meets them."""

import unicodedata

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.report.figures.style import label, labels, wrapped
from polbayes.report.numbers import chance, count, interval, number, share
from polbayes.report.prose import leaning, listed, summary
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
    assert count(1234567) == "1\u2009234\u2009567"
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


def _row(estimate: float, width: float, p_left: float) -> dict[str, float]:
    return {
        "estimate": estimate,
        "lower": estimate - width,
        "upper": estimate + width,
        "p_left": p_left,
    }


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (_row(-1.0, 0.5, 0.99), "leans left"),
        (_row(1.0, 0.5, 0.01), "leans right"),
        (_row(-1.0, 1.5, 0.85), "probably leans left"),
        (_row(1.0, 1.5, 0.15), "probably leans right"),
        (_row(0.1, 1.0, 0.45), "may stand on either side of the centre"),
        (_row(NAN, 1.0, NAN), "has no estimate"),
    ],
)
def test_words_follow_the_interval_and_the_probability(row: dict, words: str) -> None:
    assert leaning(row) == words


def test_the_summary_gives_the_probability_of_the_side_it_names() -> None:
    rows = pd.DataFrame(
        [
            {"dimension": "economic", **_row(-1.0, 0.25, 0.97)},
            {"dimension": "cultural", **_row(0.5, 1.0, 0.3)},
        ]
    )
    assert summary(rows, 0.9) == (
        "leans left on economic questions (−1.00, 90% interval −1.25 to −0.75; 97% probable to "
        "be left of the centre); may stand on either side of the centre on cultural questions "
        "(0.50, 90% interval −0.50 to 1.50; 70% probable to be right of the centre)."
    )


def test_lists_of_names() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcd"), most=2) == "a, b and 2 more"
