"""Roles played and judged on a server that goes wrong now and then."""

import json

import pandas as pd
import pytest
from loopback import KEY, VARIABLE, Said

from polbayes.cli import _main
from polbayes.data.dataset import read_dataset
from polbayes.instrument.values import VALUES
from polbayes.roleplay.transcripts import STATUS, open_transcripts

RATINGS = {"reasoning": "So.", **dict.fromkeys(VALUES, 12), "commitment": 4}


def answer(prompt, body):
    if prompt.startswith("You rate a text."):
        return Said(json.dumps(RATINGS))
    return Said(f"### THOUGHTS\nHm.\n\n### ANSWER\nTurn {len(body['messages'])}.")


def declared(kind, name, world):
    start = f"+{kind}.{name}"
    return [
        *(f"{start}.backend=chat_api", f"{start}.checkpoint=m-1", f"{start}.api.backoff=0.01"),
        *(f"{start}.api.base_url={world.url}", f"{start}.api.key_variable={VARIABLE}"),
        *(f"{start}.api.price_input=1.0", f"{start}.api.price_output=2.0"),
    ]


def arguments(world, folder):
    return [
        *(
            "+experiment=politicsbench",
            "roleplay.scenarios=[union]",
            "roleplay.wordings=[original]",
        ),
        *("respondents=none", *declared("respondents", "player", world)),
        *("judges=none", *declared("judges", "judge", world), "judging.sample=3"),
        *(f"run_dir={folder}", "measures.bootstrap=100"),
    ]


def test_roles_on_a_server(loopback, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, KEY)
    faults = {"500": 0.1, "malformed": 0.1, "429": 0.05}
    world = loopback(key=KEY, answer=answer, faults=faults, seed=5)
    folder = tmp_path / "run"
    assert _main([*arguments(world, folder), "stages=[probe,code]"]) == 0
    data, ratings = open_transcripts(folder), read_dataset(folder / "ratings.nc")
    assert set(data["status"].values.ravel().tolist()) == {STATUS["ok"]}
    # Every stage comes after two messages a stage before it.
    said = data["answer"].squeeze().isel(twin=0).values.tolist()
    assert said == [f"Turn {n}." for n in (1, 1, 3, 5, 7, 9)]
    assert set(ratings["rating"].values.ravel().tolist()) == {12}
    # One model under two names judges itself.
    assert ratings["self_judged"].values.tolist() == [[1]]
    used = [pd.read_csv(folder / name) for name in ("usage.csv", "usage_judges.csv")]
    assert [table["model"].tolist() for table in used] == [["player"], ["judge"]]
    total = sum(table[["input_tokens", "output_tokens"]].to_numpy() for table in used)[0].tolist()
    assert total == world.tokens
    for path in folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    asked = len(world.bodies)
    assert _main([*arguments(world, folder), "stages=[probe,code]"]) == 0
    assert len(world.bodies) == asked


@pytest.mark.parametrize("missing", ["player", "judge"])
def test_a_missing_key_is_known_before_anything_is_asked(
    loopback, monkeypatch, tmp_path, capsys, missing
):
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.delenv("OTHER", raising=False)
    world = loopback(key=KEY, answer=answer)
    kind = "respondents" if missing == "player" else "judges"
    given = [
        one.replace(VARIABLE, "OTHER") if f"{kind}.{missing}.api.key" in one else one
        for one in arguments(world, tmp_path / "run")
    ]
    assert _main(given) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"{kind}.{missing}.api.key_variable: the environment variable OTHER is not set" in error
    assert world.bodies == []
