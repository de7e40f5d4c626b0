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


def test_the_thinking_of_a_role_is_kept_apart(loopback, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, KEY)

    def thinking(prompt, body):
        if len(body["messages"]) == 7:  # the third stage
            return Said("", thoughts="Hm, and", thought_tokens=9, finish="length")
        if len(body["messages"]) == 9:
            # The server does not mark where thinking begins, and it does not end here.
            return Said("Hm, then", finish="length")
        return Said(f"Hm.</think>Turn {len(body['messages'])}.", thought_tokens=3)

    world = loopback(key=KEY, answer=thinking)
    assert _main([*arguments(world, tmp_path / "run"), "stages=[probe]"]) == 0
    data = open_transcripts(tmp_path / "run").squeeze().isel(twin=0)
    assert data["answer"].values.tolist() == [*(f"Turn {n}." for n in (1, 1, 3, 5)), "", ""]
    assert data["reasoning"].values.tolist() == [*["Hm."] * 4, "Hm, and", "Hm, then"]
    assert data["reasoning_tokens"].values[:5].tolist() == [3, 3, 3, 3, 9]
    codes = [STATUS[name] for name in (*["ok"] * 4, "invalid", "invalid")]
    assert data["status"].values.tolist() == codes
    assert data["truncated"].values.tolist() == [0] * 4 + [1] * 2


def without_temperature(body):
    """Refuse as models that think do."""
    said = "Unsupported parameter: 'temperature' is not supported with this model."
    return (400, {"error": {"message": said}}) if "temperature" in body else None


def written(prompt, body):
    """Rate with one schema, compare with the other, and write what else is asked for."""
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    values = {"reasoning": "So.", "helped_more": "equal", "hedging": 2, "compliance": 4}
    asked_for = {key: values[key] for key in form.get("properties", {}) if key in values}
    return Said(json.dumps(asked_for)) if asked_for else Said("Here you are.")


def left_out_of(path):
    data = read_dataset(path)
    found = json.loads(data.attrs["left_out"])
    for name in found:
        assert f"{name}: the server does not take temperature" in data.attrs["notes"]
    return found


def test_what_roles_and_their_judges_are_asked_without_is_recorded(loopback, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(key=KEY, answer=answer, refuses=without_temperature)
    assert _main([*arguments(world, tmp_path / "run"), "stages=[probe,code]"]) == 0
    nothing = {"temperature": ""}
    assert left_out_of(tmp_path / "run" / "transcripts.nc") == {"player": nothing}
    assert left_out_of(tmp_path / "run" / "ratings.nc") == {"judge": nothing}


def test_what_paired_requests_and_their_judges_are_asked_without_is_recorded(
    loopback, monkeypatch, tmp_path
):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(key=KEY, answer=written, refuses=without_temperature)
    given = [
        *("+experiment=even_handedness", "pairs.topics=[unions]", "pairs.templates=[essay]"),
        *("respondents=none", *declared("respondents", "writer", world)),
        *("judges=none", *declared("judges", "judge", world), "stages=[probe,code]"),
    ]
    assert _main([*given, f"run_dir={tmp_path / 'run'}"]) == 0
    nothing = {"temperature": ""}
    found = left_out_of(tmp_path / "run" / "responses.nc")
    assert found["writer"].items() >= nothing.items()
    assert left_out_of(tmp_path / "run" / "verdicts.nc") == {"judge": nothing}


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
