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
# Answers of models to the statements of an import.
ANSWERED = """# @package _global_
defaults: [override /respondents: none, override /analysis: ideology_anchored, _self_]
name: answered
imported:
  path: answered.csv
  columns: {model: model, item: item, answer: answer}
  points: [disagree, neutral, agree]
analysis: {anchor: {political: right bot}}
"""
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


def test_statements_that_nobody_keyed_stay_so(folder, tmp_path):
    data = open_responses(folder / "parties")
    kinds = np.full(data["kind"].shape, "opposite", dtype=object)
    coords = {name: 0 * data[name] for name in ("direction", "keying")}
    data.assign_coords(kind=(data["kind"].dims, kinds), **coords).to_netcdf(
        tmp_path / "responses.nc"
    )
    found = instrument_of_run(tmp_path)
    assert {item.direction for item in found.items} == {0}
    assert {item.dimension for item in found.items} == {"economic"}
    assert {wording.polarity for item in found.items for wording in item.variants} == {-1}


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
    assert PARTIES[best["left"]] < 0 <= PARTIES[best["right"]]
    # Asked once, a model that wavers is nearer to the centre than it says: not a party of the other
    # side.
    side = nearest["reference"].map(PARTIES)
    other = nearest[
        ((nearest["model"] == "left") & (side > 0)) | ((nearest["model"] == "right") & (side < 0))
    ]
    assert (other["p_nearest"] < 0.01).all()
    assert (nearest.loc[nearest["model"] == "left", "n_items"] == STATEMENTS).all()
    page = (folder / "placed" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Compared with whom" in page


@pytest.mark.slow
@pytest.mark.long
def test_models_are_placed_among_real_parties(shared_data, tmp_path, monkeypatch):
    """Models that answer as a party does, but for some statements, are near that party.

    One is a copy of the AfD in 32 of 38 statements, one of DIE LINKE, and one answers at random.
    """
    monkeypatch.chdir(tmp_path)
    path = shared_data / "parties" / "positions.parquet"
    one = ["+experiment=parties", f"imported.path='{path}'", "run_dir=parties", *QUICK]
    assert _main([*one, "+imported.where={election: 2021-deutschland}"]) == 0
    table = pd.read_parquet(path).query("election == '2021-deutschland'")
    said = table.pivot(index="text", columns="party", values="answer")
    rng, points = np.random.default_rng(3), ["disagree", "neutral", "agree"]
    rows = []
    for model, party in (("right bot", "AfD"), ("left bot", "DIE LINKE"), ("dice", None)):
        own = rng.permutation(len(said)) < (6 if party else len(said))
        for changed, text in zip(own, said.index, strict=True):
            answer = rng.choice(points) if changed else said.loc[text, party]
            rows.append((model, text, answer))
    pd.DataFrame(rows, columns=["model", "item", "answer"]).to_csv("answered.csv", index=False)
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    (tmp_path / "mine" / "experiment" / "answered.yaml").write_text(ANSWERED)
    call = ["+experiment=answered", "instruments=[parties]", "run_dir=asked"]
    assert _main([*call, "stages=[probe,code]", "--config-dir", "mine"]) == 0
    call = ["task=compare", "runs=[parties,asked]", "run_dir=placed", *QUICK[:3]]
    call += ["analysis.reference.model=null", "+analysis.reference.from_run=parties"]
    assert _main(call) == 0
    nearest = pd.read_csv(tmp_path / "placed" / "estimates" / "nearest.csv")
    assert nearest["reference"].nunique() == said.shape[1]
    rows = nearest.set_index(["model", "reference"])
    sums = nearest.groupby("model")["p_nearest"].sum()
    np.testing.assert_allclose(sums, 1.0)
    for model, party in (("right bot", "AfD"), ("left bot", "DIE LINKE")):
        own = rows.loc[model]
        # The share of agreement counts the six statements that were drawn anew, too.
        assert own["agreement"].idxmax() == party
        assert own.loc[party, "agreement"] >= 32 / 38
        assert own.loc[party, "n_items"] == len(said)
        # Many parties hold positions like it, and answers drawn anew lead towards the centre: which
        # of them is nearest is open, and only those of the other side are not.
    left, right = (rows.loc[bot, "p_nearest"] for bot in ("left bot", "right bot"))
    assert right[["SPD", "GRÜNE", "DIE LINKE"]].sum() < 0.01
    assert left[["AfD", "FDP"]].sum() < 0.01
    table = pd.read_csv(tmp_path / "placed" / "estimates" / "theta.csv").set_index("model")
    theta = table["estimate"]
    assert theta["left bot"] < theta["SPD"] < theta["FDP"] < theta["right bot"]
    assert theta["left bot"] < theta["dice"] < theta["right bot"]
    page = (tmp_path / "placed" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Compared with whom" in page
    assert "left bot" in page
