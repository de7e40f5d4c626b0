import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from polbayes.cli import main
from polbayes.config.compose import experiments

ROOT = Path(__file__).resolve().parents[1]
WVS = "+experiment=wvs_prefixes"


def polbayes(*arguments, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "polbayes", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def called(capsys, *arguments):
    """Run the command line in this process: exit code, output and errors."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    out, err = capsys.readouterr()
    return caught.value.code, out, err


def test_help_lists_every_experiment_and_loads_nothing_heavy(tmp_path):
    probe = (
        "import sys; from polbayes.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as stop: code = stop.code\n"
        "heavy = {'torch', 'transformers', 'pymc', 'arviz', 'matplotlib', 'xarray', 'pandas'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)), code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    for name, text in experiments().items():
        assert name in done.stdout
        assert text in done.stdout
    assert "LOADED [] 0" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_as_a_module_from_another_folder(tmp_path):
    done = polbayes("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "usage: polbayes +experiment=NAME" in done.stdout
    assert done.stderr == ""


def test_bad_input_is_one_line_and_leaves_nothing(tmp_path):
    done = polbayes("+experiment=wvs_prefix", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: unknown experiment 'wvs_prefix'; did you mean")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_arguments_the_help_is_shown_but_nothing_succeeded(capsys):
    code, out, _ = called(capsys)
    assert code == 2
    assert "usage:" in out


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_wins_over_everything(capsys, flag):
    code, out, _ = called(capsys, WVS, flag)
    assert code == 0
    assert "usage:" in out


def test_the_reader_of_the_help_may_be_gone():
    command = f"{sys.executable} -m polbayes --help | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "P(stance <= k)"), ("utf-8", "≤")])
def test_an_output_without_our_signs_gets_plain_ones(tmp_path, encoding, shown):
    arguments = ["+experiment=wvs_prefixes", "task=explain", f"run_dir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "polbayes", *arguments],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout.decode(encoding)


def test_version(capsys):
    from polbayes import __version__

    assert called(capsys, "--version") == (0, f"polbayes {__version__}\n", "")


def test_cfg_prints_the_config_and_asks_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = called(capsys, WVS, "seed=9", "--cfg")
    assert (code, err) == (0, "")
    assert yaml.safe_load(out)["seed"] == 9
    assert list(tmp_path.iterdir()) == []


REFUSING = ("respondents=simulated", "analysis.unidentified=refuse")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([WVS, "--loud"], "unknown option '--loud'"),
        ([WVS, "seed"], "'seed' is not of the form KEY=VALUE"),
        ([WVS, "--config-dir"], "--config-dir: name a folder after it"),
        ([WVS, "--config-dir=/no/such/folder"], "'/no/such/folder' is not a folder"),
        ([WVS, "--config-dir", "/no/such/folder"], "'/no/such/folder' is not a folder"),
        ([WVS, "models=[lefft]"], "unknown model 'lefft'; did you mean 'left'?"),
        ([WVS, "instruments=[wvss]"], "did you mean 'wvs'?"),
        ([WVS, "prefixes.only=[pleese_respond]"], "did you mean 'please_respond'?"),
        ([WVS, "items=[nothing-like-it]"], "unknown item 'nothing-like-it'"),
        ([WVS, "variants=[orignal]"], "did you mean 'original'?"),
        ([WVS, *REFUSING, "models=[left]"], "only one model"),
        ([WVS, *REFUSING, "prefixes.only=[baseline]"], "prefix"),
        ([WVS, "respondents=simulated", "variants=[original]", "items=[wvs-01]"], "statement"),
        ([WVS, "coding.coders=[lexicel]"], "did you mean 'lexical'?"),
        ([WVS, "sampler.chains=1"], "sampler.chains: must be at least 2, not 1"),
        ([WVS, "sampler.backend=stan"], "sampler.backend: unknown sampler 'stan'"),
        ([WVS, "sampler.mass_matrix=lowrank"], "did you mean 'low_rank'?"),
        ([WVS, "sampler=pymc", "sampler.mass_matrix=low_rank"], "pymc has no low_rank matrix"),
        ([WVS, "sampler.target_accept=1"], "sampler.target_accept: must be in [0.5, 1)"),
        ([WVS, "analysis.family=cumulatif"], "did you mean 'cumulative'?"),
    ],
)
def test_bad_input_is_one_sentence(capsys, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    code, out, err = called(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert says in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_explain_prints_the_equation_and_the_priors(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = called(capsys, WVS, "respondents=simulated", "task=explain")
    assert (code, err) == (0, "")
    assert "η = acquiescence + wording + s · (discrimination · (theta − difficulty)" in out
    assert "priors\n" in out
    assert "27 levels, summing to zero in each of 2 groups" in out
    assert list(tmp_path.iterdir()) == []


GROUPS = 'analysis.parts.theta="~ 0 + dimension + log(size):dimension + (0 + dimension | model)"'


def test_attributes_of_models_are_variables_of_formulas(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes = [f"+respondents.{m}.attributes.size={k}" for k, m in enumerate(("left", "right"), 1)]
    three = [WVS, "respondents=simulated", "models=[left,right,centre]", "task=explain", GROUPS]
    code, out, err = called(capsys, *three, *sizes)
    assert (code, out) == (2, "")
    assert "use 'size', which model 'centre' does not have; give it as respondents.centre." in err
    assert err.count("\n") == 1
    code, out, err = called(capsys, *three, *sizes, "+respondents.centre.attributes.size=7")
    assert (code, err) == (0, "")
    assert "theta: coefficients of log(size):dimension ~ Normal(0, 1)" in out


def test_a_dry_run_shows_prompts_and_asks_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    overrides = ["respondents=simulated", "models=[left,right]", "prefixes.only=[baseline,truth]"]
    code, out, err = called(capsys, WVS, *overrides, "task=dry_run")
    assert (code, err) == (0, "")
    # Two models, 27 items, three wordings, two prefixes, three runs.
    assert out.startswith(f"{2 * 27 * 3 * 2 * 3} questions: 2 models, 27 items")
    assert out.count("--- ") == 4
    assert list(tmp_path.iterdir()) == []
    one = ["models=[left]", "items=[wvs-01]", "variants=[original]", "prefixes.only=[baseline]"]
    overrides = ["respondents=simulated", *one, "elicitation.runs=1", "stages=[probe]"]
    said = called(capsys, WVS, *overrides, "task=dry_run")[1].splitlines()[0]
    assert said == "1 question: 1 model, 1 item, 1 variant, 1 prefix, 1 run."


def test_prior_says_what_is_expected_of_the_answers(capsys):
    code, out, err = called(capsys, WVS, "respondents=simulated", "task=prior")
    assert code == 0, err
    (row,) = [line for line in out.splitlines() if line.startswith("bias of a model, one dim")]
    numbers = [float(word) for word in row.split() if word.lstrip("-").replace(".", "").isdigit()]
    median, low_half, high_half, low, high = numbers
    assert -1 < low < low_half < median < high_half < high < 1


def test_a_mixed_model_has_no_prior_to_be_seen(capsys):
    code, out, err = called(capsys, WVS, "analysis=mixed_stance", "task=prior")
    assert (code, out) == (2, "")
    assert err.startswith("error: task: prior is for the ideology model;")
