"""A tokenizer small enough to work out by hand."""

import numpy as np
import pytest
import transformers as tf
from tokenizers import Tokenizer, decoders, models

from polbayes.huggingface.continuation import continuations, encode
from polbayes.instrument.prompts import Lexicon

PIECES = ["a", "b", ":", "y", "e", "s", " ", "n", "o", "t", "ye", "yes", ":yes", "no", " no", " n"]
MERGES = [("y", "e"), ("ye", "s"), (":", "yes"), ("n", "o"), (" ", "no"), (" ", "n")]


@pytest.fixture
def tokenizer():
    inner = Tokenizer(models.BPE({piece: n for n, piece in enumerate(PIECES)}, MERGES))
    inner.decoder = decoders.Fuse()
    return tf.PreTrainedTokenizerFast(tokenizer_object=inner)


def pieces(ids):
    return tuple(PIECES[i] for i in ids)


def found(tokenizer, prompt, *options):
    lexicon = Lexicon("l", options, (1,) * len(options))
    return continuations(tokenizer, prompt, encode(tokenizer, prompt), lexicon)


def test_an_answer_that_merges_with_the_prompt_keeps_its_own_ids(tokenizer):
    assert pieces(encode(tokenizer, "a:yes")) == ("a", ":yes")
    forms = {pieces(s) for s in found(tokenizer, "a:", "yes").sequences}
    # 'YES' and 'Yes' have no letters in this vocabulary and are left out.
    assert forms == {("yes",), (" ", "yes")}


def test_a_space_that_ends_the_prompt_is_not_taken_back(tokenizer):
    assert pieces(encode(tokenizer, "a no")) == ("a", " no")
    assert pieces(encode(tokenizer, "a ")) == ("a", " ")
    forms = {pieces(s) for s in found(tokenizer, "a ", "no").sequences}
    assert forms == {("no",), (" no",)}


def test_a_longer_option_is_taken_out_of_the_one_that_begins_it(tokenizer):
    join = found(tokenizer, "b", "no", "not")
    columns = [pieces(s) for s in join.sequences]
    assert set(columns) == {("no",), (" no",), ("no", "t"), (" no", "t")}
    p = {("no",): 0.5, (" no",): 0.2, ("no", "t"): 0.3, (" no", "t"): 0.05}
    mass = join.weights @ np.array([p[column] for column in columns])
    np.testing.assert_allclose(mass, [0.5 + 0.2 - 0.35, 0.35])
    # What has to be fed so that all four can be read: 'no' and ' no' themselves.
    assert {pieces(stem) for stem in join.stems} == {("no",), (" no",)}


def test_a_chain_of_options_shares_the_mass_of_the_shortest(tokenizer):
    join = found(tokenizer, "b", "no", "not", "note")
    p = {1: 0.5, 2: 0.3, 3: 0.1}
    bare = [(" " in pieces(s)[0], len(s)) for s in join.sequences]
    mass = join.weights @ np.array([0.0 if spaced else p[length] for spaced, length in bare])
    np.testing.assert_allclose(mass, [0.2, 0.2, 0.1])


def test_an_option_that_cannot_be_spelt_has_no_mass(tokenizer):
    assert pieces(encode(tokenizer, "nox")) == ("no",)
    join = found(tokenizer, "b", "no", "nox")
    assert {pieces(s) for s in join.sequences} == {("no",), (" no",)}
    assert join.absent.tolist() == [False, True]


def test_single_tokens_need_nothing_fed(tokenizer):
    assert found(tokenizer, "b", "no").stems == ((),)
