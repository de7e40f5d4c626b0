"""A questionnaire, checkpoints and a table of one's own, by what the documentation prints."""

import re
import shlex
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from test_notebooks import FOLDER, cells

import polbayes as pb
from polbayes.cli import _main
from polbayes.config.resources import folder
from polbayes.data.dataset import STATUS

pytestmark = pytest.mark.slow

BLOCKS = ["".join(cell["source"]) for cell in cells(FOLDER / "own_models.ipynb")]
REFERENCE = (FOLDER.parent / "reference.md").read_text(encoding="utf-8")
FEW = {"chains": 2, "tune": 100, "draws": 200}
QUICK = ["measures.bootstrap=100", *(f"sampler.{name}={number}" for name, number in FEW.items())]


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def own_checkpoint(name, path):
    """Have a checkpoint that answers in words in a folder of one's own."""
    shutil.copytree(folder("models") / name, path)
    return {"checkpoint": path}


def test_the_tutorial_with_two_checkpoints(monkeypatch):
    """Those that it declares are replaced, as it says; its blocks are done as they are printed."""
    monkeypatch.setattr(pb, "run", partial(pb.run, sampler=FEW))
    names = {}
    for block in BLOCKS:
        exec(block, names)
        if "models = {" in block:
            assert list(names["models"]) == ["model_a", "model_b"]
            names["models"]["model_a"] = own_checkpoint("left", "./first")
            names["models"]["model_b"] = own_checkpoint("resolute", "./second")
    run, table = names["run"], names["table"]
    data = run.responses
    assert data["model"].values.tolist() == ["model_a", "model_b", "model_c"]
    assert data["checkpoint"].values.tolist() == ["./first", "./second", "planted:centre"]
    items = yaml.safe_load(Path("housing.yaml").read_text(encoding="utf-8"))["items"]
    assert data["item"].values.tolist() == [one["item"] for one in items]
    answered = data["completion"].where(data["status"] == STATUS["ok"])
    assert answered.notnull().any(["item", "variant", "prefix", "run"]).all()
    page = run.report.read_text(encoding="utf-8")
    assert all(name in page for name in names["models"])
    # The experiment is about other statements.
    assert "World Values" not in page.split("</header>")[0]
    assert "EVS" not in page.split("</header>")[0]
    assert table.responses.sizes["run"] == 5
    assert set(table.responses["item"].values) == set(data["item"].values)
    theta = table.table("theta").set_index("model")["estimate"]
    assert theta["tenant"] < theta["mayor"] < theta["landlord"]
    assert table.report.is_file()


def test_checkpoints_that_cannot_answer_are_told(causal_checkpoint):
    """Random weights put little on any option of the tutorial's questionnaire."""
    exec(BLOCKS[0], {})
    names = {"first": "gpt2-bytes-right", "second": "llama-bytes-bos-right"}
    run = pb.run(
        "wvs_prefixes",
        "respondents=none",
        "elicitation=forced_choice",
        respondents={
            key: {"checkpoint": str(causal_checkpoint(n).path)} for key, n in names.items()
        },
        instruments=["./housing.yaml"],
        prefixes={"only": ["baseline", "truth"]},
        sampler=FEW,
        run_dir="outputs/housing",
        progress=False,
    )
    data = run.responses
    answered = data["p_agree"].where(data["status"] == STATUS["ok"])
    assert answered.notnull().any(["item", "variant", "prefix", "run"]).all()
    page = run.report.read_text(encoding="utf-8")
    assert "Compared with the truth" not in page  # nothing was planted
    assert "of the probability was on the options" in page


def printed(words):
    """Return the arguments of the one command of the reference that has some words."""
    (line,) = re.findall(rf"^polbayes (.*{re.escape(words)}.*)$", REFERENCE, re.MULTILINE)
    return shlex.split(line)


def test_the_command_for_a_checkpoint():
    own_checkpoint("left", "./my-model")
    few = ["items=[wvs-01,wvs-02,wvs-20,wvs-21]", "prefixes.only=[baseline,truth]"]
    command = printed("checkpoint=./my-model analysis=ideology_one_model")
    assert _main([*command, *few, *QUICK]) == 0
    found = pb.open("outputs/mine")
    assert found.responses["model"].values.tolist() == ["mine"]
    assert found.report.is_file()


def test_the_command_for_a_questionnaire():
    exec(BLOCKS[0].replace("housing.yaml", "my_items.yaml"), {})
    few = ["models=[left,right]", "prefixes.only=[baseline]", "elicitation.runs=2"]
    assert _main([*printed("instruments=[./my_items.yaml]"), *few, *QUICK]) == 0
    found = pb.open("outputs/my_items")
    assert found.responses["instrument"].values.tolist() == ["housing"] * 6
    assert found.report.is_file()


def test_the_command_for_a_table():
    """The config is the copy that the reference names, and the table has its columns."""
    command = printed("+experiment=my_table")
    source = re.search(r"your own table of answers: copy (\S+)", REFERENCE)[1]
    text = (folder("conf").parent / source).read_text(encoding="utf-8")
    own = Path(command[-1]) / "experiment" / "my_table.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(text.replace("name: eroglu", "name: my_table"), encoding="utf-8")
    config = yaml.safe_load(text)["imported"]
    rng, rows = np.random.default_rng(1), []
    for model, lean in {"one": -1, "two": 1}.items():
        for item, side in {"pc-01": -1, "pc-02": 1, "pc-08": -1, "pc-09": 1}.items():
            for run in range(3):
                answer = config["points"][2 if side * lean * rng.choice([1, 1, 1, -1]) > 0 else 1]
                cell = {"model": model, "item": item, "prefix": "none", "run": run}
                cell["answer"] = answer
                rows.append({config["columns"][name]: value for name, value in cell.items()})
    pd.DataFrame(rows).to_parquet(config["path"])
    assert _main([*command, *QUICK, "imported.ignore=[]"]) == 0
    found = pb.open("outputs/my_table")
    assert found.responses["model"].values.tolist() == ["one", "two"]
    assert found.report.is_file()
