"""Sentiment by the lexicon, by hand from its published formula, and by tiny classifiers."""

import json

import numpy as np
import pytest

from polbayes.config.schema import FeatureConfig
from polbayes.errors import UserError
from polbayes.features import check_features
from polbayes.features.classifier import check_classifier
from polbayes.features.sentiment import check_sentiment, sentiment

TEXTS = ["taxes are theft", "good", "very very good taxes are bad", "unheard of", "bad"]


def pairs(found):
    return np.stack([found["positive_sentiment"], found["negative_sentiment"]], axis=1)


def test_the_lexicon_by_hand():
    """Its words weigh their valence (good 1.9, bad -2.5) and 1 more, all others 1."""
    texts = ["The plan is good", "The plan is bad", "The plan is a plan", "", "  "]
    good, bad = 2.9 / (2.9 + 3), 3.5 / (3.5 + 3)
    expected = [[good, 0], [0, bad], [0, 0], [np.nan] * 2, [np.nan] * 2]
    # It rounds to three decimals.
    np.testing.assert_allclose(pairs(sentiment(texts)), expected, atol=5.1e-4)


@pytest.mark.parametrize(
    "text", ["👍", "😀", "?!", "税金は高い", "x" * 100_000, "but good " * 3000]
)
def test_odd_texts_have_shares(text):
    found = pairs(sentiment([text]))
    assert ((found >= 0) & (found <= 1)).all()


def test_of_a_very_long_text_the_beginning_counts():
    found = pairs(sentiment(["plan " * 999 + "good " * 5000, "plan " * 999 + "good"]))
    np.testing.assert_allclose(found[0], found[1])
    assert found[0, 0] == pytest.approx(2.9 / (2.9 + 999), abs=5.1e-4)


def test_a_classifier_gives_the_probabilities_of_its_labels(classifier):
    """Against one forward pass a text, without padding."""
    import torch
    import transformers as tf

    model = tf.BertForSequenceClassification.from_pretrained(classifier).eval()
    tokenizer = tf.AutoTokenizer.from_pretrained(classifier)
    expected = []
    for text in TEXTS:
        with torch.no_grad():
            logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
        neg, _, pos = (logits.exp() / logits.exp().sum()).tolist()
        expected.append([pos, neg])
    for size in (1, 2, 32):
        found = pairs(sentiment([*TEXTS, " "], method=classifier, batch_size=size, device="cpu"))
        np.testing.assert_allclose(found[:-1], expected, atol=1e-6)
        assert np.isnan(found[-1]).all()
    assert np.ptp(expected, axis=0).min() > 0.01


def test_named_labels_by_hand(biased):
    """Logits 0 and 1: probabilities 1 / (1 + e) and e / (1 + e)."""
    labels = {"positive": "LABEL_1", "negative": "LABEL_0"}
    found = pairs(sentiment(["good", "bad"], method=biased, labels=labels))
    np.testing.assert_allclose(found, [[np.e / (1 + np.e), 1 / (1 + np.e)]] * 2, rtol=1e-6)


def test_a_text_longer_than_the_classifier_reads_is_cut(classifier):
    long = "very " * 500
    # Of 24 positions 2 go to the ends.
    found = pairs(sentiment([long, "very " * 22], method=classifier))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_labels_that_are_not_known_are_asked_for(biased):
    with pytest.raises(UserError, match=r"LABEL_0, LABEL_1.*features.sentiment_labels.positive="):
        check_classifier(biased, labels={})
    with pytest.raises(UserError, match="did you mean 'LABEL_1'"):
        check_classifier(biased, labels={"positive": "LABEL_7"})
    with pytest.raises(UserError, match="unknown side 'good'"):
        check_classifier(biased, labels={"good": "LABEL_1"})


def test_what_is_no_classifier_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"features\.sentiment: checkpoint: there is no folder"):
        check_classifier("./none", labels={})
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(
        UserError, match=r"features\.sentiment: checkpoint: the folder .* no \*\.safetensors"
    ):
        check_classifier(str(tmp_path), labels={})
    labels = {"positive": "LABEL_1", "negative": "LABEL_0"}
    with pytest.raises(UserError, match="not a sequence classifier"):
        sentiment(["good"], method="embedded:masked_left", labels=labels)


def test_the_lexicon_is_english():
    with pytest.raises(UserError, match="judges English, not 'de'"):
        check_sentiment("vader", language="de", labels={})
    # Who does not ask for it is not told.
    check_features(["word_length"], FeatureConfig(language="de"))
