import csv
import io

import pandas as pd
import pytest

from polbayes.errors import UserError
from polbayes.tasks.annotation.sheet import read_sheet, write_sheet

HARD = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "'=quoted",
    "''twice",
    "\t=1",
    "\r\n=cmd|' /C calc'!A0",
    " =1",
    "＝1+1",
    "a;=cmd|' /C calc'!A0;b,+1\n- a list",
    'She said "no, never"; then, left',
    "line\nbreak\r\nand\rreturn",
    "😀 ünïcode ‮",
    "with\x00nul\x1b[31m",
    "x" * 400_000,
    "",
]


def test_round_trip(tmp_path):
    path = tmp_path / "s.csv"
    write_sheet(path, ("id", "answer"), [{"id": str(k), "answer": t} for k, t in enumerate(HARD)])
    rows = read_sheet(path, ("id", "answer"), key="here")
    assert [row["answer"] for row in rows] == HARD
    assert [row["row"] for row in rows] == [str(k) for k in range(2, len(HARD) + 2)]


def test_no_field_begins_like_a_formula(tmp_path):
    path = tmp_path / "s.csv"
    write_sheet(path, ("answer",), [{"answer": text} for text in HARD])
    before = csv.field_size_limit(500_000)
    try:
        fields = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    finally:
        csv.field_size_limit(before)
    assert not [
        f
        for row in fields
        for f in row
        if f != "-1" and f.lstrip(" \t\r\n")[:1] in tuple("=+-@＝＋－＠")
    ]
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_as_spreadsheets_save_it(tmp_path, separator):
    path = tmp_path / "s.csv"
    path.write_text(separator.join([" ID ", "Label"]) + "\r\n" + separator.join(["a-1", "x"]))
    assert read_sheet(path, ("id", "label"), key="k") == [{"id": "a-1", "label": "x", "row": "2"}]


def test_bad_files(tmp_path):
    with pytest.raises(UserError, match=r"labels: .*no\.csv: no such file\.$"):
        read_sheet(tmp_path / "no.csv", ("id",), key="labels")
    path = tmp_path / "s.csv"
    path.write_bytes("id,läbel\n".encode("latin-1"))
    with pytest.raises(UserError, match="save it as CSV with UTF-8"):
        read_sheet(path, ("id",), key="labels")
    for content in ("", "id,labl\n1,agree\n"):
        path.write_text(content)
        with pytest.raises(UserError, match=r"has no column '(id|label)'"):
            read_sheet(path, ("id", "label"), key="labels")
    path.write_text('id,label\n"a","agree"\n"b","agr')
    with pytest.raises(UserError, match=r"s\.csv: is cut off or not a CSV file"):
        read_sheet(path, ("id", "label"), key="labels")


def test_a_keying_is_a_number_in_every_program(tmp_path):
    path = tmp_path / "s.csv"
    write_sheet(path, ("id", "keying"), [{"id": "a", "keying": "-1"}, {"id": "b", "keying": "1"}])
    assert pd.read_csv(path)["keying"].tolist() == [-1, 1]
