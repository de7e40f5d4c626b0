"""Checks of users' files, with errors that say where they are wrong.

`where` is file and key, and begins every error.
"""

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from polbayes.errors import UserError, check_known

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def mapping(value: Any, where: str) -> dict[Any, Any]:
    """Return a mapping unchanged; refuse anything else."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: must be a mapping of keys to values, not {_kind_of(value)}.")
    return value


def check_keys(entry: dict[Any, Any], required: set[str], optional: set[str], where: str) -> None:
    """Refuse a mapping with an unknown key or without a required one."""
    check_known("key", *entry, known=required | optional, where=where)
    missing = sorted(required - set(entry))
    if missing:
        raise UserError(f"{where}: the key '{missing[0]}' is missing.")


def check_unique(values: Iterable[str], where: str) -> None:
    """Refuse a value that occurs twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise UserError(f"{where} '{value}' occurs twice; each must be different.")
        seen.add(value)


def identifier(value: Any, where: str) -> str:
    """Return an id unchanged; refuse characters other than letters, digits, `_`, `-`, `.`."""
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise UserError(
            f"{where}: '{value}' is not a usable id; use letters, digits, '_', '-' and '.'."
        )
    return value


def text(value: Any, where: str) -> str:
    """Return a text without surrounding space; refuse an empty or unreadable one."""
    if not isinstance(value, str):
        raise UserError(f"{where}: must be text, not {_kind_of(value)}.")
    if not _is_visible(value):
        raise UserError(f"{where}: the text is empty.")
    return printable(value, where).strip()


def label(value: Any, where: str) -> str:
    """Return a text or a finite number as text, None as an empty one; refuse the rest."""
    if value is None:
        return ""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(value, str) and not (number and math.isfinite(value)):
        raise UserError(f"{where}: must be text, not {_kind_of(value)}.")
    return printable(str(value), where).strip()


def printable(value: str, where: str) -> str:
    """Return a text unchanged; refuse one with an unreadable character."""
    for sign in value:
        if unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\r\t":
            raise UserError(
                f"{where}: the text has the character U+{ord(sign):04X}, which nobody can read; "
                "take it out."
            )
    return value


def _is_visible(value: str) -> bool:
    """Return whether a text has more than spaces, controls and marks without a letter."""
    return any(unicodedata.category(sign)[0] not in "ZCM" for sign in value)


def _kind_of(value: Any) -> str:
    """Describe the kind of a value."""
    return "nothing" if value is None else f"a {type(value).__name__}"
