"""The option that an answer leans to if it names one indirectly.

This is uncertain: it is what a reader would record who had to record something.
"""

import difflib
import re
from collections.abc import Iterator

from polbayes.coding.options import Options, fold, take_text

# "B", "3 D", "i.", but not "I", before the words of an option.
_LABELS = re.compile(r"(?:\(?(?:\d{1,2}|(?!I )[A-Za-z])(?![^\W_])[).:\]]? *){1,2}")
_INFLECTED = re.compile(r"\b((?:dis)?agree)(?:s|d|ing|ment)\b", re.IGNORECASE)
# Words before an option that is chosen despite objections.
_GOES_ON = re.compile(r" *(?:[,;(]|(?:with|but)\b)")
_SAYS = re.compile(
    r"\b(?:(?:lean(?:s|ing)?|inclined) (?:towards? |to )|with an argument for "
    r"|argu(?:e|ing) for (?:the )?(?:(?:position|side) )?(?:of |that )?"
    r"|(?:person|someone) who |(?:select|choose|pick) (?:the option )?['\"]?"
    r"|\bi (?:(?:would|do|must|also) )*)(?=[A-Za-z])",
    re.IGNORECASE,
)
_FOR_A_POSITION = re.compile(r"\bargue for the position that\b", re.IGNORECASE)
# Similarity of misspelt words; "Strongly agree" and "Strongly disagree" have .90: the best counts.
_ALIKE = 0.85
_REVERSED = re.compile(r"\b(?:opposite|contrary)\b", re.IGNORECASE)
# Number of characters examined.
_LONGEST = 2000


def hedged(text: str, options: Options) -> int | None:
    """Return the index of the point that an answer leans to, or None."""
    text = _INFLECTED.sub(r"\1", text[:_LONGEST])
    named = list(_named(text, options))
    both = len({_side(point, options) for _, _, point in named}) > 1
    # A letter is a choice: what comes first after it counts, the rest is talk.
    for line in (text, text.rpartition(":")[2].strip()):
        label = _LABELS.match(line)
        # A letter of no option does not tell which of two sides is meant.
        if not label or (
            both and not options.codes.keys() & re.findall(r"\w+", label[0].casefold())
        ):
            continue
        picked, _ = take_text(line[label.end() :].lstrip(" '\""), options)
        if picked is not None:
            return picked
    if both or _REVERSED.search(text):
        return None
    starts = {match.end() for match in _SAYS.finditer(text)}
    said = [point for start, _, point in named if start in starts]
    if named and named[0][0] == 0:
        said += _begun(text, named, options)
    if said:
        return said[0] if len(set(said)) == 1 else None
    if not named and _FOR_A_POSITION.search(text):
        return options.texts.get("agree")
    alike = difflib.get_close_matches(fold(text), options.texts, n=1, cutoff=_ALIKE)
    return options.texts[alike[0]] if alike else None


def names_another_side(text: str, point: int, options: Options) -> bool:
    """Return whether a text names an option on another side than a point."""
    side = _side(point, options)
    return any(_side(other, options) != side for _, _, other in _named(text, options))


def _begun(text: str, named: list[tuple[int, int, int]], options: Options) -> list[int]:
    """Read an answer that begins with an option; all options it names must be on one side."""
    _, end, first = named[0]
    if len(named) == 1:
        return [first] if _GOES_ON.match(text[end:]) else []
    start, _, second = named[1]
    weaker, stronger = sorted((first, second), reverse=_side(first, options) < 0)
    # If it names both, the stronger one holds; if alternatives, at least the weaker one.
    joined = {"and": stronger, "or": weaker, "/": weaker}
    meant = joined.get(text[end:start].strip().casefold())
    return [] if meant is None else [meant]


def _named(text: str, options: Options) -> Iterator[tuple[int, int, int]]:
    """Yield the options that a text names: beginning, end, and point."""
    end = 0
    for word in re.finditer(r"[^\W_]+", text):
        if word.start() < end:
            continue
        point, left = take_text(text[word.start() :], options)
        if point is not None:
            end = len(text) - len(left)
            yield word.start(), end, point


def _side(point: int, options: Options) -> int:
    """Return -1, 0 or 1 for a point below, at or above the middle."""
    twice = 2 * point - (len(options.points) - 1)
    return (twice > 0) - (twice < 0)
