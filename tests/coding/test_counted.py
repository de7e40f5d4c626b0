"""Counts in place of single answers, through the importer."""

import numpy as np
import pytest
from test_importer import COLUMNS, SCALE, load

from polbayes.data.dataset import NOT_ASKED, STATUS
from polbayes.errors import UserError

COUNTED = {"columns": {**COLUMNS, "count": "n"}, **SCALE}
ROWS = [
    {"who": "one", "question": "q-1", "said": "Agree", "n": 3},
    {"who": "one", "question": "q-1", "said": "Disagree", "n": 2},
    {"who": "one", "question": "q-2", "said": "Agree", "n": 0},
    {"who": "two", "question": "q-2", "said": "Undecided", "n": 1},
]


def test_a_row_is_as_many_answers_as_it_counts(tmp_path):
    data = load(tmp_path, ROWS, **COUNTED)
    assert list(data["run"].values) == [1, 2, 3, 4, 5]
    stance = data["stance"].sel(variant="original", prefix="baseline")
    assert list(stance.sel(model="one", item="q-1").values) == [1, 1, 1, -1, -1]
    assert stance.sel(model="two", item="q-2", run=1) == 0
    asked = (data["status"] != NOT_ASKED).sum(("variant", "prefix", "run"))
    assert asked.sel(model="one").values.tolist() == [5, 0]
    assert asked.sel(model="two").values.tolist() == [0, 1]
    assert int((data["status"] == STATUS["ok"]).sum()) == 6


def test_the_fit_has_the_counts(tmp_path, monkeypatch):
    from polbayes.config.schema import AnalysisConfig
    from polbayes.fit.spec.cells import gather_cells
    from polbayes.fit.spec.spec import parse_spec

    spec = parse_spec(
        AnalysisConfig(response="agree", family="binomial", parts={"theta": "~ 0 + dimension"})
    )
    cells = gather_cells(load(tmp_path, ROWS, **COUNTED), spec)
    assert spec.family == "bernoulli"
    np.testing.assert_array_equal(cells.counts, [[2, 3]])


@pytest.mark.parametrize(
    ("changed", "config", "says"),
    [
        ({"n": "2.5"}, {}, "answers.csv: row 2: the count '2.5' is not a whole number"),
        ({"n": None}, {}, "answers.csv: row 2: the count '' is not a whole number"),
        ({"n": 40_000}, {}, "row 1: its cell has 40,003 answers; at most 32,767"),
        ({}, {"constants": {"run": 1}}, "imported.constants: 'run' is given beside 'count'"),
        ({"said": "maybe"}, {"strict_options": True}, "answers.csv: row 2: the answer 'maybe'"),
    ],
)
def test_what_cannot_be_counted(tmp_path, changed, config, says):
    rows = [ROWS[0], {**ROWS[1], **changed}, *ROWS[2:]]
    with pytest.raises(UserError, match=says):
        load(tmp_path, rows, **{**COUNTED, **config})


def test_no_answer_at_all(tmp_path):
    with pytest.raises(UserError, match="all counts are 0"):
        load(tmp_path, [{**ROWS[0], "n": 0}], **COUNTED)


def test_weighted_shares_become_counts_of_a_sample(tmp_path):
    """By hand: 200 times 0.6237, 0.1263 and 0.25 are 124.74, 25.26 and 50; the first gains."""
    said = ("a) Disagree", "b) Undecided", "c) Agree")
    rows = [
        {"who": "voters", "question": "q-1", "said": answer, "n": share, "of": 200}
        for answer, share in zip(said, (62.37, 12.63, 25.0), strict=True)
    ]
    given = {**COUNTED, "columns": {**COUNTED["columns"], "size": "of"}}
    data = load(tmp_path, rows, **given)
    coded = data["stance"] if "stance" in data else data["rating"]
    values = coded.sel(model="voters", item="q-1", variant="original").values.ravel()
    _, counts = np.unique(values, return_counts=True)
    assert counts.tolist() == [125, 25, 50]


@pytest.mark.parametrize(
    ("change", "says"),
    [({"n": -1}, "count '-1' is not a number"), ({"of": "many"}, "size 'many' is not a number")],
)
def test_shares_that_are_none_are_refused(tmp_path, change, says):
    row = {"who": "voters", "question": "q-1", "said": "c) Agree", "n": 0.5, "of": 200, **change}
    given = {**COUNTED, "columns": {**COUNTED["columns"], "size": "of"}}
    with pytest.raises(UserError, match=says):
        load(tmp_path, [row], **given)


def test_a_size_without_shares_is_refused(tmp_path):
    row = {"who": "voters", "question": "q-1", "said": "c) Agree", "of": 200}
    with pytest.raises(UserError, match="'size' is the size of a sample whose shares are 'count'"):
        load(tmp_path, [row], columns={**COLUMNS, "size": "of"}, **SCALE)
