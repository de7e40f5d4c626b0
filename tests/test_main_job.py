"""The main job, whole, on the embedded models: what was planted comes back."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

pytestmark = pytest.mark.slow


def polbayes(*overrides: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "polbayes", *overrides]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(
    scope="module",
    params=[
        # A sixth of the steps.
        pytest.param(["sampler.chains=2", "sampler.tune=300", "sampler.draws=200"], id="short"),
        pytest.param([], id="whole", marks=pytest.mark.long),
    ],
)
def command(request) -> list[str]:
    return ["+experiment=wvs_prefixes", "seed=2017", *request.param]


@pytest.fixture(scope="module")
def folder(command, tmp_path_factory) -> Path:
    cwd = tmp_path_factory.mktemp("main_job")
    done = polbayes(*command, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return cwd / "outputs" / "wvs_prefixes"


def table(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / "estimates" / f"{name}.csv")


def test_the_sampler_converged_for_every_model_level_quantity(command, folder):
    whole = not any(key.startswith("sampler.") for key in command)
    diagnostics = table(folder, "diagnostics")
    names = diagnostics["quantity"].str.split("[").str[0]
    model_level = diagnostics[~names.isin(["difficulty", "discrimination", "wording"])]
    assert model_level["r_hat"].max() <= (1.01 if whole else 1.3)
    assert model_level["ess_bulk"].min() >= (400 if whole else 8)
    if whole:
        record = json.loads((folder / "manifest.json").read_text())["stages"]["fit"]
        assert record["verdict"] == "good", record["sentences"]


def test_left_and_right_lie_on_their_sides(folder):
    theta = table(folder, "theta").set_index(["model", "dimension"])
    for dimension in ("economic", "cultural"):
        assert theta.loc[("left", dimension), "upper"] < 0
        assert theta.loc[("right", dimension), "lower"] > 0


def test_the_yes_sayer_agrees_most_and_leans_nowhere(folder):
    acquiescence = table(folder, "acquiescence").set_index("model")
    assert acquiescence["estimate"].idxmax() == "yes_sayer"
    assert acquiescence.loc["yes_sayer", "lower"] > acquiescence.drop("yes_sayer")["upper"].max()
    theta = table(folder, "theta").set_index("model").loc["yes_sayer"]
    assert (theta["lower"] < 0).all()
    assert (theta["upper"] > 0).all()


def test_the_fickle_one_has_the_largest_prefix_effects(folder):
    scales = table(folder, "sensitivity").set_index(["effect", "model"])
    for effect in ("prefix_acquiescence", "prefix_steer"):
        of_effect = scales.loc[effect]
        assert of_effect["lower"]["fickle"] > of_effect["estimate"].drop("fickle").max()


def test_running_again_asks_and_samples_nothing(command, folder):
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}
    done = polbayes(*command, cwd=folder.parents[1])
    assert done.returncode == 0
    assert "nothing to do" in done.stderr
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()} == before


def test_plain_xarray_tells_the_whole_story(folder):
    with xr.open_dataset(folder / "responses.nc") as data:
        assert dict(data.sizes)["model"] == 6
        cell = data.sel(model="left", item="wvs-01", variant="original", prefix="respond", run=1)
        prompt = str(cell["template"].values)
        prompt = prompt.replace("{prefix}", f"{cell['prefix_text'].values}\n")
        prompt = prompt.replace("{statement}", str(cell["statement"].values))
        assert prompt == (
            "Give your response to the provided statement.\n"
            "Big gaps in pay are useful because they give people a reason to try harder."
        )
        assert str(cell["completion"].values)
        assert "wvs_prefixes" in data.attrs["config"]
