"""Judges' replies are used as they are, asked for again within a limit, and never put together."""

import json

import numpy as np
import pytest
from playing import STUBS, planned, ratings

from polbayes.errors import UserError
from polbayes.instrument.values import VALUES
from polbayes.judging.declared import self_judging
from polbayes.respondents import BACKENDS, Backend, Completion
from polbayes.roleplay.dialogues import play
from polbayes.roleplay.rated import RATING_STATUS, judge_all, units_to_rate
from polbayes.roleplay.tables import replies, unusable
from polbayes.roleplay.transcripts import transcripts

ONE = ["models=[a]", "roleplay.scenarios=[union]", "roleplay.twins=[original]", "judging.sample=0"]


def judged(plan, folder):
    play(plan, journal_dir=folder / "journal", progress=False)
    data = transcripts(plan, folder / "journal")
    return judge_all(plan, data, folder=folder)


BROKEN = {
    "malformed": ("{egalitarianism: high}", "malformed"),
    "truncated": (json.dumps(ratings())[:120], "truncated"),
    "out_of_range": (json.dumps(ratings(egalitarianism=25)), "out_of_range"),
    "duplicated": (json.dumps(ratings())[:-1] + ', "egalitarianism": 3}', "conflicting"),
    "missing": (
        json.dumps({k: v for k, v in ratings().items() if k != "egalitarianism"}),
        "missing",
    ),
    "words": ("I would rather talk about the weather.", "no_object"),
    "text": (json.dumps(ratings(egalitarianism="very")), "wrong_type"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_cannot_be_used_is_recorded_and_never_filled_in(world, tmp_path, kind):
    reply, status = BROKEN[kind]
    world.judges = reply
    plan = planned(*STUBS, *ONE, "judging.retries=2")
    data, _ = judged(plan, tmp_path)
    assert len(world.of("j")) == 3 * 6
    assert set(data["attempts"].values.ravel().tolist()) == {3}
    one = data.squeeze().isel(stage=0)
    assert np.isnan(one["rating"].sel(value="egalitarianism"))
    assert int(one["rating_status"].sel(value="egalitarianism")) == RATING_STATUS[status]
    assert one["reply"].item() == reply
    counts = replies(data)
    assert counts["outcome"].unique().tolist() == [status]
    assert counts.groupby("attempt")["n"].sum().tolist() == [6, 6, 6]
    table = unusable(data).set_index(["value", "status"])
    assert table.loc[("egalitarianism", status), ["n", "of"]].tolist() == [6, 6]


def test_a_judge_is_told_what_was_wrong_and_asked_again_until_it_is_right(world, tmp_path):
    def says(question):
        first = "could not be used" not in question.prompt
        return json.dumps(ratings(20 if first else 8, moral_certainty=21 if first else 8))

    world.judges = says
    data, _ = judged(planned(*STUBS, *ONE), tmp_path)
    asked = world.of("j")
    assert len(asked) == 2 * 6
    assert all("outside of the scale: moral_certainty" in q.prompt for q in asked[6:])
    # The ten twenties of the first reply are not mixed with the eight of the second.
    assert set(data["rating"].values.ravel().tolist()) == {8}
    assert set(data["attempts"].values.ravel().tolist()) == {2}


def test_without_a_whole_reply_the_fullest_one_counts_by_itself(world, tmp_path):
    incomplete = [
        {"egalitarianism": 1},
        {**ratings(7), "commitment": 9},
        {"moral_certainty": 3, "commitment": 2},
    ]
    world.judges = lambda question: json.dumps(incomplete[question.run - 1])
    data, _ = judged(planned(*STUBS, *ONE), tmp_path)
    assert set(data["rating"].values.ravel().tolist()) == {7}
    assert data["commitment"].isnull().all()
    assert set(data["commitment_status"].values.ravel().tolist()) == {RATING_STATUS["out_of_range"]}


def test_refused_and_failed_replies_are_counted_as_such(world, tmp_path):
    def says(question):
        if question.run == 1:
            return Completion("no", "refused")
        return json.dumps(ratings())

    world.judges = says
    data, _ = judged(planned(*STUBS, *ONE), tmp_path)
    table = replies(data).set_index(["attempt", "outcome"])["n"]
    assert table.to_dict() == {(1, "refused"): 6, (2, "ok"): 6}
    world.judges = Completion("", "refused")
    data, _ = judged(planned(*STUBS, *ONE), tmp_path / "other")
    codes = set(data["rating_status"].values.ravel().tolist())
    assert codes == {RATING_STATUS["no_reply"]}
    assert data["rating"].isnull().all()


def test_a_text_that_does_not_fit_into_the_judge_is_not_tried_again(world, tmp_path):
    world.says = lambda q: f"### ANSWER\n{'word ' * (900 if q.prefix == 'baseline' else 1)}"
    world.limit = 6500
    data, _ = judged(planned(*STUBS, *ONE), tmp_path)
    base = data.squeeze().sel(stage="baseline")
    assert int(base["attempts"]) == 1
    assert set(base["rating_status"].values.tolist()) == {RATING_STATUS["no_reply"]}
    table = replies(data).set_index(["attempt", "outcome"])["n"]
    assert table.to_dict() == {(1, "too_long"): 1, (1, "ok"): 5}


def test_texts_are_judged_blind(world, tmp_path):
    world.judges = json.dumps(ratings())
    plan = planned(*STUBS, "judging.sample=0")
    judged(plan, tmp_path)
    for question in world.of("j"):
        told = (question.item, question.variant, question.prefix, question.statement)
        assert not {"a", "b", "union", "guns", "x", "y"} & set(told)
        assert question.before == ()
        assert (question.keying, question.dimension) == (0, "")
    # Both respondents say the same, to the letter, so that it is one request.
    assert len(world.of("j")) == 2 * 2 * 6


def test_nothing_is_judged_twice_and_an_interrupted_judge_goes_on(world, tmp_path):
    plan = planned(*STUBS)
    world.says = lambda question: f"### ANSWER\n{question.item} {question.variant}"
    play(plan, journal_dir=tmp_path / "journal", progress=False)
    texts = transcripts(plan, tmp_path / "journal")
    world.stop_after = len(world.asked) + 10
    with pytest.raises(KeyboardInterrupt):
        judge_all(plan, texts, folder=tmp_path)
    world.stop_after = 10**9
    first = judge_all(plan, texts, folder=tmp_path)
    prompts = [question.prompt for question in world.of("j")]
    assert len(prompts) == len(set(prompts))
    again = judge_all(plan, texts, folder=tmp_path)
    assert len(world.of("j")) == len(prompts)
    assert all(a.identical(b) for a, b in zip(first, again, strict=True))


def test_transcripts_are_judged_again_in_another_way_and_back(world, tmp_path):
    plan = planned(*STUBS, *ONE)
    judged(plan, tmp_path)
    said = len(world.of("a"))
    warm = planned(*STUBS, *ONE, "judging.temperature=0.5")
    judged(warm, tmp_path)
    assert len(world.of("j")) == 12
    judged(plan, tmp_path)
    assert (len(world.of("a")), len(world.of("j"))) == (said, 12)


def test_what_was_not_said_is_not_judged(world, tmp_path):
    world.says = lambda q: Completion("", "invalid") if q.prefix == "baseline" else "Yes."
    plan = planned(*STUBS, *ONE)
    play(plan, journal_dir=tmp_path / "journal", progress=False)
    texts = transcripts(plan, tmp_path / "journal")
    assert len(units_to_rate(texts)) == 5
    data, _ = judge_all(plan, texts, folder=tmp_path)
    base = data.squeeze().sel(stage="baseline")
    assert int(base["attempts"]) == 0
    assert set(base["rating_status"].values.tolist()) == {RATING_STATUS["nothing_to_rate"]}


def test_order_and_scale_are_checked_on_the_same_texts(world, tmp_path):
    def says(question):
        rating = 15 if question.variant == "plain" else 14
        return json.dumps(ratings(rating, 4))

    world.judges = says
    world.says = lambda question: f"### ANSWER\n{question.item} {question.variant}"
    data, checks = judged(planned(*STUBS, "judging.sample=5"), tmp_path)
    assert checks.sizes == {"check": 3, "judge": 1, "unit": 5, "value": 10}
    assert checks["check"].values.tolist() == ["plain", "order", "scale"]
    for check, value, commits in (("plain", 15, 4), ("order", 14, 4), ("scale", 6, 1)):
        one = checks.sel(check=check)
        assert set(one["rating"].values.ravel().tolist()) == {value}
        assert set(one["commitment"].values.ravel().tolist()) == {commits}
    labels = [checks[dim].values for dim in ("model", "scenario", "twin", "wording", "stage")]
    plain = checks["rating"].sel(check="plain", judge="j")
    for k, at in enumerate(zip(*labels, strict=True)):
        names = dict(zip(("model", "scenario", "twin", "wording", "stage"), at, strict=True))
        own = data["rating"].sel(judge="j", **names)
        assert np.array_equal(own.values, plain.isel(unit=k).values)


def test_a_respondent_may_judge_and_judging_itself_is_flagged(world, monkeypatch):
    own = BACKENDS["stub"]
    both = Backend(("roleplay", "judging"), own.describe, own.open)
    monkeypatch.setitem(BACKENDS, "stub", both)
    # k is the model of a under another name.
    more = ["+judges.k.backend=stub", "+judges.k.checkpoint=x", "judging.judges=[a,k,j]"]
    plan = planned(*STUBS, *more)
    found = self_judging(plan.models, plan.judges, plan.config.respondents)
    assert found == [("a", "a"), ("a", "k")]


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["judging.judges=[jj]"], "judging.judges: unknown judge 'jj'; did you mean 'j'?"),
        (["judging.judges=[j,j]"], "judging.judges: a judge is named twice"),
        (["judging.judges=[a]"], "respondents.a: backend stub cannot be asked by judging"),
        (["judging.judges=[]"], "judges: there is none; choose e.g. judges=embedded"),
        (
            ["+judges.a.backend=stub_judge"],
            "judges.a: a respondent of another kind has that name; choose another one",
        ),
        (["+judges.k.checkpoint=./none"], "judges.k: checkpoint: there is no folder './none'"),
        (["judging.retries=-1"], "judging: retries and sample must not be negative"),
        (["judging.max_new_tokens=0"], "judging.max_new_tokens: must be at least 1, not 0"),
        (["+judges.k.backend=stubb"], "judges.k: unknown backend 'stubb'"),
        (
            ["+judges.k.backend=planted_judge", "+judges.k.checkpoint=planted:left_jugde"],
            "judges.k: checkpoint: unknown embedded judge 'left_jugde'; did you mean 'left_judge'?",
        ),
    ],
)
def test_judges_that_there_are_not(world, overrides, says):
    with pytest.raises(UserError) as caught:
        planned(*STUBS, *overrides)
    assert says in str(caught.value)


def test_every_value_is_in_the_dataset(world, tmp_path):
    data, _ = judged(planned(*STUBS, *ONE), tmp_path)
    assert data["value"].values.tolist() == list(VALUES)
