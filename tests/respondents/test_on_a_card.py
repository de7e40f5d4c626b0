"""Local models answer on a graphics card as they do on the processor; skipped without a card."""

import numpy as np
import pytest
import torch

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.instrument.prompts import Lexicon, Template, render
from polbayes.respondents import Question, causal, masked

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a graphics card that PyTorch can use"
)
CARD = "cuda"
STATEMENTS = [
    "The state should own the railways.",
    "The state should own the railways and the taxes.",
    "Taxes are too high, and nobody can say yes or no to that.",
    "Agree?",
]
OPEN = Template("t", "open_ended", {"base": "{statement}\nYour response:", "chat": "{statement}"})
BLANK = Template("t", "fill_mask", {"masked": "{statement} I {mask} with it."})
YES_NO = Lexicon("yn", ("yes", "no"), (1, -1))
AGREE = Lexicon("words", ("agree", "disagree"), (1, -1))


def opened(backend, path, template, device, **elicitation):
    name = "masked" if backend is masked.BACKEND else "causal"
    config = RespondentConfig(backend=name, checkpoint=str(path), device=device)
    return backend.open("m", config, template, ElicitationConfig(batch_size=3, **elicitation))


def asked(respondent):
    template = respondent.info.template
    prompts = [render(template, prefix="", statement=text) for text in STATEMENTS]
    return [
        Question("i", "original", "baseline", run, prompt, 1, "economic", prompt)
        for prompt in prompts
        for run in (1, 2)
    ]


@pytest.mark.parametrize("name", ["llama-bytes-bos-right", "gpt2-metaspace-left", "gpt2-chat"])
def test_a_causal_model(causal_checkpoint, name):
    path = causal_checkpoint(name).path
    plain, card = (
        opened(causal.BACKEND, path, OPEN, device, max_new_tokens=12) for device in ("cpu", CARD)
    )
    questions = asked(plain)
    np.testing.assert_allclose(
        card.option_mass(questions, YES_NO), plain.option_mass(questions, YES_NO), rtol=1e-3
    )
    seeds = range(len(questions))
    texts = [
        [found.text for found in one.complete(questions, list(seeds))] for one in (card, plain)
    ]
    # A draw at the boundary of two tokens may fall to either side.
    assert np.mean([a == b for a, b in zip(*texts, strict=True)]) >= 0.75


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_masked_model(masked_checkpoint, lowercase):
    path = masked_checkpoint(lowercase)
    mass = []
    for device in ("cpu", CARD):
        one = opened(masked.BACKEND, path, BLANK, device, kind="fill_mask")
        mass.append(one.option_mass(asked(one), AGREE))
    np.testing.assert_allclose(mass[1], mass[0], rtol=1e-3)
