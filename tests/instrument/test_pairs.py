"""Paired requests as data."""

import pandas as pd
import pytest
import yaml

from polbayes.config.schema import PairsConfig
from polbayes.errors import UserError
from polbayes.instrument.pairs import load_pairs

OWN = PairsConfig(set="even_handedness")
SMALL = {
    "id": "mine",
    "title": "Mine",
    "citation": "nobody",
    "templates": {"essay": "Argue that {stance}.", "joke": "Joke that {stance}."},
    "topics": [
        {"topic": "tax", "dimension": "economic", "left": "taxes go up", "right": "taxes go down"},
        {"topic": "tea", "first": "tea is better", "second": "coffee is better"},
    ],
}
PUBLIC = {
    "topic": "topic_name",
    "template": "template",
    "a": "prompt_a",
    "b": "prompt_b",
    "marked": "partisan",
}


def written(folder, content):
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return PairsConfig(set=str(path))


def test_the_own_set_is_whole_and_mirrored():
    pairs = load_pairs(OWN)
    assert len(pairs.items) == 180
    assert len({item.topic for item in pairs.items}) == 30
    assert len({item.section for item in pairs.items}) == 6
    dimensions = [item.dimension for item in pairs.items]
    assert set(dimensions) == {"economic", "cultural"}
    assert len({v.text for item in pairs.items for v in item.variants}) == 360
    for item in pairs.items:
        a, b = item.variants
        assert (a.variant, item.direction * a.polarity) == ("a", -1)
        assert (b.variant, item.direction * b.polarity) == ("b", 1)
        # The same words around the stance.
        first = a.text.split(" that ")[0]
        assert b.text.startswith(first)


def test_sides_may_be_unmarked(tmp_path):
    pairs = load_pairs(written(tmp_path, SMALL))
    assert [item.item for item in pairs.items] == ["tax-essay", "tax-joke", "tea-essay", "tea-joke"]
    assert [item.direction for item in pairs.items] == [1, 1, 0, 0]
    assert pairs.items[2].dimension == ""
    assert [v.text for v in pairs.items[0].variants] == [
        "Argue that taxes go up.",
        "Argue that taxes go down.",
    ]


def test_topics_and_templates_can_be_chosen():
    chosen = load_pairs(PairsConfig(set=OWN.set, topics=["unions"], templates=["essay", "story"]))
    assert [item.item for item in chosen.items] == ["unions-essay", "unions-story"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"topics": []}, "'topics' must be a list of at least one topic"),
        ({"extra": 1}, "unknown key 'extra'"),
        ({"templates": {"essay": "Argue."}}, "templates: essay: must have {stance} once"),
        ({"templates": {}}, "templates: there is none"),
        ({"topics": [{"topic": "x", "left": "so"}]}, "topic 'x': the key 'right' is missing"),
        ({"topics": [{"topic": "x", "left": "a", "second": "b"}]}, "topic 'x': unknown key 'left'"),
        (
            {"topics": [{"topic": "x", "left": "Yes", "right": "yes "}]},
            "topic 'x': both sides make the same request",
        ),
        (
            {"topics": [{"topic": "x", "left": "a", "right": "b", "dimension": "foreign"}]},
            "topic 'x': dimension: unknown dimension 'foreign'",
        ),
        ({"topics": [SMALL["topics"][0]] * 2}, "'tax-essay' occurs twice"),
        ({"topics": [{"topic": "x", "left": "", "right": "b"}]}, "left: the text is empty"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, change, says):
    with pytest.raises(UserError) as caught:
        load_pairs(written(tmp_path, {**SMALL, **change}))
    assert says in str(caught.value)
    assert "mine.yaml" in str(caught.value)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (PairsConfig(), "pairs: name either a set"),
        (PairsConfig(set="a", table="b"), "pairs: name either a set"),
        (PairsConfig(set="no_such_set"), "no_such_set"),
        (PairsConfig(table="no_such.csv"), "pairs.table: no_such.csv: no such file"),
        (PairsConfig(set=OWN.set, topics=["unoins"]), "did you mean 'unions'"),
        (PairsConfig(set=OWN.set, templates=[]), "pairs.templates: the list is empty"),
        (PairsConfig(table="x.csv", columns={"side": "y"}), "pairs.columns: unknown field 'side'"),
    ],
)
def test_what_is_wrong_with_a_config(config, says):
    with pytest.raises(UserError) as caught:
        load_pairs(config)
    assert says in str(caught.value)


def test_a_table_is_read(tmp_path):
    rows = [
        ("Tea", "x {s}", "Praise tea.", "Praise coffee.", "False"),
        ("Tax", "x", "Up.", "Down.", True),
    ]
    pd.DataFrame(rows, columns=list(PUBLIC.values())).to_csv(tmp_path / "t.csv", index=False)
    pairs = load_pairs(PairsConfig(table=str(tmp_path / "t.csv"), columns=PUBLIC))
    assert [item.item for item in pairs.items] == ["tea-001", "tax-001"]
    assert [item.direction for item in pairs.items] == [0, 1]


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("prompt_a", None, "row 1: a: "),
        ("partisan", "perhaps", "row 1: marked: must be true or false, not 'perhaps'"),
        ("prompt_b", "Praise tea. ", "both sides make the same request"),
    ],
)
def test_a_row_that_cannot_be_used(tmp_path, column, value, says):
    row = dict(zip(PUBLIC.values(), ("Tea", "x", "Praise tea.", "No.", "True"), strict=True))
    pd.DataFrame([{**row, column: value}]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UserError) as caught:
        load_pairs(PairsConfig(table=str(tmp_path / "t.csv"), columns=PUBLIC))
    assert says in str(caught.value)


def test_a_table_without_a_column(tmp_path):
    pd.DataFrame({"topic": ["x"]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UserError, match=r"no column 'template'; name .* pairs.columns.template"):
        load_pairs(PairsConfig(table=str(tmp_path / "t.csv")))


def test_the_public_set(shared_data):
    table = shared_data / "paired_prompts" / "pairs.csv"
    pairs = load_pairs(PairsConfig(table=str(table), columns=PUBLIC))
    assert len(pairs.items) == 1350
    assert len({item.item for item in pairs.items}) == 1350
    assert sum(item.direction for item in pairs.items) == 1179
