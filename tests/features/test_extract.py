"""The table of features, one row a distinct wording."""

import sys

import numpy as np
import pytest

from polbayes.config.schema import FeatureConfig
from polbayes.errors import UserError
from polbayes.features import FEATURES, check_features, text_features, to_measure
from polbayes.features.dependencies import load_parser

QUICK = [name for name in FEATURES if "depend" not in name]


def test_a_row_a_distinct_wording_in_their_order():
    table = text_features(["Good taxes", "Bad", "Good taxes", ""], QUICK)
    assert table["statement"].tolist() == ["Good taxes", "Bad", ""]
    assert table.columns.tolist() == ["statement", *QUICK]
    assert table["sentence_length"].tolist() == [2, 1, 0]
    assert table["word_length"].tolist()[:2] == [4.5, 3]
    assert table.loc[2, ["word_length", "lexical_frequency", "positive_sentiment"]].isna().all()


def test_features_are_those_asked_for_in_that_order():
    names = ["positive_sentiment", "sentence_length"]
    table = text_features(["A good state"], names)
    assert table.columns.tolist() == ["statement", *names]


def test_all_eight(parser):
    table = text_features(["Dogs chase cats"], config=FeatureConfig(parser=parser))
    assert table.columns.tolist() == ["statement", *FEATURES]
    assert table.notna().all(axis=None)
    assert table["left_dependents"][0] == pytest.approx(1 / 3)


def test_no_wording_is_no_row():
    assert text_features([], QUICK).shape == (0, 6)


def test_half_a_character_stops_nothing(parser):
    table = text_features(["\ud800 good", "\ud800"], config=FeatureConfig(parser=parser))
    assert table["statement"].tolist() == ["\ud800 good", "\ud800"]
    assert table["sentence_length"].tolist() == [2, 1]
    assert np.isfinite(table["dependency_distance"]).all()


def test_unknown_names_are_refused():
    with pytest.raises(UserError, match="did you mean 'word_length'"):
        text_features(["a"], ["word_lenght"])
    with pytest.raises(UserError, match=r"features.names: unknown feature.*word_length"):
        check_features((), FeatureConfig(names=["words_length"]))


def test_what_is_measured_unasked():
    assert to_measure(FeatureConfig(), probabilities=True) == QUICK
    assert to_measure(FeatureConfig(), probabilities=False) == []
    assert "positive_sentiment" not in to_measure(FeatureConfig(language="de"), probabilities=True)
    chosen = FeatureConfig(names=["word_length", "word_length"])
    assert to_measure(chosen, probabilities=False) == ["word_length"]
    assert to_measure(FeatureConfig(names=[]), probabilities=True) == []


def test_a_parser_is_looked_for_only_where_it_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    load_parser.cache_clear()
    check_features(QUICK, FeatureConfig())
    with pytest.raises(UserError, match="need spaCy"):
        check_features(["left_dependents"], FeatureConfig())
    with pytest.raises(UserError, match=r"Without a parser: analysis=mine$"):
        check_features(["left_dependents"], FeatureConfig(), unparsed=["analysis=mine"])


def test_all_published_wordings_have_features(shared_data):
    pandas = pytest.importorskip("pandas")
    texts = pandas.read_parquet(shared_data / "haller" / "paraphrases.parquet")["text"]
    table = text_features(texts, QUICK)
    assert len(table) == texts.nunique()
    assert table[QUICK].notna().all(axis=None)
    # 58,848 wordings of some 20 words each, in English.
    assert table["sentence_length"].between(3, 80).mean() > 0.999
    assert table["lexical_frequency"].between(3, 7.5).mean() > 0.99
