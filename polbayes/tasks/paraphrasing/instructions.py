"""Instructions for rewording a statement, as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polbayes.config.resources import folder, read_yaml
from polbayes.errors import UserError, check_known
from polbayes.instrument.prompts import Template
from polbayes.instrument.wordings import KINDS

ANSWERS = ("lines", "statement")
_KEYS = {"kind", "answer", "citation", "system", "user"}


@dataclass(frozen=True)
class Instruction:
    """An instruction for respondents."""

    instruction: str
    kind: str  # of the wordings that come back
    # `lines`: one wording each; `statement`: one wording only.
    answer: str
    text: str

    @property
    def template(self) -> Template:
        """The prompt as a template, for models that complete text and for chat models."""
        texts = {"base": f"{self.text}\n", "chat": self.text}
        return Template(self.instruction, "open_ended", texts)


def load_instructions(names: Sequence[str], file: str | None = None) -> tuple[Instruction, ...]:
    """Load instructions by name."""
    path = Path(file).expanduser() if file else folder("data") / "instructions.yaml"
    if not path.is_file():
        raise UserError(f"paraphrase.file: {path}: no such file; give a YAML file of instructions.")
    content = read_yaml(path)
    section = content.get("instructions") if isinstance(content, dict) else None
    if not isinstance(section, dict) or not section:
        raise UserError(
            f"{path}: the key 'instructions' must be a mapping with at least one entry."
        )
    if not names:
        raise UserError("paraphrase.instructions: the list is empty; name at least one.")
    if len(set(names)) < len(names):
        raise UserError("paraphrase.instructions: an instruction is named twice.")
    check_known("instruction", *names, known=section, where="paraphrase.instructions")
    return tuple(_instruction(name, section[name], path) for name in names)


def rubric() -> str:
    """Return the judge's instructions, with ``{statement}`` in place of both statements."""
    return str(read_yaml(folder("data") / "instructions.yaml")["rubric"])


def _instruction(name: str, entry: Any, path: Path) -> Instruction:
    where = f"{path}: instruction '{name}'"
    if not isinstance(entry, dict):
        raise UserError(f"{where}: must be a mapping with the keys {', '.join(sorted(_KEYS))}.")
    check_known("key", *entry, known=_KEYS, where=where)
    kind, answer, user = (str(entry.get(key) or "") for key in ("kind", "answer", "user"))
    check_known("kind", kind, known=KINDS, where=where)
    check_known("answer", answer, known=ANSWERS, where=where)
    if user.count("{statement}") != 1:
        raise UserError(f"{where}: user: must have the field {{statement}} exactly once.")
    system = str(entry.get("system") or "").strip()
    if "{statement}" in system:
        raise UserError(f"{where}: system: cannot have the field {{statement}}; put it in user.")
    return Instruction(name, kind, answer, f"{system}\n{user}" if system else user)
