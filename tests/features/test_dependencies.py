"""Dependents and distances of heads that were set by hand."""

import sys

import numpy as np
import pytest

from polbayes.errors import UserError
from polbayes.features.dependencies import dependencies, load_parser

# right and left dependents a word, and the mean distance from the head
BY_HAND = {
    "Dogs chase cats": (1 / 3, 1 / 3, (1 + 0 + 1) / 3),
    # the, old <- dog <- sleeps -> soundly, today.
    "The old dog sleeps soundly today.": (2 / 6, 3 / 6, (2 + 1 + 1 + 0 + 1 + 2) / 6),
    "Stop!": (0, 0, 0),
    "": (np.nan, np.nan, np.nan),
    " \n ": (np.nan, np.nan, np.nan),
}
NAMES = ("right_dependents", "left_dependents", "dependency_distance")


def test_by_hand(parser):
    found = dependencies(list(BY_HAND), parser=parser, batch_size=2)
    for k, name in enumerate(NAMES):
        np.testing.assert_allclose(found[name], [v[k] for v in BY_HAND.values()])


def test_dependents_are_those_that_spacy_counts(parser):
    from spacy.tokens import Doc

    pipeline = load_parser(parser)
    for text in list(BY_HAND)[:2]:
        doc = pipeline(Doc(pipeline.vocab, words=text.split()))
        found = dependencies([text], parser=parser)
        for name, theirs in zip(NAMES, ("n_rights", "n_lefts"), strict=False):
            assert found[name][0] == pytest.approx(np.mean([getattr(t, theirs) for t in doc]))


@pytest.mark.parametrize("text", ["👍 👍", "税金は 高い", "a" * 10_000, "one " * 3000, "\ufffd"])
def test_odd_texts_are_parsed(parser, text):
    found = dependencies([text], parser=parser)
    assert all(np.isfinite(values).all() for values in found.values())


def test_no_spacy_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    load_parser.cache_clear()
    with pytest.raises(UserError, match=r"need spaCy.*pip install 'polbayes\[spacy\]'") as caught:
        load_parser("en_core_web_sm")
    assert "\n" not in str(caught.value)


def test_no_pipeline_is_said_in_one_sentence(tmp_path):
    pytest.importorskip("spacy", reason="spaCy is not installed")
    for name in ("en_none_there", str(tmp_path)):
        with pytest.raises(UserError, match="there is no spaCy pipeline") as caught:
            load_parser(name)
        assert "\n" not in str(caught.value)


def test_a_pipeline_without_a_parser_is_refused(tmp_path):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.to_disk(tmp_path / "blank")
    with pytest.raises(UserError, match="has no dependency parser, only sentencizer"):
        load_parser(str(tmp_path / "blank"))
