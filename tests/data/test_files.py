import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from polbayes.data.files import TEMPORARY, one_writer, replacing, write_text
from polbayes.errors import UserError

ELSEWHERE = (
    "import sys; from pathlib import Path; from polbayes.data.files import one_writer\n"
    "from polbayes.errors import UserError\n"
    "try:\n    with one_writer(Path(sys.argv[1])): {inside}\n"
    "except UserError as error: sys.exit(str(error))"
)


def elsewhere(folder, inside="pass"):
    code = ELSEWHERE.format(inside=inside)
    ask = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(ask, capture_output=True, text=True, check=False)


def test_a_folder_has_one_writer_at_a_time(tmp_path):
    folder = tmp_path / "deep" / "run"
    with one_writer(folder):
        assert list(folder.iterdir()) == []
        told = elsewhere(folder)
        assert told.returncode == 1
        assert "another process is working in this folder" in told.stderr
        assert "Traceback" not in told.stderr
    assert elsewhere(folder).returncode == 0


def test_who_was_killed_has_the_folder_no_more(tmp_path):
    killed = elsewhere(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert killed.returncode == -9
    with one_writer(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UserError, match="file/run: cannot be written"),
        one_writer(tmp_path / "file" / "run"),
    ):
        pass


def test_a_file_that_fails_halfway_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        1 / (temporary.write_text("half") - len("half"))
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["data.txt"]


def test_a_file_and_its_folder_are_on_the_disk_before_it_is_said_to_be_there(tmp_path, monkeypatch):
    happened = []
    fsync, replace = os.fsync, Path.replace

    def synced(handle):
        fsync(handle)
        happened.append(("sync", os.readlink(f"/proc/self/fd/{handle}")))

    def replaced(self, target):
        happened.append(("replace", str(target)))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("whole")
    written = ("sync", str(temporary))
    assert happened == [written, ("replace", str(tmp_path / "a.txt")), ("sync", str(tmp_path))]
    # Where files lie elsewhere, they cannot be replaced in one step.
    assert temporary.parent == tmp_path
    assert temporary.name.endswith(".txt.tmp")


def test_a_file_can_be_read_by_others_and_its_folder_is_made(tmp_path):
    path = tmp_path / "not" / "there" / "a.txt"
    write_text(path, "é")
    assert path.read_bytes() == b"\xc3\xa9"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_file_that_cannot_be_written_is_named_with_the_reason(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/a\.txt: cannot be written \(.*exist"):
        write_text(tmp_path / "file" / "a.txt", "text")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(UserError, match=r"folder\.txt: cannot be written \(Is a directory\)"):
        write_text(tmp_path / "folder.txt", "text")
    # Nor is there anything half-written.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.txt"]


def test_an_error_without_a_reason_is_told_as_it_is(tmp_path):
    with (
        pytest.raises(UserError, match=r"a\.txt: cannot be written \(it did not work\)"),
        replacing(tmp_path / "a.txt"),
    ):
        raise OSError("it did not work")


def test_no_file_stays_open(tmp_path):
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    write_text(tmp_path / "a.txt", "text")
    assert descriptors() == before
    with one_writer(tmp_path):
        with pytest.raises(UserError, match="another process"), one_writer(tmp_path):
            pass
        assert descriptors() == before + 1
    assert descriptors() == before


def test_who_has_the_folder_removes_what_a_killed_process_left_half_written(tmp_path):
    inside = (
        "from polbayes.data.files import replacing; import os\n"
        "        with replacing(Path(sys.argv[1]) / 'deep' / 'a.txt') as t:\n"
        "            t.write_text('half'); os.kill(os.getpid(), 9)"
    )
    assert elsewhere(tmp_path, f"\n        {inside}").returncode == -9
    (left,) = (tmp_path / "deep").iterdir()
    assert left.read_text() == "half"
    folder = tmp_path / f"{TEMPORARY[0]}abc{TEMPORARY[1]}"
    (folder / "figures").mkdir(parents=True)
    mine = [tmp_path / "deep" / "mine.tmp", tmp_path / ".polbayes-mine"]
    # A task of a launcher may be writing there, whoever has the folder.
    mine.append(tmp_path / "journal" / "shards" / left.name)
    mine[-1].parent.mkdir(parents=True)
    for path in mine:
        path.write_text("mine")
    with one_writer(tmp_path):
        assert sorted(p for p in tmp_path.rglob("*") if p.is_file()) == sorted(mine)
        assert not folder.exists()


def test_what_was_left_of_a_file_that_one_alone_writes_is_written_over(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path, alone=True) as temporary:
        temporary.write_text("first")
    left = temporary
    left.write_text("half, and longer than what is written then")
    with replacing(path, alone=True) as temporary:
        assert temporary == left
        temporary.write_text("whole")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "whole")]
