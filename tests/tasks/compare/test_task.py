import html
import json
import os

import numpy as np
import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.data.dataset import STATUS, open_responses
from polbayes.data.files import one_writer
from polbayes.fit.fit import load_posterior
from tests.tasks.compare.conftest import TINY

ITEMS = tuple(f"q{k}" for k in range(8))

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")


@pytest.fixture(scope="module")
def runs(finished, answers, tmp_path_factory):
    """Two runs a month apart: model a has moved, b has not."""
    folder = tmp_path_factory.mktemp("runs")
    first = answers({"a": -1.0, "b": 0.8, "c": 0.0}, items=ITEMS, runs=16)
    second = answers({"a": 0.8, "b": 0.8}, items=ITEMS, seed=2, runs=16)
    apart = answers({"d": 0.5, "e": -0.5}, items=("w1", "w2", "w3", "w4"))
    made = {"jan": first, "feb": second, "apart": apart}
    return {n: finished(folder / n, data, notes=[f"noted of {n}."]) for n, data in made.items()}


def called(runs, names, folder, *more):
    given = ",".join(str(runs[name]) for name in names)
    return _main(["task=compare", f"runs=[{given}]", f"run_dir={folder}", *more])


@pytest.fixture(scope="module")
def compared(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared") / "both"
    assert called(runs, ("jan", "feb"), folder) == 0
    return folder


def test_the_folder_holds_the_joint_analysis(compared):
    data = open_responses(compared)
    assert data["model"].values.tolist() == ["a @ jan", "b @ jan", "c", "a @ feb", "b @ feb"]
    theta = load_posterior(compared / "posterior.nc")["theta"]
    assert theta["model"].values.tolist() == data["model"].values.tolist()
    record = json.loads((compared / "manifest.json").read_text(encoding="utf-8"))
    assert list(record["stages"]) == ["merge", "measure", "fit", "report"]


def test_another_process_has_the_folder(runs, tmp_path, capsys):
    with one_writer(tmp_path / "both"):
        assert called(runs, ("jan", "feb"), tmp_path / "both") == 2
    assert "another process is working in this folder" in capsys.readouterr().err
    assert list((tmp_path / "both").iterdir()) == []


def test_the_planted_drift_is_found(compared):
    drift = pd.read_csv(compared / "drift.csv")
    theta = drift[drift["quantity"] == "theta"].set_index(["before", "dimension"])
    for dimension in ("economic", "cultural"):
        moved, stayed = theta.loc[("a @ jan", dimension)], theta.loc[("b @ jan", dimension)]
        assert moved["lower"] > 0
        assert moved["p_right"] > 0.99
        assert abs(moved["estimate"] - 1.8) < 0.6
        assert stayed["lower"] < 0 < stayed["upper"]


def test_the_report_opens_with_what_was_compared(compared):
    page = (compared / "report" / "index.html").read_text(encoding="utf-8")
    assert "Comparison of jan and feb" in page
    assert page.index("What was compared") < page.index("Where the models stand")
    assert "on economic questions moved right" in page
    # Its fit is its own, but what the judges of the runs noted is in no other place.
    assert "jan: Read: noted of jan." in page
    assert "feb: Read: noted of feb." in page
    assert "Fitted: " not in page
    assert (compared / "report" / "figures" / "drift.png").is_file()
    assert (compared / "report" / "tables" / "comparison.csv").is_file()


@pytest.fixture(scope="module")
def again(finished, answers, tmp_path_factory):
    """One checkpoint with two seeds and other prefixes, which push its answers to the right."""
    folder = tmp_path_factory.mktemp("again")
    steers = {"first": {"b1": 0.0, "b2": -0.6}, "second": {"b1": 0.0, "b3": 0.9, "b4": 0.7}}
    made = {}
    for seed, (name, steer) in enumerate(steers.items()):
        texts = {prefix: f"Text of {prefix}." for prefix in steer}
        data = answers({"a": 0.0}, items=ITEMS, prefixes=texts, seed=seed, steer=steer, runs=8)
        parts = {**TINY, "steer": "~ (1 | model:prefix)"}
        made[name] = finished(folder / name, data, {"a": "causal"}, **parts)
    return made


def test_one_checkpoint_under_other_prefixes_has_not_moved(again, tmp_path, capsys):
    """The scores lie apart for sure, and so do the estimates, but for the prefixes."""
    assert called(again, ("first", "second"), tmp_path / "both") == 0
    said = capsys.readouterr().out.splitlines()
    data = open_responses(tmp_path / "both")
    leaning = (data["stance"] * data["keying"]).where(data["status"] == STATUS["ok"])
    one, other = (leaning.sel(model=f"a @ {name}") for name in ("first", "second"))
    error = np.sqrt(sum(float(each.std()) ** 2 / int(each.count()) for each in (one, other)))
    assert float(other.mean() - one.mean()) > 3 * error
    lean = pd.read_csv(tmp_path / "both" / "drift.csv").query("quantity == 'lean'")
    assert "right" in lean["decision"].tolist()
    assert said[0].startswith(
        "a @ first to a @ second: on economic questions answered further right ("
    )
    assert "moved" not in said[0]
    assert said[1].startswith(
        "a @ first and a @ second: They were not asked alike (prefixes: 2 and 3, 1 in common): "
    )
    assert "They are the same checkpoint: the model itself cannot have drifted" in said[1]
    page = (tmp_path / "both" / "report" / "index.html").read_text(encoding="utf-8")
    for line in said[:2]:
        assert html.escape(line.partition(": ")[2]) in page
    assert "moved left" not in page
    assert "moved right" not in page


def test_nothing_is_sampled_again(compared, runs, capsys):
    before = os.stat(compared / "posterior.nc").st_mtime_ns
    capsys.readouterr()
    assert called(runs, ("jan", "feb"), compared) == 0
    assert "finished before, nothing to do" in capsys.readouterr().err
    assert called(runs, ("jan", "feb"), compared, "title=Another") == 0
    assert "loaded, not sampled again" in capsys.readouterr().err
    assert os.stat(compared / "posterior.nc").st_mtime_ns == before
    assert "Another" in (compared / "report" / "index.html").read_text(encoding="utf-8")


def test_other_runs_in_its_folder_are_refused(compared, runs, capsys):
    assert called(runs, ("jan", "apart"), compared) == 2
    assert "holds a comparison of jan, feb" in capsys.readouterr().err
    assert called(runs, ("jan", "feb"), runs["apart"]) == 2
    assert "apart holds a run" in capsys.readouterr().err


def test_runs_without_a_link_are_put_side_by_side(runs, tmp_path):
    assert called(runs, ("jan", "apart"), tmp_path / "both") == 0
    assert not (tmp_path / "both" / "posterior.nc").exists()
    assert not (tmp_path / "both" / "drift.csv").exists()
    table = pd.read_csv(tmp_path / "both" / "comparison.csv")
    assert set(table["run"]) == {"jan", "apart"}
    assert "joint_estimate" not in table
    page = (tmp_path / "both" / "report" / "index.html").read_text(encoding="utf-8")
    assert "their scales are not linked" in page
    assert "apart: Read: noted of apart." in page
    assert "apart: Fitted: noted of apart." in page
    assert "Where the models stand" not in page


def test_the_folder_is_named_after_the_runs(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ",".join(str(runs[name]) for name in ("jan", "apart"))
    assert _main(["task=compare", f"runs=[{given}]"]) == 0
    assert (tmp_path / "outputs" / "compare_jan_apart" / "report" / "index.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["task=compare"], "runs: task=compare needs at least two finished runs"),
        (["task=compare", "runs=[none,nobody]"], "runs: none: no such folder"),
        (["+experiment=wvs_prefixes", "runs=[a,b]"], "runs: is for task=compare"),
    ],
)
def test_a_command_that_cannot_work_is_refused_in_one_sentence(
    arguments, says, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert _main(arguments) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_mixed_analysis_is_refused(runs, tmp_path, capsys):
    assert called(runs, ("jan", "feb"), tmp_path / "x", "analysis=mixed_stance") == 2
    assert "which a mixed model (its part is mu) does not have" in capsys.readouterr().err
