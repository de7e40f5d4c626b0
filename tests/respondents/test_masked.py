import numpy as np
import pytest
import torch
import transformers as tf

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon, Template, render
from polbayes.respondents import Question, describe
from polbayes.respondents.masked import BACKEND

TEMPLATE = Template("t", "fill_mask", {"masked": "{prefix}{statement} I {mask} with it."})
STATEMENTS = [
    "The state should own the railways.",
    "Taxes are too high, and nobody can say yes or no to that.",
    "Yes?",
]
LEXICON = Lexicon(
    "words", ("agree", "support", "abrogate", "disagree", "oppose"), (1, 1, 1, -1, -1)
)


def opened(path, **elicitation):
    config = RespondentConfig(backend="masked", checkpoint=str(path), device="cpu")
    return BACKEND.open("m", config, TEMPLATE, ElicitationConfig(kind="fill_mask", **elicitation))


def ask(respondent, statements=STATEMENTS, lexicon=LEXICON):
    template = respondent.info.template
    prompts = [render(template, prefix="", statement=s) for s in statements]
    asked = [Question("i", "original", "baseline", 1, p, 1, "economic", p) for p in prompts]
    return respondent.option_mass(asked, lexicon)


def naive(path, statement):
    """Return for each option the mass of its forms that are in the vocabulary as they stand."""
    tokenizer = tf.AutoTokenizer.from_pretrained(path)
    model = tf.AutoModelForMaskedLM.from_pretrained(path).eval()
    inputs = tokenizer(f"{statement} I [MASK] with it.", return_tensors="pt")
    at = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        p = model(**inputs).logits[0, at].softmax(0)
    vocabulary = tokenizer.get_vocab()
    uncased = "Agree" not in vocabulary
    masses = []
    for word in LEXICON.options:
        forms = {word} if uncased else {word, word.capitalize(), word.upper()}
        ids = [vocabulary[form] for form in forms if form in vocabulary]
        masses.append(float(p[ids].sum()) if ids else np.nan)
    return masses


@pytest.mark.parametrize("lowercase", [True, False])
def test_fill_mask_agrees_with_one_prompt_at_a_time(masked_checkpoint, lowercase):
    path = masked_checkpoint(lowercase)
    mass = ask(opened(path, batch_size=2))
    expected = [naive(path, statement) for statement in STATEMENTS]
    np.testing.assert_allclose(mass, expected, atol=1e-6)
    assert np.isfinite(mass[:, [0, 3]]).all()
    assert (np.nansum(mass, axis=1) <= 1).all()


def test_masses_do_not_depend_on_batch_or_order(masked_checkpoint):
    path = masked_checkpoint(True)
    alone = ask(opened(path, batch_size=1))
    np.testing.assert_allclose(
        ask(opened(path, batch_size=8), STATEMENTS[::-1]), alone[::-1], atol=1e-5
    )


def test_a_word_of_several_tokens_is_left_out_and_reported(masked_checkpoint):
    respondent = opened(masked_checkpoint(True))
    assert np.isnan(ask(respondent)[:, 2]).all()
    [warning] = respondent.warnings(LEXICON)
    assert "abrogate" in warning
    assert "left out" in warning


def test_a_lexicon_without_a_usable_word_is_refused(masked_checkpoint):
    respondent = opened(masked_checkpoint(True))
    lexicon = Lexicon("odd", ("agree", "abrogate"), (1, -1))
    with pytest.raises(UserError, match="no 'disagree' option of lexicon 'odd' is a single token"):
        respondent.warnings(lexicon)


def test_the_mask_token_stands_in_the_template(masked_checkpoint, causal_checkpoint):
    config = RespondentConfig(backend="masked", checkpoint=str(masked_checkpoint(True)))
    info = describe("m", config, TEMPLATE)
    assert info.template == "{prefix}{statement} I [MASK] with it."
    assert not info.chat
    config.checkpoint = str(causal_checkpoint("gpt2-bytes-right").path)
    with pytest.raises(UserError, match="has no mask token"):
        describe("m", config, TEMPLATE)


def test_a_statement_with_a_mask_of_its_own_is_refused(masked_checkpoint):
    with pytest.raises(ValueError, match="2 masks instead of one"):
        ask(opened(masked_checkpoint(True)), ["We [MASK] it."])


def test_a_prompt_that_does_not_fit_is_refused(masked_checkpoint):
    with pytest.raises(ValueError, match="the model takes 64"):
        ask(opened(masked_checkpoint(True)), ["Taxes. " * 60])


def test_only_the_likeliest_tokens_count_where_so_many_are_read(masked_checkpoint):
    """Feng et al. (2023) and Lunardi et al. (2024) read the ten likeliest."""
    path = masked_checkpoint(True)
    whole, cut = ask(opened(path)), ask(opened(path, top_tokens=60, batch_size=2))
    model = tf.AutoModelForMaskedLM.from_pretrained(path).eval()
    tokenizer = tf.AutoTokenizer.from_pretrained(path)
    expected = whole.copy()
    for row, statement in enumerate(STATEMENTS):
        inputs = tokenizer(f"{statement} I [MASK] with it.", return_tensors="pt")
        at = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.no_grad():
            best = model(**inputs).logits[0, at].topk(60).indices.tolist()
        for option, word in enumerate(LEXICON.options):
            if tokenizer.get_vocab().get(word) not in best and np.isfinite(whole[row, option]):
                expected[row, option] = 0.0
    np.testing.assert_allclose(cut, expected, atol=1e-6)
    assert 0 < np.nansum(cut) < np.nansum(whole)


SMALL = {
    "vocab_size": 300,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
ARCHITECTURES = {
    # Name of the model, what its configuration needs, and what may return one position.
    "Bert": ({}, "BertAttention"),
    "Roberta": ({}, "RobertaAttention"),
    "Electra": ({"embedding_size": 16}, "ElectraAttention"),
    "DebertaV2": ({}, "DebertaV2Attention"),
    # Adds what went into the attention to what comes out, and has all positions again.
    "DistilBert": (
        {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48},
        "DistilBertSelfAttention",
    ),
    # Has one layer that is used again and again.
    "Albert": ({"embedding_size": 16}, "AlbertModel"),
    "MPNet": ({}, "MPNetAttention"),
    "ModernBert": ({"pad_token_id": 0}, "ModernBertModel"),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_one_position_is_enough_where_the_model_lets_it(masked_checkpoint, name):
    settings, narrow = ARCHITECTURES[name]
    torch.manual_seed(1)
    config = getattr(tf, f"{name}Config")(**{**SMALL, **settings})
    model = getattr(tf, f"{name}ForMaskedLM")(config).eval()
    path = masked_checkpoint(lowercase=True)
    respondent = opened(path)
    respondent._model = model
    rng = np.random.default_rng(2)
    prompts = [tuple(rng.integers(5, 300, size=n).tolist()) for n in (12, 7, 3)]
    where = [11, 0, 1]
    assert type(respondent._narrow[0]).__name__ == narrow
    with torch.no_grad():
        alone = [
            model(torch.tensor([p])).logits[0, at] for p, at in zip(prompts, where, strict=True)
        ]
    shapes = []
    model.register_forward_hook(lambda *of: shapes.append(tuple(of[2].logits.shape)))
    found = respondent._logits(prompts, where, respondent._narrow)
    assert shapes == [(3, 1, 300)]
    assert found.numpy() == pytest.approx(torch.stack(alone).numpy(), abs=1e-5)
