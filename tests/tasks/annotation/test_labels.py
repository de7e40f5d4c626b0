import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.errors import UserError
from polbayes.tasks.annotation.adjudicate import adjudicate
from polbayes.tasks.annotation.labels import LABELS, read_annotators

IDS = ["k-1", "k-2", "k-3"]


def sheet(folder, name, *rows):
    path = folder / name
    path.write_text("id,label\n" + "\n".join(rows) + "\n")
    return str(path)


def test_case_and_spaces_do_not_matter(tmp_path):
    one = sheet(tmp_path, "sheet_ann.csv", "k-2, Disagree ", "K-1,AGREE")
    two = sheet(tmp_path, "bob.csv", "k-1,", "k-3,refused")
    table = read_annotators([one, two], IDS)
    assert table.columns.tolist() == ["ann", "bob"]
    assert table["ann"].tolist() == ["agree", "disagree", None]
    assert table["bob"].tolist() == [None, None, "refused"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("k-2,agre", r"sheet_ann\.csv: row 3: unknown label 'agre'; did you mean 'agree'"),
        ("k-9,agree", r"sheet_ann\.csv: row 3: the id 'k-9' is not of this sample"),
        ("k-1,agree", r"sheet_ann\.csv: row 3: the id 'k-1' is already in row 2"),
    ],
)
def test_errors_say_file_row_and_label(tmp_path, row, says):
    with pytest.raises(UserError, match=says):
        read_annotators([sheet(tmp_path, "sheet_ann.csv", "k-1,agree", row)], IDS)


def test_sheets_that_are_empty_or_of_one_name(tmp_path):
    path = sheet(tmp_path, "ann.csv", "k-1,")
    with pytest.raises(UserError, match=r"annotation\.labels: .*ann\.csv: no row has a label"):
        read_annotators([path], IDS)
    path = sheet(tmp_path, "ann.csv", "k-1,agree")
    other = sheet(tmp_path, "sheet_ann.csv", "k-1,agree")
    with pytest.raises(UserError, match="two sheets are called 'ann'"):
        read_annotators([path, other], IDS)


def labels_of(rows, names="abc"):
    index = pd.Index([f"k-{n}" for n in range(len(rows))])
    return pd.DataFrame(rows, index=index, columns=list(names[: len(rows[0])]), dtype=object)


def test_majority_ties_and_the_third_person():
    rows = [
        ("agree", "agree", "neutral"),
        ("agree", "neutral", None),
        ("agree", "neutral", "disagree"),
        ("agree", None, None),
        (None, None, None),
        ("refused", "refused", None),
    ]
    found = adjudicate(labels_of(rows), {"k-1": "neutral", "k-0": "refused"})
    assert found["label"].tolist() == ["agree", "neutral", None, None, None, "refused"]
    assert found["by"].tolist() == [
        "majority",
        "adjudicated",
        "open",
        "open",
        "open",
        "majority",
    ]
    assert found["votes"].tolist()[:3] == [
        "agree, agree, neutral",
        "agree, neutral",
        "agree, disagree, neutral",
    ]


def test_a_single_annotator_decides_alone():
    found = adjudicate(labels_of([("agree",), (None,)]))
    assert found["by"].tolist() == ["majority", "open"]


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.sampled_from([*LABELS, None]), min_size=4, max_size=4), min_size=1, max_size=8
    ),
    st.permutations(range(4)),
)
def test_the_order_of_annotators_does_not_matter(rows, order):
    labels = labels_of(rows, "abcd")
    pd.testing.assert_frame_equal(adjudicate(labels), adjudicate(labels.iloc[:, list(order)]))
    for row, (label, by, _) in zip(rows, adjudicate(labels).to_numpy(), strict=True):
        votes = [x for x in row if x]
        others = [votes.count(x) for x in set(votes) - {label}]
        assert (by == "majority") == (label is not None)
        if label is not None:
            assert votes.count(label) > max(others, default=0)
