"""Errors that are meant for the person at the keyboard.

A `UserError` carries one sentence that says what is wrong, where, and what
would be right. The command line prints that sentence and exits with status 2;
everything else that is raised is a defect of polbayes and keeps its traceback.
"""

import errno
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

# More names than these are no help.
_MOST_LISTED = 100
# Of a longer sentence the middle is left out: it is what was given, such as a whole text.
_LONGEST, _BEGIN, _END = 2500, 1500, 900


class UserError(Exception):
    """Something the user gave (a name, a file, a value) cannot be used.

    What a screen would not show as it is, such as a control character in a name, is written as its
    code, so that the sentence stays one line.

    Parameters
    ----------
    sentence
        What is wrong. With `add` it ends in a colon.
    add
        Overrides with which the same command works. They end the error.
    """

    def __init__(self, sentence: str, *, add: Sequence[str] = ()) -> None:
        if len(sentence) > _LONGEST:
            sentence = f"{sentence[:_BEGIN]} … {sentence[-_END:]}"
        self.sentence = "".join(map(_shown, sentence))
        self.add = tuple(add)
        super().__init__(self.told())

    def told(self, command: Sequence[str] = ()) -> str:
        """Return the sentence; what is to be added to a command follows it there."""
        return f"{self.sentence} {shlex.join([*command, *self.add])}" if self.add else self.sentence


def _shown(sign: str) -> str:
    """Return a character, or its code where it is a control, a line break or half a character."""
    hidden = unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")
    return sign.encode("unicode_escape").decode("ascii") if hidden else sign


class OverBudgetError(UserError):
    """What a respondent may cost does not allow a further question."""


class UnreachableError(UserError):
    """A checkpoint is on the hub, which cannot be reached."""


class NothingWorksError(UserError):
    """A respondent answered none of the last questions."""


def check_known(what: str, *names: object, known: Collection[Any], where: str = "") -> None:
    """Refuse the first of some names that is not one of the known ones; see `unknown`."""
    for name in names:
        if name not in known:
            raise unknown(what, name, known, where=where)


def of_system(error: OSError) -> UserError | None:
    """Return the error for a file that the system refuses; None where the fault is not the user's.

    A name that is too long, for one, is told by the system wherever it is first looked at.
    """
    if error.filename is None or error.errno not in _REFUSALS:
        return None
    return UserError(f"{error.filename}: cannot be used ({error.strerror}).")


_REFUSALS = (
    *(errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP),
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS),
)


def reason(error: Exception) -> str:
    """Return what an error of a library says as one line, or its kind where it says nothing."""
    return " ".join(str(error).split()) or type(error).__name__


def unknown(what: str, given: object, known: Iterable[str], *, where: str = "") -> UserError:
    """Make the error for an unknown name, with a suggestion if one of the known ones is close.

    `what` is the kind of thing named, e.g. ``"prefix"``, and `where` file and key, which begin the
    sentence when given.
    """
    names = sorted(str(name) for name in known)
    given = str(given)
    close = get_close_matches(given, names, n=1, cutoff=0.6) if len(given) < _LONGEST else []
    hint = f"did you mean '{close[0]}'? " if close else ""
    listed = ", ".join(names[:_MOST_LISTED]) if names else "none"
    if len(names) > _MOST_LISTED:
        listed += f" and {len(names) - _MOST_LISTED} more"
    place = f"{where}: " if where else ""
    return UserError(f"{place}unknown {what} '{given}'; {hint}known: {listed}.")
