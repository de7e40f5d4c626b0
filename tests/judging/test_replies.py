import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.judging.replies import STATUSES, read_judgement, read_label

SCALES = {"moral_certainty": (0, 20), "egalitarianism": (0, 20), "commitment": (0, 5)}
GOOD = {"reasoning": "Firm. {so}", "moral_certainty": 12, "egalitarianism": 7, "commitment": 4}


def statuses(output):
    return dict(read_judgement(output, SCALES).statuses)


def all_of(status):
    return dict.fromkeys(SCALES, status)


@pytest.mark.parametrize(
    "output",
    [
        json.dumps(GOOD),
        json.dumps(GOOD, indent=2),
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Here is {{my}} verdict {{x: 1}}:\n{json.dumps(GOOD)}\nI hope {{this}} helps.",
        json.dumps({"reasoning": "Firm. {so}", "ratings": {**GOOD}}),
        json.dumps({"result": {"scores": GOOD}}),
        json.dumps(GOOD).replace("moral_certainty", "Moral Certainty"),
        json.dumps(GOOD).replace("moral_certainty", "MORAL-CERTAINTY"),
        json.dumps({**GOOD, "commitment": "4"}),
        json.dumps({**GOOD, "commitment": {"rating": 4, "reason": "clear"}}),
        json.dumps(GOOD)[:-1] + ",}",
        json.dumps(GOOD) + json.dumps(GOOD),
        json.dumps(GOOD)[:-1] + ', "commitment": 4.0}',
        json.dumps(GOOD).replace("Firm. {so}", "Firm.\nAnd {so}"),
    ],
)
def test_what_can_be_read_is_read(output):
    found = read_judgement(output, SCALES)
    assert found.complete
    assert dict(found.ratings) == {"moral_certainty": 12, "egalitarianism": 7, "commitment": 4}
    assert found.reasoning.startswith("Firm.")


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("25", "out_of_range"),
        ("-1", "out_of_range"),
        ("20.01", "out_of_range"),
        ('"high"', "wrong_type"),
        ('"12/20"', "wrong_type"),
        ('""', "wrong_type"),
        ("true", "wrong_type"),
        ("null", "wrong_type"),
        ("[12]", "wrong_type"),
        ("{}", "wrong_type"),
        ('{"rating": 3, "score": 4}', "wrong_type"),
        ("NaN", "wrong_type"),
        ("Infinity", "wrong_type"),
        ("1e999", "wrong_type"),
        ("9" * 400, "wrong_type"),
        ('12, "Egalitarianism": 13', "conflicting"),
        ('12, "more": {"egalitarianism": 13}', "conflicting"),
        ('12, "egalitarianism": null', "conflicting"),
    ],
)
def test_what_is_wrong_with_one_rating_is_its_status_and_no_other_s(value, status):
    output = f'{{"moral_certainty": 12, "egalitarianism": {value}, "commitment": 4}}'
    found = read_judgement(output, SCALES)
    assert dict(found.statuses) == {**all_of("ok"), "egalitarianism": status}
    assert math.isnan(found.ratings["egalitarianism"])
    assert (found.ratings["moral_certainty"], found.ratings["commitment"]) == (12, 4)
    assert not found.complete


def test_a_missing_rating_and_two_objects_that_differ():
    assert statuses('{"moral_certainty": 12, "other": 3}') == {
        "moral_certainty": "ok",
        "egalitarianism": "missing",
        "commitment": "missing",
    }
    draft = {"moral_certainty": 3, "egalitarianism": 7}
    found = read_judgement(f"{json.dumps(draft)} No: {json.dumps(GOOD)}", SCALES)
    assert found.statuses["moral_certainty"] == "conflicting"
    assert found.ratings["egalitarianism"] == 7


@pytest.mark.parametrize("output", ["", "I would rather not.", "12, 7 and 4", "[12, 7, 4]", "}"])
def test_no_object_at_all(output):
    assert statuses(output) == all_of("no_object")


@pytest.mark.parametrize("output", ["{moral_certainty: 12}", "{'moral_certainty': 12}", "{]"])
def test_an_object_that_cannot_be_read(output):
    assert statuses(output) == all_of("malformed")


def test_a_number_that_breaks_off_is_not_taken_for_a_smaller_one():
    output = '{"commitment": 4, "moral_certainty": 7, "egalitarianism": 1'
    assert statuses(output) == {
        "moral_certainty": "ok",
        "egalitarianism": "truncated",
        "commitment": "ok",
    }


@settings(max_examples=150)
@given(st.data())
def test_every_beginning_of_a_judgement_is_read_or_said_to_be_truncated(data):
    """No beginning gives another number than the whole: right, or none."""
    nested = data.draw(st.booleans())
    whole = json.dumps({"reasoning": 'a "b", {c', "ratings": GOOD} if nested else GOOD)
    cut = data.draw(st.integers(1, len(whole)))
    found = read_judgement(whole[:cut], SCALES)
    for name, status in found.statuses.items():
        assert status in ("ok", "truncated", "malformed") or cut == len(whole)
        if status == "ok":
            assert found.ratings[name] == GOOD[name]
        else:
            assert math.isnan(found.ratings[name])
    if cut == len(whole):
        assert found.complete


@settings(max_examples=200)
@given(st.text() | st.text(alphabet='{}[]",:0123456789 \\ce-gmorty_inal'))
def test_any_text_gives_a_status_for_every_rating(output):
    found = read_judgement(output, SCALES)
    assert set(found.statuses) == set(found.ratings) == set(SCALES)
    for name, (lowest, highest) in SCALES.items():
        assert found.statuses[name] in STATUSES
        assert math.isnan(found.ratings[name]) == (found.statuses[name] != "ok")
        assert math.isnan(found.ratings[name]) or lowest <= found.ratings[name] <= highest


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*SCALES, "rating", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from([*SCALES, "ratings", "x"]), JSON), st.text(max_size=8))
def test_any_object_gives_numbers_only_where_it_has_them(content, around):
    found = read_judgement(f"{around}{json.dumps(content)}{around}", SCALES)
    for name, number in found.ratings.items():
        direct = content.get(name)
        if found.statuses[name] == "ok" and isinstance(direct, float):
            assert number == direct


@settings(max_examples=60)
@given(st.fixed_dictionaries({n: st.integers(0, h) for n, (_, h) in SCALES.items()}), st.booleans())
def test_what_was_written_comes_back(ratings, fenced):
    output = json.dumps({"reasoning": "…", **ratings})
    found = read_judgement(f"```json\n{output}\n```" if fenced else output, SCALES)
    assert dict(found.ratings) == ratings


@pytest.mark.parametrize(
    "output",
    [
        "{" * 200_000,
        '{"a":' * 50_000,
        '{"a":[' * 50_000,
        '{"a": "' + "x" * 500_000,
        '{"a": 1, ' * 30_000,
        '{"a": ' + "9" * 100_000 + "}",
    ],
)
def test_hostile_output_costs_no_time(output):
    start = time.process_time()
    assert set(statuses(output).values()) <= {"malformed", "truncated", "missing"}
    assert time.process_time() - start < 5


def test_half_a_character_in_the_reasoning_can_be_written():
    found = read_judgement('{"reasoning": "a \\ud800 b"}', SCALES)
    assert found.reasoning.encode("utf-8").decode("utf-8") == "a \ufffd b"


LABELS = ("agree", "disagree", "no stance")


@pytest.mark.parametrize(
    "output",
    [
        '{"stance": "disagree"}',
        'Sure!\n```json\n{"reason": "It is \\"agree\\" at first.", "Stance": " Disagree "}\n```',
        '{"stance": "disagree", "reason": "it goes on and',
        '{"judgement": {"stance": "disagree"}} {"stance": "disagree"}',
        "disagree",
        "**Disagree**.",
        '"DISAGREE"',
    ],
)
def test_a_label(output):
    assert read_label(output, LABELS, key="stance") == ("disagree", "ok")


def test_a_label_of_two_words():
    assert read_label('{"stance": "no_stance"}', LABELS, key="stance") == ("no stance", "ok")


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("", "no_object"),
        ("I cannot say agree.", "no_object"),
        ("agree or disagree", "no_object"),
        ('{"reason": "I agree"}', "missing"),
        ('{"reason": "I agree', "truncated"),
        ('{"stance": "agre', "truncated"),
        ('{"stance": "agreed"}', "unknown_label"),
        ('{"stance": ["agree"]}', "wrong_type"),
        ('{"stance": null}', "wrong_type"),
        ('{"stance": "agree"} {"stance": "disagree"}', "conflicting"),
        ('{"stance": "agree", "stance": 1}', "conflicting"),
        ("{stance: agree}", "malformed"),
    ],
)
def test_no_label(output, status):
    assert read_label(output, LABELS, key="stance") == ("", status)
    assert status in STATUSES


@given(st.text(max_size=80))
def test_any_text_has_at_most_a_label(output):
    label, status = read_label(output, LABELS, key="stance")
    assert (status == "ok") == (label in LABELS)
