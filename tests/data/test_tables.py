import datetime
import json
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polbayes.cli import _main
from polbayes.coding.importer import import_table
from polbayes.config.schema import ImportConfig
from polbayes.data.dataset import MISSING
from polbayes.data.tables import read_csv, read_table, text_of
from polbayes.errors import UserError
from polbayes.instrument.questionnaires import load_instrument


@pytest.mark.parametrize(
    "value", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s"), Decimal("NaN")]
)
def test_what_stands_for_nothing(value):
    assert text_of(value) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ("nan", "nan"),
        (3, "3"),
        (3.0, "3"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (np.float32(2), "2"),
        (2**63 + 1, "9223372036854775809"),
        (10**400, "1" + "0" * 400),
        (float("inf"), "inf"),
        (True, "True"),
        (np.True_, "True"),
        (Decimal("2.00"), "2"),
        (Decimal("2.50"), "2.50"),
        (b"a\xff", "a\ufffd"),
        ("a\ud800", "a\ufffd"),
        ([1, None], "[1, None]"),
        (np.array([1.0, np.nan]), "[ 1. nan]"),
        ({"a": None}, "{'a': None}"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (pd.Timestamp("2020-01-02"), "2020-01-02 00:00:00"),
    ],
)
def test_a_value_as_text(value, text):
    assert text_of(value) == text


# Types of columns with values for two rows and what is read of them; the third has no value.
COLUMNS = {
    "string": (pd.array(["a", "", None], "string"), ["a", "", None]),
    "integer": (pd.array([1, 2**60, None], "Int64"), ["1", str(2**60), None]),
    "float": (pd.array([1.5, 2.0, None], "Float64"), ["1.5", "2", None]),
    "boolean": (pd.array([True, False, None], "boolean"), ["True", "False", None]),
    "category": (pd.Categorical(["a", "b", None]), ["a", "b", None]),
    "time": (
        pd.array([pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-03 01:00"), pd.NaT]),
        ["2020-01-02 00:00:00", "2020-01-03 01:00:00", None],
    ),
    "object": (np.array(["a", "b", None], dtype=object), ["a", "b", None]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_nullable_column_of_parquet(tmp_path, kind):
    values, wanted = COLUMNS[kind]
    pd.DataFrame({"x": values}).to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet")["x"].tolist() == wanted


def test_types_that_only_parquet_has(tmp_path):
    table = pa.table(
        {
            "decimal": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
            "dictionary": pa.array(["a", None]).dictionary_encode(),
            "list": pa.array([[1, 2], None]),
            "struct": pa.array([{"a": 1.5}, None]),
            "nothing": pa.nulls(2),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    first, second = read_table(tmp_path / "a.parquet").to_dict("records")
    assert first == {
        "decimal": "1.50",
        "dictionary": "a",
        "list": "[1 2]",
        "struct": "{'a': 1.5}",
        "nothing": None,
    }
    assert set(second.values()) == {None}


def test_a_type_that_its_own_note_denies(tmp_path):
    table = pa.Table.from_pandas(pd.DataFrame({"x": pd.array(["a"], "string")}))
    odd = table.set_column(0, "x", pa.array([[1]])).replace_schema_metadata(table.schema.metadata)
    pq.write_table(odd, tmp_path / "a.parquet")
    with pytest.raises(UserError, match="cannot be read as a table"):
        read_table(tmp_path / "a.parquet")


def test_columns_without_a_name_and_empty_fields(tmp_path):
    (tmp_path / "a.csv").write_text('\ufeff,x,NA\n0,,"a, b"\n\n1,NA,""\n', encoding="utf-8")
    table = read_table(tmp_path / "a.csv")
    assert list(table) == ["Unnamed: 0", "x", "NA"]
    assert table.to_numpy().tolist() == [["0", None, "a, b"], ["1", "NA", None]]
    assert table.index.tolist() == [0, 1]


def test_a_nullable_table_is_imported(tmp_path, monkeypatch, capsys):
    answers = pd.DataFrame(
        {
            "model": pd.array(["a", "a", "b", "b"], "string"),
            "item": pd.array(["wvs-01", "wvs-02"] * 2, "string"),
            "answer": pd.array(["I agree.", None, "I disagree.", "No."], "string"),
            "size": pd.array([1, 1, None, None], "Int64"),
        }
    )
    answers.to_parquet(tmp_path / "answers.parquet")
    monkeypatch.chdir(tmp_path)
    arguments = [
        *("name=mine", "instruments=[wvs]", "respondents=none", "task=dry_run"),
        "+imported.path=answers.parquet",
        "+imported.columns={model:model,item:item,answer:answer}",
        "+imported.attributes={size:size}",
    ]
    assert _main(arguments) == 0
    assert capsys.readouterr().out.startswith("4 questions: 2 models, 2 items, ")


MOMENT = datetime.datetime(2020, 1, 2, 3, 4, tzinfo=datetime.UTC)
# Arrow's types with a value and its text; what is not there is None in all of them.
ARROW = {
    "string": (pa.string(), "a", "a"),
    "large string": (pa.large_string(), "a", "a"),
    "integer": (pa.int8(), 3, "3"),
    "unsigned": (pa.uint64(), 2**63, str(2**63)),
    "float": (pa.float64(), 2.0, "2"),
    "half": (pa.float32(), 1.5, "1.5"),
    "boolean": (pa.bool_(), False, "False"),
    "decimal": (pa.decimal128(6, 2), Decimal("2.00"), "2"),
    "date": (pa.date32(), datetime.date(2020, 1, 2), "2020-01-02"),
    "timestamp": (pa.timestamp("us"), MOMENT.replace(tzinfo=None), "2020-01-02 03:04:00"),
    "timestamp with a zone": (pa.timestamp("ns", "UTC"), MOMENT, "2020-01-02 03:04:00+00:00"),
    "duration": (pa.duration("s"), datetime.timedelta(days=1), "1 days 00:00:00"),
    "binary": (pa.binary(), b"a", "a"),
    "dictionary of texts": (pa.dictionary(pa.int8(), pa.string()), "a", "a"),
    "dictionary of integers": (pa.dictionary(pa.int8(), pa.int64()), 3, "3"),
}


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("kind", ARROW)
def test_a_missing_value_of_every_type_of_arrow(tmp_path, kind, noted):
    """With and without what pandas notes of its own types in the file."""
    of_type, value, text = ARROW[kind]
    column = pa.array([value, None], of_type)
    table = pa.table({"x": column})
    if noted:
        frame = pd.DataFrame({"x": pd.array(column, pd.ArrowDtype(of_type))}, index=["a", "b"])
        table = pa.Table.from_pandas(frame)
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").to_dict("list") == {"x": [text, None]}


def test_missing_values_in_lines_of_json(tmp_path):
    lines = [
        '{"x": null, "y": NaN, "z": "", "a": 1}',
        '{"x": "NA", "y": 2.0, "z": true}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    table = read_table(tmp_path / "a.jsonl")
    assert table.to_dict("records") == [
        {"x": None, "y": None, "z": "", "a": "1"},
        {"x": "NA", "y": "2", "z": "True", "a": None},
    ]


@pytest.mark.parametrize("value", [None, math.nan, pd.NaT, pd.NA, "", " "])
@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
def test_a_missing_answer_is_one_whatever_it_is_written_as(tmp_path, kind, value):
    path = tmp_path / f"answers{kind}"
    rows = {"m": ["a", "a"], "i": ["wvs-01", "wvs-02"], "r": pd.Series([1, value], dtype=object)}
    if kind == ".csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    elif kind == ".parquet":
        # A column of numbers and texts is none of Parquet's.
        given = [1, value] if not isinstance(value, str) else ["1", value]
        pd.DataFrame({**rows, "r": given}).convert_dtypes().to_parquet(path)
    else:
        absent = None if pd.isna(value) else value
        lines = [{"m": "a", "i": "wvs-01", "r": 1}, {"m": "a", "i": "wvs-02", "r": absent}]
        path.write_text("\n".join(map(json.dumps, lines)))
    config = ImportConfig(
        path=str(path),
        columns={"model": "m", "item": "i", "rating": "r"},
        points=["Disagree", "Agree"],
        strict_options=True,
    )
    data = import_table(config, instruments=[load_instrument("wvs")])
    assert data["rating"].values.ravel().tolist() == [0, MISSING]
    assert data.attrs["notes"] == "1 of 2 rows has no answer."


def test_json_lines_are_read_by_column(tmp_path):
    path = tmp_path / "t.jsonl"
    long = "x" * 100
    halves = r'{"\ud800": "u", "\udc00": "v"}'
    lines = ['{"a": "one"}', '{"b": 2.0, "a": "one"}', halves, json.dumps({"b": long})]
    path.write_text("\n".join(lines))
    found = read_table(path)
    assert list(found.columns) == ["a", "b", "\ufffd"]
    values = [[None if pd.isna(x) else x for x in found[c]] for c in found]
    assert values == [
        ["one", "one", None, None],
        [None, "2", None, long],
        [None, None, "v", None],
    ]
    assert found["a"][0] is found["a"][1]


def test_a_column_of_a_long_table_has_one_type(tmp_path):
    # pandas would read its first part as numbers, and the last as text.
    decision = [None] * 300_000 + ["left", "null", "NA"]
    table = pd.DataFrame({"estimate": 0.123456789, "decision": decision})
    table.to_csv(tmp_path / "a.csv", index=False)
    found = read_csv(tmp_path / "a.csv")
    assert found["decision"].isna().sum() == 300_000
    assert found["decision"].iloc[-3:].tolist() == ["left", "null", "NA"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'a,b\n1,2\n3,4,5\n"6'])
def test_a_damaged_table_of_ours_is_named(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.csv: is no longer a table .* delete it"):
        read_csv(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_separates_the_fields_is_read_from_the_header(tmp_path, name, separator):
    table = pd.DataFrame({"model": ["a;b", "c,d", "e\tf"], "answer": ["Agree", "1,5", ""]})
    table.to_csv(tmp_path / name, index=False, sep=separator, encoding="utf-8-sig")
    found = read_table(tmp_path / name)
    assert found.to_dict("list") == {
        "model": ["a;b", "c,d", "e\tf"],
        "answer": ["Agree", "1,5", None],
    }


def test_a_table_in_another_encoding_is_told_how_to_be_saved(tmp_path):
    (tmp_path / "a.csv").write_bytes("model,answer\nm\xfcde,Agree\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"a\.csv: cannot be read .*; save it as UTF-8\.$"):
        read_table(tmp_path / "a.csv")
