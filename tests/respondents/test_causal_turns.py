"""Turns before a question, and temperatures by question, for local causal models."""

from dataclasses import replace

import pytest
import transformers as tf

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.instrument.prompts import load_template
from polbayes.respondents.base import Question, TooLongError
from polbayes.respondents.causal import BACKEND

BEFORE = (("The state should own it?", "I disagree."), ("And taxes?", "I agree."))


def question(**more):
    prompt = "Agree?"
    return Question("s", "original", "reflection", 1, prompt, 1, "economic", prompt, **more)


def opened(checkpoint, **how):
    config = RespondentConfig(checkpoint=str(checkpoint.path), device="cpu")
    settings = {"max_new_tokens": 4, "top_k": 0, **how}
    elicitation = ElicitationConfig(kind="roleplay", template="roleplay", **settings)
    return BACKEND.open("m", config, load_template("roleplay"), elicitation)


def test_a_chat_template_gets_all_turns(causal_checkpoint):
    checkpoint = causal_checkpoint("gpt2-chat")
    respondent = opened(checkpoint)
    tokenizer = tf.AutoTokenizer.from_pretrained(checkpoint.path)
    chat = [
        {"role": "user", "content": BEFORE[0][0]},
        {"role": "assistant", "content": BEFORE[0][1]},
        {"role": "user", "content": BEFORE[1][0]},
        {"role": "assistant", "content": BEFORE[1][1]},
        {"role": "user", "content": "Agree?"},
    ]
    wanted = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    assert respondent._prompts.text(question(before=BEFORE)) == wanted


def test_a_base_model_gets_the_turns_one_below_the_other(causal_checkpoint):
    respondent = opened(causal_checkpoint("gpt2-bytes-right"))
    wanted = "\n\n".join([*BEFORE[0], *BEFORE[1], "Agree?"])
    assert respondent._prompts.text(question(before=BEFORE)) == wanted


def test_each_answer_has_its_own_temperature_in_any_batch(causal_checkpoint):
    respondent = opened(causal_checkpoint("gpt2-bytes-right"), temperature=1.0)
    warm, cold = question(temperature=5.0), question(temperature=0.0)
    usual = question()
    together = respondent.complete([warm, cold, usual, cold], [1, 2, 3, 4])
    for one, seed, answer in zip((warm, cold, usual, cold), (1, 2, 3, 4), together, strict=True):
        assert respondent.complete([one], [seed]) == [answer]
    # At 0 the seed does not matter; at a high one it does.
    assert together[1] == together[3]
    many = respondent.complete([warm] * 20, list(range(20)))
    assert len({answer.text for answer in many}) > 10


def test_a_dialogue_that_does_not_fit_is_too_long(causal_checkpoint):
    respondent = opened(causal_checkpoint("gpt2-chat"))
    long = replace(question(), before=(("state " * 4000, "I agree."),))
    with pytest.raises(TooLongError, match="the model takes"):
        respondent.complete([long], [1])


def test_a_template_that_takes_a_date_is_told_the_same_on_every_day(causal_checkpoint, tmp_path):
    import shutil

    folder = shutil.copytree(causal_checkpoint("gpt2-chat").path, tmp_path / "dated")
    today = "{% if not date_string %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
    dated = today + "Today is {{ date_string }}. {{ messages[0].content }}"
    (folder / "chat_template.jinja").write_text(dated)
    config = RespondentConfig(checkpoint=str(folder), device="cpu")
    respondent = BACKEND.open("m", config, load_template("roleplay"), ElicitationConfig())
    assert respondent._prompts.text(question()).startswith("Today is 26 Jul 2024. ")
