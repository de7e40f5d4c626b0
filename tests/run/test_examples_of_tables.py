"""The shipped configs that read published tables: short, and right about what is in them."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.config.resources import folder
from polbayes.data.dataset import NOT_ASKED
from polbayes.run.plan import explain, plan

TABLES = {
    "eroglu": "eroglu/responses.parquet",
    "rottger": "rottger/*.parquet",
    "parties": "parties/positions.parquet",
    "parties_over_time": "parties/positions.parquet",
}
LEFT, RIGHT = ("DIE LINKE", "GRÜNE", "SPD"), ("FDP", "CDU/CSU", "AfD", "NPD")


def overrides(name, shared_data, *more):
    return [f"+experiment={name}", f"imported.path='{shared_data / TABLES[name]}'", *more]


def planned(name, shared_data):
    return plan(compose(overrides(name, shared_data))[0])


@pytest.mark.parametrize("name", ["eroglu", "rottger", "parties"])
def test_an_example_has_at_most_twelve_lines(name):
    text = (folder("conf") / "experiment" / f"{name}.yaml").read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if not line.startswith("#")]) <= 12
    yaml.safe_load(text)


def test_eroglu(shared_data):
    """The points are those that the authors gave the same answers."""
    data = planned("eroglu", shared_data).design
    scores = pd.read_parquet(shared_data / TABLES["eroglu"])
    assert (data["status"] != NOT_ASKED).sum() == len(scores)
    for (model, context, score), count in (
        scores.groupby(["model", "context"])["score_0_3"].value_counts().items()
    ):
        assert int((data["rating"].sel(model=model, prefix=context) == score).sum()) == count


def test_rottger(shared_data):
    """All four tables are there, with what was sent twice as two runs, and no other table."""
    data = planned("rottger", shared_data).design
    assert data.attrs["imported_rows"] == 4960 + 4960 + 3100 + 2480
    assert "200 of 15,700 rows are left out by imported.where." in data.attrs["notes"]
    again = (data["status"].sel(run=2) != NOT_ASKED).any(("model", "item", "variant"))
    twice = data["prefix"].values[again.values].tolist()
    assert sorted(twice) == ["templ-01 / jail-04", "templ-11 / jail-09"]
    prefixes = [p for p in data["prefix"].values if p.endswith("jail-04") and p < "templ-11"]
    assert len(prefixes) == 10
    forced = data["rating"].sel(model="Mistral-7B-Instruct-v0.1", prefix=prefixes)
    # The jailbreak table comes first in the order of names, and has the first template, too.
    one = forced.sel(run=1, prefix=prefixes[1:])
    other = forced.sel(run=2, prefix=prefixes[0])
    counts = [int((one == k).sum()) + int((other == k).sum()) for k in range(4)]
    assert counts == [150, 201, 228, 41]
    assert data["full_prompt"].attrs["shown"] == 1
    table = pd.read_parquet(shared_data / "rottger" / "implicit_paraphrase.parquet").iloc[7]
    cell = data.sel(
        model=table["model"],
        item=table["item_id"],
        prefix=f"{table['template_id']} / {table['jailbreak_id']}",
        run=1,
    )
    assert table["full_prompt"] in np.ravel(cell["full_prompt"].values)
    # The report shows one of each prefix.
    assert data["prompt_example"].dims == ("prefix",)
    for prefix, shown in data["prompt_example"].to_series().items():
        assert shown in data["full_prompt"].sel(prefix=prefix).values.ravel().tolist()
    assert data["prompt_example"].astype(bool).all()


def test_parties(shared_data):
    positions = pd.read_parquet(shared_data / TABLES["parties"])
    done = planned("parties", shared_data)
    assert (done.design["status"] != NOT_ASKED).sum() == len(positions)
    positions["party"] = positions["party"].replace(done.config.imported.rename["party"])
    assert done.design.sizes["item"] == positions["text"].nunique()
    # The same statement in three elections has up to three answers of a party.
    repeated = positions.groupby(["party", "text"]).size()
    there = (done.design["status"] != NOT_ASKED).sum(("variant", "prefix", "run"))
    for (party, text), count in repeated[repeated > 1].items():
        assert int(there.sel(model=party, item=text)) == count
    for (party, answer), count in positions.groupby("party")["answer"].value_counts().items():
        code = {"disagree": -1, "neutral": 0, "agree": 1}[answer]
        assert int((done.design["stance"].sel(model=party) == code).sum()) == count
    assert done.instruments == ()
    assert "theta[AfD, political] > 0" in explain(done.config)


def test_parties_over_time(shared_data):
    """Every answer is there, and a repeated statement is one item with several elections."""
    positions = pd.read_parquet(shared_data / TABLES["parties_over_time"])
    data = planned("parties_over_time", shared_data).design
    assert (data["status"] != NOT_ASKED).sum() == len(positions)
    assert data.sizes["item"] == positions["text"].nunique()
    asked = (data["status"] != NOT_ASKED).any(("variant", "prefix", "run"))
    elections = asked.groupby("date").any("model").sum("date")
    texts = positions.drop_duplicates(["election", "text"]).groupby("text").size()
    assert elections.to_series()[texts.index].tolist() == texts.tolist()
    assert "CDU / CSU" not in data["party"].values
    greens = data["model"].values[data["party"].values == "GRÜNE"]
    assert len(greens) == positions["election"].nunique()


@pytest.mark.slow
def test_large_parties_are_in_the_order_that_nobody_disputes(shared_data, tmp_path):
    one = [
        "+imported.where={election: 2013-deutschland}",
        f"run_dir={tmp_path}",
        "sampler.chains=2",
    ]
    draws = ["sampler.tune=400", "sampler.draws=1000", "measures.bootstrap=100"]
    assert _main(overrides("parties", shared_data, *one, *draws)) == 0
    theta = pd.read_csv(tmp_path / "estimates" / "theta.csv").set_index("model")["estimate"]
    assert theta[list(LEFT)].max() < theta[list(RIGHT)].min()
    pairs = pd.read_csv(tmp_path / "estimates" / "neighbours.csv")
    large = pairs[pairs["among"] == "reference"]
    order = [large["model"].iloc[0], *large["next"]]
    assert set(order) == {*LEFT, "FDP", "CDU/CSU", "AfD"}
    assert set(order[:3]) == set(LEFT)
    assert large["p_left"].iloc[2] > 0.99  # from the left to the others
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "The order of the reference from left to right" in page
    said = f"{order[0]}, {order[1]} ("
    assert said in page
    left_out = json.loads((tmp_path / "manifest.json").read_text())["stages"]["probe"]["notes"]
    assert left_out == ["7,294 of 8,358 rows are left out by imported.where."]
