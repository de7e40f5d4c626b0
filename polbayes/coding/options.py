"""The answer options that a questionnaire declares, and finding one at the start of a text.

Options are declared as a mapping of texts and codes to points of a scale, e.g. ``{"1) Strongly
disagree": "Strongly disagree", ..., "4": 4}``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polbayes.errors import UserError, unknown

# "1) text", "(b) text", "C. text", "IV - text", and the same without text.
_CODED = re.compile(
    r"\(? ?(?P<code>-?\d{1,3}|[A-Za-z]|[IVXivx]{1,4}) ?(?:[).:\]=]+|[-–—]+(?= )) ?(?P<text>.*)",
    re.S,
)
_BARE_CODE = re.compile(r"\(?(-?\d{1,3}|[A-Za-z]|[IVXivx]{1,4})[).\]]?")
_SPELLED = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


@dataclass(frozen=True)
class Options:
    """Declared answer options."""

    points: tuple[str, ...]  # labels, from strongest disagreement to strongest agreement
    texts: Mapping[str, int]  # words of an option, folded, to the index of its point
    codes: Mapping[str, int]  # ``"3"`` or ``"b"`` to the index of their point


def fold(text: str) -> str:
    """Reduce an option to its words in lower case."""
    return " ".join(_SPELLED.findall(text.casefold()))


def declare(
    options: Mapping[Any, Any], points: Sequence[str] | None = None, *, where: str = "options"
) -> Options:
    """Check declared options and prepare them for reading."""
    if not options:
        raise UserError(f"{where}: there is none; map each option of the table to a point.")
    labels = tuple(points or dict.fromkeys(str(value) for value in options.values()))
    by_label = {fold(label): index for index, label in enumerate(labels)}
    if len(by_label) < len(labels):
        raise UserError(f"{where}: two points of the scale have the same label.")
    texts: dict[str, int] = dict(by_label)
    codes: dict[str, int] = {}
    for key, value in options.items():
        point = _point_of(value, labels, by_label, where=f"{where}: '{key}'")
        code, text = split_code(str(key))
        for name, known in ((code, codes), (text, texts)):
            if name and known.setdefault(name, point) != point:
                raise UserError(
                    f"{where}: '{name}' stands for '{labels[known[name]]}' and for "
                    f"'{labels[point]}'; map it to one point."
                )
    return Options(labels, texts, codes)


def _point_of(value: Any, labels: Sequence[str], by_label: Mapping[str, int], where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= len(labels):
            raise UserError(f"{where}: point {value} is outside 1 to {len(labels)}.")
        return value - 1
    if fold(str(value)) not in by_label:
        raise unknown("point", value, labels, where=where)
    return by_label[fold(str(value))]


def split_code(option: str) -> tuple[str, str]:
    """Split "1) Strongly disagree" into its code "1" and its folded text; either may be ""."""
    stripped = option.strip()
    bare = _BARE_CODE.fullmatch(stripped)
    if bare:
        return bare[1].casefold(), ""
    coded = _CODED.fullmatch(stripped)
    if coded:
        return coded["code"].casefold(), fold(coded["text"])
    return "", fold(stripped)


def take_code(text: str, options: Options) -> tuple[int | None, bool, str]:
    """Take a code from the start: its point, whether there was one, and the rest."""
    bare = _BARE_CODE.fullmatch(text.strip(" .,;:!'"))
    if bare and bare[1].casefold() in options.codes:
        return options.codes[bare[1].casefold()], True, ""
    marked = _CODED.fullmatch(text)
    spaced = re.fullmatch(r"\(?(\d{1,2}|[A-Za-z]),? (.*)", text, re.S)
    for code, rest in [(m[1], m[2]) for m in (marked, spaced) if m]:
        if code.casefold() in options.codes:
            unmarked = not marked
            if unmarked and take_text(rest.lstrip(), options)[0] is None:
                continue
            return options.codes[code.casefold()], True, rest.lstrip(" '")
    return None, False, text


def take_text(text: str, options: Options) -> tuple[int | None, str]:
    """Take the longest matching option text from the start."""
    for option in sorted(options.texts, key=len, reverse=True):
        pattern = r"[\W_]{1,3}".join(map(re.escape, option.split()))
        # "Agreed." counts as "Agree."
        ending = "[ds]?" if option.endswith("agree") else ""
        found = re.match(rf"(?:{pattern}{ending})(?![^\W_])", text, re.IGNORECASE)
        if found:
            return options.texts[option], text[found.end() :]
    return None, text
