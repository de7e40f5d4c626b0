"""Which changes are made to a module, and which of them may survive."""

import pytest

pytest.importorskip("cosmic_ray")

from tools.mutants.accepted import Change, change_of, read, shown
from tools.mutants.mutations import mutants
from tools.mutants.rooms import ROOMS

MODULE = '''"""A module."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    x: int | None = None


def kept(values: list[int | None], low: int) -> list[int]:
    """Return those above."""
    found = [v for v in values if v is not None]
    found.sort(reverse=low > 3)
    return found


def none(value: int, *, other: int = 0) -> None:
    """Return nothing."""
    return None
'''


NONE = "def none(value: int, *, other: int = 0) -> None:"


def changes(folder, text):
    (folder / "module.py").write_text(text)
    made = mutants(folder, "module.py", kept=folder / "kept")
    assert mutants(folder, "module.py", kept=folder / "kept") == made
    for mutant in made:
        compile(mutant.source, "module.py", "exec")
    return {(m.line, m.old, m.new) for m in made}


def test_all_changes_of_a_module_by_hand(tmp_path):
    comprehension = "found = [v for v in values if v is not None]"
    sort = "found.sort(reverse=low > 3)"
    assert changes(tmp_path, MODULE) == {
        # Neither annotations nor the decorator of a class are changed, nor what texts say.
        (13, comprehension, "found = [v for v in values if v is None]"),
        (13, comprehension, "found = [v for v in values if not (v is not None)]"),
        (14, sort, "found.sort(reverse=low >= 3)"),
        (14, sort, "found.sort(reverse=low <= 3)"),
        (14, sort, "found.sort(reverse=low > 4)"),
        (14, sort, "found.sort(reverse=low > 2)"),
        (14, sort, "found.sort(**{})"),
        (14, sort, "pass"),
        (15, "return found", "return"),
        (18, NONE, NONE.replace("0", "1")),
        (18, NONE, NONE.replace("0", "-1")),
    }


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("total += 2 * part", {"total -= 2 * part", "total += 2 / part", "pass"}),
        ("values[0] = None", {"pass"}),
        ("return not part", {"return", "return part"}),
        ("if total and part: raise ValueError", {"if total or part: raise ValueError"}),
        ("for part in total: break", {"for part in []: break", "for part in total: continue"}),
        ("del total[0]", {"pass"}),
        ("assert run(total)", {"assert not run(total)"}),
    ],
)
def test_what_is_made_of_a_line(tmp_path, line, changed):
    found = changes(tmp_path, f"def run(total, part=None, values=None):\n    {line}\n")
    assert changed <= {" ".join(new.split()) for _, _, new in found}


def test_the_file_of_accepted_changes_by_hand(tmp_path):
    path = tmp_path / "accepted.txt"
    path.write_text(
        "# A remark.\n\na.py\n- x = 1\n+ x = 2\n- y\n+ z\nMakes no\ndifference.\n\n"
        "b.py\n- x = 1\n+ x = 0\nNor does this.\n"
    )
    found = read(path)
    assert found == {
        Change("a.py", "x = 1", "x = 2"): "Makes no difference.",
        Change("a.py", "y", "z"): "Makes no difference.",
        Change("b.py", "x = 1", "x = 0"): "Nor does this.",
    }
    assert shown(list(found)[:2]) == "\na.py\n- x = 1\n+ x = 2\n- y\n+ z"


@pytest.mark.parametrize("text", ["a.py\n- x\n+ y", "a.py\n- x\nWhy", "a.py\nWhy"])
def test_an_accepted_change_needs_both_lines_and_a_reason(tmp_path, text):
    path = tmp_path / "accepted.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match="and a reason"):
        read(path)


def test_what_is_accepted_is_of_a_module_that_is_tested():
    assert {change.module for change in read()} <= {room.module for room in ROOMS}


def test_a_change_is_known_by_its_lines(tmp_path):
    (tmp_path / "module.py").write_text("x = 1\n\n\nx = 1\n")
    first, *_, last = mutants(tmp_path, "module.py", kept=tmp_path)
    assert (first.line, last.line) == (1, 4)
    assert {change_of(first), change_of(last)} == {
        Change("module.py", "x = 1", "x = 0"),
        Change("module.py", "x = 1", "x = 2"),
    }
    assert first.key != last.key
