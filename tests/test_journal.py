import json
import subprocess
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.errors import UserError
from polbayes.journal import Journal, cell_of, journal_path, read
from polbayes.journal_lines import examine

SETTINGS = {"seed": 1, "respondent.checkpoint": "a", "options": ["yes", "no"]}


def record(n, **more):
    return {"cell": ["i", "v", "p", n], "text": f"answer {n}\n\u2028é", **more}


def written(path, count=5):
    with Journal(path, SETTINGS) as journal:
        for n in range(count):
            journal.extend([record(n)])
    return path


def test_what_is_written_is_read(tmp_path):
    path = written(tmp_path / "deep" / "m.jsonl")
    assert list(read(path)) == [record(n) for n in range(5)]
    with Journal(path, SETTINGS) as journal:
        assert journal.records == tuple(record(n) for n in range(5))
        journal.extend([record(7), {"note": "remark"}])
    assert [r for r in read(path) if "cell" in r][-1] == record(7)
    assert list(read(tmp_path / "none.jsonl")) == []


def test_a_line_is_a_checksum_and_json(tmp_path):
    lines = written(tmp_path / "m.jsonl").read_bytes().splitlines()
    for line in lines:
        check, text = line.split(b" ", 1)
        assert int(check, 16) == zlib.crc32(text)
        assert len(check) == 8
    assert json.loads(lines[0].split(b" ", 1)[1])["settings"] == SETTINGS


def test_of_a_cell_the_first_answer_counts(tmp_path):
    path = written(tmp_path / "m.jsonl", 2)
    with Journal(path, SETTINGS) as journal:
        journal.extend([record(1, text="another"), record(2)])
    assert [r["text"] for r in read(path)] == [record(n)["text"] for n in (0, 1, 2)]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_journal_cut_anywhere_keeps_every_whole_line(tmp_path_factory, data):
    path = written(tmp_path_factory.mktemp("cut") / "m.jsonl")
    whole = path.read_bytes()
    size = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:size])
    kept = max(whole[:size].count(b"\n") - 1, 0)
    assert list(read(path)) == [record(n) for n in range(kept)]
    with Journal(path, SETTINGS) as journal:
        assert journal.damaged == 0
        assert len(journal.records) == kept
        journal.extend([record(n) for n in range(kept, 5)])
    assert path.read_bytes() == whole


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_damaged_line_costs_itself_only(tmp_path_factory, data):
    path = written(tmp_path_factory.mktemp("flip") / "m.jsonl")
    whole = bytearray(path.read_bytes())
    first, last = whole.index(b"\n") + 1, whole.rindex(b"\n", 0, -1)
    at = data.draw(st.integers(first, last - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    with Journal(path, SETTINGS) as journal:
        kept = [cell_of(r)[3] for r in journal.records]
        # Where a line break was made or lost, two lines take part.
        assert 1 <= journal.damaged <= 2
        assert set(kept) < set(range(5))
        assert len(kept) >= 3
        journal.extend([record(n) for n in range(5) if n not in kept])
    assert sorted(cell_of(r)[3] for r in read(path)) == list(range(5))


def test_other_settings_are_refused_and_named(tmp_path):
    path = written(tmp_path / "m.jsonl")
    before = path.read_bytes()
    now = {"seed": 2, "options": ["yes", "no"], "elicitation.top_k": 10}
    with pytest.raises(UserError) as caught:
        Journal(path, now)
    said = str(caught.value)
    assert "seed was 1 and is 2" in said
    assert "respondent.checkpoint was 'a' and is nothing" in said
    assert "elicitation.top_k was nothing and is 10" in said
    assert "options" not in said
    assert path.read_bytes() == before
    Journal(path, dict(reversed(SETTINGS.items()))).close()


def test_a_journal_without_answers_binds_nobody(tmp_path):
    path = tmp_path / "m.jsonl"
    Journal(path, SETTINGS).close()
    assert not path.exists()
    with Journal(path, SETTINGS) as journal:
        journal.extend([{"note": "remark"}])
    with Journal(path, {"seed": 2}) as journal:
        journal.extend([record(1)])
    assert examine(path).header["settings"] == {"seed": 2}
    assert list(read(path)) == [record(1)]


@pytest.mark.parametrize("first", [b"garbage\n", b'00000000 {"journal":1}\n'])
def test_a_damaged_header_is_refused(tmp_path, first):
    path = written(tmp_path / "m.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, *lines[1:]]))
    with pytest.raises(UserError, match="its first line is damaged"):
        Journal(path, SETTINGS)


def test_one_writer(tmp_path):
    path = tmp_path / "m.jsonl"
    code = (
        "import sys; from pathlib import Path; from polbayes.journal import Journal\n"
        "from polbayes.errors import UserError\n"
        f"try: Journal(Path(sys.argv[1]), {SETTINGS!r})\n"
        "except UserError as error: sys.exit(str(error))"
    )
    ask = [sys.executable, "-c", code, str(path)]
    with Journal(path, SETTINGS) as journal:
        journal.extend([record(1)])
        other = subprocess.run(ask, capture_output=True, text=True, check=False)
        assert other.returncode == 1
        assert "another process is writing this journal" in other.stderr
    assert subprocess.run(ask, check=False).returncode == 0


def test_what_was_extended_survives_a_kill(tmp_path):
    path = tmp_path / "m.jsonl"
    code = (
        "import os, sys; from pathlib import Path; from polbayes.journal import Journal\n"
        f"journal = Journal(Path(sys.argv[1]), {SETTINGS!r})\n"
        "journal.extend([{'cell': ['i', 'v', 'p', 1]}])\n"
        "os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert list(read(path)) == [{"cell": ["i", "v", "p", 1]}]


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Journal(tmp_path / "file" / "m.jsonl", SETTINGS)


@given(st.lists(st.text(min_size=1), unique=True, max_size=5))
def test_file_names_are_safe_and_different(tmp_path_factory, names):
    folder = tmp_path_factory.getbasetemp()
    paths = [journal_path(folder, name) for name in names]
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert path.parent == folder
        assert path.name.isascii()
        assert not path.name.startswith(".")
    assert journal_path(folder, "left-1.5").name == "left-1.5.jsonl"
