import itertools

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from polbayes.config.schema import CoderConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.tasks.paraphrasing.check import check_least, infer, judged, nli_config, verdict

RELATIONS = ["contradiction", "neutral", "entailment"]
PAIRS = [
    ("The state should own the railways.", "Museums are too dear."),
    ("Museums are too dear.", "The state should own the railways."),
    ("I agree strongly.", "Museums are too dear, and the state should own the railways."),
]


@pytest.fixture
def nli(classifier_checkpoint):
    return {
        "tiny": CoderConfig(kind="nli", checkpoint=str(classifier_checkpoint("bert", RELATIONS)))
    }


def by_transformers(folder, premise, hypothesis):
    """The probabilities of contradiction and entailment, straight from the library."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.inference_mode():
        logits = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0]
    return logits.softmax(0)[[0, 2]].tolist()


def test_both_ways_are_those_of_the_checkpoint_itself(nli, tmp_path):
    """The coder gives premise and hypothesis as one pair of texts, in both directions."""
    texts = [second for _, second in PAIRS]
    originals = [first for first, _ in PAIRS]
    kinds = ["paraphrase", "opposite", "negation"]
    found = infer(texts, originals, kinds, nli="tiny", models=nli, journal_dir=tmp_path)
    for row, (original, text) in enumerate(PAIRS):
        against, towards = by_transformers(nli["tiny"].checkpoint, text, original)
        back_against, back = by_transformers(nli["tiny"].checkpoint, original, text)
        expected = [towards, back, against, back_against]
        got = found.loc[row, ["entails", "entailed", "contradicts", "contradicted"]]
        np.testing.assert_allclose(got.to_numpy(float), expected, atol=2e-6)
        relation = min(towards, back) if kinds[row] == "paraphrase" else min(against, back_against)
        assert found.loc[row, "relation"] == pytest.approx(relation, abs=2e-6)
    # The directions differ, or nothing was tested.
    assert abs(found["entails"] - found["entailed"]).max() > 0.01


def test_nothing_is_read_twice(nli, tmp_path):
    texts, originals = [b for _, b in PAIRS], [a for a, _ in PAIRS]
    how = {"nli": "tiny", "models": nli, "journal_dir": tmp_path}
    first = infer(texts, originals, ["paraphrase"] * 3, **how)
    journals = {p: p.read_bytes() for p in tmp_path.iterdir()}
    again = infer(texts, originals, ["paraphrase"] * 3, **how)
    assert again.equals(first)
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == journals
    assert infer([], [], [], **how).empty


def test_only_an_inference_coder_compares(nli):
    with pytest.raises(UserError, match=r"paraphrase.nli: 'sentiment' is of kind sentiment"):
        nli_config("sentiment", nli)
    with pytest.raises(UserError, match="unknown coder 'tny'; did you mean 'tiny'"):
        nli_config("tny", nli)
    with pytest.raises(UserError, match=r"paraphrase\.least"):
        check_least({"original": 0.5})


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("SAME", "same"),
        ("**Opposite.**", "opposite"),
        ("The answer is: other", "other"),
        ("same, the very same", "same"),
        ("Same or opposite?", "unread"),
        ("I cannot tell.", "unread"),
        ("another", "unread"),
        ("", "unread"),
    ],
)
def test_a_verdict_is_the_one_word_of_the_rubric(answer, read):
    assert verdict(answer) == read


def test_a_judge_is_asked_every_pair_once(script, tmp_path):
    texts = ["Trains should not be private.", "Trains are ours.", "Really?", "Trains are ours."]
    how = {
        "judge": ("pen", RespondentConfig(backend="scripted")),
        "batch_size": 2,
        "seed": 1,
        "journal_dir": tmp_path,
    }
    found = judged(texts, ["The state should own the railways."] * 4, **how)
    assert found == ["opposite", "same", "unread", "same"]
    assert script.asked.total() == 3
    prompts = list(itertools.chain(prompt for *_, prompt in script.asked))
    assert any(
        "First: The state should own the railways.\nSecond: Trains are ours." in p for p in prompts
    )
    assert judged(texts, ["The state should own the railways."] * 4, **how) == found
    assert script.asked.total() == 3
    assert judged([], [], **how) == []
