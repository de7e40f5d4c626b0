import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.instrument.prompts import Lexicon
from polbayes.respondents.chat_api.options import option_masses
from polbayes.respondents.chat_api.reply import Position

YES_NO = Lexicon("yn", ("yes", "no"), (1, -1))
AGREE = Lexicon("a", ("agree", "disagree"), (1, -1))


def at(token, **top):
    """Make a place at which `token` was taken, from probabilities."""
    listed = tuple((text.replace("_", " "), math.log(p)) for text, p in top.items())
    own = dict(listed).get(token, math.log(0.001))
    return Position(token, own, listed)


def test_forms_of_an_option_add_up_and_the_rest_is_unseen():
    place = at("Yes", Yes=0.4, _yes=0.1, YES=0.05, No=0.2, Perhaps=0.15)
    found = option_masses([place], YES_NO)
    np.testing.assert_allclose(found.options, [0.55, 0.2])
    # What is listed and is no option is known not to be one: only the rest is unseen.
    assert found.unseen == pytest.approx(0.1)


def test_tokens_of_one_text_add_up_and_the_taken_one_counts_once():
    place = Position("Yes", math.log(0.3), (("Yes", math.log(0.3)), ("Yes", math.log(0.2))))
    found = option_masses([place], YES_NO)
    np.testing.assert_allclose(found.options, [0.5, 0.0])
    place = Position("yes", math.log(0.1), (("Yes", math.log(0.6)),))
    np.testing.assert_allclose(option_masses([place], YES_NO).options, [0.7, 0.0])


def test_a_word_is_not_an_option_because_it_begins_with_one():
    found = option_masses([at("Not", Not=0.5, Nobody=0.3, no=0.2)], YES_NO)
    np.testing.assert_allclose(found.options, [0.0, 0.2])
    assert found.unseen == pytest.approx(0.0)


def test_an_option_of_two_tokens_is_followed_where_it_was_taken():
    first = at("dis", dis=0.6, agree=0.3, ag=0.1)
    second = at("agree", agree=0.9, like=0.1)
    found = option_masses([first, second], AGREE)
    # "ag" may be the beginning of "agree", and nobody knows how it goes on.
    np.testing.assert_allclose(found.options, [0.3, 0.54])
    assert found.unseen == pytest.approx(0.1)
    alone = option_masses([first], AGREE)
    np.testing.assert_allclose(alone.options, [0.3, 0.0])
    assert alone.unseen == pytest.approx(0.7)


def test_a_space_by_itself_is_followed():
    # " " and "yes" read " yes", which is a form of an option.
    found = option_masses([at(" ", _=0.8, No=0.2), at("yes", yes=0.5, no=0.25)], YES_NO)
    np.testing.assert_allclose(found.options, [0.4, 0.4])
    assert found.unseen == pytest.approx(0.2)


def test_an_option_that_may_go_on_to_be_an_opposite_one_is_not_counted_for_it():
    both = Lexicon("b", ("agree", "agree not"), (1, -1))
    first = at("agree", agree=0.8, no=0.2)
    assert option_masses([first], both).unseen == pytest.approx(0.8)
    second = Position(" not", math.log(0.25), ((" not", math.log(0.25)), (".", math.log(0.5))))
    found = option_masses([first, second], both)
    np.testing.assert_allclose(found.options, [0.4, 0.2])
    assert found.unseen == pytest.approx(0.2)
    same = Lexicon("s", ("agree", "agree fully"), (1, 1))
    np.testing.assert_allclose(option_masses([first], same).options, [0.8, 0.0])


def test_no_token_is_an_error():
    with pytest.raises(ValueError, match="no log probabilities"):
        option_masses([], YES_NO)


shares = st.lists(st.floats(1e-6, 1), min_size=1, max_size=6)
texts = st.sampled_from(
    ["yes", "Yes", " yes", "y", "n", "no", "No", " ", "", "maybe", "noon", "es"]
)


@given(st.lists(st.tuples(shares, st.lists(texts, min_size=6, max_size=6), texts), max_size=3))
def test_masses_are_probabilities_whatever_is_listed(places):
    positions = []
    for weights, tokens, taken in places:
        total = sum(weights) * 1.05
        listed = [(t, math.log(w / total)) for t, w in zip(tokens, weights, strict=False)]
        positions.append(Position(taken, math.log(0.01), tuple(listed)))
    if not positions:
        return
    found = option_masses(positions, YES_NO)
    assert all(0 <= m <= 1 for m in found.options)
    assert 0 <= found.unseen <= 1
    assert sum(found.options) + found.unseen <= 1 + 1e-9


@given(st.floats(0.01, 0.99), st.floats(0, 1), st.integers(1, 20))
def test_the_true_mass_lies_within_what_is_seen_and_unseen(yes, split, top):
    """A vocabulary of which only the likeliest tokens are listed."""
    truth = {"Yes": yes * split, " yes": yes * (1 - split), "No": (1 - yes) * 0.5}
    truth |= {f"other{n}": (1 - yes) * 0.5 / 30 for n in range(30)}
    listed = sorted(truth.items(), key=lambda pair: -pair[1])[:top]
    place = Position(
        listed[0][0],
        math.log(listed[0][1]),
        tuple((text, math.log(p)) for text, p in listed if p > 0),
    )
    found = option_masses([place], YES_NO)
    for seen, true in zip(found.options, (yes, truth["No"]), strict=True):
        assert seen - 1e-9 <= true <= seen + found.unseen + 1e-9
