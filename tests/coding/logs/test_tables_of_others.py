"""Data sets of Hugging Face, tables of hibayes, and probabilities in any table."""

import subprocess
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
def test_data_sets_are_read_from_folders(tmp_path, saved, monkeypatch, capsys):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    datasets.enable_progress_bars()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    said = datasets.Dataset.from_dict({**ROWS, "about": [{"run": 3}, {"run": 4}]})
    if saved:
        datasets.DatasetDict({"test": said}).save_to_disk(tmp_path / "set")
    else:
        (tmp_path / "set").mkdir()
        said.to_parquet(tmp_path / "set" / "test.parquet")
    capsys.readouterr()
    place = ("+importer=huggingface", f"imported.path={tmp_path}/set", "imported.split=test")
    data = imported(*place, "+imported.columns.run=about.run")

    assert answers(data) == [["m", "a", "Yes."], ["m", "b", "No."]]
    assert to_frame(data)["run"].tolist() == [3, 4]
    assert capsys.readouterr().err == ""
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


# Two statements asked twice by Inspect, agreed with and not, and the table of its samples.
_SAMPLES = """
from inspect_ai import Task, eval
from inspect_ai.analysis import EvalInfo, EvalModel, SampleSummary, samples_df
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

def answer(messages, tools, tool_choice, config):
    said = "Yes" if "first" in messages[-1].text else "No"
    output = ModelOutput.from_content("mockllm/model", said)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

texts = {"a": "The first one.", "b": "The second."}
samples = [Sample(id=key, input=text, target="Yes") for key, text in texts.items()]
task = Task(name="mine", dataset=MemoryDataset(samples, name="mine"), scorer=match())
model = get_model("mockllm/model", custom_outputs=answer)
eval(task, model=model, epochs=2, log_dir="logs", display="none")
columns = [*SampleSummary, *EvalInfo, *EvalModel]
samples_df(logs="logs", columns=columns, quiet=True).to_parquet("samples.parquet")
"""


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed (nox -s interchange)")
    folder = tmp_path_factory.mktemp("samples")
    command = [sys.executable, "-c", _SAMPLES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "samples.parquet"


AGREED = [("a", 1, "agree"), ("a", 2, "agree"), ("b", 1, "disagree"), ("b", 2, "disagree")]


def stances(data):
    frame = to_frame(data, ["stance"], labels=True).sort_values(["item", "run"])
    return list(frame[["item", "run", "stance"]].itertuples(index=False, name=None))


def test_a_table_of_hibayes_comes_in_with_all_of_its_columns(samples, tmp_path):
    """The table is made as hibayes makes it, without hibayes, which no package index has.

    Like its ``get_sample_df``, this takes Inspect's own table of samples, puts the columns of its
    ``base_extractor`` in place of those of the same name, and writes it by pyarrow.
    """
    table = pd.read_parquet(samples)
    own = {
        "score": [{"C": 1.0, "I": 0.0}[value] for value in table["score_match"]],
        "target": table["target"],
        "model": [name.split("/")[-1] for name in table["model"]],
        "model_raw": table["model"],
        "dataset": "mine",
        "task": table["id"],
        "epoch": table["epoch"],
        "num_messages": table["message_count"],
        "log_path": table["log"],
    }
    table = table.drop(columns=table.columns.intersection(list(own))).assign(**own)
    path = tmp_path / "data.parquet"
    table.to_parquet(path, engine="pyarrow", compression="snappy")
    data = imported("+importer=hibayes", f"imported.path={path}")
    assert stances(data) == AGREED
    assert data["model"].values.tolist() == ["model"]


def test_a_table_of_hibayes_without_its_extractor_is_that_of_inspect(samples):
    columns = ("imported.columns.item=id", "imported.columns.rating=score_match")
    data = imported("+importer=hibayes", f"imported.path={samples}", *columns)
    assert stances(data) == AGREED
    assert data["model"].values.tolist() == ["mockllm/model"]


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
