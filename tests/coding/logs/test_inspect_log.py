"""Logs of Inspect, made by Inspect itself with its mock model."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml

from polbayes.cli import _main
from polbayes.coding.importer import import_table
from polbayes.config.compose import compose
from polbayes.data.dataset import open_responses, to_frame
from polbayes.errors import UserError

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed (nox -s interchange)")

# What is asked by `answer`, whose answers are a function of what was asked, with the log
# probabilities that a server would list.
_SCRIPT = """
import sys
from inspect_ai import eval
from inspect_ai.model import (
    ChatCompletionChoice, ChatMessageAssistant, ContentReasoning, ContentText, Logprob, Logprobs,
    ModelOutput, ModelUsage, TopLogprob, get_model,
)

def output(said, config, top):
    listed = [TopLogprob(token=t, logprob=p) for t, p in top]
    at = [Logprob(token=t, logprob=p, top_logprobs=listed) for t, p in top[:1]]
    choice = ChatCompletionChoice(
        message=ChatMessageAssistant(content=said), stop_reason="stop" if said else "max_tokens",
        logprobs=Logprobs(content=at) if config.logprobs and top else None,
    )
    used = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return ModelOutput(model="mockllm/model", choices=[choice], usage=used)

{answer}

eval(sys.argv[1], model=get_model("mockllm/model", custom_outputs=answer), log_dir=sys.argv[2],
     display="none")
"""

_ANSWER = """
def answer(messages, tools, tool_choice, config):
    said = "Yes." if "first" in messages[-1].text else "No."
    if len(messages) > 1:
        said += " " + messages[0].role + ": " + messages[0].text
    if "first" in messages[-1].text and not config.logprobs:
        said = [ContentReasoning(reasoning="No, or is it?"), ContentText(text=said)]
    return output(said, config, [(" yes", -0.5), ("No", -1.5), ("Yes", -2.5)])
"""

# It thinks for 90 tokens, and answers with what is left of those that the request allows.
_THINKS = """
def answer(messages, tools, tool_choice, config):
    said = [ContentReasoning(reasoning="let me think " * 30)]
    if config.max_tokens <= 90:
        return output(said, config, [])
    said.append(ContentText(text="yes"))
    return output(said, config, [("yes", -0.25), ("no", -1.75)])
"""

# It says the first option of those that a question lists, with most of its probability.
_FIRST = """
def answer(messages, tools, tool_choice, config):
    codes = [line[0] for line in messages[-1].text.splitlines() if line[1:3] == ") "]
    return output(codes[0], config, [(codes[0], -0.5), (codes[-1], -2.0)])
"""

_PREFIXES = """
prefixes:
  baseline: {text: ""}
  terse: {text: "Be brief.", system: "You are terse.", attributes: {tone: terse}}
"""

_ITEMS = """
id: mine
title: Mine
citation: me
items:
  - {item: a, text: The first one., dimension: economic, direction: left, source: x, variants: {}}
  - {item: b, text: The second., dimension: economic, direction: right, source: x, variants: {}}
"""


def ask(tmp_path, *overrides, answer=_ANSWER):
    """Ask two statements by Inspect, and return its logs."""
    (tmp_path / "mine.yaml").write_text(_ITEMS, encoding="utf-8")
    done = _main(
        [
            *overrides,
            f"instruments=[{tmp_path}/mine.yaml]",
            "name=mine",
            "task=export",
            "export.formats=[inspect]",
            "export.chat=true",
            f"run_dir={tmp_path}/asked",
        ]
    )
    assert done == 0
    folder = tmp_path / "asked/export/inspect"
    (tmp_path / "ask.py").write_text(_SCRIPT.replace("{answer}", answer), encoding="utf-8")
    command = [sys.executable, str(tmp_path / "ask.py"), "polbayes_mine.py", str(tmp_path / "logs")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return tmp_path / "logs"


def test_written_answers_come_back_with_epochs_as_runs_and_prefixes_as_they_were(tmp_path):
    file = tmp_path / "prefixes.yaml"
    file.write_text(_PREFIXES, encoding="utf-8")
    logs = ask(tmp_path, f"prefixes.file={file}", "elicitation.runs=2")
    name = ["name=back", f"instruments=[{tmp_path}/mine.yaml]", f"run_dir={tmp_path}/back"]
    asked = ["+importer=inspect", f"imported.path={logs}", "stages=[probe,code]"]
    assert _main([*asked, "respondents=none", *name]) == 0

    data = open_responses(tmp_path / "back")
    assert dict(data.sizes) == {**data.sizes, "model": 1, "item": 2, "prefix": 2, "run": 2}
    thought = to_frame(data, ["reasoning"]).groupby("item")["reasoning"].unique()
    assert {item: list(texts) for item, texts in thought.items()} == {
        "a": ["No, or is it?"],
        "b": [""],
    }
    frame = to_frame(data, ["completion", "stance"], labels=True)
    said = {(r.item, r.prefix, r.run): (r.completion, r.stance) for r in frame.itertuples()}
    assert said["a", "baseline", 2] == ("Yes.", "agree")
    assert said["b", "baseline", 1] == ("No.", "disagree")
    assert said["b", "terse", 2][0] == "No. system: You are terse."
    assert data["tone"].values.tolist() == ["", "terse"]
    assert data["model"].values.tolist() == ["mockllm/model"]


def test_log_probabilities_become_the_masses_of_the_options(tmp_path):
    logs = ask(tmp_path, "elicitation=forced_choice", "prefixes.only=[baseline]")
    overrides = ["+importer=inspect_logprobs", f"imported.path={logs}", "name=x"]
    config, _ = compose(overrides)
    data = import_table(config.imported, instruments=[])

    agree, no = math.exp(-0.5) + math.exp(-2.5), math.exp(-1.5)
    np.testing.assert_allclose(data["p_agree"].values.ravel(), [agree] * 2, rtol=1e-6)
    np.testing.assert_allclose(data["p_disagree"].values.ravel(), [no] * 2, rtol=1e-6)
    np.testing.assert_allclose(data["mass_unseen"].values.ravel(), [1 - agree - no] * 2, rtol=1e-5)


@pytest.mark.parametrize("room", [None, 100])
@pytest.mark.parametrize("kind", ["forced_choice", "sampled_choice"])
def test_a_model_that_thinks_first_needs_room_for_it(tmp_path, room, kind):
    how = [f"elicitation={kind}", "prefixes.only=[baseline]"]
    how += ["elicitation.runs=1"] if kind == "sampled_choice" else []
    how += [f"export.thinking_tokens={room}"] if room else []
    logs = ask(tmp_path, *how, answer=_THINKS)
    importer = "inspect_logprobs" if kind == "forced_choice" else "inspect"
    name = ["name=back", f"instruments=[{tmp_path}/mine.yaml]", f"run_dir={tmp_path}/back"]
    asked = [f"+importer={importer}", f"imported.path={logs}", "stages=[probe,code]"]
    done = _main([*asked, "respondents=none", *name])
    if kind == "forced_choice" and not room:
        assert done == 2  # no answer has probabilities
        return
    assert done == 0
    data = open_responses(tmp_path / "back")
    if kind == "forced_choice":
        np.testing.assert_allclose(data["p_agree"].values.ravel(), [math.exp(-0.25)] * 2, rtol=1e-6)
    else:
        assert set(data["completion"].values.ravel()) == {"yes" if room else ""}


@pytest.mark.parametrize("kind", ["forced_choice", "sampled_choice"])
def test_each_question_has_its_own_order_of_options_there_and_back(tmp_path, kind):
    how = [f"elicitation={kind}", "elicitation.template=options", "prefixes.file=scale5"]
    how += ["elicitation.runs=4", "seed=3"]
    lexicon = ["elicitation.lexicon=agree5"] if kind == "forced_choice" else []
    logs = ask(tmp_path, *how, *lexicon, answer=_FIRST)
    importer = "inspect_logprobs" if lexicon else "inspect"
    name = ["name=back", f"instruments=[{tmp_path}/mine.yaml]", "stages=[probe,code]"]
    asked = [f"+importer={importer}", f"imported.path={logs}", "respondents=none"]
    assert _main([*asked, *name, f"run_dir={tmp_path}/back"]) == 0
    own = ["respondents=simulated", "models=[left]", *how, *lexicon, *name]
    assert _main([*own, f"run_dir={tmp_path}/own"]) == 0

    theirs, ours = open_responses(tmp_path / "back"), open_responses(tmp_path / "own")
    theirs = theirs.sel(item=ours["item"], prefix=ours["prefix"], run=ours["run"])
    assert theirs.sizes["run"] == 4
    for coordinate in ("prefix_options", "agree_first", "prefix_text", "keying"):
        assert theirs[coordinate].dims == ours[coordinate].dims
        assert (theirs[coordinate] == ours[coordinate]).all(), coordinate
    assert set(np.unique(theirs["agree_first"])) == {0, 1}
    # What comes first is strong agreement in one order, and strong disagreement in the other.
    first = theirs["agree_first"].broadcast_like(theirs["status"])
    if lexicon:
        assert theirs["p_agree"].dims == first.dims
        expected = np.exp(np.where(first == 1, -0.5, -2.0))
        np.testing.assert_allclose(theirs["p_agree"].values, expected, rtol=1e-6)
    else:
        assert theirs["rating"].dims == first.dims
        np.testing.assert_array_equal(theirs["rating"].values, np.where(first == 1, 4, 0))


def test_a_log_that_does_not_say_the_order_is_refused(tmp_path):
    entry = {"text": "{options}", "scale": ["no", "yes"], "order": "flipped"}
    table = tmp_path / "table.csv"
    rows = pd.DataFrame({"model": "m", "item": ["a", "b"], "answer": "yes"})
    rows.assign(prefix="p", prefix_entry=json.dumps(entry)).to_csv(table, index=False)
    columns = (
        "{model: model, item: item, prefix: prefix, prefix_entry: prefix_entry, answer: answer}"
    )
    config, _ = compose(["+experiment=imported", f"imported.path={table}", "name=x"])
    plain = replace(config.imported, columns=yaml.safe_load(columns), ignore=[], constants={})
    plain = replace(plain, points=None, options=None, stances=None, attributes={}, show=[])
    with pytest.raises(UserError, match="prefix_options of a / original / p / 1 is no JSON of its"):
        import_table(plain, instruments=[])


# Two tasks in one folder: of one the log says which options agree, of the other it has choices in
# an order of their own for each question, of which the mock model takes the one named by its id.
_SET = """
import json
from inspect_ai import Task, eval_set
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatCompletionChoice, ChatMessageAssistant, Logprob, Logprobs, ModelOutput, ModelUsage,
    TopLogprob, get_model,
)
from inspect_ai.scorer import choice
from inspect_ai.solver import generate, multiple_choice

def answer(messages, tools, tool_choice, config):
    said, asked = "Yes", messages[-1].text
    for line in asked.splitlines():
        if line.endswith(") " + asked.split("pick ")[-1].split(".")[0]):
            said = "ANSWER: " + line[0]
    top = [TopLogprob(token=t, logprob=p) for t, p in [("Yes", -0.5), ("No", -1.5)]]
    at = Logprobs(content=[Logprob(token="Yes", logprob=-0.5, top_logprobs=top)])
    message = ChatMessageAssistant(content=said)
    given = ChatCompletionChoice(message=message, stop_reason="stop", logprobs=at)
    used = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return ModelOutput(model="mockllm/model", choices=[given], usage=used)

known = {"polbayes": json.dumps({"item": "x", "options": {"Yes": 1, "No": -1}})}
mine = MemoryDataset([Sample(id="x", input="A statement.", metadata=known)], name="mine")
words = ["Ja", "Nein", "Wei\u00df nicht"]
picked = {"a": "Ja", "b": "Nein", "c": "Nein", "d": "Wei\u00df nicht", "e": "all"}
questions = MemoryDataset(
    [
        Sample(id=key, input=f"Please pick {pick}.", choices=words, target="A")
        for key, pick in picked.items()
    ],
    name="votes",
)
questions.shuffle_choices(seed=3)
tasks = [
    Task(name="mine", dataset=mine, solver=generate()),
    Task(name="votes", dataset=questions, solver=multiple_choice(), scorer=choice()),
]
model = get_model("mockllm/model", custom_outputs=answer)
eval_set(tasks, model=model, log_dir="logs", log_format="json", display="none")
"""


@pytest.fixture(scope="module")
def folder_of_a_set(tmp_path_factory):
    folder = tmp_path_factory.mktemp("set")
    command = [sys.executable, "-c", _SET]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "logs"


def imported(group, path, *overrides):
    config, _ = compose([f"+importer={group}", f"imported.path={path}", "name=x", *overrides])
    return import_table(config.imported, instruments=[])


def test_one_of_several_tasks_of_a_set_is_read(folder_of_a_set):
    assert (folder_of_a_set / "eval-set.json").exists()
    assert (folder_of_a_set / "logs.json").exists()
    data = imported("inspect_logprobs", folder_of_a_set, "imported.where={task: mine}")
    assert data["item"].values.tolist() == ["x"]
    assert data["p_agree"].item() == pytest.approx(math.exp(-0.5))
    with pytest.raises(UserError, match="does not say which options agree"):
        imported("inspect_logprobs", folder_of_a_set)


def test_the_option_chosen_is_an_answer_whatever_its_letter_was(folder_of_a_set):
    where = ("imported.where={task: votes}", "imported.columns.answer=chosen")
    show = "imported.show=[choices,score.choice.answer]"
    data = imported("inspect", folder_of_a_set, *where, show)
    frame = to_frame(data, ["completion"])
    said = dict(zip(frame["item"], frame["completion"], strict=True))
    assert said == {"a": "Ja", "b": "Nein", "c": "Nein", "d": "Weiß nicht", "e": ""}

    data = imported("inspect", folder_of_a_set, *where, show, "imported.points=[Nein,Ja]")
    stances = to_frame(data, ["stance"], labels=True)["stance"]
    assert stances.tolist()[:3] == ["agree", "disagree", "disagree"]

    letters = data["score_choice_answer"].values.ravel().tolist()
    assert letters[4] == ""
    assert len({*letters}) > 2, "the choices were not shuffled"
    orders = [json.loads(text) for text in data["choices"].values.ravel()]
    for item, order, letter in zip(data["item"].values[:4], orders, letters, strict=False):
        assert order["ABC".index(letter)] == said[item]
    assert "Weiß nicht" in data["choices"].values.ravel()[0]


def test_a_file_that_is_no_log_is_an_error(tmp_path):
    (tmp_path / "a.eval").write_text("no log", encoding="utf-8")
    config, _ = compose(["+importer=inspect", f"imported.path={tmp_path}", "name=x"])
    with pytest.raises(UserError, match="cannot be read as a log of Inspect"):
        import_table(config.imported, instruments=[])
