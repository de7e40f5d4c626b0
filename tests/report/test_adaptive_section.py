"""The report says how questions were chosen, why that ended, and what it biases."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from polbayes.report.blocks import Bullets
from polbayes.report.sections.adaptive import BIASED, adaptive
from polbayes.report.sections.bias import bias

ABOUT = {
    "questions": 400,
    "put": 100,
    "batches": [40, 60],
    "widths": [2.5, 1.25],
    "level": 0.9,
    "wanted": None,
    "ended": "the budget is spent",
    "theta": [],
}


def test_batches_and_the_end_are_shown(make_results):
    results = make_results()
    results.responses.attrs["adaptive"] = json.dumps(ABOUT)
    section = adaptive(results)
    said = " ".join(section.reading)
    assert "Of the 400 questions of the design 100 (25.0%) were put, in 2 batches" in said
    assert "Asking ended because the budget is spent." in said
    (bullets,) = (block for block in section.blocks if isinstance(block, Bullets))
    assert "60 questions, 100 so far; the widest 90% interval" in bullets.entries[1][1]
    assert [bold for bold, _ in bullets.entries] == ["Batch 1:", "Batch 2:"]
    assert "1.25" in bullets.entries[1][1]
    assert BIASED in bias(results).reading


def test_a_full_design_has_no_such_section(make_results):
    results = make_results()
    assert adaptive(results) is None
    assert BIASED not in bias(results).reading


def checked(make_results, *, lower, upper, verdict="good", wanted=None):
    """Return what is said if the quick interval of the one theta is from -1 to 1."""
    row = {"model": "a", "dimension": "economic"}
    final = pd.DataFrame([{**row, "estimate": 0.0, "lower": lower, "upper": upper, "p_left": 0.5}])
    results = replace(make_results(), verdict=verdict, tables={"theta": final})
    quick = [{**row, "lower": -1.0, "upper": 1.0}]
    results.responses.attrs["adaptive"] = json.dumps({**ABOUT, "theta": quick, "wanted": wanted})
    return adaptive(results).reading[-1]


def test_the_last_quick_fit_is_compared_with_the_final_one(make_results):
    said = checked(make_results, lower=-0.9, upper=1.1)
    assert "are 1.00 to 1.00 times as wide" in said
    assert said.endswith("at most 0.05 widths away from those.")


@pytest.mark.parametrize(("lower", "upper"), [(-1.5, 1.5), (-0.5, 0.5), (-0.5, 1.5)])
def test_a_quick_fit_that_was_off_is_said(make_results, lower, upper):
    assert "The quick fit was not near it" in checked(make_results, lower=lower, upper=upper)


def test_a_final_fit_that_is_quick_checks_nothing(make_results):
    said = checked(make_results, lower=-1.5, upper=1.5, verdict="preview")
    assert "The final fit is a quick one, too" in said


def test_a_wanted_width_that_is_not_reached_is_said(make_results):
    assert "wider than the 1.9 that" in checked(make_results, lower=-1, upper=1, wanted=1.9)
    assert "wanted" not in checked(make_results, lower=-1, upper=1, wanted=2.5)
