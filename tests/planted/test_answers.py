import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.coding.lexical import read
from polbayes.planted.truth import Truth, class_probabilities, load_truths
from tools.embedded.answers import (
    answer_probabilities,
    answer_set,
    build_trie,
    decision_nodes,
    next_token_distribution,
)
from tools.embedded.corpus import shipped_wordings

TRUTH = Truth(name="t", theta={}, threshold=np.log(3), validity=0.9, unrelated=0.1, refused=0.1)
KINDS = ["open", "forced", "likert", "masked"]

# Three answers over tokens 1..4: "1 2", "1 3 4" and "4"; the first two start alike.
SEQUENCES = [[1, 2], [1, 3, 4], [4]]


def test_next_token_distribution_of_a_small_trie():
    trie = build_trie(SEQUENCES)
    assert set(trie) == {(), (1,), (1, 3)}
    probabilities = np.array([0.2, 0.6, 0.2])

    def at(path):
        node = trie[path]
        values = next_token_distribution(node, probabilities)
        return dict(zip(node.tokens, values.tolist(), strict=True))

    assert at(()) == pytest.approx({1: 0.8, 4: 0.2})
    assert at((1,)) == pytest.approx({2: 0.25, 3: 0.75})
    assert at((1, 3)) == pytest.approx({4: 1.0})


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_following_the_trie_gives_back_the_probability_of_each_answer(weights):
    probabilities = np.array(weights) / sum(weights)
    trie = build_trie(SEQUENCES)
    for wanted, sequence in zip(probabilities, SEQUENCES, strict=True):
        product = 1.0
        for depth, token in enumerate(sequence):
            node = trie[tuple(sequence[:depth])]
            product *= next_token_distribution(node, probabilities)[node.tokens.index(token)]
        assert product == pytest.approx(wanted)


def test_a_class_is_decided_where_the_answers_of_classes_part():
    trie = build_trie(SEQUENCES)
    assert decision_nodes(trie, [0, 1, 1]) == [(), (1,)]
    assert decision_nodes(trie, [0, 0, 1]) == [()]
    assert decision_nodes(trie, [0, 0, 0]) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", [True, False])
def test_answers_are_distinct_and_their_shares_sum_to_one(kind, space):
    answers = answer_set(kind, space=space)
    assert len(set(answers.texts)) == len(answers.texts)
    for number in range(len(answers.classes)):
        shares = [s for s, c in zip(answers.share, answers.class_of, strict=True) if c == number]
        assert sum(shares) == pytest.approx(1)
    if kind != "masked":
        assert {text.startswith(" ") for text in answers.texts} == {space}


def test_agreeing_and_disagreeing_are_phrased_alike():
    answers = answer_set("open")
    shares = {"agree": [], "disagree": []}
    for number, share in zip(answers.class_of, answers.share, strict=True):
        if answers.classes[number] in shares:
            shares[answers.classes[number]].append(share)
    assert shares["agree"] == shares["disagree"]


@given(eta=st.floats(-10, 10), kind=st.sampled_from(KINDS))
def test_planted_probabilities_sum_to_one(eta, kind):
    answers = answer_set(kind)
    classes = class_probabilities(TRUTH, eta, kind)
    assert classes.shape == (len(answers.classes),)
    assert classes.sum() == pytest.approx(1)
    assert answer_probabilities(answers, classes).sum() == pytest.approx(1)


def test_planted_probabilities_worked_out_by_hand():
    # 0.8 of the open answers are a stance, shared 1 : 2 : 1
    np.testing.assert_allclose(class_probabilities(TRUTH, 0.0, "open"), [0.2, 0.4, 0.2, 0.1, 0.1])
    # 0.9 is valid, three quarters of it agree
    np.testing.assert_allclose(class_probabilities(TRUTH, np.log(3), "forced"), [0.225, 0.675, 0.1])


def test_the_lexical_coder_reads_every_open_answer_whatever_the_statement():
    answers = answer_set("open")
    statements = [wording.text for wording in shipped_wordings()[::25]]
    for text, number in zip(answers.texts, answers.class_of, strict=True):
        name = answers.classes[number]
        wanted = None if name == "unrelated" else name
        assert {read(statement, text) for statement in statements} == {wanted}, text


def test_every_answer_of_one_who_never_wavers_has_a_next_token():
    resolute = load_truths()["resolute"]
    for kind in ("open", "forced", "likert"):
        answers = answer_set(kind)
        nodes = build_trie([[ord(c) for c in text] + [0] for text in answers.texts])
        for eta in (-6.0, 6.0):
            p = answer_probabilities(answers, class_probabilities(resolute, eta, kind))
            for node in nodes.values():
                assert np.isfinite(next_token_distribution(node, p)).all()
