import hashlib

import numpy as np
import pytest

from polbayes.config.resources import folder
from polbayes.planted.truth import load_truths
from tools.embedded.corpus import forms, prompt, shipped_prefixes, shipped_wordings
from tools.embedded.fidelity import measure, sample_cells

TRUTHS = load_truths()
CAUSAL = [name for name, truth in TRUTHS.items() if truth.architecture == "causal"]


@pytest.fixture(scope="module")
def checkpoints():
    """Return a function that loads a shipped checkpoint in float32, each once."""
    torch = pytest.importorskip("torch")
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    loaded = {}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def load(name):
        if name not in loaded:
            causal = TRUTHS[name].architecture == "causal"
            kind = AutoModelForCausalLM if causal else AutoModelForMaskedLM
            path = folder("models") / name
            network = kind.from_pretrained(path, dtype=torch.float32).eval()
            loaded[name] = network, AutoTokenizer.from_pretrained(path)
        return loaded[name]

    yield load
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", list(TRUTHS))
def test_a_checkpoint_answers_what_was_planted(checkpoints, name):
    wordings = shipped_wordings()
    cells = sample_cells(TRUTHS[name], wordings, count=150, seed=3)
    found = measure(*checkpoints(name), TRUTHS[name], wordings, cells)
    assert found.error < 0.02
    assert found.right_stance > 0.98 or found.clear < 20
    # Sampling among the ten likeliest tokens must not distort the answers.
    assert found.top_ten.mean() > 0.995


@pytest.mark.parametrize("name", list(TRUTHS))
def test_a_checkpoint_knows_noisy_wordings(checkpoints, name):
    wordings = shipped_wordings()
    cells = sample_cells(TRUTHS[name], wordings, count=150, seed=4, strength=0.15)
    found = measure(*checkpoints(name), TRUTHS[name], wordings, cells)
    assert found.error < 0.035
    assert found.right_stance > 0.97 or found.clear < 20


@pytest.mark.parametrize("name", ["left", "masked_left"])
def test_padding_changes_nothing(checkpoints, name):
    wordings = shipped_wordings()
    cells = sample_cells(TRUTHS[name], wordings, count=40, seed=5)
    network, tokenizer = checkpoints(name)
    together = measure(network, tokenizer, TRUTHS[name], wordings, cells, batch=40)
    alone = measure(network, tokenizer, TRUTHS[name], wordings, cells, batch=1)
    np.testing.assert_allclose(together.measured, alone.measured, atol=1e-5)


@pytest.mark.parametrize("name", CAUSAL)
def test_a_causal_checkpoint_is_ready_to_be_asked(checkpoints, name):
    network, tokenizer = checkpoints(name)
    assert tokenizer.padding_side == "left"
    assert None not in (tokenizer.pad_token_id, tokenizer.bos_token_id)
    assert network.generation_config.eos_token_id == tokenizer.eos_token_id
    assert (tokenizer.chat_template is not None) == TRUTHS[name].instruct
    for word in (" yes", "Yes", " no", "No", "1", " 5", " agree", " disagree"):
        assert len(tokenizer(word)["input_ids"]) == 1
    apart = [tokenizer(text)["input_ids"] for text in ("Taxes are low.\n", "I agree.")]
    assert tokenizer("Taxes are low.\nI agree.")["input_ids"] == [*apart[0], *apart[1]]


def test_the_chat_template_of_a_checkpoint_gives_the_trained_prompt(checkpoints):
    _, tokenizer = checkpoints("left")
    prefix = shipped_prefixes()[2]
    base, chat = (f for f in forms("causal", chat=True) if f.template == "feng")
    turn = prompt(base, prefix, "Taxes are low.", model_name="left")
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": turn}], add_generation_prompt=True, tokenize=False
    )
    assert text == prompt(chat, prefix, "Taxes are low.", model_name="left")


def test_the_masked_checkpoint_has_its_words_as_single_tokens(checkpoints):
    _, tokenizer = checkpoints("masked_left")
    for word in ("agree", "disagree", "support", "oppose", "accept", "reject"):
        assert tokenizer(word, add_special_tokens=False)["input_ids"] == [
            tokenizer.convert_tokens_to_ids(word)
        ]


@pytest.mark.parametrize("name", list(TRUTHS))
def test_a_checkpoint_is_small_and_has_a_card_with_its_truth(name):
    path = folder("models") / name
    assert sum(f.stat().st_size for f in path.iterdir()) < 1_500_000
    card = (path / "README.md").read_text(encoding="utf-8")
    for dimension, value in TRUTHS[name].theta.items():
        assert f"theta, {dimension} | {value:+.2f}" in card
    assert "no politics of its own" in card


@pytest.mark.parametrize("name", list(TRUTHS))
def test_a_card_names_the_weights_that_lie_beside_it(name):
    path = folder("models") / name
    digest = hashlib.sha256((path / "model.safetensors").read_bytes()).hexdigest()
    assert digest in (path / "README.md").read_text(encoding="utf-8")
