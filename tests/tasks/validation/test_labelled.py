import numpy as np
import pandas as pd
import pytest

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.errors import UserError
from polbayes.tasks.validation.coded import code_labelled, coded_from
from polbayes.tasks.validation.labelled import merged_classes, read_labelled


@pytest.fixture
def table(tmp_path):
    def write(**columns):
        base = {
            "statement": ["Tea.", "Milk.", "Salt."],
            "response": ["I agree.", None, "No."],
            "label": ["Agree ", "refused", ""],
        }
        path = tmp_path / "t.csv"
        pd.DataFrame({**base, **columns}).to_csv(path, index=False)
        return path

    return write


def test_reading(table):
    path = table(side=["left", "+1", "0"], model=["=m", "n", "n"])
    found = read_labelled(path, columns={"keying": "side", "item": None}, merge={})
    assert found.statements == ["Tea.", "Milk."]
    assert found.responses == ["I agree.", ""]
    assert [found.classes.names[k] for k in found.labels] == ["agree", "refused"]
    assert found.keying.tolist() == [-1, 1]
    assert found.groups["model"].tolist() == ["=m", "n"]
    assert found.items is None
    assert found.n_unlabelled == 1


def test_merging():
    classes = merged_classes({"other": ["neutral", "refused"]})
    assert classes.names == ("disagree", "other", "agree", "unrelated")
    assert classes.of_stance == (0, 1, 2, 3, 1)
    assert classes.scores()[:3].tolist() == [-1, 0, 1]
    assert np.isnan(classes.scores()[3])
    assert merged_classes({"side": ["agree", "disagree"]}).scores() is None
    assert merged_classes({}).names == STANCE_CLASSES


@pytest.mark.parametrize(
    ("merge", "says"),
    [
        ({"x": ["agre"]}, "unknown class 'agre'; did you mean 'agree'"),
        ({"x": ["agree"], "y": ["agree"]}, "'agree' is there twice"),
        ({"neutral": ["refused"]}, "'neutral' is a class itself"),
        ({"x": "agree"}, "must be a list"),
        ({"x": []}, "must be a list"),
        ({"not_coded": ["refused"]}, "means that a coder abstains"),
    ],
)
def test_merging_what_cannot_be(merge, says):
    with pytest.raises(UserError, match=says):
        merged_classes(merge)


@pytest.mark.parametrize(
    ("columns", "given", "says"),
    [
        ({"label": ["agree", "agre", ""]}, {}, r"t\.csv: row 2: unknown label 'agre'; did you"),
        ({"label": ["other", "", ""]}, {}, r"row 1: unknown label 'other'.*validation\.merge\.N"),
        ({"label": ["", "", ""]}, {}, "no row has a label"),
        ({"statement": ["Tea.", "", "Salt."]}, {}, "row 2: has a label but no statement"),
        ({"keying": ["1", "2", "1"]}, {}, "row 2: the keying '2' is none of -1, 0, 1"),
        ({}, {"label": "lable"}, r"validation\.columns\.label: unknown column 'lable'; did you"),
        ({}, {"lable": "label"}, r"validation\.columns: unknown column 'lable'; did you mean"),
    ],
)
def test_bad_tables(table, columns, given, says):
    with pytest.raises(UserError, match=says):
        read_labelled(table(**columns), columns=given, merge={})


def test_a_missing_column_or_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("statement,answer,label\nTea.,Yes.,agree\n")
    with pytest.raises(UserError, match=r"no column 'response'; .* validation\.columns\.response="):
        read_labelled(path, columns={}, merge={})
    with pytest.raises(UserError, match=r"validation\.table: .*no\.csv: no such file; name a t"):
        read_labelled(tmp_path / "no.csv", columns={}, merge={})


def test_a_coder_sees_statements_and_answers_alone(table):
    answers = read_labelled(table(), columns={}, merge={})
    coded = code_labelled(answers, "lexical")
    assert coded.coded_as.tolist() == [answers.classes.names.index("agree"), -1]
    assert np.isnan(coded.confidence[1])
    assert coded.is_right.tolist() == [True, False]
    with pytest.raises(UserError, match="unknown coder 'lexicl'"):
        code_labelled(answers, "lexicl")
    with pytest.raises(ValueError, match="returned shape"):
        coded_from(np.zeros((1, 5)), answers, coder="mine")
