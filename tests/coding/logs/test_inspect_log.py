"""Logs of Inspect, made by Inspect itself with its mock model."""

import math
import subprocess
import sys

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.coding.importer import import_table
from polbayes.config.compose import compose
from polbayes.data.dataset import open_responses, to_frame
from polbayes.errors import UserError

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed (nox -s interchange)")

# Answers are a function of what was asked, with the log probabilities that a server would list.
_SCRIPT = """
import sys
from inspect_ai import eval
from inspect_ai.model import (
    ChatCompletionChoice, ChatMessageAssistant, ContentReasoning, ContentText, Logprob, Logprobs,
    ModelOutput, ModelUsage, TopLogprob, get_model,
)

def answer(messages, tools, tool_choice, config):
    said = "Yes." if "first" in messages[-1].text else "No."
    if len(messages) > 1:
        said += " " + messages[0].role + ": " + messages[0].text
    if "first" in messages[-1].text and not config.logprobs:
        said = [ContentReasoning(reasoning="No, or is it?"), ContentText(text=said)]
    top = [(" yes", -0.5), ("No", -1.5), ("Yes", -2.5)]
    listed = [TopLogprob(token=t, logprob=p) for t, p in top]
    at = Logprobs(content=[Logprob(token=" yes", logprob=-0.5, top_logprobs=listed)])
    choice = ChatCompletionChoice(
        message=ChatMessageAssistant(content=said), stop_reason="stop",
        logprobs=at if config.logprobs else None,
    )
    used = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return ModelOutput(model="mockllm/model", choices=[choice], usage=used)

eval(sys.argv[1], model=get_model("mockllm/model", custom_outputs=answer), log_dir=sys.argv[2],
     display="none")
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


def ask(tmp_path, *overrides):
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
    (tmp_path / "ask.py").write_text(_SCRIPT, encoding="utf-8")
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


def test_a_file_that_is_no_log_is_an_error(tmp_path):
    (tmp_path / "a.eval").write_text("no log", encoding="utf-8")
    config, _ = compose(["+importer=inspect", f"imported.path={tmp_path}", "name=x"])
    with pytest.raises(UserError, match="cannot be read as a log of Inspect"):
        import_table(config.imported, instruments=[])
