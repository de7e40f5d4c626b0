import sys

import pytest

from polbayes.probing.progress import Counts, Meter, duration, progress_line


def answer(status="ok", **more):
    return {"cell": ["i", "v", "p", 1], "prompt": "x", "status": status, **more}


def test_counts_of_open_answers():
    counts = Counts()
    records = [answer(), answer("refused"), answer("invalid"), answer("error"), answer()]
    assert counts.add([*records, {"note": "so"}, {"tokens": [3]}]) == 5
    assert counts == Counts(answered=5, usable=2.0, refused=1, invalid=1, errors=1)
    assert counts.in_words() == "40.0 % with a text, 1 refused, 1 invalid, 1 error"
    assert Counts().in_words() == "no answers yet"
    cut = Counts()
    cut.add([answer(text="I think", truncated=True), answer(text="I agree.", truncated=False)])
    assert (cut + cut).in_words() == "100.0 % with a text, 2 cut off"


def test_where_probabilities_are_read_the_mass_that_says_something_is_usable():
    counts = Counts()
    counts.add([answer(mass=[0.5, 0.25, 0.125]), answer(mass=[0.25, None, 0.5])], (1, -1, 0))
    assert counts.usable == 0.75 + 0.25
    assert (counts + counts).usable == 2.0
    assert (counts + counts).answered == 4
    # Of what failed no mass is known, and it is said apart.
    counts.add([answer("error"), answer("refused")], (1, -1, 0))
    assert counts.in_words() == "50.0 % of the mass agrees or disagrees, 1 refused, 1 error"
    assert (counts + counts).in_words() == (
        "50.0 % of the mass agrees or disagrees, 2 refused, 2 errors"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (99, "99 s"), (101, "2 min"), (3600, "1 h 0 min"), (200_000, "2 d 7 h")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_line_says_how_far_how_fast_and_how_long_still():
    line = progress_line(250, 1000, 2.5, Counts(answered=250, usable=245.0, errors=5))
    assert line == "250 of 1,000 (25 %), 2.5/s, 5 min left; 98.0 % with a text, 5 errors"
    assert progress_line(0, 1000, None, Counts()) == "0 of 1,000 (0 %); no answers yet"
    assert "left" not in progress_line(1000, 1000, 2.5, Counts(answered=1000, usable=1000.0))


def test_without_a_terminal_there_is_a_line_now_and_then_and_one_at_the_end(capsys):
    now = [0.0]
    with Meter("m", 100, 10, clock=lambda: now[0]) as meter:
        for now[0] in (10.0, 20.0, 30.0, 40.0):
            meter.add([answer() for _ in range(20)])
    out, err = capsys.readouterr()
    assert out == ""
    # 60 new answers in 30 seconds, of the 90 that were left.
    assert err.splitlines() == [
        "probe: m: 70 of 100 (70 %), 2/s, 15 s left; 100.0 % with a text",
        "probe: m: 90 of 100 (90 %), 2/s, 5 s left; 100.0 % with a text",
    ]


def test_nothing_is_said_where_nothing_was_asked_or_nothing_is_to_be_shown(capsys):
    with Meter("m", 100, 100):
        pass
    with Meter("m", 100, 0, show=False) as meter:
        meter.add([answer()])
    assert capsys.readouterr() == ("", "")


def test_in_a_terminal_there_is_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Meter("m", 2, 1) as meter:
        meter.add([answer("error")])
    err = capsys.readouterr().err
    assert "m: 100%" in err
    assert "0.0 % with a text, 1 error" in err
    assert "probe:" not in err
