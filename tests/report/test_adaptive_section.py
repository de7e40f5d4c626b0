"""The report says how questions were chosen, why that ended, and what it biases."""

import json

from polbayes.report.blocks import Bullets
from polbayes.report.sections.adaptive import BIASED, adaptive
from polbayes.report.sections.bias import bias

ABOUT = {
    "questions": 400,
    "put": 100,
    "batches": [40, 60],
    "widths": [2.5, 1.25],
    "level": 0.9,
    "ended": "the budget is spent",
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
    assert "1.25" in bullets.entries[1][1]
    assert BIASED in bias(results).reading


def test_a_full_design_has_no_such_section(make_results):
    results = make_results()
    assert adaptive(results) is None
    assert BIASED not in bias(results).reading
