"""Greedy, beam and contrastive search and top-p sampling, against plain versions without caches."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.huggingface.sampling import nucleus
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.respondents import Question, answer_settings, check
from polbayes.respondents.causal import BACKEND
from polbayes.respondents.chat_api.request import request_body

PROMPTS = [
    "The state should own the railways.\nYour response:",
    "Agree?",
    "Taxes are too high. Please respond:",
    "I",
]
TEMPLATE = Template("t", "open_ended", {"base": "{prefix}{statement}\n"})
NAMES = ["llama-bytes-bos-right", "gpt2-metaspace-left"]
ROOM = 6


INFO = ModelInfo("m", "", checkpoint="m")


def question(prompt: str, run: int = 1) -> Question:
    return Question("i", "original", "baseline", run, prompt, 1, "economic", prompt)


def opened(checkpoint, **elicitation):
    config = RespondentConfig(checkpoint=str(checkpoint.path), device="cpu")
    return BACKEND.open(
        "m", config, TEMPLATE, ElicitationConfig(max_new_tokens=ROOM, **elicitation)
    )


class Plain:
    """One sequence at a time, everything computed anew at every token."""

    def __init__(self, respondent):
        self.model, self.ends = respondent._passes.plain._model, respondent._ends
        self.run = cache(self._run)

    def _run(self, ids):
        with torch.no_grad():
            out = self.model(torch.tensor([list(ids)]), output_hidden_states=True)
        return out.logits[0, -1].double(), out.hidden_states[-1][0].double()

    def greedy(self, ids):
        start = len(ids)
        while len(ids) - start < ROOM and (len(ids) == start or ids[-1] not in self.ends):
            ids = (*ids, int(self.run(ids)[0].argmax()))
        return list(ids[start:])

    def contrastive(self, ids, alpha, k):
        start = len(ids)
        while len(ids) - start < ROOM and (len(ids) == start or ids[-1] not in self.ends):
            logits, states = self.run(ids)
            p, tokens = logits.softmax(0).topk(k)
            scores = []
            for share, token in zip(p.tolist(), tokens.tolist(), strict=True):
                own = self.run((*ids, token))[1][-1]
                alike = torch.nn.functional.cosine_similarity(states, own[None]).max()
                scores.append((1 - alpha) * share - alpha * float(alike))
            ids = (*ids, tokens[int(np.argmax(scores))].item())
        return list(ids[start:])

    def beam(self, ids, width):
        """Keep the `width` best beginnings; an ended one competes by its mean a token."""
        start, running, ended = len(ids), [(0.0, ids)], []
        for length in range(1, ROOM + 1):
            found = []
            for score, one in running:
                log_p, tokens = self.run(one)[0].log_softmax(0).topk(2 * width)
                for value, token in zip(log_p.tolist(), tokens.tolist(), strict=True):
                    found.append((score + value, (*one, token)))
            found.sort(key=lambda pair: -pair[0])
            # An end counts if it is among the best, as if it took a place in the beam.
            for score, one in found[:width]:
                if one[-1] in self.ends:
                    ended.append((score / length, one))
            running = [pair for pair in found if pair[1][-1] not in self.ends][:width]
            ended = sorted(ended, key=lambda pair: -pair[0])[:width]
            if len(ended) == width and ended[-1][0] >= running[0][0] / length:
                break
        else:
            ended += [(score / ROOM, one) for score, one in running]
        best = sorted(ended, key=lambda pair: -pair[0])[:width]
        return [list(one[start:]) for _, one in best]


def text(respondent, tokens):
    return respondent._completion(tokens).text


@pytest.mark.parametrize("name", NAMES)
def test_greedy_takes_the_likeliest_token_whatever_the_sampling_is(causal_checkpoint, name):
    respondent = opened(causal_checkpoint(name), decoding="greedy", temperature=2.0, top_k=3)
    plain = Plain(respondent)
    answers = respondent.complete([question(p) for p in PROMPTS], range(4))
    expected = [text(respondent, plain.greedy(respondent._prompts.ids(p))) for p in PROMPTS]
    assert [answer.text for answer in answers] == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("alpha", "k"), [(0.6, 4), (0.95, 3)])
def test_contrastive_search_is_its_definition(causal_checkpoint, name, alpha, k):
    respondent = opened(
        causal_checkpoint(name), decoding="contrastive", penalty_alpha=alpha, top_k=k
    )
    plain = Plain(respondent)
    answers = respondent.complete([question(p) for p in PROMPTS], range(4))
    found = [plain.contrastive(respondent._prompts.ids(p), alpha, k) for p in PROMPTS]
    assert [answer.text for answer in answers] == [text(respondent, one) for one in found]
    assert found != [plain.greedy(respondent._prompts.ids(p)) for p in PROMPTS]


@pytest.mark.parametrize(("alpha", "k"), [(0.0, 5), (0.8, 1)])
def test_without_penalty_or_choice_contrastive_search_is_greedy(causal_checkpoint, alpha, k):
    checkpoint, asked = causal_checkpoint(NAMES[0]), [question(p) for p in PROMPTS]
    searched = opened(checkpoint, decoding="contrastive", penalty_alpha=alpha, top_k=k)
    greedy = opened(checkpoint, decoding="greedy")
    assert searched.complete(asked, range(4)) == greedy.complete(asked, range(4))


@pytest.mark.parametrize("name", NAMES)
def test_the_runs_of_a_beam_search_are_its_sequences_in_order(causal_checkpoint, name):
    respondent = opened(causal_checkpoint(name), decoding="beam", beams=4, runs=3)
    plain = Plain(respondent)
    asked = [question(p, run) for p in PROMPTS for run in (1, 2, 3)]
    answers = [answer.text for answer in respondent.complete(asked, range(12))]
    found = [plain.beam(respondent._prompts.ids(p), 4) for p in PROMPTS]
    assert answers == [text(respondent, one) for best in found for one in best[:3]]
    assert len(set(answers)) > len(PROMPTS)


def test_a_beam_of_one_is_greedy(causal_checkpoint):
    checkpoint, asked = causal_checkpoint(NAMES[0]), [question(p) for p in PROMPTS]
    beam = opened(checkpoint, decoding="beam", beams=1).complete(asked, range(4))
    assert beam == opened(checkpoint, decoding="greedy").complete(asked, range(4))


@pytest.mark.parametrize("decoding", ["beam", "contrastive"])
def test_a_searched_answer_is_the_same_in_every_batch(causal_checkpoint, decoding):
    checkpoint = causal_checkpoint(NAMES[1])
    how = {"decoding": decoding, "beams": 3, "top_k": 3}
    asked = [question(p) for p in PROMPTS]
    alone = [opened(checkpoint, **how).complete([one], [7])[0] for one in asked]
    together = opened(checkpoint, batch_size=3, **how)
    order = [2, 0, 3, 1, 2]
    assert together.complete([asked[n] for n in order], range(5)) == [alone[n] for n in order]


def test_nucleus_by_hand():
    values = np.log([[0.5, 0.3, 0.15, 0.05], [0.4, 0.4, 0.1, 0.1]])
    kept = np.isfinite(nucleus(values, 0.75))
    # 0.5 + 0.3 reach 0.75; so do 0.4 + 0.4.
    assert kept.tolist() == [[True, True, False, False]] * 2
    assert np.isfinite(nucleus(values, 0.2)).sum(axis=1).tolist() == [1, 1]
    assert nucleus(values, 1.0) is values


def test_top_p_draws_from_the_likeliest_that_reach_it(causal_checkpoint):
    checkpoint, prompt, n = causal_checkpoint(NAMES[0]), "Agree?", 4000
    config = RespondentConfig(checkpoint=str(checkpoint.path), device="cpu")
    how = ElicitationConfig(max_new_tokens=1, top_k=0, top_p=0.6, batch_size=500)
    respondent = BACKEND.open("m", config, TEMPLATE, how)
    p, tokens = (
        Plain(respondent).run(respondent._prompts.ids(prompt))[0].softmax(0).sort(descending=True)
    )
    size = int((p.cumsum(0) < 0.6).sum()) + 1
    share = (p[:size] / p[:size].sum()).tolist()
    expected: dict[str, float] = {}
    for token, value in zip(tokens[:size].tolist(), share, strict=True):
        one = text(respondent, [token])
        expected[one] = expected.get(one, 0.0) + value
    drawn = Counter(a.text for a in respondent.complete([question(prompt)] * n, range(n)))
    assert set(drawn) <= set(expected)
    counts = np.array([drawn[one] for one in expected])
    assert chisquare(counts, n * np.array(list(expected.values()))).pvalue > 0.001


@pytest.mark.parametrize(
    ("given", "backend", "says"),
    [
        ({"decoding": "beem"}, "causal", "did you mean 'beam'"),
        ({"decoding": "beam"}, "chat_api", "it offers sample and greedy"),
        ({"decoding": "greedy"}, "simulated", "it offers sample"),
        ({"decoding": "greedy", "runs": 3}, "causal", "the same answer every time; use 1, not 3"),
        ({"decoding": "beam", "beams": 2, "runs": 3}, "causal", "at most that many runs, not 3"),
        ({"decoding": "contrastive", "top_k": 0}, "causal", "at least 1 candidate"),
    ],
)
def test_what_cannot_be_is_said(given, backend, says):
    with pytest.raises(UserError, match=says):
        check("m", RespondentConfig(backend=backend, checkpoint="x"), ElicitationConfig(**given))


def test_only_what_differs_from_earlier_defaults_is_part_of_the_settings():
    """A journal that was begun before there were these keys is gone on with."""
    config = RespondentConfig(backend="simulated", checkpoint="planted:left")
    before = {"kind", "template", "max_new_tokens", "top_k", "temperature"}

    def keys(**given):
        settings = answer_settings(config, ElicitationConfig(**given))
        return {k.split(".")[1] for k in settings if k.startswith("elicitation.")}

    assert keys() == before
    assert keys(top_p=0.9) == before | {"top_p"}
    assert keys(decoding="beam", top_p=0.9) == before | {"decoding"}
    assert keys(decoding="beam", beams=3) == before | {"decoding", "beams"}
    assert keys(kind="fill_mask", top_tokens=10) == {"kind", "template", "top_tokens"}


def test_the_first_options_of_every_stance():
    whole = Lexicon("five", ("no", "never", "yes", "sure", "fine"), (-1, -1, 1, 1, 1))
    assert whole.first(1).options == ("no", "yes")
    assert whole.first(3).options == whole.options
    assert whole.first(2).stance == (-1, -1, 1, 1)
    with pytest.raises(UserError, match="must be from 1 to 3"):
        whole.first(4)


def test_a_server_is_asked_the_same_way():
    def body(**given):
        how = ElicitationConfig(**given)
        return request_body(question("Hi"), info=INFO, api=ApiConfig(), elicitation=how, seed=1)

    sampled = body(top_k=7, temperature=0.5)
    assert (sampled["temperature"], sampled["extra_body"]) == (0.5, {"top_k": 7})
    assert "top_p" not in sampled
    assert body(top_p=0.9)["top_p"] == 0.9
    greedy = body(decoding="greedy", top_p=0.9, top_k=7, temperature=0.5)
    assert (greedy["temperature"], greedy["extra_body"]) == (0.0, {})
    assert "top_p" not in greedy
