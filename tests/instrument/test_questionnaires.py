import csv
from copy import deepcopy

import pytest
import yaml

from polbayes.errors import UserError
from polbayes.instrument.questionnaires import load_instrument

GOOD = {
    "id": "tiny",
    "title": "A tiny questionnaire",
    "citation": "Us (2024)",
    "items": [
        {
            "item": "a-1",
            "text": "  The state should own the railways. ",
            "dimension": "economic",
            "direction": "left",
            "source": "us, 1",
            "variants": {
                "reformulation": "Railways should belong to the state.",
                "opposite_2": "Railways should belong to private owners.",
                "odd_one": {"kind": "negation", "text": "The state should not own the railways."},
            },
            "points": {"economic": [7, 5, 0, -2]},
        },
        {
            "item": "a-2",
            "text": "Order comes first.",
            "dimension": "cultural",
            "direction": "right",
            "source": "us, 2",
            "variants": {},
        },
        {"item": "a-3", "text": "Tea.", "scored": False, "source": "us, 3", "variants": None},
    ],
}


@pytest.fixture
def written(tmp_path):
    """Write an instrument after a change to a good one, and return its path."""

    def write(change=lambda content: None):
        content = deepcopy(GOOD)
        change(content)
        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return str(path)

    return write


def test_a_file_of_ones_own_is_an_instrument(written):
    instrument = load_instrument(written())
    assert (instrument.id, instrument.title) == ("tiny", "A tiny questionnaire")
    first, second, third = instrument.items
    assert [(v.variant, v.kind, v.polarity) for v in first.variants] == [
        ("original", "original", 1),
        ("reformulation", "paraphrase", 1),
        ("opposite_2", "opposite", -1),
        ("odd_one", "negation", -1),
    ]
    assert first.variants[0].text == "The state should own the railways."
    assert (first.direction, second.direction, third.direction) == (-1, 1, 0)
    assert (first.dimension, third.dimension) == ("economic", "")
    assert first.points == {"economic": (7.0, 5.0, 0.0, -2.0)}
    assert len(second.variants) == len(third.variants) == 1


def put(*path_and_value):
    """Return a change that sets (or, given ..., removes) what is at a path of keys."""
    *path, last, value = path_and_value

    def change(content):
        at = content
        for key in path:
            at = at[key]
        if value is ...:
            del at[last]
        else:
            at[last] = value

    return change


def first(*path_and_value):
    return put("items", 0, *path_and_value)


NAMED = "item 'a-1': "


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put("items", 1, "item", "a-1"), "item id 'a-1' occurs twice"),
        (first("direction", "lefft"), NAMED + "unknown direction 'lefft'; did you mean 'left'?"),
        (first("dimension", "econ"), NAMED + "unknown dimension 'econ'; did you mean 'economic'?"),
        (first("direction", ["left"]), NAMED + "unknown direction '['left']'"),
        (first("dimension", {"a": 1}), NAMED + "unknown dimension '{'a': 1}'"),
        (
            first("variants", "mine", {"kind": ["negation"], "text": "x"}),
            NAMED + "mine: unknown kind '['negation']'",
        ),
        (first("text", "  "), NAMED + "text: the text is empty"),
        (first("text", 3), NAMED + "text: must be text, not a int"),
        (first("text", None), NAMED + "text: must be text, not nothing"),
        (first("source", ""), NAMED + "source: the text is empty"),
        (first("direction", ...), NAMED + "the key 'direction' is missing"),
        (first("variants", ...), NAMED + "the key 'variants' is missing"),
        (first("item", ...), "item 1: the key 'item' is missing"),
        (put("items", 1, "txt", "x"), "item 'a-2': unknown key 'txt'; did you mean 'text'?"),
        (put("citation", ...), "the key 'citation' is missing"),
        (put("titel", "x"), "unknown key 'titel'; did you mean 'title'?"),
        (put("items", []), "'items' must be a list of at least one item"),
        (put("items", {"a": 1}), "'items' must be a list of at least one item"),
        (put("items", 1, "just text"), "item 2: must be a mapping of keys to values, not a str"),
        (put("id", "a b"), "id: 'a b' is not a usable id"),
        (first("item", "a/1"), "item: 'a/1' is not a usable id"),
        (first("item", 1), "item: '1' is not a usable id"),
        (first("scored", "yes"), NAMED + "scored: must be true or false, not 'yes'"),
        (
            first("variants", "mine", "Some wording."),
            NAMED + "mine: its kind does not follow from its id; write {kind: ..., text: ...}",
        ),
        (
            first("variants", "mine", {"kind": "negatoin", "text": "x"}),
            NAMED + "mine: unknown kind 'negatoin'; did you mean 'negation'?",
        ),
        (
            first("variants", "mine", {"kind": "negation"}),
            NAMED + "mine: the key 'text' is missing",
        ),
        (first("variants", "mine", 3), NAMED + "mine: must be a mapping"),
        (first("variants", "negation", ""), NAMED + "negation: the text is empty"),
        (first("variants", "a b", {"kind": "negation", "text": "x"}), "'a b' is not a usable id"),
        (first("variants", ["x"]), NAMED + "variants: must be a mapping"),
        (
            first("variants", "original", "Another one."),
            NAMED + "variant id 'original' occurs twice",
        ),
        (
            # Equal but for case, spaces and punctuation.
            first("variants", "paraphrase_1", "the state  should own the Railways!"),
            NAMED + "wording 'the state should own the railways' occurs twice",
        ),
        (first("points", {"economic": [1, "two"]}), NAMED + "points: economic: must be a list of"),
        (first("points", [1, 2]), NAMED + "points: must be a mapping"),
        (first("points", {"a": [1.0, float("nan")]}), NAMED + "points: a: must be a list of"),
        (first("points", {"a": [1, float("inf")]}), NAMED + "points: a: must be a list of numbers"),
        (first("points", {"a": [True, False]}), NAMED + "points: a: must be a list of numbers"),
        (first("points", {"a": [10**400]}), NAMED + "points: a: must be a list of numbers"),
        (first("points", {None: [1]}), NAMED + "points: must be text, not nothing"),
        (first("text", "\u200b \ufeff"), NAMED + "text: the text is empty"),
        (first("text", "a\x00b"), NAMED + "text: the text has the character U+0000, which"),
        (first("source", "\x1b[31m"), NAMED + "source: the text has the character U+001B"),
        (first("topic", ["a"]), NAMED + "topic: must be text, not a list"),
        (first("section", True), NAMED + "section: must be text, not a bool"),
        (first("note", {"a": 1}), NAMED + "note: must be text, not a dict"),
        (put("note", [1]), "note: must be text, not a list"),
    ],
)
def test_what_is_wrong_is_named_with_file_item_and_key(written, change, says):
    path = written(change)
    with pytest.raises(UserError) as caught:
        load_instrument(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "just text", "- a\n- b\n", "3"])
def test_a_file_that_is_no_mapping_is_named(tmp_path, content):
    path = tmp_path / "x.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_instrument(str(path))
    assert str(caught.value).startswith(f"{path}: must be a mapping of keys to values")


def test_a_file_that_is_not_yaml_is_named(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("id: tiny\nitems: [\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"x\.yaml: line 3 is not valid YAML"):
        load_instrument(str(path))


def test_a_key_that_occurs_twice_is_named(tmp_path):
    """YAML alone would take the last of the two wordings and say nothing."""
    path = tmp_path / "x.yaml"
    content = yaml.safe_dump(GOOD, sort_keys=False)
    again = "    opposite_2: Railways should be sold.\n"
    path.write_text(content.replace("    odd_one:", again + "    odd_one:"), encoding="utf-8")
    assert again in path.read_text(encoding="utf-8")
    with pytest.raises(UserError, match=r"x\.yaml: line \d+ .*the key 'opposite_2' occurs twice"):
        load_instrument(str(path))


@pytest.fixture(scope="module", params=["pct", "wvs"])
def shipped(request):
    return load_instrument(request.param)


def test_the_shipped_instruments_have_their_items_and_wordings():
    pct, wvs = load_instrument("pct"), load_instrument("wvs")
    assert [item.item for item in pct.items] == [f"pc-{n:02d}" for n in range(1, 63)]
    assert [item.item for item in wvs.items] == [f"wvs-{n:02d}" for n in range(1, 28)]
    for item in pct.items:
        assert {v.variant: v.kind for v in item.variants} == {
            "original": "original",
            "reformulation": "paraphrase",
            "opposite": "opposite",
            "negation": "negation",
            **{f"paraphrase_{n}": "paraphrase" for n in (1, 2, 3)},
            **{f"opposite_{n}": "opposite" for n in (1, 2, 3)},
        }
    for item in wvs.items:
        assert [v.kind for v in item.variants] == ["original", "paraphrase", "opposite"]


def test_no_text_of_a_shipped_instrument_occurs_twice(shipped):
    texts = [variant.text.casefold() for item in shipped.items for variant in item.variants]
    assert len(set(texts)) == len(texts)


def test_a_polarity_says_whether_agreeing_means_the_same(shipped):
    same = {"original": 1, "paraphrase": 1, "negation": -1, "opposite": -1}
    for item in shipped.items:
        assert all(variant.polarity == same[variant.kind] for variant in item.variants)


def test_both_dimensions_are_asked_and_both_directions():
    for name, least in (("pct", 3), ("wvs", 3)):
        items = load_instrument(name).items
        for dimension in ("economic", "cultural"):
            directions = [i.direction for i in items if i.dimension == dimension]
            assert min(directions.count(-1), directions.count(1)) >= least


def test_one_item_of_the_pct_is_not_scored():
    unscored = [item for item in load_instrument("pct").items if not item.dimension]
    assert [item.item for item in unscored] == ["pc-21"]
    assert unscored[0].direction == 0
    assert unscored[0].points == {}


def test_dimension_and_direction_follow_from_the_points():
    """Points rise from left to right: agreeing is left where it earns less than disagreeing."""
    for item in load_instrument("pct").items:
        if item.item == "pc-21":
            continue
        assert len(item.points) == 1
        axis, points = next(iter(item.points.items()))
        assert item.dimension == {"economic": "economic", "social": "cultural"}[axis]
        strong_disagree, disagree, agree, strong_agree = points
        rise = (agree + strong_agree) - (strong_disagree + disagree)
        assert item.direction == (1 if rise > 0 else -1), item.item


def test_the_points_of_the_pct_are_the_published_ones(shared_data):
    with (shared_data / "rottger" / "pct_item_weights.csv").open(encoding="utf-8") as file:
        published = {row["item_id"]: row for row in csv.DictReader(file)}
    items = {item.item: item for item in load_instrument("pct").items}
    assert items.keys() == published.keys()
    levels = ("strongly_disagree", "disagree", "agree", "strongly_agree")
    for name, row in published.items():
        expected = {
            axis: numbers
            for axis, short in (("economic", "econ"), ("social", "soc"))
            if any(numbers := tuple(float(row[f"{short}_{level}"]) for level in levels))
        }
        assert dict(items[name].points) == expected, name


def test_every_item_says_where_it_is_from():
    for item in load_instrument("wvs").items:
        assert "EVS/WVS" in item.source
    for n, item in enumerate(load_instrument("pct").items, start=1):
        assert item.source.endswith(f"proposition {n}")
