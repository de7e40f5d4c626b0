"""The mutants that may survive, with reasons."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.mutations import Mutant

ACCEPTED = Path(__file__).with_name("accepted.txt")


@dataclass(frozen=True)
class Change:
    """A line of a module before and after.

    Parameters
    ----------
    module
        Path of the module.
    old, new
        The line, stripped of white space.
    """

    module: str
    old: str
    new: str


def change_of(mutant: Mutant) -> Change:
    """Return the change of a mutant, regardless of its position in the module."""
    return Change(mutant.module, mutant.old, mutant.new)


def read(path: Path = ACCEPTED) -> dict[Change, str]:
    """Read the accepted changes and their reasons.

    The file has paragraphs: a module's path, pairs of lines with ``-`` and ``+``, and the reason.

    Raises
    ------
    ValueError
        If a paragraph lacks one of these.
    """
    found: dict[Change, str] = {}
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
        if lines:
            found |= _changes(lines)
    return found


def _changes(lines: list[str]) -> dict[Change, str]:
    module = lines[0]
    old = [line[1:].strip() for line in lines if line.startswith("-")]
    new = [line[1:].strip() for line in lines if line.startswith("+")]
    reason = " ".join(line.strip() for line in lines[1:] if line[0] not in "-+")
    if not old or len(old) != len(new) or not reason:
        raise ValueError(f"{module}: needs lines with - and with +, as many of each, and a reason")
    return {Change(module, a, b): reason for a, b in zip(old, new, strict=True)}


def shown(changes: Iterable[Change]) -> str:
    """Return changes in the format of the file, without reasons."""
    lines, module = [], ""
    for change in changes:
        if change.module != module:
            module = change.module
            lines += ["", module]
        lines += [f"- {change.old}", f"+ {change.new}"]
    return "\n".join(lines)
