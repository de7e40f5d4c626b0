"""Runs that asked the same models in different modes."""

import numpy as np
import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.errors import UserError
from polbayes.fit.fit import load_posterior
from polbayes.tasks.compare.align import align
from polbayes.tasks.compare.modes import in_modes

LEANINGS = {"a": -1.5, "b": 0.0, "c": 1.5}


@pytest.fixture
def two(answers, loaded):
    """The second run read probabilities, of the same models in another template."""
    first = answers(LEANINGS, runs=2)
    second = answers(LEANINGS, runs=1, seed=2)
    shape = second["status"].shape
    second["p_agree"] = (second["status"].dims, np.full(shape, 0.5, np.float32))
    second = second.assign_coords(template=("model", np.full(3, "other", dtype=object)))
    return [loaded("open", first), loaded("choice", second)]


def test_models_of_one_name_are_one_respondent(two):
    made = align(in_modes(two, ("open_ended", "forced_choice")), by_name=True)
    data = made.data
    assert data["model"].values.tolist() == ["a", "b", "c"]
    assert data["run"].values.tolist() == [1, 2, 3]
    assert data["mode"].values.tolist() == ["open_ended", "open_ended", "forced_choice"]
    assert set(data["template"].values) == {""}
    assert "p_agree" not in data
    assert made.linked
    assert made.snapshots == ()
    assert "they have the same name and were asked in several modes: a, b, c." in made.notes[0]
    for k, run in ((slice(0, 2), two[0]), (slice(2, 3), two[1])):
        mine, theirs = data["stance"].isel(run=k), run.responses["stance"]
        assert (mine.transpose(*theirs.dims).values == theirs.values).all()


@pytest.mark.parametrize("modes", [("one",), ("same", "same"), ("one", " ")])
def test_modes_that_do_not_fit_are_refused(two, modes):
    with pytest.raises(UserError, match="give the mode of each of the 2 runs, in their order"):
        in_modes(two, modes)


def test_runs_without_stances_are_refused(two):
    bare = two[0].responses.drop_vars("stance")
    two[0] = type(two[0])(**{**vars(two[0]), "responses": bare})
    with pytest.raises(UserError, match="open has no stances"):
        in_modes(two, ("open_ended", "forced_choice"))


@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_finished_runs_are_linked_by_their_models(answers, finished, tmp_path):
    items = tuple(f"q{k}" for k in range(10))
    for name, seed in (("open", 1), ("choice", 2)):
        finished(tmp_path / name, answers(LEANINGS, items=items, runs=3, seed=seed))
    runs = f"runs=[{tmp_path / 'open'},{tmp_path / 'choice'}]"
    folder = tmp_path / "both"
    more = ["sampler.draws=200", "sampler.tune=200", "sampler.chains=2", f"run_dir={folder}"]
    call = ["task=compare", runs, "modes=[open_ended,forced_choice]", "analysis=ideology_modes"]
    assert _main([*call, *more]) == 0
    posterior = load_posterior(folder / "posterior.nc")
    assert posterior["theta"]["model"].values.tolist() == ["a", "b", "c"]
    pairs = pd.read_csv(folder / "estimates" / "mode_pairs.csv")
    assert set(pairs["first"]) | set(pairs["second"]) == {"open_ended", "forced_choice"}
    page = (folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "Do the modes agree?" in page
