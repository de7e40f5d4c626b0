"""A judge that is a checkpoint here: a language model that knows which word follows which."""

import numpy as np
import pytest

from polbayes.coding import get_coder
from polbayes.config.schema import CoderConfig, JudgeConfig
from polbayes.data.dataset import STANCE_CLASSES

RAIL = "The state should own the railways."
NEXT = {
    # After "Label:" one of the labels, after "Reply:" an object, after "{" its key and so on.
    "label:": {"agree": 0.5, "disagree": 0.2, "neutral": 0.1, "unrelated": 0.05, "well": 0.15},
    "reply:": {"{": 1.0},
    "{": {'"stance":': 1.0},
    '"stance":': {'"agree"': 0.7, '"neutral"': 0.3},
    '"agree"': {"}": 1.0},
    '"neutral"': {"}": 1.0},
    "}": {"</s>": 1.0},
}
STATED = '{"agree":60,"neutral":20,"disagree":20,"unrelated":0,"refused":0}'


def saved(folder, following):
    """Save a LLaMA without attention whose next word follows from the last one alone."""
    import torch
    import transformers as tf
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = [w for first, then in following.items() for w in (first, *then)]
    vocabulary = {w: n for n, w in enumerate(dict.fromkeys(["<unk>", "<s>", "</s>", *words]))}
    for label in STANCE_CLASSES:
        vocabulary.setdefault(label, len(vocabulary))
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tf.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)
    size = len(vocabulary)
    width = size + size % 2
    config = tf.LlamaConfig(
        vocab_size=size,
        hidden_size=width,
        intermediate_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        max_position_embeddings=2048,
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=False,
    )
    model = tf.LlamaForCausalLM(config)
    log = torch.full((size, size), -40.0)
    for first, then in following.items():
        for word, share in then.items():
            log[vocabulary[word], vocabulary[first]] = float(np.log(share))
    with torch.no_grad():
        layer = model.model.layers[0]
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size, width))
        # The norm stretches a one to the root of the width.
        model.lm_head.weight.zero_()
        model.lm_head.weight[:, :size] = log / width**0.5
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("judge"), NEXT)


def local(checkpoint, journal_dir=None, **how):
    judge = JudgeConfig(backend="causal", max_new_tokens=12, **how)
    config = CoderConfig(kind="judge", checkpoint=str(checkpoint), device="cpu", judge=judge)
    return get_coder("mine", {"mine": config}, journal_dir=journal_dir)


def test_the_mass_of_the_labels(checkpoint):
    found = local(checkpoint, probabilities="token")([RAIL] * 2, ["I agree.", "No."])
    planted = {"agree": 0.5, "disagree": 0.2, "neutral": 0.1, "unrelated": 0.05}
    wanted = [planted.get(name, 0.0) / 0.85 for name in STANCE_CLASSES]
    assert found == pytest.approx(np.array([wanted, wanted]), abs=1e-5)


def test_votes_are_drawn(checkpoint, tmp_path):
    texts = [f"Answer {n}." for n in range(12)]
    mine = local(checkpoint, tmp_path, probabilities="votes", votes=40)
    found = mine([RAIL] * 12, texts)
    assert found.sum(axis=1) == pytest.approx(np.ones(12))
    by_class = dict(zip(STANCE_CLASSES, found.T, strict=True))
    assert np.ptp(by_class["agree"]) > 0
    # 480 votes: four standard errors.
    assert by_class["agree"].mean() == pytest.approx(0.7, abs=4 * (0.7 * 0.3 / 480) ** 0.5)
    assert by_class["agree"] + by_class["neutral"] == pytest.approx(np.ones(12))
    (journal,) = tmp_path.glob("judge-*.jsonl")
    size = journal.stat().st_size
    again = local(checkpoint, tmp_path, probabilities="votes", votes=40)
    assert (again([RAIL] * 12, texts) == found).all()
    assert journal.stat().st_size == size


def test_stated_probabilities(tmp_path):
    following = {"reply:": {STATED: 1.0}, STATED: {"</s>": 1.0}}
    found = local(saved(tmp_path, following))([RAIL], ["I agree."])
    planted = {"agree": 0.6, "neutral": 0.2, "disagree": 0.2}
    assert found[0] == pytest.approx([planted.get(name, 0.0) for name in STANCE_CLASSES])


def test_other_weights_judge_anew(tmp_path):
    folder = saved(tmp_path / "a", NEXT)
    texts = ["I agree."]
    first = local(folder, tmp_path, probabilities="token")([RAIL], texts)
    saved(folder, {**NEXT, "label:": {"refused": 0.9, "agree": 0.1}})
    second = local(folder, tmp_path, probabilities="token")([RAIL], texts)
    assert STANCE_CLASSES[first[0].argmax()] == "agree"
    assert STANCE_CLASSES[second[0].argmax()] == "refused"


def test_an_answer_that_is_too_long_for_the_judge_is_not_coded(checkpoint, caplog):
    found = local(checkpoint, probabilities="token")([RAIL] * 2, ["I agree.", "I agree. " * 2000])
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()
    assert "the model takes 2048" in caplog.text
    assert "1 of 2 answers could not be judged in 3 attempts (failed 1)" in caplog.text
