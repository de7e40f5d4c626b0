"""The whole pipeline on simulated respondents, and what a run's folder goes through."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

import polbayes as pb
from polbayes.cli import _main
from polbayes.data.dataset import CELL_DIMS, open_responses
from polbayes.data.files import one_writer
from polbayes.data.json_lines import line_of, record_of
from polbayes.errors import UserError
from polbayes.probing.journal import DESIGN, cell_of, journal_path, read
from polbayes.probing.probe import rendered_prompt
from polbayes.run.run import load_run
from polbayes.tasks.sensitivity.task import sensitivity

ROOT = Path(__file__).resolve().parents[2]
MODELS = ["left", "right", "yes_sayer"]
ITEMS = ["wvs-01", "wvs-02", "wvs-14", "wvs-15"]
PREFIXES = ["baseline", "likert"]
# Small enough to compile quickly; what it estimates is not looked at here.
ANALYSIS = """\
response: stance
family: cumulative
parts:
  theta: "~ 0 + dimension + (0 + dimension | model)"
  acquiescence: "~ 1 + (1 | model)"
level: 0.9
"""
SMALL = [
    "+experiment=wvs_prefixes",
    "respondents=simulated",
    f"models=[{','.join(MODELS)}]",
    f"items=[{','.join(ITEMS)}]",
    f"prefixes.only=[{','.join(PREFIXES)}]",
    "analysis=tiny",
    "sampler.chains=2",
    "sampler.tune=100",
    "sampler.draws=150",
    "measures.bootstrap=200",
    "seed=3",
]


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configs")
    (folder / "analysis").mkdir()
    (folder / "analysis" / "tiny.yaml").write_text(ANALYSIS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def finished(configs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "small"
    assert _main([*SMALL, "--config-dir", str(configs), f"run_dir={folder}"]) == 0
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """Return a copy of the finished run that a test may spoil."""
    return Path(shutil.copytree(finished, tmp_path / "small"))


@pytest.fixture
def called(configs, capsys):
    """Run the small experiment in a folder: exit code and what was said."""

    def call(folder, *more):
        capsys.readouterr()
        code = _main([*SMALL, "--config-dir", str(configs), f"run_dir={folder}", *more])
        return code, capsys.readouterr().err

    return call


def state(folder, *, without=()):
    """Return when each file was last changed."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and not str(path.relative_to(folder)).startswith(tuple(without))
    }


def test_everything_is_where_it_should_be(finished):
    for name in (
        "responses.nc",
        "posterior.nc",
        "manifest.json",
        "report/index.html",
        ".hydra/config.yaml",
        *(f"journal/{model}.jsonl" for model in MODELS),
    ):
        assert (finished / name).stat().st_size > 0, name
    for name in ("measures", "estimates", "report/tables"):
        for path in (finished / name).iterdir():
            assert path.suffix == ".csv"
            assert len(path.read_text(encoding="utf-8").splitlines()) > 1, path
    figures = {path.suffix for path in (finished / "report" / "figures").iterdir()}
    assert figures == {".png", ".svg"}
    assert not [path for path in finished.rglob("*") if "tmp" in path.name]


def test_the_manifest_says_what_was_done_and_how_long_it_took(finished):
    record = json.loads((finished / "manifest.json").read_text(encoding="utf-8"))
    assert list(record["stages"]) == ["probe", "code", "measure", "fit", "report"]
    for stage in record["stages"].values():
        assert stage["seconds"] >= 0
        assert all((finished / output).is_file() for output in stage["outputs"])
    assert record["stages"]["fit"]["sentences"]
    assert "theta" in record["stages"]["fit"]["equation"]
    assert record["versions"]["polbayes"]


def test_every_question_was_asked_once_and_answered(finished):
    data = open_responses(finished)
    assert dict(data["status"].sizes) == {
        "model": 3,
        "item": 4,
        "variant": 3,
        "prefix": 2,
        "run": 3,
    }
    assert (data["completion"] != "").all()
    for model in MODELS:
        cells = [cell_of(r) for r in read(finished / "journal" / f"{model}.jsonl") if "cell" in r]
        assert len(cells) == len(set(cells)) == 4 * 3 * 2 * 3


def test_the_responses_tell_the_whole_story_by_themselves(finished):
    with xr.open_dataset(finished / "responses.nc") as opened:
        data = opened.load()
    assert "seed: 3" in data.attrs["config"]
    assert data.attrs["seed"] == 3
    assert "analysis=tiny" in data.attrs["command"]
    assert "polbayes" in data.attrs["versions"]
    assert data.attrs["started"] <= data.attrs["finished"]
    prompt = rendered_prompt(data, "left", "wvs-01", "opposite", "likert")
    assert prompt.startswith("Decide on whether you agree")
    statement = data["statement"].sel(item="wvs-01", variant="opposite").item()
    assert prompt == f"{data['prefix_text'].sel(prefix='likert').item()}\n{statement}\n"


def test_a_run_is_loaded_with_one_function(finished):
    responses, posterior = load_run(finished)
    assert responses["model"].values.tolist() == MODELS
    assert posterior["theta"].sizes["chain"] == 2
    assert posterior["theta"].sizes["draw"] == 150
    assert set(posterior["theta"].dims) == {"chain", "draw", "model", "dimension"}
    assert posterior["model"].values.tolist() == MODELS


def test_a_run_that_is_not_there_cannot_be_loaded(tmp_path, folder):
    with pytest.raises(UserError, match="nothing: no such file"):
        load_run(tmp_path / "nothing")
    (folder / "posterior.nc").unlink()
    with pytest.raises(UserError, match=r"posterior\.nc"):
        load_run(folder)


def test_the_same_again_does_nothing(folder, called):
    before = state(folder)
    code, said = called(folder)
    assert code == 0, said
    assert said == (
        f"{folder}: finished before, nothing to do; see {folder / 'report' / 'index.html'}\n"
    )
    assert state(folder) == before


def test_a_lost_report_is_written_again_and_nothing_else(folder, called):
    shutil.rmtree(folder / "report")
    others = ("report", "manifest.json", ".hydra")
    before = state(folder, without=others)
    code, said = called(folder)
    assert code == 0, said
    assert {line.split(":")[0] for line in said.splitlines()} == {"report"}
    assert (folder / "report" / "index.html").is_file()
    assert state(folder, without=others) == before
    assert called(folder)[1].endswith("index.html\n")


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("seed=4", "seed=3, not 4"),
        ("models=[left,right]", "models=['left', 'right', 'yes_sayer'], not ['left', 'right']"),
        ("sampler.draws=160", "sampler.draws=150, not 160"),
        ("coding.coders=[lexical]", "coding.coders=['likert', 'lexical'], not ['lexical']"),
        ("title=Other", "title="),
    ],
)
def test_a_changed_config_is_refused_and_named(folder, called, override, named):
    before = state(folder)
    code, said = called(folder, override)
    assert code == 2
    assert said.startswith(f"error: {folder} holds a run with {named}")
    assert said.count("\n") == 1
    assert state(folder) == before


def lines(folder):
    return {p.stem: p.read_bytes() for p in sorted((folder / "journal").glob("*.jsonl"))}


def test_a_finished_run_is_added_to(folder, called):
    before, earlier = lines(folder), open_responses(folder)
    more = [
        f"models=[{','.join([*MODELS, 'fickle'])}]",
        f"items=[{','.join([*ITEMS, 'wvs-03'])}]",
        f"prefixes.only=[{','.join([*PREFIXES, 'truth'])}]",
        "elicitation.runs=4",
    ]
    code, said = called(folder, *more)
    assert code == 0, said
    assert f"{folder}: is added to: elicitation.runs=4 (was 3)" in said
    after = lines(folder)
    for name, text in before.items():
        assert after[name].startswith(text)
    data = open_responses(folder)
    assert dict(data["status"].sizes) == {
        "model": 4,
        "item": 5,
        "variant": earlier.sizes["variant"],
        "prefix": 3,
        "run": 4,
    }
    assert (data["completion"].where(data["status"] != -128, "x") != "").all()
    old = {dim: earlier[dim] for dim in CELL_DIMS}
    for name in ("completion", "status", "stance"):
        xr.testing.assert_equal(data[name].sel(old), earlier[name])
    assert len(set(answered(folder))) == len(answered(folder))
    assert "nothing to do" in called(folder, *more)[1]
    # Nobody takes away what was asked.
    code, said = called(folder)
    assert code == 2
    assert said.startswith(f"error: {folder} holds a run with ")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("elicitation.top_k=3", "elicitation.top_k=10, not 3"),
        ("respondents.left.checkpoint=planted:right", "respondents.left.checkpoint="),
        ("prefixes.only=[baseline,truth]", "prefixes.only=['baseline', 'likert'], not"),
    ],
)
def test_what_is_changed_beside_an_addition_is_refused_and_named(folder, called, change, named):
    before = state(folder)
    code, said = called(folder, "elicitation.runs=5", change)
    assert code == 2
    assert said.startswith(f"error: {folder} holds a run with {named}")
    assert state(folder) == before


def test_a_wording_that_was_changed_is_refused_though_its_name_is_not(tmp_path, called):
    table = tmp_path / "more.csv"
    more = ["stages=[probe]", f"wordings=['{table}']", "variants=[original,w_*]"]
    text = "item,variant,kind,text\nwvs-01,w_1,paraphrase,{}\nwvs-02,w_2,paraphrase,Other.\n"
    table.write_text(text.format("Such is life."))
    assert called(tmp_path / "run", *more)[0] == 0
    table.write_text(text.format("Such is life!"))
    code, said = called(tmp_path / "run", *more)
    assert code == 2
    assert "item 'wvs-01', wording 'w_1', prefix 'baseline' was asked with a different text" in said


def test_two_processes_do_not_work_in_a_folder(tmp_path, called):
    folder = tmp_path / "run"
    with one_writer(folder):
        code, said = called(folder, "stages=[probe]")
    assert code == 2
    assert said.splitlines()[-1].startswith(f"error: {folder}: another process is working in this")
    assert list(folder.iterdir()) == []
    assert called(folder, "stages=[probe]")[0] == 0


def test_runs_share_a_cache(tmp_path, called):
    cache = f"journal.cache={tmp_path / 'answers.sqlite'}"
    assert called(tmp_path / "first", "stages=[probe]", cache)[0] == 0
    assert called(tmp_path / "second", "stages=[probe]", cache, "elicitation.runs=4")[0] == 0
    runs = [
        (record["cell"][3], "cached" in record)
        for model in MODELS
        for record in read(tmp_path / "second" / "journal" / f"{model}.jsonl")
    ]
    assert {run for run, cached in runs if cached} == {1, 2, 3}
    assert {run for run, cached in runs if not cached} == {4}
    # How answers are kept is no part of what they are.
    assert "nothing to do" in called(tmp_path / "first", "stages=[probe]")[1]
    code, said = called(tmp_path / "third", "stages=[probe]", "journal.sync_seconds=-1")
    assert code == 2
    assert "journal.sync_seconds: must be from 0 to 3600, not -1.0" in said


def test_a_report_of_a_fit_that_is_out_of_date_is_refused(folder, called):
    code, said = called(folder, "coding.coders=[lexical]", "stages=[code]")
    assert code == 0, said
    before = state(folder)
    code, said = called(folder, "coding.coders=[lexical]", "stages=[report]")
    assert code == 2
    assert said.startswith("error: stages: measure and fit were not done with this config in ")
    assert said.endswith("; use stages=[measure,fit,report].\n")
    assert state(folder) == before


def test_a_stage_whose_input_is_not_there_is_refused(tmp_path, called):
    code, said = called(tmp_path / "new", "stages=[fit,report]")
    assert code == 2
    assert said.startswith("error: stages: probe, code and measure were not done with this")
    assert said.endswith("; use stages=[probe,code,measure,fit,report].\n")
    assert not (tmp_path / "new").exists()


def test_a_table_that_is_lost_is_named(folder, called):
    (folder / "measures" / "bias.csv").unlink()
    (folder / "report" / "index.html").unlink()
    status, said = called(folder, "stages=[report]")
    assert status == 2
    assert f"stages: {folder}/measures/bias.csv is no longer there, and report needs it" in said
    assert said.endswith("use stages=[measure,report].\n")


def test_a_table_that_was_cut_short_is_in_no_report(folder, called):
    path = folder / "measures" / "bias.csv"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    status, said = called(folder)
    assert status == 2
    assert said.startswith(f"error: {path}: is no longer the table that was written; delete it")
    for reads in (lambda: pb.open(folder).results, lambda: sensitivity(str(folder))):
        with pytest.raises(UserError, match=r"bias\.csv: is no longer the table"):
            reads()
    path.unlink()
    status, said = called(folder)
    assert status == 0, said
    assert path.read_bytes() == whole


@pytest.mark.parametrize("name", ["measures/mine.csv", "report/index.html", "responses.nc"])
def test_what_a_run_would_replace_in_another_folder_is_kept(tmp_path, called, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    before = state(tmp_path)
    status, said = called(tmp_path)
    assert status == 2
    assert f"its {name.split('/')[0]} would be replaced; name another folder." in said
    assert state(tmp_path) == before


def test_answers_are_not_replaced_by_those_of_another_experiment(folder, called):
    before = state(folder)
    status, said = called(folder, "seed=4", "stages=[probe]")
    assert status == 2
    assert "holds a run with seed=3, not 4; choose another run_dir" in said
    assert state(folder) == before


def test_the_stage_that_needs_another_is_named(tmp_path, called):
    status, said = called(tmp_path, "stages=[probe,code,measure,report]")
    assert status == 2
    assert "fit was not done with this config" in said
    assert "and report needs it; use stages=[probe,code,measure,fit,report]." in said


def test_stages_are_done_in_their_order_whatever_order_they_are_named_in(tmp_path, called):
    code, said = called(tmp_path / "new", "stages=[measure,code,probe,code]")
    assert code == 0, said
    done = [line.split(":")[0] for line in said.splitlines() if ": done in" in line]
    assert done == ["probe", "code", "measure"]
    again = called(tmp_path / "new", "stages=[measure,code,probe,code]")[1]
    assert again == f"{tmp_path / 'new'}: finished before, nothing to do\n"


@pytest.mark.parametrize("content", ["", "{", '{"stages": 3}', '{"stages": {"fit": {}}}'])
def test_a_damaged_manifest_is_named(folder, called, content):
    (folder / "manifest.json").write_text(content, encoding="utf-8")
    before = state(folder)
    code, said = called(folder)
    assert code == 2
    assert said.startswith(f"error: {folder / 'manifest.json'}: cannot be read")
    assert "move it away and repeat the run's command, which asks nothing again" in said
    assert said.count("\n") == 1
    assert state(folder) == before


@pytest.mark.parametrize("name", ["responses.nc", "posterior.nc"])
def test_a_damaged_file_is_named_though_nothing_is_left_to_do(folder, called, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:1000])
    code, said = called(folder)
    assert code == 2
    assert said.splitlines()[-1].startswith(f"error: {path}: was finished before and is no longer")
    assert "delete it" in said
    assert "Traceback" not in said
    assert not list(folder.rglob("*.tmp"))


def test_a_run_that_came_to_nothing_leaves_the_folder_free(tmp_path, called):
    """The config of a run that failed before the first answer binds nobody."""
    folder = tmp_path / "new"
    code, _ = called(folder, "respondents.left.checkpoint=planted:nobody")
    assert code == 2
    code, said = called(folder, "stages=[probe]")
    assert code == 0, said
    assert called(folder, "stages=[probe]", "seed=4")[0] == 2


@pytest.mark.slow
def test_another_analysis_of_the_same_answers(folder, called):
    kept = ("measures", "posterior.nc", "estimates", "report", "manifest.json", ".hydra")
    before = state(folder, without=kept)
    earlier = pd.read_csv(folder / "estimates" / "theta.csv")
    # The classical intervals have the analysis's level, so they are computed anew as well.
    code, said = called(folder, "analysis.level=0.5", "stages=[fit,report]")
    assert code == 2
    assert "measures.level=0.9, not 0.5" in said
    code, said = called(folder, "analysis.level=0.5", "stages=[measure,fit,report]")
    assert code == 0, said
    assert "probe:" not in said
    assert "the draws of an earlier fit are reused" in said
    assert state(folder, without=kept) == before
    theta = pd.read_csv(folder / "estimates" / "theta.csv")
    # The same draws, with narrower intervals.
    assert theta["estimate"].tolist() == pytest.approx(earlier["estimate"].tolist())
    assert (theta["upper"] - theta["lower"] < earlier["upper"] - earlier["lower"]).all()
    assert set(pd.read_csv(folder / "measures" / "bias.csv")["level"]) == {0.5}
    assert "level: 0.5" in (folder / ".hydra" / "config.yaml").read_text(encoding="utf-8")
    assert "nothing to do" in called(folder, "analysis.level=0.5")[1]


@pytest.mark.slow
def test_other_measures_of_the_same_answers(folder, called):
    before = state(folder, without=("measures", "report", "manifest.json", ".hydra"))
    code, said = called(folder, "measures.level=0.5", "stages=[measure,report]")
    assert code == 0, said
    assert "fit:" not in said
    assert state(folder, without=("measures", "report", "manifest.json", ".hydra")) == before


# Many questions, one at a time, so that there is time to interrupt.
PROBE = ["stages=[probe]", "elicitation.batch_size=1", "elicitation.runs=60"]
QUESTIONS = 3 * 4 * 3 * 2 * 60


def started(folder, configs, *more):
    command = [sys.executable, "-m", "polbayes", *SMALL, *more]
    return subprocess.Popen(
        [*command, "--config-dir", str(configs), f"run_dir={folder}"],
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def answered(folder):
    return [
        (path.stem, *cell_of(record))
        for path in sorted((folder / "journal").glob("*.jsonl"))
        for record in read(path)
        if "cell" in record
    ]


def stopped(folder, configs, how):
    """Start asking, stop it after the first answers, and return exit code and errors."""
    process = started(folder, configs, *PROBE)
    journal = folder / "journal" / f"{MODELS[1]}.jsonl"
    while process.poll() is None and not journal.is_file():
        time.sleep(0.002)
    process.send_signal(how)
    _, errors = process.communicate()
    assert 0 < len(answered(folder)) < QUESTIONS
    return process.returncode, errors


def without_story(folder):
    return open_responses(folder).drop_attrs(deep=False)


@pytest.fixture(scope="module")
def uninterrupted(configs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert _main([*SMALL, *PROBE, "--config-dir", str(configs), f"run_dir={folder}"]) == 0
    return without_story(folder)


@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_what_was_answered_is_not_asked_again(tmp_path, configs, called, uninterrupted, how, code):
    folder = tmp_path / "run"
    returned, errors = stopped(folder, configs, how)
    assert returned == code
    assert "Traceback" not in errors
    if how == signal.SIGINT:
        assert errors.splitlines()[-1].startswith("interrupted: ")
        # One for the stage, and where the asking had come to answers one for each model's.
        assert all(line.startswith("probe: ") for line in errors.splitlines()[:-1] if line)
    assert not (folder / "responses.nc").exists()
    before = answered(folder)
    assert called(folder, *PROBE)[0] == 0
    after = answered(folder)
    assert len(after) == len(set(after)) == QUESTIONS
    assert set(before) < set(after)
    lines = (folder / "journal" / f"{MODELS[0]}.jsonl").read_bytes().count(b"\n")
    assert lines == QUESTIONS / len(MODELS) + 1  # and the header: nothing was written twice
    xr.testing.assert_identical(without_story(folder), uninterrupted)
    assert tuple(uninterrupted["status"].dims) == CELL_DIMS


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1, 20])
def test_an_interruption_while_sampling_leaves_no_posterior(tmp_path, configs, seconds):
    """Once while the model is being built or compiled, and once while it is sampled."""
    folder = tmp_path / "run"
    process = started(folder, configs, "sampler.draws=2000000")
    said = [process.stderr.readline()]
    while said[-1] and not said[-1].startswith("fit: sampling"):
        said.append(process.stderr.readline())
    time.sleep(seconds)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors.strip().startswith("interrupted: ")
    assert "Traceback" not in errors
    assert not [path for path in folder.rglob("*") if "posterior" in path.name]
    assert not (folder / "estimates").exists()
    stages = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["stages"]
    assert list(stages) == ["probe", "code", "measure"]
    assert open_responses(folder).sizes["model"] == len(MODELS)


def test_a_run_refused_for_other_settings_leaves_the_earlier_design(folder, called):
    path = journal_path(folder / "journal", MODELS[-1])
    (first, *rest) = path.read_bytes().splitlines(keepends=True)
    header = record_of(first)
    header["settings"]["seed"] = 9
    path.write_bytes(line_of(header) + b"".join(rest))
    journal_path(folder / "journal", MODELS[0]).unlink()
    for name in ("manifest.json", "responses.nc"):
        (folder / name).unlink()
    (folder / DESIGN).write_bytes(b"what was asked before")
    code, err = called(folder)
    assert code == 2
    assert "made under other settings: seed was 9 and is 3; choose another run_dir" in err
    assert (folder / DESIGN).read_bytes() == b"what was asked before"
    # The models before the one that is refused are not asked either.
    assert not journal_path(folder / "journal", MODELS[0]).exists()
