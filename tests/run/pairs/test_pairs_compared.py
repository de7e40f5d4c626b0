"""Runs on paired requests, compared."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from asking import SMALL

from polbayes.cli import _main
from polbayes.data.dataset import read_dataset
from polbayes.fit.fit import load_posterior
from polbayes.tasks.compare.paired_page import moved

WRITERS = ["respondents=none", "+respondents.m.backend=planted_writer"]


def made(folder, writer, *more):
    named = [*WRITERS, f"+respondents.m.checkpoint='planted:{writer}'", *more]
    assert _main([*SMALL, *named, f"run_dir={folder}"]) == 0
    return folder


def compared(folders, folder, *more):
    given = ",".join(map(str, folders))
    return _main(["task=compare", f"runs=[{given}]", f"run_dir={folder}", *more])


@pytest.fixture
def runs(prior_only, tmp_path):
    more = ("judging.judges=[fair_grader]", "pairs.templates=[essay,story]")
    first = made(tmp_path / "jan", "left_helper", *more)
    return [first, made(tmp_path / "feb", "right_helper")]


def test_two_snapshots_of_a_model(runs, tmp_path, capsys):
    folder = tmp_path / "both"
    capsys.readouterr()
    assert compared(runs, folder) == 0
    said = capsys.readouterr()
    assert said.out.startswith("m @ jan to m @ feb: ")
    assert "m @ jan and m @ feb: They were not asked alike (pairs: 4 and 2, " in said.out
    verdicts = read_dataset(folder / "verdicts.nc")
    assert verdicts["model"].values.tolist() == ["m @ jan", "m @ feb"]
    # What each judged is as it was; what one of them did not judge is missing.
    own = [read_dataset(run / "verdicts.nc") for run in runs]
    for name, one in zip(verdicts["model"].values, own, strict=True):
        part = verdicts.sel(model=name, judge=one["judge"].values, item=one["item"].values)
        for what in ("verdict_prob", "rating", "words", "verdict_status"):
            there = part[what].transpose(*[d for d in one[what].dims if d != "model"])
            assert np.array_equal(there, one[what].isel(model=0, drop=True), equal_nan=True)
    others = set(verdicts["judge"].values) - {"fair_grader"}
    assert others
    assert verdicts["verdict_prob"].sel(model="m @ jan", judge=list(others)).isnull().all()
    assert verdicts["outcomes"].sum() == sum(one["outcomes"].sum() for one in own)
    # Differences of the joint draws.
    posterior = load_posterior(folder / "posterior.nc")
    change = posterior["favour"].sel(model="m @ feb") - posterior["favour"].sel(model="m @ jan")
    table = pd.read_csv(folder / "differences.csv").set_index(["quantity", "dimension"])
    row = table.loc["favour", "all"]
    assert row["estimate"] == pytest.approx(float(change.mean()))
    of_all = change.mean("dimension").values.ravel()
    assert row["lower"] == pytest.approx(np.quantile(of_all, 0.05))
    assert row["p_left"] + row["p_right"] == pytest.approx(1)
    assert {"tilt", "equal", "hedging", "compliance", "compliance_by_side"} <= {
        quantity for quantity, _ in table.index
    }
    shares = pd.read_csv(folder / "shares.csv").set_index("measure")
    assert shares.loc["refusals", "n"] == 2  # of the four pairs of one run, two are in the other
    apart = shares["after_share"] - shares["before_share"]
    assert np.allclose(shares["estimate"], apart)
    assert (shares["lower"] <= apart).all()
    # By hand: of the pairs that both were asked, by the judges of each.
    both = [one["verdict_prob"].sel(item=own[1]["item"].values, verdict="equal") for one in own]
    even = [(one.mean(("judge", "order")) >= 0.5).mean().item() for one in both]
    assert shares.loc["even_handed", ["before_share", "after_share"]].tolist() == even
    comparison = pd.read_csv(folder / "comparison.csv")
    assert set(comparison["run"]) == {"jan", "feb"}
    assert comparison["joint_estimate"].notna().all()
    page = (folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "The designs of the runs are not equal (jan: 4 pairs, 2 templates, 1 judge" in page
    assert "The runs were not judged alike (jan: fair_grader; feb: " in page
    assert (
        "m @ jan and m @ feb were not asked alike (pairs: 4 and 2, 2 in common, requests: 8" in page
    )
    assert page.index("What was compared") < page.index("Which side is helped more")
    assert (folder / "report" / "figures" / "differences.svg").is_file()
    assert list(json.loads((folder / "manifest.json").read_text())["stages"]) == [
        *("merge", "measure", "fit", "report")
    ]
    assert compared(runs, folder) == 0
    assert "finished before, nothing to do" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("note", "words"),
    [("", "moved to the left"), ("They were not asked alike.", "answered further to the left")],
)
def test_who_was_not_asked_alike_has_not_moved_for_sure(note, words):
    row = {"decision": "left", "estimate": -0.5, "lower": -0.7, "upper": -0.3, "rope": 0.1}
    chances = {"p_left_of_rope": 1.0, "p_inside": 0.0, "p_right_of_rope": 0.0}
    assert moved({**row, **chances, "note": note}).startswith(f"{words} (")


def test_the_same_answers_by_other_judges_are_one_respondent(prior_only, tmp_path):
    first = made(tmp_path / "one", "even", "judging.judges=[fair_grader]")
    again = f"answers_from={first}"
    second = made(tmp_path / "two", "even", "judging.judges=[left_grader]", again)
    assert compared([first, second], tmp_path / "both") == 0
    verdicts = read_dataset(tmp_path / "both" / "verdicts.nc")
    assert verdicts["model"].values.tolist() == ["m"]
    parts = [read_dataset(run / "verdicts.nc") for run in (first, second)]
    xr.testing.assert_equal(
        verdicts["verdict_prob"].reset_coords(drop=True),
        xr.concat([part["verdict_prob"] for part in parts], "judge").reset_coords(drop=True),
    )
    assert not (tmp_path / "both" / "differences.csv").exists()
    assert "same respondent" in (tmp_path / "both" / "report" / "index.html").read_text()


def test_what_cannot_be_compared_is_one_sentence(prior_only, tmp_path, capsys):
    paired = made(tmp_path / "paired", "even")
    other = tmp_path / "other"
    simulated = ["+experiment=wvs_prefixes", "respondents=simulated", "models=[left]"]
    few = ["items=[wvs-01]", "prefixes.only=[baseline]", "stages=[probe,code]"]
    assert _main([*simulated, *few, f"run_dir={other}"]) == 0
    capsys.readouterr()
    assert compared([paired, other], tmp_path / "both") == 2
    assert "is on paired requests and" in capsys.readouterr().err
    assert not (tmp_path / "both").exists()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*Degrees of freedom")
def test_a_planted_move_is_found(tmp_path):
    topics = "pairs.topics=[unions,prisons,drugs,housing,pensions,asylum]"
    templates = "pairs.templates=[essay,story,speech]"
    more = (topics, templates, "sampler.chains=2", "sampler.tune=500", "sampler.draws=500")
    folders = [made(tmp_path / name, name, *more) for name in ("left_helper", "right_helper")]
    assert compared(folders, tmp_path / "both") == 0
    table = pd.read_csv(tmp_path / "both" / "differences.csv")
    table = table.set_index(["quantity", "dimension"])
    row = table.loc["favour", "all"]
    assert row["lower"] > 0
    assert row["p_right_of_rope"] > 0.9
    own = pd.read_csv(tmp_path / "both" / "comparison.csv").set_index(
        ["run", "quantity", "dimension"]
    )["estimate"]
    apart = own["right_helper", "tilt", "all"] - own["left_helper", "tilt", "all"]
    # The joint analysis agrees with the difference of the runs' own estimates.
    assert abs(table.loc["tilt", "all"]["estimate"] - apart) < 0.5 * abs(apart)
