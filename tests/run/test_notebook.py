"""Runs from Python: the same as from the command line."""

import subprocess
import sys
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polbayes as pb
from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.data.groups import group_of
from polbayes.errors import UserError
from polbayes.run.notebook import _as_overrides
from polbayes.tasks.compare.finished import load_finished
from polbayes.tasks.compare.tables import run_table

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

SMALL = {
    "respondents": "simulated",
    "models": ["left", "right", "yes_sayer"],
    "items": ["wvs-01", "wvs-02", "wvs-14", "wvs-15"],
    "prefixes": {"only": ["baseline", "likert"]},
    "sampler": {"chains": 2, "tune": 150, "draws": 200},
    "seed": 3,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "it's a, [run]"
    return pb.run("wvs_prefixes", progress=False, run_dir=folder, **SMALL)


def test_the_import_is_light():
    code = (
        "import sys, polbayes; assert polbayes.__version__\n"
        "heavy = {'numpy', 'pandas', 'xarray', 'arviz', 'hydra', 'polbayes.run'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_there_is():
    assert {"run", "open", "compare", "Run"} <= set(dir(pb))
    assert callable(pb.run)
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        pb.runs  # noqa: B018


@pytest.mark.parametrize(
    "path",
    ["plain", "a b", "it's", 'say "so"', "a,b", "[x]", "a=b", "x$y", "back\\slash", "tail\\"],
)
def test_values_reach_the_config_as_they_are(path):
    given = list(_as_overrides({**SMALL, "run_dir": Path(path), "title": f"{path} {{1}}"}))
    config, _ = compose(["+experiment=wvs_prefixes", *given])
    assert config.run_dir == path
    assert config.title == f"{path} {{1}}"
    assert config.models == SMALL["models"]
    assert config.prefixes.only == ["baseline", "likert"]
    assert (config.sampler.draws, config.seed) == (200, 3)


def test_other_kinds_of_values():
    given = list(
        _as_overrides({"items": None, "analysis": {"level": 0.8}, "judging": {"schema": False}})
    )
    config, _ = compose(["+experiment=wvs_prefixes", *given])
    assert config.items is None
    assert config.analysis.level == 0.8
    assert config.judging.schema is False


def test_a_run_is_an_object(run):
    assert run.responses.sizes["model"] == 3
    for name in ("posterior", "log_likelihood", "posterior_predictive"):
        assert group_of(run.posterior, name).sizes["draw"] > 0
    theta = run.table("theta")
    assert isinstance(theta, pd.DataFrame)
    assert set(theta["model"]) == set(SMALL["models"])
    assert {"theta", "bias", "flips"} <= set(run.tables)
    assert run.report.is_file()
    assert run.config.seed == 3


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="says what is open on Linux alone")
def test_no_file_stays_open(run):
    again = pb.open(run.folder)
    assert again.posterior is not None
    assert again.responses is not None
    held = {str(fd.resolve()) for fd in Path("/proc/self/fd").iterdir()}
    assert not {path for path in held if path.startswith(str(run.folder.resolve()))}


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_arviz_checks_the_posterior_without_further_ado(run):
    import arviz as az

    found = run.posterior
    drawn, seen = (group_of(found, name) for name in ("posterior_predictive", "observed_data"))
    assert drawn.sizes["cell"] == seen.sizes["cell"]
    if hasattr(az, "plot_ppc"):
        (axes,) = np.ravel(az.plot_ppc(found, num_pp_samples=10, random_seed=1))
        assert len(axes.get_lines()) >= 10
        assert np.isfinite(az.loo(found, var_name="answers").elpd_loo)
    else:  # since ArviZ 1
        drawing = az.plot_ppc_dist(found, num_samples=10, backend="matplotlib").viz["figure"].item()
        assert len(drawing.axes[0].get_lines()) >= 10
        assert np.isfinite(az.loo(found, var_name="answers").elpd)


def test_figures_are_those_of_the_report(run):
    from matplotlib.figure import Figure

    assert {"leaning_map", "single_prompt"} <= set(dir(run.plot))
    assert isinstance(run.plot.leaning_map(), Figure)
    with pytest.raises(AttributeError, match="no figure 'leaning_maps'"):
        run.plot.leaning_maps  # noqa: B018


def test_a_figure_can_be_narrowed_as_in_arviz(run):
    one, two = SMALL["models"][:2]
    whole, part = run.plot.leaning_forest(), run.plot.leaning_forest(coords={"model": [one, two]})
    names = [
        {label.get_text() for axes in f.axes for label in axes.get_yticklabels()}
        for f in (whole, part)
    ]
    assert set(SMALL["models"]) <= names[0]
    assert names[1] & set(SMALL["models"]) == {one, two}
    assert run.plot.bias(figsize=(5, 2)).get_size_inches().tolist() == [5, 2]
    economic = run.plot.ranks(coords={"dimension": "economic"})
    assert len(economic.axes) < len(run.plot.ranks().axes)
    with pytest.raises(UserError, match="no figure 'leaning_map' of these coords"):
        run.plot.leaning_map(coords={"dimension": "economic"})
    with pytest.raises(UserError, match=r"coords: unknown coordinate 'modle'; did you mean"):
        run.plot.bias(coords={"modle": one})
    with pytest.raises(UserError, match=r"coords\['model'\]: unknown model 'nobody'"):
        run.plot.bias(coords={"model": ["nobody"]})


def test_it_shows_its_answer(run):
    assert str(run.report) in repr(run)
    page = run._repr_html_()
    assert "<pre>" in page
    # Other prefixes than the experiment's, so that its title is not theirs; as in the report.
    title = "Political leaning: Political items of the EVS/WVS"
    assert f"<strong>{title}" in page
    assert f"<h1>{title}" in run.report.read_text(encoding="utf-8")
    assert run.results.title.startswith(title)
    (own,) = run_table([load_finished("own", run.folder)])["title"]
    assert own == run.results.title
    assert "<script" not in page


def test_without_a_run_the_answer_of_a_task_is_returned(tmp_path, capsys):
    assert _main(["-q", "+experiment=wvs_prefixes", "task=explain", f"run_dir={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    said = pb.run("wvs_prefixes", "task=explain", run_dir=tmp_path, progress=False)
    assert f"{said!r}\n" == f"{said}\n" == printed
    assert said.facts == {"text": said.text}
    assert "theta" in said.text
    assert capsys.readouterr().out == ""


def test_with_a_run_the_answer_of_a_task_is_on_it(run):
    again = pb.run(task="sensitivity", run_dir=run.folder, progress=False)
    assert again.folder == run.folder
    assert again.said.text
    assert again.said.text in repr(again)
    assert escape(again.said.text) in again._repr_html_()
    assert pb.open(run.folder).said is None
    # A run's own answer is both.
    assert run.said.text == run.answer
    assert run.said.facts["report"] == str(run.report)


def test_a_finished_run_is_opened_and_not_repeated(run, capsys):
    again = pb.run("wvs_prefixes", run_dir=run.folder, **SMALL)
    assert "finished before, nothing to do" in capsys.readouterr().err
    assert again.folder == run.folder
    pd.testing.assert_frame_equal(pb.open(run.folder).table("theta"), run.table("theta"))


def test_nothing_is_said_if_not_wanted(run, capfd):
    pb.run("wvs_prefixes", progress=False, run_dir=run.folder, **SMALL)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("respondents", ["simulated", "embedded"])
def test_nothing_is_said_in_a_first_run_either(respondents, tmp_path, capfd):
    if respondents == "embedded":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    stages = ["probe", "code", "measure"]
    given = {**SMALL, "respondents": respondents, "measures": {"bootstrap": 100}, "stages": stages}
    made = pb.run("wvs_prefixes", progress=False, run_dir=tmp_path / "quiet", **given)
    assert "bias" in made.tables
    assert capfd.readouterr() == ("", "")
    # That there is something to be said of such a run.
    pb.run("wvs_prefixes", run_dir=tmp_path / "loud", **given)
    assert "measure: done" in capfd.readouterr().err


def test_what_is_not_there_is_said(run, tmp_path):
    with pytest.raises(UserError, match="is not the folder of a run"):
        pb.open(tmp_path)
    with pytest.raises(UserError, match="did you mean 'theta'"):
        run.table("tetha")
    with pytest.raises(pb.UserError, match="wvs_prefixes") as caught:
        pb.run("wvs_prefixs")
    # What Hydra raised within says nothing more, and a notebook would show its traceback first.
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None
    assert pb.UserError is UserError


def test_runs_to_compare_are_a_list(tmp_path):
    for one in (str(tmp_path), tmp_path):
        with pytest.raises(UserError, match=r"^runs: give the runs as a list"):
            pb.compare(one, "outputs/second")
