"""Reading which of the declared answer options an answer picks, in its many spellings.

Options are declared as their texts and codes map to points of a scale, e.g.
``{"1) Strongly disagree": "Strongly disagree", ..., "4": 4}``. Reading never guesses: an
answer that names two different options, or an option and a code that do not belong together,
is not read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polbayes.coding.text import clean, sentences
from polbayes.errors import UserError, unknown

Manner = Literal["plain", "stated", "qualified"]


@dataclass(frozen=True)
class Options:
    """Declared answer options.

    Parameters
    ----------
    points
        Labels of the scale's points, from strongest disagreement to strongest agreement.
    texts
        Words of an option, as `fold` gives them, to the index of its point.
    codes
        Labels such as ``"3"`` or ``"b"`` to the index of their point.
    """

    points: tuple[str, ...]
    texts: Mapping[str, int]
    codes: Mapping[str, int]


@dataclass(frozen=True)
class Reading:
    """What an answer picks.

    Parameters
    ----------
    point
        Index of the point.
    manner
        ``plain`` where the answer is the option as declared (or begins with it as a sentence
        of its own); ``stated`` where a sentence says so in the first person; ``qualified``
        where a reservation goes with it.
    """

    point: int
    manner: Manner


# "1) text", "(b) text", "C. text", "IV - text", and the same with nothing after it.
_CODED = re.compile(
    r"\(? ?(?P<code>-?\d{1,3}|[A-Za-z]|[IVXivx]{1,4}) ?(?:[).:\]=]+|[-–—]+(?= )) ?(?P<text>.*)",
    re.S,
)
_BARE_CODE = re.compile(r"\(?(-?\d{1,3}|[A-Za-z]|[IVXivx]{1,4})[).\]]?")
_LEAD = re.compile(
    r"(?:(?:sure|okay|ok|certainly|well|of course)[,.!]* )?(?:(?:therefore|so|thus|overall)[, ]+)?"
    r"(?:here is |here's )?(?:as such, )?"
    r"(?:(?:my |the |final )*(?:answer|response|choice|opinion|selection|option|label|stance"
    r"|position)(?: (?:is|would be|will be))? ?:? ?"
    r"|(?:let me|i(?: would| will|'d| must|'ll| am going to)?(?: like to)?) (?:choose|select|pick"
    r"|answer|say|go with|argue for|label (?:it|myself|the proposition) as)(?: with)?(?: the)?"
    r"(?: (?:position|option)(?: (?:of|as))?)? ?:? ?)?"
    r"(?:(?:the )?(?:option|answer|number|label)(?: is)? ?[:#]? ?)?",
    re.IGNORECASE,
)
_I = re.compile(
    r"\bi (?:, )?(?:(?:would|must|do|will|personally|have to|like to|tend to|really|rather|still"
    r"|also|as [^,]{1,60},|argue that i|argue for(?: the position of)?"
    r"|select(?: the option)?(?: :)?|express my (?:position|opinion|view) as) )*"
)
_NEGATED = re.compile(r"\b(?:not|never|neither|nor|opposite|contrary)\b|n't\b")
_QUALIFIES = re.compile(
    r"^[ ,;:(–-]*(?:but|with(?! (?:the|this|that|your) (?:proposition|statement)\b(?!'))|however"
    r"|although|though|except|if|in part|in theory|in principle|partial|to (?:some|a)|somewhat"
    r"|qualified|conditional|provided|on|for|only|when|unless|moderate|depend|while|yet)"
    r"|^ *\("
)
# "Somewhat agree" picks what it weakens, with a reservation.
_WEAKENED = re.compile(
    r"(?:somewhat|slightly|mildly|moderately|weakly|softly|partly|partially|mostly|largely"
    r"|generally|conditional(?:ly)?|neutrally)[ -]+",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(?:can ?not|can't|unable to|not able to) (?:provide|give|express|offer|share|have)\b"
    r"[^.\n]{0,30}\b(?:opinions?|views?|answer|stance)\b",
    re.IGNORECASE,
)
_SPELLED = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def fold(text: str) -> str:
    """Reduce an option to its words in lower case."""
    return " ".join(_SPELLED.findall(text.casefold()))


def declare(
    options: Mapping[Any, Any], points: Sequence[str] | None = None, *, where: str = "options"
) -> Options:
    """Check declared options and prepare them for reading.

    Parameters
    ----------
    options
        Option texts and codes to points: a point's label, or its number from 1.
    points
        Labels of the points in order; by default the values of `options` as they come.
    where
        Named in errors.

    Raises
    ------
    UserError
        If an option maps to a point that there is not, or one spelling to two points.
    """
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


def match_option(answer: str, options: Options) -> int | None:
    """Return the index of the point that an answer picks without reservation, or None.

    Parameters
    ----------
    answer
        A raw answer.
    options
        The options that were offered.
    """
    reading = read_option(answer, options)
    return reading.point if reading and reading.manner != "qualified" else None


def read_option(answer: str, options: Options) -> Reading | None:
    """Read which option an answer picks, and how plainly.

    Parameters
    ----------
    answer
        A raw answer.
    options
        The options that were offered.

    Returns
    -------
    Reading or None
        None where no option, or more than one, can be read.
    """
    text = re.sub(r"\s*\n\s*", "\n", clean(answer)).strip()
    if not text:
        return None
    direct = _plain(text, options)
    if direct is not None:
        return direct
    # An option after a line of talk: "Sure! Here is my answer:\n\n3) Agree".
    found = [_plain(line, options, coded=True) for line in text.split("\n")]
    found += [_stated(line, options) for line in text.split("\n")]
    readings = [reading for reading in found if reading]
    if not readings or len({reading.point for reading in readings}) > 1:
        return None
    ranks: tuple[Manner, ...] = ("qualified", "stated", "plain")
    manner = min((reading.manner for reading in readings), key=ranks.index)
    return Reading(readings[0].point, manner)


def _plain(text: str, options: Options, *, coded: bool = False) -> Reading | None:
    """Read a text that begins with an option; with its code where `coded`."""
    lead = _LEAD.match(text)
    rest = text[lead.end() if lead else 0 :].lstrip(" '-")
    code, begun, after = _take_code(rest, options)
    if code is not None and not after.strip(" .,;:!)'"):
        return Reading(code, "plain")
    picked, left = _with_degree(*_take_text(after, options), options)
    weak = _WEAKENED.match(after) if picked is None else None
    if weak:
        picked, left = _take_text(after[weak.end() :], options)
    if picked is None or (coded and not begun) or (code is not None and picked != code):
        return None
    if any(point != picked for point in _named(left, options)):
        return None
    if _NEGATED.search(re.split(r"[.\n]", left)[0][:60].casefold()):
        return None
    if weak or _QUALIFIES.match(left.casefold()) or _DECLINES.search(left):
        return Reading(picked, "qualified")
    ends = not left or left[0] in ".,;:!)\n'" or left[:2] in (" -", " –", " —")
    return Reading(picked, "plain" if ends or begun else "stated")


def _take_code(text: str, options: Options) -> tuple[int | None, bool, str]:
    """Take a code from the front: its point, whether there was one, and what follows."""
    bare = _BARE_CODE.fullmatch(text.strip(" .,;:!'"))
    if bare and bare[1].casefold() in options.codes:
        return options.codes[bare[1].casefold()], True, ""
    marked = _CODED.fullmatch(text)
    spaced = re.fullmatch(r"\(?(\d{1,2}|[A-Za-z]),? (.*)", text, re.S)
    for code, rest in [(m[1], m[2]) for m in (marked, spaced) if m]:
        if code.casefold() in options.codes:
            unmarked = not marked
            if unmarked and _take_text(rest.lstrip(), options)[0] is None:
                continue
            return options.codes[code.casefold()], True, rest.lstrip(" '")
    return None, False, text


def _take_text(text: str, options: Options) -> tuple[int | None, str]:
    """Take an option's text from the front, the longest first."""
    for option in sorted(options.texts, key=len, reverse=True):
        pattern = r"[\W_]{1,3}".join(map(re.escape, option.split()))
        # "Agreed." is as good as "Agree."
        ending = "[ds]?" if option.endswith("agree") else ""
        found = re.match(rf"(?:{pattern}{ending})(?![^\W_])", text, re.IGNORECASE)
        if found:
            return options.texts[option], text[found.end() :]
    return None, text


def _with_degree(picked: int | None, left: str, options: Options) -> tuple[int | None, str]:
    """Take a degree that comes after, as in "Disagree (strongly)"."""
    found = re.match(r"[ ,(-]{1,3}(strongly|somewhat|slightly)\)?(?![^\W_])", left, re.IGNORECASE)
    if picked is None or not found:
        return picked, left
    for text, point in options.texts.items():
        if options.texts.get(text.removeprefix(f"{found[1].casefold()} ")) == picked != point:
            return point, left[found.end() :]
    return picked, left


def _named(text: str, options: Options) -> list[int]:
    """Return the points of coded options, and of other options listed right after one."""
    out = []
    for line in text.split("\n"):
        code, begun, after = _take_code(line.lstrip(" '-"), options)
        picked, _ = _take_text(after, options) if begun else (code, "")
        out += [picked] if picked is not None else []
    first = re.split(r"[.!?\n]", text, maxsplit=1)[0]
    for part in re.split(r"[,/;|]|\b(?:or|and|but)\b", first)[:6]:
        picked, _ = _take_text(_WEAKENED.sub("", part.strip(" ('\"")), options)
        out += [picked] if picked is not None else []
    return out


def _stated(line: str, options: Options) -> Reading | None:
    """Read "I strongly agree with the proposition", as far as the words are an option's."""
    readings = set()
    for sentence in sentences(line):
        text = " ".join(sentence.tokens)
        if sentence.is_question or re.search(r"\b(?:if|whether|while|although) i\b", text):
            continue
        for found in _I.finditer(text):
            picked, left = _take_text(text[found.end() :], options)
            if picked is None or re.match(r" (?:to|on|that|more)\b", left):
                continue
            if any(point != picked for point in _named(left.strip(), options)):
                return None
            qualified = bool(_QUALIFIES.match(left))
            readings.add(Reading(picked, "qualified" if qualified else "stated"))
    return readings.pop() if len(readings) == 1 else None
