import itertools
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
import transformers as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.respondents import Question, describe
from polbayes.respondents.causal import BACKEND

CHECKPOINTS = [
    "llama-bytes-bos-right",
    "llama-metaspace-left",
    "gpt2-bytes-right",
    "gpt2-metaspace-left",
    "mistral-unigram-right",
    "gpt2-wordpiece-left",
    "gpt2-chat",
]
PROMPTS = [
    "The state should own the railways.\nYour response:",
    "Taxes are too high, and nobody can say yes or no to that. Please respond:",
    "Agree?",
    "Do you agree? ",
    "I",
    "Yes or no, please respond to it: The state should own the taxes.\n",
]
TEMPLATE = Template("t", "open_ended", {"base": "{prefix}{statement}\n", "chat": "{statement}"})
YES_NO = Lexicon("yn", ("yes", "no"), (1, -1))
# 'agree' begins 'agree strongly'; most forms are several tokens.
NESTED = Lexicon("nested", ("agree strongly", "agree", "disagree", "reject it"), (1, 1, -1, -1))


def question(prompt: str, run: int = 1) -> Question:
    return Question("i", "original", "baseline", run, prompt, 1, "economic", prompt)


def opened(checkpoint, **elicitation):
    config = RespondentConfig(checkpoint=str(checkpoint.path), device="cpu")
    return BACKEND.open("m", config, TEMPLATE, ElicitationConfig(**elicitation))


class Naive:
    """One text at a time, no padding, all logits: the independent answer."""

    def __init__(self, checkpoint):
        self.checkpoint = checkpoint
        self.tokenizer = tf.AutoTokenizer.from_pretrained(checkpoint.path)
        self.model = tf.AutoModelForCausalLM.from_pretrained(checkpoint.path).eval()
        self.next = cache(self._next)

    def prompt_ids(self, prompt: str) -> tuple[int, ...]:
        return tuple(self._prompt_ids(prompt))

    def _prompt_ids(self, prompt: str) -> list[int]:
        inner = self.tokenizer.backend_tokenizer
        if self.tokenizer.chat_template:
            prompt = f"<s>user: {prompt}\nassistant: "
            return inner.encode(prompt, add_special_tokens=False).ids
        ids = inner.encode(prompt, add_special_tokens=False).ids
        return [1, *ids] if self.checkpoint.bos else ids

    def form_ids(self, form: str) -> tuple[int, ...]:
        inner = self.tokenizer.backend_tokenizer
        if self.checkpoint.metaspace:
            # The pieces of a word with a space mark before it, or without one.
            pieces = ("▁" if n or form[0] == " " else "" for n in itertools.count())
            words = (mark + word for mark, word in zip(pieces, form.split(), strict=False))
            return tuple(token.id for word in words for token in inner.model.tokenize(word))
        return tuple(inner.encode(form, add_special_tokens=False).ids)

    def _next(self, ids: tuple[int, ...]) -> torch.Tensor:
        with torch.no_grad():
            return self.model(torch.tensor([list(ids)])).logits[0, -1].double().softmax(0)

    def probability(self, prompt: str, sequence: tuple[int, ...]) -> float:
        ids, p = self.prompt_ids(prompt), 1.0
        for token in sequence:
            p *= float(self.next(ids)[token])
            ids = (*ids, token)
        return p

    def forms(self, option: str) -> set[tuple[int, ...]]:
        cased = {option, option.lower(), option.capitalize(), option.upper()}
        return {self.form_ids(space + form) for form in cased for space in ("", " ")}

    def mass(self, prompt: str, option: str) -> float:
        return sum(self.probability(prompt, ids) for ids in self.forms(option))


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_forced_choice_agrees_with_one_prompt_at_a_time(causal_checkpoint, name):
    checkpoint = causal_checkpoint(name)
    naive = Naive(checkpoint)
    mass = opened(checkpoint, batch_size=4).option_mass([question(p) for p in PROMPTS], YES_NO)
    expected = [[naive.mass(p, option) for option in YES_NO.options] for p in PROMPTS]
    np.testing.assert_allclose(mass, expected, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("name", ["llama-bytes-bos-right", "gpt2-metaspace-left", "gpt2-chat"])
def test_an_option_that_begins_another_is_not_counted_twice(causal_checkpoint, name):
    checkpoint = causal_checkpoint(name)
    naive = Naive(checkpoint)
    mass = opened(checkpoint, batch_size=3).option_mass([question(p) for p in PROMPTS], NESTED)
    for row, prompt in zip(mass, PROMPTS, strict=True):
        strong, disagree, reject = (
            naive.mass(prompt, option) for option in ("agree strongly", "disagree", "reject it")
        )
        long = naive.forms("agree strongly")
        begins = {s for s in naive.forms("agree") if any(x[: len(s)] == s for x in long)}
        assert begins
        within = sum(
            naive.probability(prompt, x) for x in long if any(x[: len(s)] == s for s in begins)
        )
        agree = naive.mass(prompt, "agree") - within
        np.testing.assert_allclose(row, [strong, agree, disagree, reject], atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_masses_depend_on_nothing_but_the_prompt(causal_checkpoint, name):
    """Neither on batch, order and repetition, nor on what is fed at once and kept."""
    checkpoint = causal_checkpoint(name)
    sizes = (1, 3, 64, None)
    respondents = {size: opened(checkpoint, batch_size=size) for size in sizes}
    plain = opened(checkpoint, batch_size=1)
    plain._passes.can_share = False
    alone = plain.option_mass([question(p) for p in PROMPTS], NESTED)
    assert all(respondent._passes.can_share for respondent in respondents.values())

    @settings(max_examples=10, database=None)
    @given(
        order=st.lists(st.sampled_from(range(len(PROMPTS))), min_size=1, max_size=9),
        size=st.sampled_from(sizes),
        tokens=st.sampled_from((1, 7, 40, 256)),
    )
    def holds(order, size, tokens):
        respondent = respondents[size]
        respondent._passes._shared.tokens.size = tokens
        mass = respondent.option_mass([question(PROMPTS[n]) for n in order], NESTED)
        np.testing.assert_allclose(mass, alone[order], atol=1e-5)
        assert (mass >= 0).all()
        assert (mass.sum(axis=1) <= 1 + 1e-6).all()

    holds()


def test_no_question_no_answer(causal_checkpoint):
    respondent = opened(causal_checkpoint("gpt2-bytes-right"))
    assert respondent.option_mass([], YES_NO).size == 0
    assert respondent.complete([], []) == []


def test_options_that_are_the_same_tokens_must_share_their_stance(causal_checkpoint):
    respondent = opened(causal_checkpoint("gpt2-bytes-right"))
    with pytest.raises(UserError, match="'yes' and 'YES' express different stances"):
        respondent.option_mass([question("I")], Lexicon("bad", ("yes", "YES"), (1, -1)))
    mass = respondent.option_mass([question("I")], Lexicon("twice", ("yes", "YES"), (1, 1)))
    once = respondent.option_mass([question("I")], Lexicon("once", ("yes",), (1,)))
    np.testing.assert_allclose(mass, [[once[0, 0], 0]], rtol=1e-6)


def test_a_prompt_that_does_not_fit_is_refused(causal_checkpoint):
    respondent = opened(causal_checkpoint("gpt2-bytes-right"), max_new_tokens=5)
    long = question("Taxes. " * 200)
    with pytest.raises(ValueError, match="the model takes 128"):
        respondent.option_mass([long], YES_NO)
    with pytest.raises(ValueError, match="the model takes 128"):
        respondent.complete([long], [1])


@pytest.mark.parametrize(
    "name", ["llama-bytes-bos-right", "gpt2-wordpiece-left", "mistral-unigram-right", "gpt2-chat"]
)
def test_an_open_answer_is_the_same_in_every_batch(causal_checkpoint, name):
    checkpoint = causal_checkpoint(name)
    asked = [(question(p, run), 1000 * n + run) for n, p in enumerate(PROMPTS) for run in (1, 2)]
    alone = {}
    respondent = opened(checkpoint, batch_size=1, max_new_tokens=12)
    # Prompts fed whole, answers written by transformers.
    respondent._passes.can_share = False
    for q, seed in asked:
        [alone[q]] = respondent.complete([q], [seed])
    assert len({answer.text for answer in alone.values()}) > len(PROMPTS)
    shuffled = [asked[n] for n in np.random.default_rng(1).permutation(len(asked))]
    together = opened(checkpoint, batch_size=5, max_new_tokens=12)
    answers = together.complete([q for q, _ in shuffled], [seed for _, seed in shuffled])
    assert answers == [alone[q] for q, _ in shuffled]


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_sampling_draws_from_the_softmax_of_the_top_k(causal_checkpoint, temperature):
    checkpoint = causal_checkpoint("llama-bytes-bos-right")
    naive, prompt, n = Naive(checkpoint), "Agree?", 4000
    p = naive.next(naive.prompt_ids(prompt)).log() / temperature
    values, tokens = p.topk(6)
    texts = [naive.tokenizer.decode([t], skip_special_tokens=True) for t in tokens.tolist()]
    expected: dict[str, float] = {}
    for text, share in zip(texts, values.softmax(0).tolist(), strict=True):
        expected[text] = expected.get(text, 0.0) + share
    respondent = opened(
        checkpoint, batch_size=500, max_new_tokens=1, top_k=6, temperature=temperature
    )
    drawn = Counter(a.text for a in respondent.complete([question(prompt)] * n, range(n)))
    assert set(drawn) <= set(expected)
    counts = [drawn[text] for text in expected]
    assert chisquare(counts, [n * share for share in expected.values()]).pvalue > 0.001


def test_greedy_answers_are_those_of_the_likeliest_tokens(causal_checkpoint):
    checkpoint = causal_checkpoint("gpt2-bytes-right")
    naive = Naive(checkpoint)
    ids = naive.prompt_ids(PROMPTS[1])
    start = len(ids)
    while len(ids) < start + 8 and ids[-1] != 2:
        ids = (*ids, int(naive.next(ids).argmax()))
    expected = naive.tokenizer.decode([i for i in ids[start:] if i > 3])
    respondent = opened(checkpoint, max_new_tokens=8, temperature=0.0)
    assert respondent.complete([question(PROMPTS[1])], [5])[0].text == expected


def test_end_of_text_truncation_and_nothing_are_told_apart(causal_checkpoint):
    respondent = opened(causal_checkpoint("gpt2-bytes-right"), max_new_tokens=3)
    words = respondent._tokenizer(" yes", add_special_tokens=False)["input_ids"]
    ended = respondent._completion([*words, 2, 3])
    assert (ended.text, ended.status, ended.truncated) == (" yes", "ok", False)
    cut = respondent._completion(words)
    assert (cut.text, cut.status, cut.truncated) == (" yes", "ok", True)
    empty = respondent._completion([2])
    assert (empty.text, empty.status, empty.truncated) == ("", "empty", False)


def test_an_answer_stops_where_the_model_ends(causal_checkpoint):
    respondent = opened(causal_checkpoint("gpt2-bytes-right"), max_new_tokens=50)
    long = question("I disagree. " * 32)
    room = 128 - len(respondent._prompts.ids(long.prompt))
    assert 0 < room < 50
    [answer] = respondent.complete([long], [3])
    [again, other] = respondent.complete([long, question("I")], [3, 4])
    assert answer == again
    assert other.text


def test_the_shape_of_the_prompt_follows_the_tokenizer(causal_checkpoint):
    base = RespondentConfig(checkpoint=str(causal_checkpoint("gpt2-bytes-right").path))
    chat = RespondentConfig(checkpoint=str(causal_checkpoint("gpt2-chat").path), family="f")
    info = describe("m", base, TEMPLATE)
    assert (info.template, info.chat, info.instruct) == ("{prefix}{statement}\n", False, False)
    info = describe("m", chat, TEMPLATE)
    assert (info.template, info.chat, info.instruct) == ("{statement}", True, True)
    assert (info.family, info.checkpoint) == ("f", chat.checkpoint)
    chat.chat = False
    info = describe("m", chat, TEMPLATE)
    assert (info.template, info.chat, info.instruct) == ("{prefix}{statement}\n", False, True)
    base.chat = True
    with pytest.raises(UserError, match="has no chat template"):
        describe("m", base, TEMPLATE)
    chat.chat = True
    with pytest.raises(UserError, match="no text for a chat model"):
        describe("m", chat, Template("only", "open_ended", {"base": "x"}))
