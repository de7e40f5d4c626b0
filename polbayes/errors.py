"""Errors that are meant for the person at the keyboard.

A `UserError` carries one sentence that says what is wrong, where, and what
would be right. The command line prints that sentence and exits with status 2;
everything else that is raised is a defect of polbayes and keeps its traceback.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any

# More names than these are no help.
_MOST_LISTED = 100


class UserError(Exception):
    """Something the user gave (a name, a file, a value) cannot be used."""


class OverBudgetError(UserError):
    """What a respondent may cost does not allow a further question."""


class NothingWorksError(UserError):
    """A respondent answered none of the last questions."""


def check_known(what: str, *names: object, known: Collection[Any], where: str = "") -> None:
    """Refuse the first of some names that is not one of the known ones; see `unknown`."""
    for name in names:
        if name not in known:
            raise unknown(what, name, known, where=where)


def unknown(what: str, given: object, known: Iterable[str], *, where: str = "") -> UserError:
    """Make the error for a name that is not one of the known ones.

    Parameters
    ----------
    what
        The kind of thing named, e.g. ``"prefix"``.
    given
        The name as it was given.
    known
        The names that would have been right.
    where
        File and key, prepended to the sentence when given.

    Returns
    -------
    UserError
        With a suggestion when one of the known names is close.
    """
    names = sorted(str(name) for name in known)
    close = get_close_matches(str(given), names, n=1, cutoff=0.6)
    hint = f"did you mean '{close[0]}'? " if close else ""
    listed = ", ".join(names[:_MOST_LISTED]) if names else "none"
    if len(names) > _MOST_LISTED:
        listed += f" and {len(names) - _MOST_LISTED} more"
    place = f"{where}: " if where else ""
    return UserError(f"{place}unknown {what} '{given}'; {hint}known: {listed}.")
