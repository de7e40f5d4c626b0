"""Answer options that a prefix lists: their form, and their order, which may be drawn by cell."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from polbayes.config.yaml_checks import text
from polbayes.data.provenance import json_digest
from polbayes.errors import UserError, check_known

FIELD = "{options}"
CODES = ("words", "letters", "numbers")
# As they are given, the other way round, one of both by cell, any order by cell.
ORDERS = ("given", "reversed", "flipped", "shuffled")
AGREE_FIRST = "agree_first"


@dataclass(frozen=True)
class Scale:
    """Options from strongest disagreement to strongest agreement, and how they are listed."""

    points: tuple[str, ...]
    codes: str = "words"
    order: str = "given"

    @property
    def drawn(self) -> bool:
        """Whether the order differs by cell."""
        return self.order in ("flipped", "shuffled")

    def arranged(self, *cell: Any) -> dict[str, str]:
        """Return what each code stands for, in the order of a cell; words stand for themselves.

        The order is a function of the labels in `cell`, of which the first is the run's seed.
        """
        points = list(self.points)
        draw = random.Random(json_digest([*cell], size=8))
        if self.order == "reversed" or (self.order == "flipped" and draw.random() < 0.5):
            points.reverse()
        elif self.order == "shuffled":
            draw.shuffle(points)
        codes: Sequence[str] = points
        if self.codes != "words":
            every = ascii_uppercase if self.codes == "letters" else range(1, len(points) + 1)
            codes = [str(code) for code, _ in zip(every, points, strict=False)]
        return dict(zip(codes, points, strict=True))

    def agree_first(self, arranged: Mapping[str, str]) -> bool:
        """Return whether the strongest agreement is listed before the strongest disagreement."""
        points = list(arranged.values())
        return points.index(self.points[-1]) < points.index(self.points[0])


def agree_first(listed: Iterable[str], stances: Mapping[str, int]) -> bool | None:
    """Return whether the options that agree are listed before those that disagree.

    `stances` are those of lower-case words. None if they do not have every option, or where options
    of both sides alternate.
    """
    sides = [stances.get(option.casefold()) for option in listed]
    if None in sides or {1, -1} - {*sides}:
        return None
    decided = [side for side in sides if side]
    first = decided[0]
    return first > 0 if decided == sorted(decided, reverse=first > 0) else None


def listing(arranged: Mapping[str, str]) -> str:
    r"""Return options as a prompt lists them.

    >>> listing({"A": "no", "B": "yes"})
    'A) no\nB) yes'
    >>> listing({"no": "no", "unsure": "unsure", "yes": "yes"})
    'no, unsure or yes'
    """
    if coded(arranged):
        return "\n".join(f"{code}) {point}" for code, point in arranged.items())
    *first, last = arranged.values()
    return f"{', '.join(first)} or {last}"


def coded(arranged: Mapping[str, str]) -> dict[str, str]:
    """Return what letters or numbers stand for; nothing where words stand for themselves."""
    return {} if all(code == point for code, point in arranged.items()) else dict(arranged)


def read_scale(entry: Mapping[str, Any], where: str) -> Scale | None:
    """Read ``scale``, ``codes`` and ``order`` of a prefix."""
    given = entry.get("scale")
    if given is None:
        for key in ("codes", "order"):
            if key in entry:
                raise UserError(f"{where}: {key}: is for a scale; add 'scale', the options.")
        return None
    if not isinstance(given, list) or len(given) < 2:
        raise UserError(
            f"{where}: scale: must list at least two options, from strongest disagreement to "
            "strongest agreement."
        )
    points = tuple(text(point, f"{where}: scale") for point in given)
    if len({point.casefold() for point in points}) < len(points):
        raise UserError(f"{where}: scale: an option is there twice.")
    scale = Scale(points, entry.get("codes", "words"), entry.get("order", "given"))
    check_known("codes", scale.codes, known=CODES, where=where)
    check_known("order", scale.order, known=ORDERS, where=where)
    if len(points) > len(ascii_uppercase):
        raise UserError(f"{where}: scale: has more options than there are letters.")
    if FIELD not in entry["text"]:
        raise UserError(f"{where}: text: must say with {FIELD} where the options are listed.")
    if "options" in entry:
        raise UserError(f"{where}: options: is given by scale and codes; leave it out.")
    return scale
