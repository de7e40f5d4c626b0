"""Which rows of a table are taken, and what is said of those that are not."""

import numpy as np
import pandas as pd
import pytest
from test_importer import COLUMNS, INSTRUMENTS, SCALE, load

from polbayes.coding.importer import import_table
from polbayes.coding.table_rows import Selection
from polbayes.config.schema import ImportConfig
from polbayes.data.dataset import NOT_ASKED
from polbayes.errors import UserError

ROWS = [
    {"who": "one", "question": "q-1", "said": "Agree", "how": "v1", "day": 1},
    {"who": "one", "question": "q-2", "said": "Agree", "how": "v1", "day": 2},
    {"who": "two", "question": "q-1", "said": "Disagree", "how": "v2", "day": 1},
    {"who": "two", "question": "q-2", "said": "", "how": "v2", "day": None},
    {"who": "two", "question": "q-3", "said": "Agree", "how": "v2", "day": 3},
]
BY_PREFIX = {**COLUMNS, "prefix": "how"}


def taken(data):
    """Return the answers as (model, item) to text."""
    asked = data["status"].values != NOT_ASKED
    at = zip(*np.nonzero(asked), strict=True)
    return {(str(data["model"][i[0]].item()), str(data["item"][i[1]].item())) for i in at}


def notes(data):
    return data.attrs["notes"].splitlines()


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize(
    ("where", "wanted", "left_out"),
    [
        ({"question": "q-1"}, {("one", "q-1"), ("two", "q-1")}, 3),
        ({"question": ["q-1", "q-2"]}, {(w, q) for w in ("one", "two") for q in ("q-1", "q-2")}, 1),
        ({"day": [1, "2"]}, {("one", "q-1"), ("one", "q-2"), ("two", "q-1")}, 2),
        ({"day": None}, {("two", "q-2")}, 4),
        ({"day": 1, "who": "two"}, {("two", "q-1")}, 4),
    ],
)
def test_rows_are_selected_by_any_column(tmp_path, kind, where, wanted, left_out):
    data = load(tmp_path, ROWS, kind, where=where, ignore=["how", "day"], **SCALE)
    assert taken(data) == wanted
    are = "is" if left_out == 1 else "are"
    assert notes(data)[0] == f"{left_out} of 5 rows {are} left out by imported.where."
    assert data.attrs["imported_rows"] == 5 - left_out


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"quest": "q-1"}, "imported.where: unknown column 'quest'; did you mean 'question'"),
        ({"who": ["one", "tow"]}, "imported.where.who: unknown value 'tow'; did you mean 'two'"),
        ({"how": []}, "imported.where.how: the list is empty"),
        ({"how": {"a": 1}}, "imported.where.how: must be a value or a list of values"),
        ({"how": "v1", "who": "two"}, "imported.where: no row has all of the values wanted"),
    ],
)
def test_wrong_selections_of_rows(tmp_path, where, says):
    with pytest.raises(UserError) as caught:
        load(tmp_path, ROWS, where=where, ignore=["how", "day"], **SCALE)
    assert says in str(caught.value)


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
def test_names_spelt_in_two_ways_are_made_one(tmp_path, kind):
    rename = {"who": {"two": "three"}, "day": {"2": "1"}}
    data = load(tmp_path, ROWS, kind, rename=rename, where={"day": 1}, ignore=["how"], **SCALE)
    assert taken(data) == {("one", "q-1"), ("one", "q-2"), ("three", "q-1")}


@pytest.mark.parametrize(
    ("rename", "says"),
    [
        ({"woh": {"two": "three"}}, "imported.rename: unknown column 'woh'; did you mean 'who'"),
        ({"who": {"tow": "three"}}, "imported.rename.who: unknown value 'tow'; did you mean 'two'"),
    ],
)
def test_wrong_names_to_replace(tmp_path, rename, says):
    with pytest.raises(UserError) as caught:
        load(tmp_path, ROWS, rename=rename, ignore=["how", "day"], **SCALE)
    assert says in str(caught.value)


def chosen(folder, **selection):
    path = folder / "answers.csv"
    pd.DataFrame(ROWS[:4]).to_csv(path, index=False)
    config = ImportConfig(path=str(path), columns=BY_PREFIX, ignore=["day"], **SCALE)
    return import_table(config, instruments=INSTRUMENTS, selection=Selection(**selection))


def test_selections_know_the_labels_of_the_table(tmp_path):
    data = chosen(tmp_path, prefix=["v1"])
    assert data["prefix"].values.tolist() == ["v1"]
    assert data["model"].values.tolist() == ["one"]
    assert notes(data) == ["2 of 4 rows are left out by prefixes.only."]
    assert taken(chosen(tmp_path, item=["q-2"])) == {("one", "q-2"), ("two", "q-2")}
    assert chosen(tmp_path, model=["two", "one"])["model"].values.tolist() == ["two", "one"]
    assert len(taken(chosen(tmp_path, variant=["original"]))) == 4


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        ({"prefix": ["baseline"]}, "prefixes.only: unknown prefix 'baseline'; known: v1, v2."),
        ({"item": ["q-11"]}, "items: unknown item 'q-11'; did you mean 'q-1'"),
        ({"model": ["three"]}, "models: unknown model 'three'"),
        ({"variant": ["negation"]}, "variants: unknown wording 'negation'"),
        ({"model": ["one"], "prefix": ["v2"]}, "prefixes.only: the selection leaves no answer"),
    ],
)
def test_labels_that_the_table_does_not_have(tmp_path, selection, says):
    with pytest.raises(UserError) as caught:
        chosen(tmp_path, **selection)
    assert says in str(caught.value)


def test_variants_are_selected_by_kind_and_pattern(tmp_path):
    rows = [
        {"who": "m", "question": q, "said": "Agree", "v": v}
        for q in ("q-1", "q-2")
        for v in ("original", "negation", "negation_2")
    ]
    path = tmp_path / "a.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    config = ImportConfig(path=str(path), columns={**COLUMNS, "variant": "v"}, **SCALE)

    def left(*variants):
        one = import_table(config, instruments=INSTRUMENTS, selection=Selection(variant=variants))
        return one["variant"].values.tolist(), notes(one)

    assert left("negation") == (
        ["negation", "negation_2"],
        ["2 of 6 rows are left out by variants."],
    )
    assert left("id:negation")[0] == ["negation"]
    assert left("orig*")[0] == ["original"]


def test_repetitions_are_numbered_in_the_order_of_the_table(tmp_path):
    rows = [{"who": "m", "question": q, "said": s} for q in ("q-1", "q-2") for s in ("a", "b", "c")]
    data = load(tmp_path, [*rows, rows[0]], constants={"run": "count"})
    answers = data["completion"].sel(model="m", variant="original", prefix="baseline")
    assert answers.sel(item="q-1").values.tolist() == ["a", "b", "c", "a"]
    assert answers.sel(item="q-2").values.tolist() == ["a", "b", "c", ""]
    (said,) = notes(data)
    assert said.startswith("Repetitions were numbered in the order of the table")
    assert said.endswith("up to 4 of one question.")
    with pytest.raises(UserError, match=r"or set imported\.constants\.run=count to number them"):
        load(tmp_path, rows)


def test_several_tables_are_one(tmp_path):
    for name, rows in (("x", ROWS[:2]), ("y", ROWS[2:4]), ("z", ROWS[4:])):
        pd.DataFrame(rows).drop(columns="day" if name == "x" else []).to_csv(
            tmp_path / f"part_{name}.csv", index=False
        )
    config = {"columns": BY_PREFIX, "ignore": ["d*"], **SCALE}

    def of(**more):
        settings = ImportConfig(path=str(tmp_path / "part_*.csv"), **config, **more)
        return import_table(settings, instruments=INSTRUMENTS)

    data = of(where={"table": ["part_x", "part_y"]})
    assert len(taken(data)) == 4
    assert notes(data) == [
        "1 of 5 rows is left out by imported.where.",
        "1 of 4 rows has no answer.",
    ]
    assert data.attrs["imported_from"] == "part_*.csv"
    with pytest.raises(UserError, match=r"part_z\.csv: row 1: unknown item 'q-3'"):
        of()


def test_columns_are_joined_as_one_label(tmp_path):
    data = load(tmp_path, ROWS[:2], columns={**COLUMNS, "prefix": "how + day"})
    assert data["prefix"].values.tolist() == ["v1 / 1", "v1 / 2"]
    with pytest.raises(UserError, match="unknown column 'night'"):
        load(tmp_path, ROWS[:2], columns={**COLUMNS, "prefix": "how + night"}, ignore=["day"])
    with pytest.raises(UserError, match="row 4: the column of 'prefix' has no value"):
        load(tmp_path, ROWS[:4], columns={**COLUMNS, "prefix": "how + day"})


def test_a_table_without_an_instrument_has_its_own_items(tmp_path):
    rows = [
        {
            "who": "m",
            "said": "Agree",
            "q": "a",
            "text": "Cut taxes.",
            "side": "right",
            "d": "social",
        },
        {"who": "m", "said": "Disagree", "q": "b", "text": "Free buses.", "side": None, "d": None},
    ]
    path = tmp_path / "a.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    columns = {"model": "who", "item": "q", "answer": "said", "statement": "text"}
    keyed = {"direction": "side", "dimension": "d"}

    def of(**more):
        config = ImportConfig(path=str(path), columns={**columns, **more}, ignore=["*"], **SCALE)
        return import_table(config, instruments=[])

    data = of(**keyed)
    assert data["statement"].values.ravel().tolist() == ["Cut taxes.", "Free buses."]
    assert data["dimension"].values.tolist() == ["social", ""]
    assert data["keying"].values.ravel().tolist() == [1, 0]
    pd.DataFrame(rows).assign(side=["unknown", ""]).to_csv(path, index=False)
    data = of(**keyed)
    assert data["dimension"].values.tolist() == ["social", ""]
    assert data["keying"].values.ravel().tolist() == [0, 0]
    pd.DataFrame(rows).to_csv(path, index=False)
    assert of()["direction"].values.tolist() == [0, 0]
    with pytest.raises(UserError, match="item 'a' has a dimension or a direction alone"):
        of(dimension="d")
    with pytest.raises(UserError, match="item 'a': unknown direction 'social'"):
        of(direction="d", dimension="d")
    config = ImportConfig(path=str(path), columns={**columns, **keyed}, **SCALE)
    with pytest.raises(UserError, match="'dimension' is what the instrument's file says"):
        import_table(config, instruments=INSTRUMENTS)


def test_stances_follow_from_the_points():
    from polbayes.coding.importer import _scale

    def sides(n):
        config = ImportConfig(points=[f"point {chr(97 + k)}" for k in range(n)])
        return _scale(config)[1]

    assert sides(2) == (-1, 1)
    assert sides(5) == (-1, -1, 0, 1, 1)
    assert sides(4) == (-1, -1, 1, 1)
    assert sides(7) == (-1, -1, -1, 0, 1, 1, 1)


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
def test_columns_that_are_shown_lie_along_what_tells_them_apart(tmp_path, kind):
    rows = [
        {
            "who": who,
            "question": q,
            "said": "Agree",
            "day": {"one": "Monday", "two": "Tuesday"}[who],
            "sent": f"{q}: {'yes?' if who == 'one' else 'no?'}",
        }
        for who in ("one", "two")
        for q in ("q-1", "q-2")
    ]
    data = load(tmp_path, rows, kind, show=["day", "sent"])
    assert data["day"].dims == ("model",)
    assert data["sent"].dims == ("model", "item")
    assert data["sent"].sel(model="two", item="q-2").item() == "q-2: no?"
    with pytest.raises(UserError, match=r"imported\.show.*unknown column 'date'"):
        load(tmp_path, rows, show=["date"], ignore=["*"])


def test_a_shown_column_needs_a_name_of_its_own(tmp_path):
    rows = [{**ROWS[0], "statement": "x"}]
    with pytest.raises(UserError, match=r"imported\.show: 'statement' means something else"):
        load(tmp_path, rows, show=["statement"], ignore=["how", "day"])


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
def test_blanks_around_labels_make_no_new_ones(tmp_path, kind):
    rows = [{**ROWS[0], "who": "one "}, {**ROWS[1], "how": " v1"}, {**ROWS[2], "question": "q-1\t"}]
    rows = [{**row, "day": 1} for row in rows]
    data = load(tmp_path, rows, kind, columns=BY_PREFIX, ignore=["day"], **SCALE)
    assert data["model"].values.tolist() == ["one", "two"]
    assert data["prefix"].values.tolist() == ["v1", "v2"]
    assert taken(data) == {("one", "q-1"), ("one", "q-2"), ("two", "q-1")}
    with pytest.raises(UserError, match=r"rows 1 and 2 are both the answer of model 'one'"):
        load(tmp_path, [ROWS[0], rows[0]], kind, columns=BY_PREFIX, ignore=["day"], **SCALE)
