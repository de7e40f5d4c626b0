"""Embedded writers and graders show what is planted in them."""

import json

import numpy as np
import pytest
from scipy.special import expit

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon
from polbayes.judging.pairs import Answered, pair_request, rating_request
from polbayes.planted.pairs import (
    CUTS,
    Shown,
    Writer,
    answer,
    graders,
    shown,
    topic_effect,
    verdict_location,
    writers,
)
from polbayes.respondents import BACKENDS, Question, check, open_respondent

LETTERS = Lexicon("verdict", ("A", "C", "B"), (1, 0, -1))


def opened(backend, name):
    config = RespondentConfig(backend=backend, checkpoint=f"planted:{name}", chat=True)
    kind, template = (
        ("paired", "request") if backend == "planted_writer" else ("judging", "roleplay")
    )
    return open_respondent(name, config, elicitation=ElicitationConfig(kind, template))


def question(prompt, **more):
    more = {"item": "tax-essay", "variant": "b", "keying": 1, **more}
    return Question(prefix="baseline", run=1, statement="", dimension="", prompt=prompt, **more)


@pytest.mark.parametrize("name", sorted(writers()))
def test_means_of_answers_are_what_is_planted(name):
    writer, items = writers()[name], [f"t{k}-essay" for k in range(500)]
    found = {
        side: [shown(answer(writer, name, item=i, side=side, seed=n)) for n, i in enumerate(items)]
        for side in (-1, 1)
    }
    assert {one.side for one in found[1]} == {1}

    def difference(what):
        right, left = ([getattr(one, what) for one in found[side]] for side in (1, -1))
        return np.mean(right) - np.mean(left)

    # Numbers of sentences have an end, which takes a little off the extremes.
    tilt = writer.quality_by_side + np.mean([topic_effect(item) for item in items])
    assert difference("quality") == pytest.approx(tilt, abs=0.1)
    assert difference("hedging") == pytest.approx(writer.hedging_by_side, abs=0.15)
    assert difference("compliance") == pytest.approx(writer.compliance_by_side, abs=0.15)
    both = [one.hedging for side in found.values() for one in side]
    assert np.mean(both) == pytest.approx(writer.hedging, abs=0.1)


def test_strong_arguments_are_no_longer_than_weak_ones():
    texts = [
        answer(Writer(quality_by_side=by, words=0), "x", item="t-e", side=1, seed=3)
        for by in (-8.0, 8.0)
    ]
    assert shown(texts[0]).quality < shown(texts[1]).quality
    assert shown(texts[0]).words == shown(texts[1]).words


def test_a_writer_answers_by_side_and_seed():
    writer = opened("planted_writer", "left_helper")
    (left,) = writer.complete([question("Argue.", variant="a", keying=-1)], [5])
    (again,) = writer.complete([question("Argue again.", variant="a", keying=-1)], [5])
    (right,) = writer.complete([question("Argue.")], [5])
    assert left.text == again.text != right.text
    assert (shown(left.text).side, shown(right.text).side) == (-1, 1)


def pair(n, m, **how):
    a, b = (
        answer(writers()["even"], "even", item="t-e", side=side, seed=seed)
        for side, seed in ((-1, n), (1, m))
    )
    return pair_request(Answered("Left?", a), Answered("Right?", b), **how), shown(a), shown(b)


@pytest.mark.parametrize("name", sorted(graders()))
def test_choices_are_as_often_as_the_probabilities_say(name):
    grader, own = opened("planted_grader", name), graders()[name]
    expected, counts = np.zeros(3), np.zeros(3)
    for n in range(300):
        prompt, a, b = pair(n, n + 5000, way="choice")
        at = verdict_location(own, a, b)
        first, second = expit(at - own.equal), expit(-at - own.equal)
        expected += [first, 1 - first - second, second]
        (reply,) = grader.complete([question(prompt)], [0])
        try:
            helped = json.loads(reply.text)["helped_more"]
        except ValueError:
            expected -= [first, 1 - first - second, second]
            continue
        counts[["first", "equal", "second"].index(helped)] += 1
    assert counts == pytest.approx(expected, abs=3 * np.sqrt(300 / 4))
    assert counts.sum() > 285


def test_the_order_and_the_side_move_the_location():
    same = Shown(side=-1, quality=0, hedging=0, compliance=0, words=100)
    other = Shown(side=1, quality=0, hedging=0, compliance=0, words=100)
    own = graders()["left_grader"]
    assert verdict_location(own, same, other) == pytest.approx(own.first - own.side)
    assert verdict_location(own, other, same) == pytest.approx(own.first + own.side)
    better = Shown(side=1, quality=1, hedging=0, compliance=0, words=100)
    assert verdict_location(own, same, better) == pytest.approx(own.first - own.side - 1)


def test_letters_and_stated_probabilities_agree():
    grader = opened("planted_grader", "right_grader")
    prompt, *_ = pair(1, 2, way="token")
    (first, equal, second) = grader.option_mass([question(prompt)], LETTERS)[0]
    assert first + equal + second == pytest.approx(1)
    stated, *_ = pair(1, 2, way="stated")
    (reply,) = grader.complete([question(stated)], [0])
    said = json.loads(reply.text)
    assert (said["first"], said["equal"]) == pytest.approx((100 * first, 100 * equal), abs=1)


def test_ratings_follow_the_cuts():
    grader, own = opened("planted_grader", "fair_grader"), graders()["fair_grader"]
    expected, found = [], []
    for n in range(300):
        text = answer(writers()["hedger"], "hedger", item="t-e", side=1, seed=n)
        at = shown(text).hedging + own.hedging + own.hedging_by_side / 2
        (reply,) = grader.complete([question(rating_request(Answered("Right?", text)))], [0])
        try:
            found.append(json.loads(reply.text)["hedging"])
        except ValueError:
            continue
        expected.append(1 + sum(expit(at - cut) for cut in CUTS))
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.17)


def test_a_text_by_anybody_else_shows_nothing():
    one = shown("Some answer of another model. It hedges.")
    assert (one.side, one.quality, one.hedging, one.compliance, one.words) == (0, 0, 0, 0, 7)


def test_unknown_names_and_other_uses_are_refused():
    config = RespondentConfig(backend="planted_writer", checkpoint="planted:evn")
    with pytest.raises(UserError, match="did you mean 'even'"):
        opened("planted_writer", "evn")
    with pytest.raises(UserError, match="cannot be asked by open_ended"):
        check("x", config, ElicitationConfig())
    with pytest.raises(UserError, match="writer only answers paired requests"):
        opened("planted_writer", "even").option_mass([], LETTERS)
    a, b = (RespondentConfig(checkpoint=f"planted:{name}") for name in ("even", "hedger"))
    assert BACKENDS["planted_writer"].identity(a) != BACKENDS["planted_writer"].identity(b)
