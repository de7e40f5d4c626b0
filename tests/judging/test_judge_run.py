"""A judge in a run: after the rules, counted, shown, on stored answers, and validated."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from loopback import KEY, VARIABLE, Said

from polbayes.cli import _main
from polbayes.data.dataset import STANCE, STANCE_CLASSES, open_responses

SMALL = [
    "+experiment=wvs_prefixes",
    "respondents=simulated",
    "models=[left,right]",
    "items=[wvs-01,wvs-02,wvs-14,wvs-15]",
    "prefixes.only=[baseline,likert]",
    "elicitation.runs=2",
    "measures.bootstrap=100",
    "seed=3",
]
BLOCK = re.compile(r"<answer (\w+)>\n(.*?)\n</answer \1>", re.DOTALL)


def answer(prompt, body):
    found = BLOCK.search(prompt)
    label = "disagree" if found is None or "disagree" in found[2].lower() else "agree"
    return Said(json.dumps({name: 92 if name == label else 2 for name in STANCE_CLASSES}))


def judge(world, *more):
    api = {"base_url": world.url, "key_variable": VARIABLE, "backoff": 0.01}
    api |= {"price_input": 2.0, "price_output": 8.0, "budget": 5.0}
    return [
        "coding.coders=[likert,gpt]",
        "+coding.models.gpt.kind=judge",
        "+coding.models.gpt.checkpoint=m-1",
        *(f"+coding.models.gpt.judge.api.{key}={value}" for key, value in api.items()),
        *more,
    ]


@pytest.fixture
def world(loopback, monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    return loopback(key=KEY, answer=answer)


@pytest.fixture
def called(tmp_path, monkeypatch, capsys):
    """Run the small experiment in a folder: exit code and all that was said."""
    monkeypatch.chdir(tmp_path)

    def call(folder, *more):
        capsys.readouterr()
        code = _main([*SMALL, f"run_dir={folder}", *more])
        said = capsys.readouterr()
        return code, said.err + said.out

    return call


def test_a_judge_codes_what_the_rules_leave(world, called, tmp_path):
    folder = tmp_path / "run"
    assert called(folder, "stages=[probe,code]", "coding.coders=[likert]")[0] == 0
    stored = open_responses(folder)
    cells = stored["coder"] == -128
    left = stored["completion"].values[cells.values]
    statements = stored["statement"].broadcast_like(cells).transpose(*cells.dims)
    distinct = set(zip(statements.values[cells.values], left, strict=True))
    code, said = called(folder, *judge(world), "task=dry_run", "stages=[code]")
    assert code == 0, said
    assert not world.bodies
    told = re.search(r"^  gpt: (\d+), ([\d,]+), ([\d,]+), about ([\d.]+) USD$", said, re.MULTILINE)
    assert int(told[1]) == len(distinct)
    assert int(told[3].replace(",", "")) == 200 * len(distinct)

    code, said = called(folder, *judge(world), "stages=[code]")
    assert code == 0, said
    shown = [BLOCK.search(body["messages"][-1]["content"]) for body in world.bodies]
    asked = [found[2] for found in shown if found]
    assert len(asked) == len(distinct) + 1
    data = open_responses(folder)
    assert data["coder"].attrs["about"] == (
        "gpt: m-1 by rubric stance (version 1), probabilities stated by the judge"
    )
    names = data["coder"].attrs["flag_meanings"].split()
    code_of = dict(zip(names, data["coder"].attrs["flag_values"], strict=True))
    by_judge = data["coder"].values == code_of["gpt"]
    assert by_judge.sum() == len(left)
    wrote = data["completion"].values[by_judge]
    wanted = [STANCE["disagree" if "disagree" in t.lower() else "agree"] for t in wrote]
    assert data["stance"].values[by_judge].tolist() == wanted
    assert data["stance_prob"].values[by_judge].max(axis=1) == pytest.approx(0.92)

    (row,) = pd.read_csv(folder / "usage_coding.csv").to_dict("records")
    assert (row["input_tokens"], row["output_tokens"]) == tuple(world.tokens)
    assert row["cost"] == pytest.approx((2 * world.tokens[0] + 8 * world.tokens[1]) / 1e6)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["stages"]["code"]["usage"]["gpt"] in said
    for path in folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()

    # Another budget or pace is the same coding; a dry run knows what is judged already.
    many = len(world.bodies)
    stages = "stages=[probe,code]"
    larger = ["coding.models.gpt.judge.api.budget=9", "+coding.models.gpt.judge.api.concurrency=2"]
    code, said = called(folder, *judge(world), *larger, stages)
    assert "nothing to do" in said
    _, said = called(folder, *judge(world), "task=dry_run", "stages=[code]")
    assert f"gpt: {len(distinct)} ({len(distinct)} answered before), 0, 0" in said
    # Stored answers of another folder, with what was judged of them, and no key.
    elsewhere = [f"answers_from={folder}", "coding.models.gpt.judge.api.key_variable=UNSET_KEY"]
    code, said = called(tmp_path / "other", *judge(world), *elsewhere, "stages=[probe,code]")
    assert code == 0, said
    assert len(world.bodies) == many
    again = open_responses(tmp_path / "other")
    np.testing.assert_array_equal(again["stance_prob"].values, data["stance_prob"].values)
    # A changed rubric is another coding.
    rubric = tmp_path / "mine.yaml"
    from polbayes.judging.rubric import load_rubric

    parts = load_rubric("stance", where="x").parts
    rubric.write_text(yaml.safe_dump({"rubric": "mine", "version": 2, **parts}), encoding="utf-8")
    own = f"+coding.models.gpt.judge.rubric={rubric}"
    assert called(folder, *judge(world), own, "stages=[code]")[0] == 0
    assert "rubric mine (version 2)" in open_responses(folder)["coder"].attrs["about"]
    before = len(world.bodies)
    assert "nothing to do" in called(folder, *judge(world), own, "stages=[code]")[1]
    rubric.write_text(
        yaml.safe_dump({"rubric": "mine", "version": 3, **parts, "end": "Go."}), encoding="utf-8"
    )
    assert called(folder, *judge(world), own, "stages=[code]")[0] == 0
    assert len(world.bodies) > before


def test_what_a_judge_is_asked_without_is_recorded(world, called, tmp_path):
    said = "Unsupported parameter: 'temperature' is not supported with this model."
    world.refuses = lambda body: (
        (400, {"error": {"message": said}}) if "temperature" in body else None
    )
    folder = tmp_path / "run"
    assert called(folder, *judge(world), "stages=[probe,code]")[0] == 0
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["stages"]["code"]["notes"] == [
        "gpt: the server does not take temperature; it is left out, and its default holds."
    ]


def test_a_key_that_is_missing_is_said_before_anybody_is_asked(world, called, tmp_path):
    missing = "coding.models.gpt.judge.api.key_variable=UNSET_KEY"
    folder = tmp_path / "run"
    code, said = called(folder, *judge(world), missing, "stages=[probe,code]")
    assert code == 2
    assert "coding.models.gpt.judge.api.key_variable: the environment variable UNSET_KEY" in said
    assert not (folder / "journal").exists()
    # It takes none to see what would be asked.
    assert called(folder, *judge(world), missing, "task=dry_run")[0] == 0
    assert not world.bodies


def test_before_there_are_answers_the_estimate_is_of_all(world, called, tmp_path):
    _, said = called(tmp_path / "run", *judge(world), "task=dry_run")
    assert re.search(r"judge: questions, .*\n  gpt: 96, [\d,]+, 19,200, about ", said), said
    assert "--- gpt, as judge\nYour task is to label an answer." in said
    assert "\n(an answer)\n</answer " in said


def test_a_budget_that_is_used_up_is_counted(world, called, tmp_path):
    folder = tmp_path / "run"
    small = "+coding.models.gpt.judge.api.budget_tokens=5000"
    code, said = called(folder, *judge(world), small, "stages=[probe,code]")
    assert code == 2
    assert "coding.models.gpt.judge.api.budget_tokens: the next question might exceed" in said
    (row,) = pd.read_csv(folder / "usage_coding.csv").to_dict("records")
    assert (row["input_tokens"], row["output_tokens"]) == tuple(world.tokens)
    larger = "+coding.models.gpt.judge.api.budget_tokens=1000000"
    assert called(folder, *judge(world), larger, "stages=[probe,code]")[0] == 0
    assert max(world.given.values()) <= 3


def test_in_an_ensemble_and_a_cascade_and_validated(world, called, tmp_path):
    table = pd.DataFrame(
        {
            "statement": ["Museums are too dear."] * 4,
            "response": [
                "I agree.",
                "I disagree.",
                "Perhaps, who knows.",
                "Some disagree, I do not",
            ],
            "label": ["agree", "disagree", "neutral", "agree"],
        }
    )
    table.to_csv(tmp_path / "mine.csv", index=False)
    two = [
        "task=validate_coder",
        "validation.table=mine.csv",
        "validation.coders=[lexical,gpt,both]",
        "+coding.models.both.kind=ensemble",
        "+coding.models.both.weights={lexical: 1, gpt: 3}",
    ]
    code, said = called(tmp_path / "run", *judge(world), *two)
    assert code == 0, said
    assert re.search(r"validate_coder: gpt: [\d,]+ tokens in", said)
    # The ensemble asks about nothing that the judge has judged.
    texts = [BLOCK.search(body["messages"][-1]["content"]) for body in world.bodies]
    assert len([found for found in texts if found]) == 4 + 1
    scores = pd.read_csv(tmp_path / "run" / "validation" / "tables" / "scores.csv")
    right = scores.query("measure == 'accuracy' and answers == 'all'").set_index("coder")
    assert right["estimate"]["gpt"] == pytest.approx(0.5)
    assert right["estimate"]["lexical"] == pytest.approx(0.5)
    assert {"both", "cascade"} <= set(right.index)


def test_looking_at_an_analysis_of_an_imported_table_asks_nobody(world, called, tmp_path):
    rows = [
        {"model": model, "item": item, "answer": "Why not, go ahead.", "prefix": prefix}
        for model in ("a", "b", "c")
        for item in ("wvs-01", "wvs-02", "wvs-14", "wvs-15")
        for prefix in ("baseline", "polite")
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "table.csv", index=False)
    imported = [
        "respondents=none",
        "prefixes.only=null",
        "models=null",
        "items=null",
        "+imported.path=table.csv",
        "+imported.columns={model: model, item: item, answer: answer, prefix: prefix}",
        "analysis.parts.wording=null",
        "analysis.parts.decisiveness=null",
        "analysis.parts.quirk=null",
    ]
    code, said = called(tmp_path / "run", *judge(world), *imported, "task=explain")
    assert code == 0, said
    code, said = called(tmp_path / "run", *judge(world), *imported, "task=dry_run")
    assert "no respondent would be asked" in said
    assert re.search(r"gpt: 4, ", said), said
    assert not world.bodies
