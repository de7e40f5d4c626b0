"""Reading which declared option an answer picks, in its many spellings.

Reading never guesses: an answer that names options of both sides is not read. One that picks an
option in many words, with a reservation or beside another option's code is read as `qualified`,
which counts only on request.
"""

import re
from dataclasses import dataclass
from typing import Literal

from polbayes.coding.hedged import hedged, names_another_side
from polbayes.coding.options import Options, take_code, take_text
from polbayes.coding.text import clean, sentences

Manner = Literal["plain", "stated", "qualified"]


@dataclass(frozen=True)
class Reading:
    """The option that an answer picks."""

    point: int  # its index
    # ``plain`` as declared, ``stated`` in the first person, ``qualified`` with a reservation
    manner: Manner


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
    r"|(?:select|choose|pick)(?: the option)?(?: [:'\"])?"
    r"|express my (?:position|opinion|view) as) )*"
)
_NEGATED = re.compile(r"\b(?:not|never|neither|nor|opposite|contrary)\b|n't\b")
_QUALIFIES = re.compile(
    r"^[ ,;:(–-]*(?:but|with|however|although|though|except|if|in part|in theory|in principle"
    r"|partial|to (?:some|a)|somewhat|qualified|conditional|provided|on|for|only|when|unless"
    r"|moderate|depend|while|yet)"
    r"|^ *\("
)
# Words between an option and a reservation: "Agree with the proposition, but not always".
_OBJECT = re.compile(r"^[ ,;:–-]*with (?:the|this|that|your) (?:proposition|statement)\b(?!')")
# A reservation anywhere in the sentence.
_RESERVES = re.compile(
    r"\bto (?:some|a certain) (?:extent|degree)\b"
    r"|\b(?:with|have) (?:\w+ )?(?:caveats?|reservations?|qualifications?)\b"
)
_EMPHASIS = re.compile(r" ?\(?(?:with )?(?:a )?strong(?:er)? emphasis\b", re.IGNORECASE)
# "Somewhat agree" picks the option that it weakens, with a reservation.
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


def match_option(answer: str, options: Options, *, reservations: bool = False) -> int | None:
    """Return the index of the point that an answer picks, or None."""
    reading = read_option(answer, options, roundabout=reservations)
    counts = reading is not None and (reservations or reading.manner != "qualified")
    return reading.point if reading and counts else None


def read_option(answer: str, options: Options, *, roundabout: bool = True) -> Reading | None:
    """Read which option an answer picks, and how plainly."""
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
    if not readings:
        looked_for = roundabout and not _DECLINES.search(text)
        leaning = hedged(text, options) if looked_for else None
        return None if leaning is None else Reading(leaning, "qualified")
    if len({reading.point for reading in readings}) > 1:
        return None
    ranks: tuple[Manner, ...] = ("qualified", "stated", "plain")
    manner = min((reading.manner for reading in readings), key=ranks.index)
    return Reading(readings[0].point, manner)


def _plain(text: str, options: Options, *, coded: bool = False) -> Reading | None:
    """Read a text that begins with an option, or with its code if `coded`."""
    lead = _LEAD.match(text)
    rest = text[lead.end() if lead else 0 :].lstrip(" '-")
    code, begun, after = take_code(rest, options)
    if code is not None and not after.strip(" .,;:!)'"):
        return Reading(code, "plain")
    picked, left = _with_degree(*take_text(after, options), options)
    weak = _WEAKENED.match(after) if picked is None else None
    if weak:
        picked, left = take_text(after[weak.end() :], options)
    if picked is None or (coded and not begun) or (code is not None and picked != code):
        return None
    if any(point != picked for point in _named(left, options)):
        return None
    # Beyond "?" and "!", too: "Agree? Not really."
    if _NEGATED.search(re.split(r"[.\n]", left)[0][:60].casefold()) or _DECLINES.search(left):
        return None
    emphasis = _EMPHASIS.match(left)
    if emphasis or weak or _is_qualified(left.casefold()):
        # "Agree (strongly disagree with the rest)": a code decides which is meant, words do not.
        if code is None and names_another_side(_sentence(left), picked, options):
            return None
        return Reading(_raised(picked, "strongly", options) if emphasis else picked, "qualified")
    ends = not left or left[0] in ".,;:!)\n'" or left[:2] in (" -", " –", " —")
    return Reading(picked, "plain" if ends or begun else "stated")


def _is_qualified(left: str) -> bool:
    """Return whether the lower-case text after an option takes some of it back."""
    return bool(_QUALIFIES.match(_OBJECT.sub("", left)) or _RESERVES.search(_sentence(left)))


def _sentence(text: str) -> str:
    return re.split(r"[.!?\n]", text, maxsplit=1)[0]


def _with_degree(picked: int | None, left: str, options: Options) -> tuple[int | None, str]:
    """Apply a degree that follows, as in "Disagree (strongly)"."""
    found = re.match(r"[ ,(-]{1,3}(strongly|somewhat|slightly)\)?(?![^\W_])", left, re.IGNORECASE)
    if picked is None or not found:
        return picked, left
    raised = _raised(picked, found[1].casefold(), options)
    return (picked, left) if raised == picked else (raised, left[found.end() :])


def _raised(picked: int, degree: str, options: Options) -> int:
    """Return the point of an option with a degree before it, its own without one."""
    for text, point in options.texts.items():
        if options.texts.get(text.removeprefix(f"{degree} ")) == picked != point:
            return point
    return picked


def _named(text: str, options: Options) -> list[int]:
    """Return the points of coded options, and of options listed right after one."""
    out = []
    for line in text.split("\n"):
        code, begun, after = take_code(line.lstrip(" '-"), options)
        picked, _ = take_text(after, options) if begun else (code, "")
        out += [picked] if picked is not None else []
    for part in re.split(r"[,/;|]|\b(?:or|and|but)\b", _sentence(text))[:6]:
        picked, _ = take_text(_WEAKENED.sub("", part.strip(" ('\"")), options)
        out += [picked] if picked is not None else []
    return out


def _stated(line: str, options: Options) -> Reading | None:
    """Read "I strongly agree with the proposition", if the words are an option's."""
    readings = set()
    for sentence in sentences(line):
        text = " ".join(sentence.tokens)
        if sentence.is_question or re.search(r"\b(?:if|whether|while|although) i\b", text):
            continue
        for found in _I.finditer(text):
            picked, left = take_text(text[found.end() :], options)
            if picked is None or re.match(r" (?:to|on|that|more)\b", left):
                continue
            if any(point != picked for point in _named(left.strip(), options)):
                return None
            qualified = _is_qualified(left)
            readings.add(Reading(picked, "qualified" if qualified else "stated"))
    return readings.pop() if len(readings) == 1 else None
