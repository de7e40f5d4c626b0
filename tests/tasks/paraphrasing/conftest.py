"""A tiny questionnaire, and a respondent that answers from a script."""

from collections import Counter

import pytest
import yaml

from polbayes.instrument.design import ModelInfo
from polbayes.respondents import BACKENDS, Backend
from polbayes.respondents.base import Completion, template_text

ITEMS = {"q1": "The state should own the railways.", "q2": "Taxes are far too high today."}


class Script:
    """What a respondent says, by item, instruction or rubric, and call; and what it was asked."""

    def __init__(self):
        self.asked = Counter()
        self.fail_after = None

    def answer(self, question):
        if "one word only" in question.prompt:
            second = question.statement.split("Second: ")[1]
            return "**Opposite**" if " not " in second else "SAME." if "?" not in second else "hm"
        if "opposite side" in question.prompt:
            return f"Opposite: It is not so that {question.statement}"
        if "Provide 20" in question.prompt:
            topic = "Railways" if question.item == "q1" else "Tax rates"
            return (
                f"Here are 20 paraphrases:\n\n1. {topic} belong to us, number {question.run}.\n"
                f'2. "{topic} belong to us all."\n- {question.statement}\n'
                f"3. {topic} should not worry us."
            )
        return f"The reworded claim about {question.item} is this."


class Scripted:
    def __init__(self, info, script):
        self.info, self.script = info, script

    def warnings(self, lexicon):
        return ()

    def complete(self, questions, seeds):
        for question in questions:
            if (
                self.script.fail_after is not None
                and self.script.asked.total() >= self.script.fail_after
            ):
                raise KeyboardInterrupt
            self.script.asked[(question.item, question.run, question.prompt)] += 1
        return [Completion(self.script.answer(q), truncated=False) for q in questions]

    def close(self):
        pass


@pytest.fixture
def script(monkeypatch):
    script = Script()

    def describe(name, config, template):
        return ModelInfo(name, template_text(template, ("chat",), name), chat=True)

    def opened(name, config, template, elicitation):
        return Scripted(describe(name, config, template), script)

    monkeypatch.setitem(BACKENDS, "scripted", Backend(("open_ended",), describe, opened))
    return script


@pytest.fixture
def instrument(tmp_path):
    path = tmp_path / "tiny.yaml"
    items = [
        {
            "item": item,
            "text": text,
            "dimension": "economic",
            "direction": "left",
            "source": "made up",
            "variants": {},
        }
        for item, text in ITEMS.items()
    ]
    content = {"id": "tiny", "title": "Tiny", "citation": "Nobody (2020)", "items": items}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.fixture
def arguments(tmp_path, instrument, script):
    """The command line of a set made by the scripted respondent, to be added to."""
    return [
        "task=paraphrase",
        "name=set",
        f"instruments=[{instrument}]",
        "respondents=none",
        "+respondents.pen.backend=scripted",
        f"run_dir={tmp_path / 'set'}",
        "measures.bootstrap=100",
    ]
