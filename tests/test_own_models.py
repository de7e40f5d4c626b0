"""A questionnaire, two checkpoints and a table of one's own, through to the report."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from test_notebooks import FOLDER, cells

import polbayes as pb
from polbayes.data.dataset import STATUS

FEW = {"chains": 2, "tune": 100, "draws": 200}


@pytest.fixture
def questionnaire(tmp_path):
    """The questionnaire of the tutorial."""
    code = "".join(cells(FOLDER / "own_models.ipynb")[0]["source"])
    text = re.search(r'"""\\?\n?(.*?)"""', code, re.DOTALL)[1]
    (tmp_path / "housing.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "housing.yaml"


@pytest.mark.slow
def test_two_checkpoints_answer_a_questionnaire(causal_checkpoint, questionnaire, tmp_path):
    names = {"first": "gpt2-bytes-right", "second": "llama-bytes-bos-right"}
    models = {key: {"checkpoint": str(causal_checkpoint(name).path)} for key, name in names.items()}
    run = pb.run(
        "wvs_prefixes",
        "respondents=none",
        "elicitation=forced_choice",
        respondents=models,
        instruments=[str(questionnaire)],
        prefixes={"only": ["baseline", "truth"]},
        sampler=FEW,
        run_dir=str(tmp_path / "asked"),
        progress=False,
    )
    data = run.responses
    assert data["model"].values.tolist() == list(models)
    answered = data["p_agree"].where(data["status"] == STATUS["ok"])
    assert answered.notnull().any(["item", "variant", "prefix", "run"]).all()
    page = run.report.read_text(encoding="utf-8")
    assert "Compared with the truth" not in page  # nothing was planted
    assert all(name in page for name in models)
    # The experiment is about other statements.
    assert "World Values" not in page.split("</header>")[0]
    assert "EVS" not in page.split("</header>")[0]
    # Random weights put little on any option, and the page says so.
    assert "of the probability was on the options" in page


@pytest.mark.slow
def test_a_table_of_answers_to_the_same_questionnaire(questionnaire, tmp_path):
    rng = np.random.default_rng(1)
    items = [str(one) for one in re.findall(r"item: (\S+)", questionnaire.read_text())]
    rows = [
        {"model": model, "item": item, "answer": rng.choice(["agree", "disagree"], p=[p, 1 - p])}
        for model, p in (("a", 0.9), ("b", 0.5), ("c", 0.1))
        for item in items
        for _ in range(5)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "answers.csv", index=False)
    imported = {"path": str(tmp_path / "answers.csv"), "points": ["disagree", "agree"]}
    imported |= {"columns": {c: c for c in ("model", "item", "answer")}}
    run = pb.run(
        None,
        "respondents=none",
        name="own",
        instruments=[str(questionnaire)],
        imported=imported | {"constants": {"run": "count"}},
        sampler=FEW,
        run_dir=str(tmp_path / "table"),
        progress=False,
    )
    assert run.responses.sizes["run"] == 5
    assert set(run.table("theta")["model"]) == {"a", "b", "c"}
    assert json.loads((run.folder / "manifest.json").read_text())["stages"]["report"]
