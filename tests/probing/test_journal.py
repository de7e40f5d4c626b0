import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.data.json_lines import examine
from polbayes.errors import UserError
from polbayes.probing.journal import (
    Journal,
    adopt,
    cell_of,
    check_settings,
    journal_path,
    read,
    remove,
)

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


@settings(max_examples=60)
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


@settings(max_examples=100)
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
def test_a_damaged_header_costs_no_answer_where_its_copy_is_there(tmp_path, first):
    path = written(tmp_path / "m.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, *lines[1:]]))
    with Journal(path, SETTINGS) as journal:
        assert journal.damaged == 1
        assert list(journal.read()) == [record(n) for n in range(5)]
    with pytest.raises(UserError, match="seed was 1 and is 2"):
        Journal(path, {**SETTINGS, "seed": 2})
    adopt(path, tmp_path / "other.jsonl", SETTINGS)
    assert list(read(tmp_path / "other.jsonl")) == [record(n) for n in range(5)]


@pytest.mark.parametrize("copy", [None, b"", b"garbage\n", b'00000000 {"journal":1}\n'])
def test_a_damaged_header_without_a_copy_is_refused(tmp_path, copy):
    path = written(tmp_path / "m.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"garbage\n", *lines[1:]]))
    if copy is None:
        path.with_suffix(".settings").unlink()
    else:
        path.with_suffix(".settings").write_bytes(copy)
    with pytest.raises(UserError, match="its first line is damaged"):
        Journal(path, SETTINGS)
    assert path.read_bytes().splitlines(keepends=True)[1:] == lines[1:]


# As version 0.1 wrote it.
OLD = (
    b'ca03a238 {"journal":1,"hash":"cc8368a1c97489bec9b0741111969315","settings":{"seed":1,'
    b'"respondent.checkpoint":"a","options":["yes","no"]}}\n'
    b'55b7f4ef {"cell":["i","v","p",1],"prompt":"ab","status":"ok","text":"\\u00e9"}\n'
    b'11a120ea {"note":"remark"}\n'
    b'5687c8f9 {"cell":["i","v","p",2],"prompt":"ab","status":"invalid","text":" "}\n'
)


def test_a_journal_of_an_earlier_version_is_read_and_goes_on(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_bytes(OLD)
    with Journal(path, SETTINGS) as journal:
        assert journal.damaged == 0
        assert [r.get("text", r.get("note")) for r in journal.read()] == ["é", "remark", " "]
        journal.extend([record(3)])
    assert path.read_bytes().startswith(OLD)
    assert [cell_of(r)[3] for r in read(path) if "cell" in r] == [1, 2, 3]


def test_a_setting_that_did_not_exist_then_is_at_its_default(tmp_path):
    path = written(tmp_path / "m.jsonl")
    now = {**SETTINGS, "respondent.more": ("a", "b"), "other": None}
    defaults = {"respondent.more": ["a", "b"], "other": None, "unasked": 3}
    with Journal(path, now, defaults=defaults) as journal:
        assert len(list(journal.read())) == 5
        journal.extend([record(6)])
    adopt(path, tmp_path / "n.jsonl", now, defaults=defaults)
    with pytest.raises(UserError, match=r"respondent\.more was \['a', 'b'\] and is 'c'"):
        Journal(path, {**now, "respondent.more": "c"}, defaults=defaults)
    with pytest.raises(UserError, match=r"respondent\.more was nothing and is \['a', 'b'\]"):
        Journal(path, now)


@pytest.fixture
def synced(monkeypatch):
    """Return how long each file was whenever it was brought to the disk, and an event for it."""
    sizes, happened = [], threading.Event()
    fsync = os.fsync

    def watched(file):
        fsync(file)
        sizes.append(os.fstat(file).st_size)
        happened.set()

    monkeypatch.setattr(os, "fsync", watched)
    return sizes, happened


def test_an_answer_gets_to_the_disk_though_none_follows_it(tmp_path, synced):
    sizes, happened = synced
    path = tmp_path / "m.jsonl"
    with Journal(path, SETTINGS, sync_seconds=0.01) as journal:
        for n in range(3):
            journal.extend([record(n)])
            size = path.stat().st_size
            # Nothing else is written until all of it is on the disk.
            while size not in sizes:
                happened.clear()
                assert size in sizes or happened.wait(30)
    assert sizes[-1] == path.stat().st_size


def test_a_journal_that_waits_brings_all_to_the_disk_at_the_end(tmp_path, synced):
    path = tmp_path / "m.jsonl"
    with Journal(path, SETTINGS, sync_seconds=3600) as journal:
        journal.extend([record(1)])
        assert path.stat().st_size not in synced[0]
    assert path.stat().st_size in synced[0]


def test_with_no_time_to_wait_an_answer_is_on_the_disk_at_once(tmp_path, synced):
    path = tmp_path / "m.jsonl"
    with Journal(path, SETTINGS, sync_seconds=0) as journal:
        for n in range(3):
            journal.extend([record(n)])
            assert synced[0][-1] == path.stat().st_size


def test_a_disk_that_fails_later_is_told(tmp_path, monkeypatch):
    failed = threading.Event()

    def fails(file):
        failed.set()
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "m.jsonl"
    journal = Journal(path, SETTINGS, sync_seconds=0.01)
    journal.extend([record(1)])
    monkeypatch.setattr(os, "fsync", fails)
    journal.extend([record(2)])
    assert failed.wait(30)
    with pytest.raises(UserError, match=r"m\.jsonl: cannot be written \(Input/output error\)"):
        journal.close()
    journal.close()
    # What was handed over is there all the same.
    assert next(read(path)) == record(1)


def test_one_writer(tmp_path):
    path = tmp_path / "m.jsonl"
    code = (
        "import sys; from pathlib import Path; from polbayes.probing.journal import Journal\n"
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
        "import os, sys; from pathlib import Path; from polbayes.probing.journal import Journal\n"
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


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("left-1.5", "left-1.5.jsonl"),
        # After what is cut or replaced follow four bytes of the name's BLAKE2b.
        ("org/model:7b", "org_model_7b-142ad986.jsonl"),
        (".hidden", "hidden-40f24634.jsonl"),
        ("", "-1271cf25.jsonl"),
        ("m" * 80, f"{'m' * 80}.jsonl"),
        ("m" * 81, f"{'m' * 80}-a02f3bf5.jsonl"),
    ],
)
def test_the_file_of_a_name_is_that_of_earlier_versions(tmp_path, name, file):
    assert journal_path(tmp_path, name) == tmp_path / file


def test_a_journal_is_removed_with_the_copy_of_its_first_line(tmp_path):
    path = written(tmp_path / "m.jsonl")
    (tmp_path / "other.jsonl").write_text("")
    remove(path)
    assert [left.name for left in tmp_path.iterdir()] == ["other.jsonl"]
    remove(path)


def test_a_journal_is_begun_in_a_folder_that_is_made(tmp_path):
    path = written(tmp_path / "not" / "there" / "m.jsonl")
    assert path.stat().st_mode & 0o777 == 0o644
    assert len(list(read(path))) == 5


def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_bytes(b"what somebody\nhas noted\n")
    with pytest.raises(UserError, match="its first line is damaged or from another version"):
        Journal(path, SETTINGS)
    assert path.read_bytes() == b"what somebody\nhas noted\n"


def test_a_journal_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "m.jsonl"
    lines = [{"journal": 2, "settings": SETTINGS}, record(1)]
    texts = [json.dumps(line, separators=(",", ":")).encode() for line in lines]
    path.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts))
    before = path.read_bytes()
    with pytest.raises(UserError, match="from another version of polbayes"):
        Journal(path, SETTINGS)
    assert path.read_bytes() == before


def test_what_was_refused_is_not_held(tmp_path):
    path = written(tmp_path / "m.jsonl")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(UserError, match="other settings"):
        Journal(path, {"seed": 2})
    with Journal(path, SETTINGS):
        # A lock belongs to whoever opened the file, also in the same process.
        with pytest.raises(UserError, match="another process is writing"):
            Journal(path, SETTINGS)
        assert len(os.listdir("/proc/self/fd")) == before + 1
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_its_last_writer_removed_is_made_again(tmp_path, monkeypatch):
    path = tmp_path / "m.jsonl"
    path.write_text("")
    flock, waited = fcntl.flock, []

    def after_the_other(file, how):
        if not waited:
            path.unlink()
        waited.append(file)
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", after_the_other)
    before = len(os.listdir("/proc/self/fd"))
    with Journal(path, SETTINGS) as journal:
        assert len(os.listdir("/proc/self/fd")) == before + 1
        journal.extend([record(1)])
    assert len(waited) == 2
    assert list(read(path)) == [record(1)]


def test_what_is_written_in_pieces_is_whole(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:7]))
    assert list(read(written(tmp_path / "m.jsonl"))) == [record(n) for n in range(5)]


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(file, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal(tmp_path / "m.jsonl", SETTINGS) as journal:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(UserError, match=r"m\.jsonl: cannot be written \(No space left"):
            journal.extend([record(1)])


def test_a_journal_that_could_not_be_brought_to_the_disk_takes_no_more(tmp_path, monkeypatch):
    def fails(file):
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "m.jsonl"
    journal = Journal(path, SETTINGS, sync_seconds=0)
    journal.extend([record(1)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(UserError, match="Input/output error"):
            journal.extend([record(2)])
    size = path.stat().st_size
    with pytest.raises(UserError, match="Input/output error"):
        journal.extend([record(3)])
    assert path.stat().st_size == size
    with pytest.raises(UserError, match="Input/output error"):
        journal.close()


def test_what_is_on_the_disk_is_not_brought_there_again(tmp_path, synced):
    path = tmp_path / "m.jsonl"
    with Journal(path, SETTINGS, sync_seconds=0) as journal:
        journal.extend([record(1)])
        before = len(synced[0])
    assert len(synced[0]) == before


def test_a_journal_is_closed_when_all_is_on_the_disk(tmp_path, monkeypatch):
    begun, done = threading.Event(), []

    def slow(file):
        begun.set()
        time.sleep(0.3)
        done.append(file)

    with Journal(tmp_path / "m.jsonl", SETTINGS, sync_seconds=0.01) as journal:
        journal.extend([record(1)])
        monkeypatch.setattr(os, "fsync", slow)
        journal.extend([record(2)])
        assert begun.wait(30)
    assert done


def test_before_the_first_answer_its_settings_and_its_folder_are_on_the_disk(tmp_path, monkeypatch):
    happened = []
    fsync = os.fsync

    def watched(file):
        fsync(file)
        happened.append(os.readlink(f"/proc/self/fd/{file}").removeprefix(str(tmp_path)))

    monkeypatch.setattr(os, "fsync", watched)
    with Journal(tmp_path / "m.jsonl", SETTINGS, sync_seconds=0) as journal:
        journal.extend([record(1)])
    settings, *others = happened
    assert settings.endswith(".settings.tmp")
    assert others == ["", "/m.jsonl"]


def test_a_journal_that_nobody_closed_keeps_no_process_alive(tmp_path):
    path = tmp_path / "m.jsonl"
    code = (
        "import sys; from pathlib import Path; from polbayes.probing.journal import Journal\n"
        f"journal = Journal(Path(sys.argv[1]), {SETTINGS!r})\n"
        "journal.extend([{'cell': ['i', 'v', 'p', 1]}])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], check=False, timeout=120)
    assert ended.returncode == 0
    assert len(list(read(path))) == 1


def test_a_journal_that_has_begun_adopts_nothing(tmp_path):
    path = written(tmp_path / "m.jsonl", 1)
    adopt(written(tmp_path / "other.jsonl", 3), path, SETTINGS)
    assert list(read(path)) == [record(0)]
    adopt(tmp_path / "none.jsonl", tmp_path / "new.jsonl", SETTINGS)
    assert not (tmp_path / "new.jsonl").exists()


def test_other_settings_and_unknown_ones_are_not_adopted(tmp_path):
    source = written(tmp_path / "m.jsonl")
    with pytest.raises(UserError, match=r"m\.jsonl: was made under other.*seed was 1 and is 2"):
        adopt(source, tmp_path / "n.jsonl", {**SETTINGS, "seed": 2})
    lines = source.read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join([b"garbage\n", *lines[1:]]))
    source.with_suffix(".settings").unlink()
    with pytest.raises(UserError, match="seed was nothing and is 1"):
        adopt(source, tmp_path / "n.jsonl", SETTINGS)
    assert not (tmp_path / "n.jsonl").exists()


def test_long_settings_are_cut_where_they_are_named(tmp_path):
    """With its quotes a text of 58 has 60 characters, which is what is shown whole."""
    path = tmp_path / "m.jsonl"
    with Journal(path, {"whole": "w" * 58, "long": "l" * 59}) as journal:
        journal.extend([record(1)])
    with pytest.raises(UserError) as caught:
        Journal(path, {})
    said = str(caught.value)
    assert f"whole was '{'w' * 58}' and is nothing" in said
    assert f"long was '{'l' * 56}... and is nothing" in said


def test_checking_settings_reads_the_first_line_alone_where_they_fit(tmp_path):
    path = tmp_path / "m.jsonl"
    with Journal(path, {"seed": 1}) as journal:
        journal.extend([{"cell": ["a", "b", "c", 1]}])
    whole = path.read_bytes()
    check_settings(path, {"seed": 1, "new": 2}, defaults={"new": 2})
    check_settings(tmp_path / "none.jsonl", {"seed": 1})
    with pytest.raises(UserError, match="other settings: seed was 1 and is 2; choose another run"):
        check_settings(path, {"seed": 2})
    # Without an answer there is nothing that other settings could spoil.
    path.write_bytes(whole.splitlines(keepends=True)[0])
    check_settings(path, {"seed": 2})
    path.write_bytes(b"damaged\n" + whole.splitlines(keepends=True)[1])
    check_settings(path, {"seed": 1})  # by the copy of the first line
    with pytest.raises(UserError, match="other settings"):
        check_settings(path, {"seed": 2})
    assert path.read_bytes().startswith(b"damaged")
