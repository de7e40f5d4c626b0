import csv
import re
import sys
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polbayes
from polbayes.data.spreadsheets import defused, defused_value, restored
from polbayes.data.tables import read_csv, write_csv
from polbayes.report.write import _write_table
from polbayes.tasks.inspection.layout import as_csv

PACKAGE = Path(polbayes.__file__).parent
TRICKY = st.text(st.sampled_from(";,|\t\r\n=+-@'＝ a\u2060"))
FORMULAS = ["=1+1", "＝1+1", " =1+1", "\n=1+1", "%1", "\x0b\x00=1+1", "\ufeff=1+1", "\u00a0﹦1"]


@settings(max_examples=300)
@given(st.one_of(st.text(), TRICKY))
def test_defusing_is_undone_exactly(text):
    assert restored(defused(text)) == text
    assert defused(text)[:1] not in set("=+-@\t\r\n")
    # Whatever a spreadsheet takes for the separator, no part begins like a formula.
    assert not re.search(r"[;,|\t\r\n][=+\-@＝＋－＠]", defused(text))


def test_every_sign_that_a_spreadsheet_may_normalise_is_defused():
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.normalize("NFKC", character)[0] in "=+-@%":
            assert defused(f"{character}1") == f"'{character}1"
            assert defused(f"a;{character}1") == f"a;\u2060{character}1"
        if character.isspace() or unicodedata.category(character) == "Cc":
            assert defused(f"{character}=1").startswith("'")


@pytest.mark.parametrize("text", FORMULAS)
def test_no_table_begins_a_cell_like_a_formula(text, tmp_path):
    """Tables of the report and of task=inspect; sheets have a test of their own."""
    _write_table(pd.DataFrame({"answer": [text]}), tmp_path / "t" / "t.csv", verdict=None)
    written = (tmp_path / "t" / "t.csv").read_text(encoding="utf-8")
    assert written.removeprefix("answer\n").lstrip('"').startswith("'")
    (_, shown) = as_csv([{"answer": text.lstrip("\x00\x0b\ufeff")}])
    assert shown.lstrip('"').startswith("'")


@settings(max_examples=100)
@given(st.lists(st.one_of(TRICKY.filter(bool), st.sampled_from(FORMULAS)), min_size=1))
def test_a_table_is_read_as_it_was_before_it_was_written(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    table = pd.DataFrame({"label": labels, "theta": range(len(labels)), "note": None})
    write_csv(path, table)
    found = read_csv(path, {"label": str})
    assert found["label"].tolist() == labels
    assert found["theta"].tolist() == table["theta"].tolist()
    assert found["note"].isna().all()
    with path.open(encoding="utf-8", newline="") as file:
        written = [row["label"] for row in csv.DictReader(file)]
    assert not [text for text in written if text.startswith(tuple("=+-@＝%"))]


def test_every_table_is_written_by_one_function():
    """Others write columns of numbers, or a digest."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if ".to_csv(" in path.read_text(encoding="utf-8")
    }
    assert found == {
        "data/tables.py",
        "tasks/annotation/blind.py",
        "tasks/export/draws.py",
        "tasks/training/task.py",
    }


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("@x", "'@x"),
        ("- no", "'- no"),
        ("-1.5", "-1.5"),
        ("plain = text", "plain = text"),
        ("", ""),
    ],
)
def test_no_text_is_a_formula(text: str, safe: str) -> None:
    assert defused_value(text) == safe
