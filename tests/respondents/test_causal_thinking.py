"""Local models that think before they answer."""

import shutil
from itertools import chain

import numpy as np
import pytest

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon, load_template
from polbayes.respondents import describe
from polbayes.respondents.base import Question
from polbayes.respondents.causal import BACKEND

YES_NO = Lexicon("yn", ("yes", "no"), (1, -1))
THINKS = "{{ messages[-1].content }}<think>{{ '\n' }}"
# As templates of models that can be told not to think.
ASKED = (
    "{{ messages[-1].content }}{% if reasoning_effort %}[{{ reasoning_effort }}]{% endif %}"
    "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% else %}<think>\n{% endif %}"
)


def question(run=1):
    return Question("i", "original", "baseline", run, "S", 1, "economic", "Agree?")


@pytest.fixture
def opened(causal_checkpoint, tmp_path):
    def make(template, kind="open_ended", *, max_new_tokens=4, **config):
        folder = shutil.copytree(
            causal_checkpoint("gpt2-chat").path, tmp_path / str(len(list(tmp_path.iterdir())))
        )
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
        how = ElicitationConfig(kind=kind, max_new_tokens=max_new_tokens, top_k=0)
        declared = RespondentConfig(checkpoint=str(folder), device="cpu", **config)
        return BACKEND.open("m", declared, load_template("roleplay"), how)

    return make


def ids(respondent, *pieces):
    """Return the ids of pieces of text, each spelt by itself."""
    encode = respondent._tokenizer.encode
    return [encode(piece, add_special_tokens=False) for piece in pieces]


def test_thinking_is_no_part_of_the_answer_and_leaves_it_all_its_tokens(opened):
    respondent = opened("{{ messages[-1].content }}", thinking_tokens=100)
    thinking, said = ids(respondent, "<think>\nI disagree.</think>\n\n", "I agree.")
    ended = [*thinking, *said, respondent._ends[0]]
    found = respondent._completion(ended)
    long = len(said) > 4
    assert found.reasoning == "I disagree."
    assert found.reasoning_tokens == len(thinking)
    assert found.text == respondent._tokenizer.decode(said[:4])
    assert found.truncated is long
    # Without any, the answer has what it always had.
    plain = respondent._completion(said)
    assert (plain.text, plain.reasoning, plain.reasoning_tokens) == (found.text, "", None)


def test_thinking_that_the_template_begins_is_thinking(opened):
    respondent = opened(THINKS, thinking_tokens=6)
    answers = respondent.complete([question(n) for n in range(3)], [1, 2, 3])
    # A model of random weights does not write the end of it.
    assert [answer.text for answer in answers] == ["", "", ""]
    assert {answer.status for answer in answers} == {"empty"}
    plain = opened("{{ messages[-1].content }}<think>\nx", max_new_tokens=10)
    assert [a.reasoning for a in plain.complete([question()], [1])] == [""]
    assert all(answer.reasoning_tokens <= 10 for answer in answers)
    said = ids(respondent, "I disagree.</think>", "No")
    found = respondent._completion([*said[0], *said[1], respondent._ends[0]], opened=True)
    assert (found.reasoning, found.text) == ("I disagree.", "No")


def test_a_second_block_and_marks_of_its_own_are_no_part_of_the_answer(opened):
    respondent = opened(
        "{{ messages[-1].content }}", thinking_marks=["<plan>", "</plan>"], max_new_tokens=50
    )
    pieces = ["<plan>Hm.</plan>", "I agree.", "\n", "<think>Oh?</think>", "\n", "Sure."]
    spelt = ids(respondent, *pieces)
    found = respondent._completion([*chain(*spelt), respondent._ends[0]])
    assert (found.reasoning, found.text) == ("Hm.\n\nOh?", "I agree.\nSure.")
    assert found.reasoning_tokens == len(spelt[0]) + len(spelt[3]) + len(spelt[4])
    assert not found.truncated
    assert opened("{{ messages[-1].content }}<plan>")._opens("Agree?<plan>") is False
    begun = opened("{{ messages[-1].content }}<plan>", thinking_marks=["<plan>", "</plan>"])
    assert begun._opens("Agree?<plan>")
    assert [answer.text for answer in begun.complete([question()], [1])] == [""]
    with pytest.raises(UserError, match="begins every answer with thinking"):
        begun.warnings(YES_NO)


def test_how_hard_to_think_is_told_to_the_template_and_known_of_the_model(opened):
    low, none = (opened(ASKED, reasoning_effort=effort) for effort in ("low", "none"))
    assert low._prompts.text(question()) == "Agree?[low]<think>\n"
    assert none._prompts.text(question()) == "Agree?[none]<think>\n\n</think>\n\n"
    assert opened(ASKED)._prompts.text(question()) == "Agree?<think>\n"
    assert low.info.attributes == {"reasoning_effort": "low"}
    with pytest.raises(
        UserError, match=r"reasoning_effort: the checkpoint's chat template does not"
    ):
        opened(THINKS, reasoning_effort="low")
    twice = RespondentConfig(
        backend="chat_api",
        checkpoint="m",
        reasoning_effort="low",
        attributes={"reasoning_effort": "high"},
    )
    with pytest.raises(UserError, match="reasoning_effort has a key of its own"):
        describe("m", twice, load_template("roleplay"))


def test_a_forced_choice_within_thinking_is_refused_and_one_without_is_not(opened):
    with pytest.raises(UserError, match=r"begins every answer with thinking.*thinking_tokens"):
        opened(ASKED, "forced_choice").warnings(YES_NO)
    assert opened(ASKED, "forced_choice", reasoning_effort="none").warnings(YES_NO) == ()
    assert opened(ASKED, "forced_choice", thinking_tokens=5).warnings(YES_NO) == ()
    assert opened(ASKED).warnings(None) == ()


def test_options_are_read_after_the_thinking(opened, monkeypatch):
    respondent = opened(THINKS, "forced_choice", thinking_tokens=40)
    thinking, ended, rest = ids(respondent, "Taxes? ", "Hm.</think>\n\n", "Yes, I agree")
    written = {1: [*thinking, *ended, *rest], 2: [*thinking, *rest]}
    asked = []

    class Way:
        def continued(self, prompts, seeds, room, sampler):
            asked.append((room, sampler.temperature))
            return [written[n] for n in range(1, len(prompts) + 1)]

        def log_probabilities(self, fed, reads):
            return real.log_probabilities(fed, reads)

    real = respondent._passes.plain
    monkeypatch.setattr(respondent._passes, "choose", lambda longest: Way())
    found = respondent.option_mass([question(1), question(2)], YES_NO)
    assert asked == [([40, 40], 0.0)]
    # As if the prompt had the thinking in it.
    whole = opened(THINKS + "Taxes? Hm.</think>{{ '\\n\\n' }}", "forced_choice")
    np.testing.assert_allclose(found[0], whole.option_mass([question()], YES_NO)[0], rtol=1e-5)
    # It had no end.
    assert found[1].tolist() == [0.0, 0.0]
