"""Placing models among parties: asked the statements of a finished import."""

import numpy as np
import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.data.dataset import open_responses
from polbayes.errors import UserError
from polbayes.instrument.of_run import instrument_of_run, is_run

PARTIES = {"far left": -2.0, "left party": -1.0, "middle": 0.0, "right party": 1.0, "far": 2.0}
STATEMENTS = 24
EXPERIMENT = """# @package _global_
defaults: [override /respondents: none, override /analysis: ideology, _self_]
name: parties
instruments: []
imported:
  path: parties.csv
  columns:
    {model: party, item: id, statement: text, answer: said, dimension: scale, direction: side}
  points: [disagree, neutral, agree]
"""
QUICK = ["sampler.draws=200", "sampler.tune=300", "sampler.chains=2", "measures.bootstrap=100"]

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Import the positions of five parties on statements keyed in turn."""
    where = tmp_path_factory.mktemp("placing")
    rng = np.random.default_rng(6)
    rows = []
    for party, theta in PARTIES.items():
        for k in range(STATEMENTS):
            right = k % 2 == 1
            view = (1 if right else -1) * (theta + rng.normal(0, 0.7))
            answer = "agree" if view > 0.4 else "disagree" if view < -0.4 else "neutral"
            side = "right" if right else "left"
            rows.append((party, f"s{k:02}", f"Statement number {k}.", answer, "economic", side))
    names = ["party", "id", "text", "said", "scale", "side"]
    pd.DataFrame(rows, columns=names).to_csv(where / "parties.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        (where / "mine" / "experiment").mkdir(parents=True)
        (where / "mine" / "experiment" / "small.yaml").write_text(EXPERIMENT)
        call = ["+experiment=small", "run_dir=parties", *QUICK, "--config-dir", "mine"]
        assert _main(call) == 0
    return where


def test_the_items_of_a_run_are_an_instrument(folder):
    assert is_run(str(folder / "parties"))
    found = instrument_of_run(folder / "parties")
    assert len(found.items) == STATEMENTS
    data = open_responses(folder / "parties")
    for item in found.items:
        assert item.variants[0].text == data["statement"].sel(item=item.item).values[0]
        assert item.direction == data["direction"].sel(item=item.item)
        assert item.variants[0].polarity == 1


def test_a_run_of_several_instruments_is_none(folder, tmp_path):
    data = open_responses(folder / "parties")
    names = ["one"] * (STATEMENTS - 1) + ["two"]
    data = data.assign_coords(instrument=("item", np.array(names, dtype=object)))
    data.to_netcdf(tmp_path / "responses.nc")
    with pytest.raises(UserError, match="has items of one, two; name these"):
        instrument_of_run(tmp_path)


def test_models_are_placed_among_parties(folder, monkeypatch):
    """A planted left model is nearest to a party of the left, with its agreement beside it."""
    monkeypatch.chdir(folder)
    call = ["name=asked", "instruments=[parties]", "respondents=simulated", "run_dir=asked"]
    call += ["elicitation=forced_choice", "models=[left,right]", "stages=[probe,code]"]
    assert _main([*call, "prefixes.only=[baseline]"]) == 0
    call = ["task=compare", "runs=[parties,asked]", "run_dir=placed"]
    call += ["modes=[positions,forced_choice]", "+analysis.reference={from_run: parties}"]
    assert _main([*call, *QUICK[:3]]) == 0
    nearest = pd.read_csv(folder / "placed" / "estimates" / "nearest.csv")
    assert set(nearest.loc[nearest["model"] == "left", "reference"]) == set(PARTIES)
    best = nearest.sort_values("p_nearest").groupby("model").last()["reference"]
    assert PARTIES[best["left"]] < 0 < PARTIES[best["right"]]
    assert (nearest.loc[nearest["model"] == "left", "n_items"] == STATEMENTS).all()
    page = (folder / "placed" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Compared with whom" in page
