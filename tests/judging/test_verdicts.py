import pytest

from polbayes.judging.verdicts import Verdict, stated, together, token, vote, why_not

# In the order disagree, neutral, agree, unrelated, refused.
FULL = '"neutral": 10, "disagree": {}, "unrelated": 0, "refused": 0'


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ('{"agree": 70, ' + FULL.format(20) + "}", (0.2, 0.1, 0.7, 0, 0)),
        ('```json\n{"Agree": "70", ' + FULL.format(20) + "}\n```\nDone.", (0.2, 0.1, 0.7, 0, 0)),
        # Rounded, and as shares.
        ('{"agree": 71, ' + FULL.format(20) + "}", (20 / 101, 10 / 101, 71 / 101, 0, 0)),
        (
            '{"agree": 0.5, "neutral": 0.5, "disagree": 0, "unrelated": 0, "refused": 0}',
            (0, 0.5, 0.5, 0, 0),
        ),
    ],
)
def test_stated(output, wanted):
    assert stated(output) == Verdict(pytest.approx(wanted))


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ('{"agree": 70, ' + FULL.format(50) + "}", "wrong_sum"),
        ('{"agree": 0, ' + FULL.format(0).replace("10", "0") + "}", "wrong_sum"),
        ('{"agree": 170, ' + FULL.format(0) + "}", "out_of_range"),
        ('{"agree": -5, ' + FULL.format(95) + "}", "out_of_range"),
        ('{"agree": "high", ' + FULL.format(0) + "}", "wrong_type"),
        ('{"agree": 70, ' + FULL.format(20), "truncated"),
        ('{"agree": 70, "agree": 60, ' + FULL.format(20) + "}", "conflicting"),
        ("", "no_object"),
    ],
)
def test_what_is_not_stated(output, status):
    assert stated(output) == Verdict(None, status)


def test_a_vote_is_all_on_its_label():
    assert vote('{"reason": "so", "stance": "neutral"}').probs == (0, 1, 0, 0, 0)
    assert vote("**Refused.**").probs == (0, 0, 0, 0, 1)
    assert vote('{"stance": 1}') == Verdict(None, "wrong_type")


def test_a_token_needs_half_of_the_mass():
    assert token([0.1, 0.1, 0.4, 0.1, 0.1]).probs == pytest.approx(
        (0.125, 0.125, 0.5, 0.125, 0.125)
    )
    assert token([0.1, float("nan"), 0.3, 0, 0]) == Verdict(None, "no_label")


def test_together_is_the_mean_of_as_many_as_are_needed():
    yes, no, lost = Verdict((0.0, 1.0)), Verdict((1.0, 0.0)), Verdict(None, "truncated")
    assert together([yes, lost, no, yes], 3) == pytest.approx((1 / 3, 2 / 3))
    assert together([yes, lost, no], 3) is None
    assert why_not([yes, lost, Verdict(None, "missing"), lost]) == "truncated"
