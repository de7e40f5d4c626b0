from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from polbayes.report.blocks import Bullets, Fold, Grid, Picture
from polbayes.report.page import sections
from polbayes.report.sections.comparison import comparison
from polbayes.report.terminal import answer_lines, as_values

RUNS = pd.DataFrame(
    {
        "run": ["jan", "feb"],
        "folder": ["outputs/jan", "outputs/feb"],
        "title": ["One", "Two"],
        "instruments": ["toy", "toy"],
        "models": [3, 1],
        "items": [6, 6],
        "answers": [100, 50],
        "asked": ["2026-01-01T12:00:00", "2026-02-01T09:30:59+00:00"],
        "verdict": ["good", "good"],
    }
)


def drift(decision="left", estimate=-0.5):
    """One snapshot after another; in the lean 5 % are right, 35 % inside and 60 % left."""
    return pd.DataFrame(
        {
            "before": "a @ jan",
            "after": "a @ feb",
            "quantity": ["lean", "theta", "acquiescence"],
            "dimension": ["economic", "economic", ""],
            "estimate": estimate,
            "sd": 0.2,
            "lower": estimate - 0.4,
            "upper": estimate + 0.4,
            "p_left": 0.7,
            "p_right": 0.3,
            "rope": [0.1, np.nan, np.nan],
            "p_left_of_rope": [0.6, np.nan, np.nan],
            "p_inside": [0.35, np.nan, np.nan],
            "p_right_of_rope": [0.05, np.nan, np.nan],
            "decision": [decision, None, None],
            "level": 0.9,
        }
    )


def estimates(*, linked):
    table = pd.DataFrame(
        {
            "respondent": ["a @ jan", "a @ feb"],
            "run": ["jan", "feb"],
            "model": ["a", "a"],
            "quantity": ["theta", "theta"],
            "dimension": ["economic", "economic"],
            "estimate": [0.1, 0.2],
            "lower": [0.0, 0.1],
            "upper": [0.2, 0.3],
        }
    )
    if linked:
        table = table.assign(joint_estimate=0.15, joint_lower=0.05, joint_upper=0.25)
    return table


@pytest.fixture
def compared(make_results):
    def make(*, linked=True, moved=("left", -0.5), **changes):
        tables = {"compared_runs": RUNS, "comparison": estimates(linked=linked)}
        if linked:
            tables = {**make_results().tables, **tables, "drift": drift(*moved)}
        return make_results(tables=tables, **changes)

    return make


def test_the_runs_come_first_and_notes_are_said_once_on_the_front(compared):
    results = compared()
    runs, moved, *_ = comparison(results).blocks
    assert [row[0] for row in runs.rows] == ["jan", "feb"]
    assert [row[6] for row in runs.rows] == ["2026-01-01 12:00", "2026-02-01 09:30"]
    assert isinstance(moved, Bullets)
    assert "One note." in results.notes
    assert "One note." not in str(moved.entries)
    assert sections(results)[0][0].id == "comparison"


@pytest.mark.parametrize(
    ("moved", "words"),
    [
        (
            ("right", 1.0),
            "on economic questions moved right (difference of lean 1.00, 90% interval 0.60 to "
            "1.40; 5% probable to be beyond the margin of 0.10).",
        ),
        (("left", -0.9), "on economic questions moved left (difference of lean −0.90"),
        (("equal", 0.0), "on economic questions did not move in practice"),
        (
            ("open", -0.2),
            "on economic questions open: these data do not tell (difference of lean −0.20, 90% "
            "interval −0.60 to 0.20; moved left 60%, not moved 35%, moved right 5%).",
        ),
    ],
)
def test_drift_is_said_as_it_was_decided(compared, moved, words):
    entries = comparison(compared(moved=moved)).blocks[1].entries
    assert entries[0][0] == "a @ jan to a @ feb:"
    assert entries[0][1].startswith(words)


@pytest.mark.parametrize(
    ("moved", "words"),
    [
        (("right", 1.0), "on economic questions answered further right (difference of lean 1.00,"),
        (("equal", 0.0), "on economic questions answered alike in practice (difference of lean"),
        (("open", -0.2), "further left 60%, alike 35%, further right 5%)."),
    ],
)
def test_what_was_not_asked_alike_has_not_moved_for_sure(compared, moved, words):
    """What else it may come from is said once of all pairs that it holds of."""
    table = drift(*moved).assign(note="They were not asked alike.")
    other = table.assign(before="b @ jan", after="b @ feb")
    third = drift(*moved).assign(before="c @ jan", after="c @ feb", note=float("nan"))
    results = compared()
    tables = {**results.tables, "drift": pd.concat([table, other, third])}
    entries = comparison(replace(results, tables=tables)).blocks[1].entries
    assert [which for which, _ in entries] == [
        *(f"{name} @ jan to {name} @ feb:" for name in "abc"),
        "a @ jan and a @ feb; b @ jan and b @ feb:",
    ]
    assert [words in said for _, said in entries] == [True, True, False, False]
    assert entries[-1][1] == "They were not asked alike."
    assert answer_lines(replace(results, tables=tables))[:4] == [" ".join(e) for e in entries]
    values = as_values(replace(results, tables=tables))["moved"]
    assert [value["note"] for value in values] == [*["They were not asked alike."] * 2, None]
    assert not as_values(replace(results, tables=tables, verdict="bad"))["moved"]


def test_drift_has_a_figure_of_theta_and_a_table_of_all(compared):
    _, _, picture, table, fold = comparison(compared()).blocks
    assert isinstance(picture, Picture)
    (axes,) = picture.figure.axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a @ jan → a @ feb"]
    assert isinstance(table, Fold)
    (grid,) = table.blocks
    assert isinstance(grid, Grid)
    assert len(grid.rows) == 3
    assert grid.posterior
    assert isinstance(fold, Fold)


def test_a_bad_verdict_says_nothing_in_words(compared):
    blocks = comparison(compared(verdict="bad")).blocks
    assert isinstance(blocks[1], Picture)


def test_without_a_link_there_is_no_map_and_nothing_is_missed(compared):
    results = compared(linked=False)
    present, absent = sections(results)
    assert "must not be compared" in present[0].reading[0]
    assert isinstance(present[0].blocks[-1], Grid)
    assert "leaning" not in [section.id for section in present]
    assert not {"Where the models stand", "The order of the models", "The model"} & set(absent)


def test_the_report_of_one_run_has_no_such_section(make_results):
    assert comparison(make_results()) is None


def test_the_picture_of_differences_does_not_say_that_anybody_moved(compared):
    section = comparison(compared(moved=("equal", 0.0)))
    (picture,) = (block for block in section.blocks if isinstance(block, Picture))
    (axes,) = picture.figure.axes
    assert "moved" not in f"{picture.caption} {axes.get_xlabel()}"
    assert axes.get_xlabel() == "later snapshot further left (negative) or right"
