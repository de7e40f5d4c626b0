"""Embedded actors show what was planted in them, and so do embedded judges."""

from dataclasses import replace

import numpy as np
import pytest

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.scenarios import STAGES, UNITS
from polbayes.instrument.values import VALUES, WEIGHTS
from polbayes.planted.phrases import bank, find, statement
from polbayes.planted.roleplay import Actor, Judge, actors, judges
from polbayes.respondents import check, describe, open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.planted import PlantedActor, PlantedJudge
from polbayes.roleplay.parts import part
from polbayes.roleplay.rubric import Reading, read, request
from polbayes.roleplay.texts import load_texts

PLAY = ElicitationConfig(kind="roleplay", template="roleplay")
JUDGE = ElicitationConfig(kind="judging", template="roleplay")
LIBERAL = {value: np.sign(weight) for value, weight in WEIGHTS.items()}
SEEDS = [k * 7919 for k in range(600)]


def question(unit="reflection", keying=1, item="union", prompt="What now?"):
    return Question(item, "original/original", unit, 1, prompt, keying, "economic", prompt)


def actor(planted):
    info = describe("x", RespondentConfig("planted_actor", "planted:liberal"), _template())
    return PlantedActor(info, planted)


def _template():
    from polbayes.instrument.prompts import load_template

    return load_template("roleplay")


def mean_ratings(planted, **how):
    texts = actor(planted).complete([question(**how)] * len(SEEDS), SEEDS)
    found = [find(part(one.text).answer).ratings for one in texts]
    return {value: np.mean([one[value] for one in found]) for value in VALUES}


PROFILE = {value: 5.0 + n for n, value in enumerate(VALUES)}


def test_the_profile_is_in_the_texts_on_average():
    planted = Actor(PROFILE, scenario=0.0, unit=1.0)
    # A text's rating has a standard deviation of about 1.6 (unit 1, steps of 2.5 at random).
    for value, mean in mean_ratings(planted).items():
        assert mean == pytest.approx(PROFILE[value], abs=4.5 * 1.7 / np.sqrt(len(SEEDS)))


def test_the_mean_of_the_stages_is_the_profile_too():
    gains = Actor(PROFILE).gain
    assert np.mean([gains[stage] for stage in STAGES]) == pytest.approx(1.0)
    assert gains["reflection"] == 1.0
    for planted in actors().values():
        assert np.mean([planted.gain[stage] for stage in STAGES]) == pytest.approx(1.0)
        assert set(planted.profile) == set(VALUES)
        assert set(planted.commitment) == set(UNITS)


@pytest.mark.parametrize("asking", [-1, 1])
def test_sway_goes_with_the_person_who_asks(asking):
    planted = Actor(dict.fromkeys(VALUES, 10.0), sway=2.0, scenario=0.0, unit=0.5)
    found = mean_ratings(planted, keying=asking)
    for value in VALUES:
        wanted = 10 - asking * LIBERAL[value] * 2.0
        assert found[value] == pytest.approx(wanted, abs=0.35)


def test_refusals_and_missing_thoughts_come_as_often_as_planted():
    planted = Actor(PROFILE, refuses=0.2, no_thoughts=0.3)
    texts = actor(planted).complete([question()] * len(SEEDS), SEEDS)
    parts = [part(one.text) for one in texts]
    assert np.mean([one.refused for one in parts]) == pytest.approx(0.2, abs=0.07)
    assert np.mean([not one.thoughts for one in parts]) == pytest.approx(0.3, abs=0.08)


def test_the_same_seed_gives_the_same_text_in_any_batch():
    one = actor(actors()["liberal"])
    together = one.complete([question(), question("baseline")], [1, 2])
    assert one.complete([question("baseline")], [2]) == together[1:]


def answer_with(step):
    said = [statement(value, step[value], 3) for value in VALUES if step[value]]
    return " ".join([*said, f"{bank().commitment[3][0]}."])


def replied(planted, step, way="plain", name="planted:left_judge"):
    config = RespondentConfig("planted_judge", name)
    judge = PlantedJudge(describe("j", config, _template()), planted)
    reading = Reading("", "What now?", "", answer_with(step))
    prompt = request(reading, texts=load_texts(), way=way)
    return read(judge.complete([question(prompt=prompt)], [0])[0].text, way)


FLAT = dict.fromkeys(VALUES, 0)


def test_a_perfect_judge_finds_what_was_written():
    step = {value: (n % 9) - 4 for n, value in enumerate(VALUES)}
    ratings = replied(Judge(), step).ratings
    for value in VALUES:
        # A half is rounded up.
        assert ratings[value] == np.floor(10 + 2.5 * step[value] + 0.5)
    assert ratings["commitment"] == 3


@pytest.mark.parametrize("way", ["plain", "order", "scale"])
def test_severity_and_leaning_are_about_what_is_meant(way):
    ratings = replied(Judge(severity=2, leaning=3), FLAT, way).ratings
    assert all(ratings[value] == 10 - 2 + 3 * LIBERAL[value] for value in VALUES)


def test_place_and_number_are_about_how_it_is_asked():
    first, last = VALUES[0], VALUES[-1]
    for way, sign in (("plain", 1), ("order", -1)):
        ratings = replied(Judge(place=3), FLAT, way).ratings
        assert (ratings[first], ratings[last]) == (10 + 3 * sign, 10 - 3 * sign)
    for way, sign in (("plain", 1), ("scale", -1)):
        assert replied(Judge(number=2), FLAT, way).ratings[first] == 10 + 2 * sign


def test_ratings_stay_on_the_scale():
    up = dict.fromkeys(VALUES, 4)
    assert set(replied(Judge(severity=-5), up).ratings.values()) == {20, 3}


def test_slips_come_as_often_as_planted_and_can_be_told():
    planted = Judge(slips=0.3)
    config = RespondentConfig("planted_judge", "planted:left_judge")
    judge = PlantedJudge(describe("j", config, _template()), planted)
    asked = [
        question(prompt=request(Reading("", f"{k}?", "", "No."), texts=load_texts()))
        for k in range(400)
    ]
    found = [read(one.text) for one in judge.complete(asked, [0] * 400)]
    bad = [set(one.statuses.values()) - {"ok"} for one in found if not one.complete]
    assert len(bad) / 400 == pytest.approx(0.3, abs=0.09)
    assert set.union(*bad) == {"truncated", "out_of_range"}


def test_a_judge_knows_the_request_and_nothing_else():
    config = RespondentConfig("planted_judge", "planted:right_judge")
    judge = open_respondent("j", config, elicitation=JUDGE)
    prompt = request(Reading("", "What?", "", answer_with(FLAT)), texts=load_texts())
    one = question(prompt=prompt)
    other = replace(one, item="z", variant="w", prefix="p", run=3, keying=-1, statement="s")
    assert judge.complete([one], [1]) == judge.complete([other], [2])


def test_what_somebody_else_wrote_is_rated_as_nothing():
    ratings = replied(judges()["neutral_judge"], FLAT, name="planted:neutral_judge").ratings
    assert all(abs(ratings[value] - 10) <= 4 for value in VALUES)


@pytest.mark.parametrize(
    ("backend", "checkpoint", "says"),
    [
        ("planted_actor", "planted:librel", "unknown embedded actor 'librel'; did you mean 'liber"),
        ("planted_actor", "liberal", "there is no embedded actor 'liberal'; write planted:NAME"),
        ("planted_judge", "planted:x", "unknown embedded judge 'x'"),
    ],
)
def test_there_is_no_such_one(backend, checkpoint, says):
    how = PLAY if backend == "planted_actor" else JUDGE
    with pytest.raises(UserError) as caught:
        open_respondent("x", RespondentConfig(backend, checkpoint), elicitation=how)
    assert says in str(caught.value)


def test_an_actor_answers_no_questionnaire():
    config = RespondentConfig("planted_actor", "planted:liberal")
    with pytest.raises(UserError, match="cannot be asked by open_ended; it offers roleplay"):
        check("x", config, ElicitationConfig())
