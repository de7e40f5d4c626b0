"""Data sets of Hugging Face, tables of hibayes, and probabilities in any table."""

import sys

import numpy as np
import pandas as pd
import pytest

from polbayes.coding.importer import import_table
from polbayes.config.compose import compose
from polbayes.data.dataset import to_frame
from polbayes.errors import UserError

ROWS = {"model": ["m", "m"], "item": ["a", "b"], "answer": ["Yes.", "No."]}


def imported(*overrides):
    config, _ = compose(["name=x", *overrides])
    return import_table(config.imported, instruments=[])


def answers(data):
    return to_frame(data, ["completion"])[["model", "item", "completion"]].values.tolist()


@pytest.mark.parametrize("saved", [True, False])
def test_data_sets_are_read_from_folders(tmp_path, saved, monkeypatch):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    said = datasets.Dataset.from_dict({**ROWS, "about": [{"run": 3}, {"run": 4}]})
    if saved:
        datasets.DatasetDict({"test": said}).save_to_disk(tmp_path / "set")
    else:
        (tmp_path / "set").mkdir()
        said.to_parquet(tmp_path / "set" / "test.parquet")
    place = ("+importer=huggingface", f"imported.path={tmp_path}/set", "imported.split=test")
    data = imported(*place, "+imported.columns.run=about.run")

    assert answers(data) == [["m", "a", "Yes."], ["m", "b", "No."]]
    assert to_frame(data)["run"].tolist() == [3, 4]
    with pytest.raises(UserError, match=r"split"):
        imported(*place[:2], "imported.split=tset")


def test_a_table_needs_no_datasets(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    pd.DataFrame(ROWS).to_parquet(tmp_path / "set.parquet")
    data = imported("+importer=huggingface", f"imported.path={tmp_path}/set.parquet")
    assert answers(data) == [["m", "a", "Yes."], ["m", "b", "No."]]
    with pytest.raises(UserError, match=r"pip install 'polbayes\[datasets\]'"):
        imported("+importer=huggingface", f"imported.path={tmp_path}")


def test_thinking_before_an_answer_is_kept_apart(tmp_path):
    said = [
        "<think>I strongly disagree, or do I?</think>\n\nI agree.",
        "I strongly disagree, but then",
        "<think>I agree, or",
        "What I think is that I agree.\n</think> I disagree.",
    ]
    rows = {"model": "m", "item": list("abcd"), "answer": said}
    pd.DataFrame(rows).to_parquet(tmp_path / "set.parquet")
    data = imported("+importer=huggingface", f"imported.path={tmp_path}/set.parquet")
    frame = to_frame(data, ["completion", "reasoning"])
    assert frame["completion"].tolist() == ["I agree.", said[1], "", "I disagree."]
    assert frame["reasoning"].tolist() == [
        "I strongly disagree, or do I?",
        "",
        "I agree, or",
        "What I think is that I agree.",
    ]
    assert "3 of 4 answers began with thinking, which was kept apart." in data.attrs["notes"]
    assert "1 of 4 rows has no answer." in data.attrs["notes"]


def test_inspect_that_is_not_installed_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    (tmp_path / "a.eval").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"pip install 'polbayes\[inspect\]'"):
        imported("+importer=inspect", f"imported.path={tmp_path}")


def test_the_scores_of_hibayes_are_agreeing_or_not(tmp_path):
    table = {
        "score": [1.0, 0.0, 0.0],
        "model": ["m", "m", "n"],
        "task": ["a", "a", "a"],
        "epoch": [1, 2, 1],
        "dataset": ["d", "d", "d"],
        "num_messages": [2, 2, 2],
    }
    pd.DataFrame(table).to_parquet(tmp_path / "data.parquet")
    data = imported("+importer=hibayes", f"imported.path={tmp_path}/data.parquet")
    frame = to_frame(data, ["stance"], labels=True)
    said = frame[["model", "run", "stance"]].values.tolist()
    assert said == [["m", 1, "agree"], ["m", 2, "disagree"], ["n", 1, "disagree"]]


COLUMNS = "{model: m, item: i, p_agree: a, p_disagree: d}"


def probabilities(tmp_path, agree, **more):
    table = {"m": "m", "i": [str(n) for n, _ in enumerate(agree)], "a": agree, "d": 0.1, **more}
    pd.DataFrame(table).to_csv(tmp_path / "p.csv", index=False)
    place = f"+imported.path={tmp_path}/p.csv"
    return imported("+imported.format=table", place, f"+imported.columns={COLUMNS}")


def test_probabilities_in_a_table_are_taken_as_they_are(tmp_path):
    data = probabilities(tmp_path, [0.25, None, 1])
    np.testing.assert_allclose(data["p_agree"].values.ravel(), [0.25, np.nan, 1])
    assert data["option"].values.tolist() == ["agree", "disagree"]
    assert data.attrs["notes"] == "1 of 3 rows has no answer."


@pytest.mark.parametrize("wrong", ["1.2", "-0.1", "often", "inf", "nan"])
def test_what_is_no_probability_is_an_error(tmp_path, wrong):
    with pytest.raises(UserError, match=rf"row 2: p_agree '{wrong}' is not a probability"):
        probabilities(tmp_path, ["0.5", wrong])


def test_a_table_without_any_probability_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no row has probabilities of the options"):
        probabilities(tmp_path, [None, None])
