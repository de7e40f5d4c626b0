"""Comparing specs on the answers of a run, from the command line."""

import pandas as pd
import pytest
import xarray as xr

from polbayes.cli import _main

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

WITH_YES = """\
response: stance
family: cumulative
parts:
  theta: "~ 0 + dimension + (0 + dimension | model)"
  acquiescence: "~ 1 + (1 | model)"
level: 0.9
"""
MIXED = """\
response: agree
family: bernoulli
parts: {mu: "~ (1 | item)"}
level: 0.9
"""
# As the guide has it: specs made from another one.
SPECS = {
    "with_yes": WITH_YES,
    "tiny": 'defaults: [with_yes]\nparts: {acquiescence: "~ 1"}\n',
    "by_item": MIXED,
    "by_side": 'defaults: [by_item]\nparts: {mu: "~ keying + (1 | item)"}\n',
    "added_up": "defaults: [by_item]\nfamily: binomial\n",
    "other_family": "defaults: [by_item]\nresponse: stance\nfamily: cumulative\n",
    "agree": "defaults: [with_yes]\nresponse: agree\nfamily: bernoulli\n",
}
SMALL = [
    "+experiment=wvs_prefixes",
    "respondents=simulated",
    "models=[left,right,yes_sayer]",
    "items=[wvs-01,wvs-02,wvs-14,wvs-15]",
    "prefixes.only=[baseline,likert]",
    "sampler.chains=2",
    "sampler.tune=150",
    "sampler.draws=200",
    "seed=3",
]


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configs")
    (folder / "analysis").mkdir()
    for name, text in SPECS.items():
        (folder / "analysis" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(configs, tmp_path_factory):
    """Return a run that was asked, coded and fitted."""
    where = tmp_path_factory.mktemp("run") / "small"
    arguments = [*SMALL, "--config-dir", str(configs), f"run_dir={where}", "analysis=tiny"]
    assert _main([*arguments, "stages=[probe,code,fit]"]) == 0
    return where


@pytest.fixture
def called(configs, capsys):
    def call(folder, *more):
        capsys.readouterr()
        code = _main([*SMALL, "--config-dir", str(configs), f"run_dir={folder}", *more])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_specs_are_compared_and_nothing_is_fitted_twice(folder, called):
    task = ["task=compare_specs", "specs=[tiny,with_yes]"]
    code, out, err = called(folder, *task)
    assert code == 0, err
    # One respondent agrees with nearly everything, which only one of the specs can say.
    lines = out.splitlines()
    assert lines[2].startswith("with_yes")
    table = pd.read_csv(folder / "comparisons" / "specs.csv")
    # Draws differ between versions of NumPy: beyond two standard errors the answers settle it.
    settled = -table["difference"][1] > 2 * table["se_difference"][1]
    says = "predicts" if settled else "may predict"
    assert f"tiny {says} worse than the best" in out
    assert ("which the answers do not settle" in out) == (not settled)
    assert table["spec"].tolist() == ["with_yes", "tiny"]
    assert table["difference"][1] < -4
    assert (table["part"] == "answers").all()
    # 3 models, 4 items, 3 wordings, 2 prefixes: 72 cells, less those without a usable answer.
    cells = pd.read_csv(folder / "estimates" / "loo_cells.csv")
    assert table["cells"].tolist() == [len(cells)] * 2
    assert 60 < len(cells) <= 72
    assert table["elpd_loo"][1] == pytest.approx(cells["elpd"].sum())
    (own,) = (folder / "comparisons" / "fits").iterdir()  # that of tiny is the run's
    assert {path.name for path in own.iterdir()} == {"posterior.nc", "estimates", "fit.json"}
    before = {path: path.stat().st_mtime_ns for path in own.rglob("*")}
    again, repeated, _ = called(folder, *task)
    assert (again, repeated) == (0, out)
    assert {path: path.stat().st_mtime_ns for path in own.rglob("*")} == before


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["specs=[tiny,agree]"], "specs: agree and tiny are not fitted to the same answers"),
        (["specs=[tiny,with_yess]"], "unknown analysis 'with_yess'; did you mean 'with_yes'?"),
        (["specs=[tiny]"], "specs: name at least two different files"),
        ([], "specs: name at least two different files"),
        (["specs=[tiny,tiny]"], "specs: name at least two different files"),
        (["specs=[tiny,by_item]"], "specs: by_item is a mixed model"),
        (["specs=[by_item,added_up]"], "specs: added_up has family binomial"),
        (["specs=[by_item,other_family]"], "are not fitted to the same answers"),
        (["specs=[tiny,with_yes]", "seed=4"], "holds a run with seed=3, not 4"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(folder, called, more, says):
    code, out, err = called(folder, "task=compare_specs", *more)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert says in err
    assert err.count("\n") == 1


def test_mixed_models_are_compared_by_their_rows(folder, called):
    code, out, err = called(folder, "task=compare_specs", "specs=[by_item,by_side]")
    assert code == 0, err
    assert "cells" not in out.splitlines()[0]
    table = pd.read_csv(folder / "comparisons" / "specs.csv")
    assert set(table["spec"]) == {"by_item", "by_side"}
    # Three models and wordings, four items and two prefixes, three runs, where there is a stance.
    with xr.open_dataset(folder / "responses.nc") as data:
        stances = int(data["stance"].isin([-1, 1]).sum())
    assert (table["cells"] == stances).all()
    kept = folder / "comparisons" / "fits"
    assert len(list(kept.glob("*/loo_cells.csv"))) == 2


def test_a_report_has_the_comparison(configs, called, tmp_path):
    where = tmp_path / "reported"
    assert called(where, "analysis=tiny")[0] == 0
    page = where / "report" / "index.html"
    assert "Several models of the same answers" not in page.read_text(encoding="utf-8")
    code, out, err = called(where, "task=compare_specs", "specs=[tiny,with_yes]", "analysis=tiny")
    assert code == 0, err
    assert f"report: {page}" in out
    text = page.read_text(encoding="utf-8")
    assert "Several models of the same answers" in text
    assert "with_yes predicts best" in text
    assert (where / "report" / "tables" / "specs.csv").is_file()
    # It is about these answers only.
    table = pd.read_csv(where / "comparisons" / "specs.csv")
    table.assign(answers="others").to_csv(where / "comparisons" / "specs.csv", index=False)
    assert called(where, "analysis=tiny", "title=again", "stages=[report]")[0] == 0
    assert "with_yes predicts best" not in page.read_text(encoding="utf-8")


def test_a_run_that_was_not_made(called, tmp_path):
    code, _, err = called(tmp_path / "none", "task=compare_specs", "specs=[tiny,with_yes]")
    assert code == 2
    assert "has no coded answers of this config" in err
    assert not (tmp_path / "none").exists()
