import re
from collections import Counter
from copy import deepcopy
from itertools import product

import pytest
import yaml

from polbayes.errors import UserError
from polbayes.instrument.folding import folded
from polbayes.instrument.scenarios import (
    STAGES,
    TWINS,
    UNITS,
    WORDINGS,
    load_scenario,
    load_scenarios,
)

TOPICS = {
    *("unionisation", "health care", "gender policy", "policing", "migration"),
    *("climate and jobs", "free speech", "religion in schools", "housing", "surveillance"),
    *("drugs", "taxation", "trade", "guns", "elections", "defence", "welfare"),
    *("land and indigenous rights", "food and farming", "technology"),
}


def in_wordings(text):
    return {w: text.replace("so", f"so {k}") for k, w in enumerate(WORDINGS)}


GOOD = {
    "id": "tea",
    "title": "The price of tea",
    "topic": "tea",
    "dimension": "economic",
    "asking": "right",
    "sides": {
        "left": {"act": ["cap it", "limit it", "hold it down"]},
        "right": {"act": ["free it", "let it go", "set it loose"]},
    },
    "baseline": in_wordings("Is it so that one should {pressing.act}?"),
    "stages": {stage: in_wordings(f"{stage}: Ann says so: {{asking.act}}.") for stage in STAGES},
    "reflection": in_wordings("Was it so right to {asking.act} and not to {pressing.act}?"),
}


@pytest.fixture
def written(tmp_path):
    """Write a scenario after a change to a good one, and return its path."""

    def write(change=lambda content: None, name="tea"):
        content = deepcopy(GOOD)
        change(content)
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return str(path)

    return write


def test_the_twin_is_the_same_text_with_the_sides_exchanged(written):
    tea = load_scenario(written())
    assert (tea.id, tea.dimension, tea.asking) == ("tea", "economic", 1)
    assert tea.text("reflection") == "Was it so 0 right to free it and not to cap it?"
    mirrored = tea.text("reflection", twin="mirrored", wording="paraphrase_2")
    assert mirrored == "Was it so 2 right to hold it down and not to set it loose?"
    assert tea.text("baseline", wording="paraphrase_1") == "Is it so 1 that one should limit it?"
    assert set(tea.texts) == set(product(UNITS, TWINS, WORDINGS))


def _set(*keys, to):
    def change(content):
        *path, last = keys
        for key in path:
            content = content[key]
        if to is None:
            del content[last]
        else:
            content[last] = to

    return change


SAME = dict.fromkeys(WORDINGS, "Tea?")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set("stages", "external_pressure", to=None), "stages: the key 'external_pressure' is mi"),
        (_set("stages", "final", to=SAME), "stages: unknown key 'final'"),
        (_set("reflection", to=None), "the key 'reflection' is missing"),
        (_set("dimension", to="econimic"), "unknown dimension 'econimic'; did you mean 'economic'"),
        (_set("asking", to="up"), "asking: unknown side 'up'"),
        (_set("stages", STAGES[0], "original", to=" "), "initial_conflict: original: the text is"),
        (_set("stages", STAGES[0], "original", to=3), "original: must be text, not a int"),
        (_set("stages", STAGES[1], "paraphrase_2", to=None), "the key 'paraphrase_2' is missing"),
        (_set("stages", STAGES[1], to="text"), "conflicting_loyalties: must be a mapping"),
        (
            _set("baseline", to={**SAME, "paraphrase_3": "x"}),
            "unknown key 'paraphrase_3'",
        ),
        (_set("baseline", to=SAME), "baseline: wording 'tea' occurs twice"),
        (
            _set("sides", "right", to=None),
            "the side 'right' is missing; .* no mirrored twin",
        ),
        (_set("sides", "centre", to={}), "sides: unknown key 'centre'"),
        (_set("sides", "left", "why", to=["a"] * 3), "sides: right: the phrase 'why' is missing"),
        (_set("sides", "left", "act", to=["a", "b"]), "left: act: must be a list of 3 .*, not 2"),
        (_set("sides", "left", "act", to="cap it"), "left: act: must be a list of 3"),
        (_set("sides", "left", "act", 1, to=""), "left: act: paraphrase_1: the text is empty"),
        (
            _set("sides", "left", "act", to=["free it", "let it go", "set it loose"]),
            "baseline: original: the mirrored twin is the same",
        ),
        (
            _set("reflection", "paraphrase_1", to="Was tea worth it?"),
            "reflection: paraphrase_1: the mirrored twin is the same",
        ),
        (
            _set("reflection", "original", to="Was it right to {asking.acts}?"),
            "reflection: original: unknown phrase 'asking.acts'; did you mean 'asking.act'",
        ),
        (_set("reflection", "original", to="To {asking.act}, or}"), "its braces are not balanced"),
        (_set("id", to="two words"), "id: 'two words' is not a usable id"),
    ],
)
def test_what_is_wrong_is_named(written, change, says):
    path = written(change)
    with pytest.raises(UserError, match=says) as caught:
        load_scenario(path)
    assert str(caught.value).startswith(f"{path}: ")
    if not says.startswith("id:"):
        assert "scenario 'tea'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_phrase_that_no_text_uses_is_named(written):
    def change(content):
        for side in ("left", "right"):
            content["sides"][side]["why"] = [f"{side} {n}" for n in range(3)]

    with pytest.raises(UserError, match="the phrase 'why' is used in no text"):
        load_scenario(written(change))


def test_two_scenarios_of_one_id_are_named_with_their_files(written):
    first, second = written(), written(name="more_tea")
    with pytest.raises(UserError, match=r"more_tea.yaml: scenario 'tea': .* taken by .*/tea\.yaml"):
        load_scenarios([first, second])
    assert [s.id for s in load_scenarios([first, "union"])] == ["tea", "union"]


def test_an_unknown_scenario_gets_a_hint():
    with pytest.raises(UserError, match="did you mean 'housing'"):
        load_scenarios(["housin"])


@pytest.fixture(scope="module")
def deck():
    return load_scenarios()


def test_the_deck_has_its_topics_and_is_balanced(deck):
    assert {s.topic for s in deck} == TOPICS
    assert len(deck) == len(TOPICS) == 20
    # Neither side asks more often in the original, on either dimension.
    sides = Counter((s.dimension, s.asking) for s in deck)
    assert sides == dict.fromkeys(product(("economic", "cultural"), (-1, 1)), 5)


def test_no_text_occurs_twice(deck):
    texts = Counter(folded(t) for s in deck for t in s.texts.values())
    assert max(texts.values()) == 1


def test_twins_are_of_one_length(deck):
    """Each text within 8 % of its twin, and neither side longer on the whole."""
    total = {-1: 0, 1: 0}
    for scenario in deck:
        for unit, wording in product(UNITS, WORDINGS):
            texts = [scenario.text(unit, twin=t, wording=wording) for t in TWINS]
            ratio = len(texts[0]) / len(texts[1])
            assert 1 / 1.08 < ratio < 1.08, (scenario.id, unit, wording, ratio)
            # What the left asks for, over both twins, against what the right asks for.
            total[scenario.asking] += len(texts[0])
            total[-scenario.asking] += len(texts[1])
    assert total[-1] / total[1] == pytest.approx(1, abs=0.005)


def test_texts_are_of_a_length_that_can_be_read(deck):
    bounds = {"baseline": (15, 60), "reflection": (45, 95)}
    for scenario in deck:
        for (unit, *which), text in scenario.texts.items():
            low, high = bounds.get(unit, (70, 110))
            assert low <= len(text.split()) <= high, (scenario.id, unit, which)


def test_every_text_asks_something_and_has_no_slot_left(deck):
    for scenario in deck:
        for key, text in scenario.texts.items():
            assert text.rstrip().endswith(("?", ".")), (scenario.id, key)
            assert not re.search(r"[{}]|  ", text), (scenario.id, key)
            if key[0] != "baseline":
                assert re.search(r"\byou(r|rself)?\b", text, re.IGNORECASE), (scenario.id, key)


def test_wordings_differ_in_more_than_a_word(deck):
    """At most four in ten runs of four words are shared by two wordings of a text."""
    for scenario in deck:
        for unit, twin in product(UNITS[1:], TWINS):
            runs = [_runs(scenario.text(unit, twin=twin, wording=w)) for w in WORDINGS]
            for a, b in ((0, 1), (0, 2), (1, 2)):
                shared = len(runs[a] & runs[b]) / min(len(runs[a]), len(runs[b]))
                assert shared < 0.4, (scenario.id, unit, a, b, shared)


def _runs(text):
    words = folded(text).split()
    return {tuple(words[k : k + 4]) for k in range(len(words) - 3)}
