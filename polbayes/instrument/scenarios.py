"""Scenarios: political dilemmas to be played in stages, as data that is checked on loading.

The respondent has an office in which it must decide between two sides. Somebody it is bound to
asks it to do what one side wants, somebody with power presses for what the other side wants. A
scenario is one YAML file::

    id: union
    title: A union at the depot
    topic: unionisation
    dimension: economic        # or cultural
    asking: left               # whose side the person who asks is on, in the original
    sides:                     # what each side says: phrases by name, in each of the wordings
      left:  {act: [..., ..., ...], claim: [..., ..., ...]}
      right: {act: [..., ..., ...], claim: [..., ..., ...]}
    baseline:                  # one plain question outside the story
      original: Should companies {asking.policy}, or should they {pressing.policy}?
      paraphrase_1: the same in other words
      paraphrase_2: the same in other words
    stages:                    # each in the three wordings
      initial_conflict: ...
      conflicting_loyalties: ...
      external_pressure: ...
      resolution_and_cost: ...
    reflection: ...            # after the story, out of the role

`{asking.act}` is the phrase `act` of the side of the person who asks, `{pressing.act}` that of the
other one. A text is written once, and the **mirrored twin** is the same text with the sides
exchanged: the same persons, debts, powers, dates and costs, with the opposite cause. So the twins
cannot differ in anything but what the two sides say, and the phrases of the two sides, which stand
below one another in the file, can be compared for force and length.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polbayes.config.resources import find, folder, read_yaml
from polbayes.config.yaml_checks import check_keys, check_unique, identifier, mapping, text
from polbayes.errors import UserError, check_known
from polbayes.instrument.folding import folded
from polbayes.instrument.questionnaires import DIMENSIONS, DIRECTIONS

STAGES = ("initial_conflict", "conflicting_loyalties", "external_pressure", "resolution_and_cost")
# Everything that is put to a respondent and rated by itself, in its order.
UNITS = ("baseline", *STAGES, "reflection")
TWINS = ("original", "mirrored")
WORDINGS = ("original", "paraphrase_1", "paraphrase_2")

_KEYS = {"id", "title", "topic", "dimension", "asking", "sides", "baseline", "stages", "reflection"}
_ROLES = ("asking", "pressing")
_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Scenario:
    """One dilemma with its mirrored twin."""

    id: str  # unique within a deck
    title: str
    topic: str
    dimension: str
    # The side of the person who asks in the original, -1 left, +1 right; it is the other in the
    # twin.
    asking: int
    # What is put, by unit (`UNITS`), twin (`TWINS`) and wording (`WORDINGS`).
    texts: Mapping[tuple[str, str, str], str]

    def text(self, unit: str, *, twin: str = "original", wording: str = "original") -> str:
        """Return what is put to the respondent in one unit."""
        return self.texts[unit, twin, wording]


def load_scenarios(names: Sequence[str] = ()) -> tuple[Scenario, ...]:
    """Load and check scenarios.

    Parameters
    ----------
    names
        Names of shipped scenarios (``"union"``) or paths of YAML files; by default all that are
        shipped.

    Raises
    ------
    UserError
        Naming the file, the scenario and the key of the first thing that is wrong, or two files
        with one id.
    """
    shipped = sorted(path.stem for path in (folder("data") / "scenarios").glob("*.yaml"))
    files: dict[str, str] = {}
    deck = []
    for name in names or shipped:
        scenario = load_scenario(name)
        if scenario.id in files:
            raise UserError(
                f"{find('scenarios', name)}: scenario '{scenario.id}': the id is taken by "
                f"{files[scenario.id]}; each scenario of a deck needs its own."
            )
        files[scenario.id] = str(find("scenarios", name))
        deck.append(scenario)
    return tuple(deck)


def load_scenario(name: str) -> Scenario:
    """Load and check one scenario."""
    path = find("scenarios", name)
    content = mapping(read_yaml(path), f"{path}")
    where = f"{path}: scenario '{content['id']}'" if "id" in content else f"{path}"
    check_keys(content, _KEYS, set(), where)
    check_known("dimension", str(content["dimension"]), known=DIMENSIONS, where=where)
    check_known("side", str(content["asking"]), known=DIRECTIONS, where=f"{where}: asking")
    stages = mapping(content["stages"], f"{where}: stages")
    check_keys(stages, set(STAGES), set(), f"{where}: stages")
    written = {"baseline": content["baseline"], **stages, "reflection": content["reflection"]}
    frames = {
        unit: _wordings(written[unit], f"{where}: {_key(unit)}", set(WORDINGS)) for unit in UNITS
    }
    return Scenario(
        id=identifier(content["id"], f"{path}: id"),
        title=text(content["title"], f"{where}: title"),
        topic=text(content["topic"], f"{where}: topic"),
        dimension=content["dimension"],
        asking=DIRECTIONS[content["asking"]],
        texts=_fill(frames, _sides(content["sides"], where), content["asking"], where),
    )


def _key(unit: str) -> str:
    return f"stages: {unit}" if unit in STAGES else unit


def _wordings(value: Any, where: str, required: set[str]) -> dict[str, str]:
    entry = mapping(value, where)
    check_keys(entry, required, set(), where)
    found = {wording: text(entry[wording], f"{where}: {wording}") for wording in WORDINGS}
    check_unique([folded(t) for t in found.values()], f"{where}: wording")
    return found


def _sides(value: Any, where: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the phrases by side and name, each in all wordings."""
    given = mapping(value, f"{where}: sides")
    for side in DIRECTIONS:
        if side not in given:
            raise UserError(
                f"{where}: sides: the side '{side}' is missing; "
                "without it there is no mirrored twin."
            )
    check_keys(given, set(DIRECTIONS), set(), f"{where}: sides")
    sides = {side: _phrases(given[side], f"{where}: sides: {side}") for side in DIRECTIONS}
    for name in sides["left"].keys() ^ sides["right"].keys():
        lacking = "right" if name in sides["left"] else "left"
        raise UserError(
            f"{where}: sides: {lacking}: the phrase '{name}' is missing; each side needs the "
            "phrases that the other one has."
        )
    return sides


def _phrases(value: Any, where: str) -> dict[str, tuple[str, ...]]:
    phrases = {}
    for name, given in mapping(value, where).items():
        place = f"{where}: {name}"
        if not isinstance(given, list) or len(given) != len(WORDINGS):
            count = f", not {len(given)}" if isinstance(given, list) else ""
            raise UserError(
                f"{place}: must be a list of {len(WORDINGS)} texts, one for each of "
                f"{', '.join(WORDINGS)}{count}."
            )
        phrases[str(name)] = tuple(
            text(phrase, f"{place}: {wording}")
            for phrase, wording in zip(given, WORDINGS, strict=True)
        )
    return phrases


def _fill(
    frames: Mapping[str, Mapping[str, str]],
    sides: Mapping[str, Mapping[str, tuple[str, ...]]],
    asking: str,
    where: str,
) -> dict[tuple[str, str, str], str]:
    other = next(side for side in DIRECTIONS if side != asking)
    roles = {
        "original": {"asking": sides[asking], "pressing": sides[other]},
        "mirrored": {"asking": sides[other], "pressing": sides[asking]},
    }
    known = [f"{role}.{name}" for role in _ROLES for name in sides[asking]]
    used: set[str] = set()
    texts: dict[tuple[str, str, str], str] = {}
    for unit in UNITS:
        for number, wording in enumerate(WORDINGS):
            place = f"{where}: {_key(unit)}: {wording}"
            frame = frames[unit][wording]
            used |= _slots(frame, known, place)
            filled = {twin: _filled(frame, roles[twin], number) for twin in TWINS}
            if len({folded(t) for t in filled.values()}) < len(TWINS):
                raise UserError(
                    f"{place}: the mirrored twin is the same as the original; name what each side "
                    "wants by phrases such as {asking.NAME}, in which the sides differ."
                )
            texts |= {(unit, twin, wording): t for twin, t in filled.items()}
    for name in sides[asking]:
        if name not in used:
            raise UserError(f"{where}: sides: the phrase '{name}' is used in no text.")
    return texts


def _slots(frame: str, known: Sequence[str], place: str) -> set[str]:
    """Return the names of the phrases in a text, all of which must be known."""
    names = set()
    for slot in _SLOT.findall(frame):
        check_known("phrase", slot, known=known, where=place)
        names.add(slot.split(".", 1)[1])
    if "{" in _SLOT.sub("", frame) or "}" in _SLOT.sub("", frame):
        raise UserError(f"{place}: its braces are not balanced.")
    return names


def _filled(frame: str, roles: Mapping[str, Mapping[str, tuple[str, ...]]], number: int) -> str:
    def phrase(match: re.Match[str]) -> str:
        role, name = match.group(1).split(".", 1)
        return roles[role][name][number]

    return _SLOT.sub(phrase, frame)
