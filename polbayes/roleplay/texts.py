"""The texts around a scenario in every turn, and the request to judges (`data/roleplay.yaml`)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from polbayes.config.resources import folder, read_yaml
from polbayes.data.provenance import json_digest
from polbayes.instrument.scenarios import STAGES


@dataclass(frozen=True)
class Texts:
    """The texts."""

    # ``first``, ``next``, ``reflection``, ``baseline``, with the field ``{text}``
    turns: Mapping[str, str]
    request: str  # what judges are asked
    again: str  # added where an earlier reply could not be used
    # meanings of the numbers, ``plain`` and ``reversed``, as in `commitment`
    scale: Mapping[str, str]
    commitment: Mapping[str, str]
    values: Mapping[str, str]

    @property
    def digest_of_turns(self) -> str:
        """A hash of the texts for respondents."""
        return json_digest(self.turns, size=8)

    @property
    def digest_of_request(self) -> str:
        """A hash of the request to judges."""
        return json_digest({**asdict(self), "turns": None}, size=8)


def file() -> Path:
    """Return the file with the texts."""
    return folder("data") / "roleplay.yaml"


@cache
def load_texts() -> Texts:
    """Load the texts."""
    content = read_yaml(file())
    judge = content["judge"]
    return Texts(
        turns=content["turns"],
        request=judge["request"],
        again=judge["again"],
        scale=judge["scale"],
        commitment=judge["commitment"],
        values=judge["values"],
    )


def turn(unit: str, text: str, texts: Texts) -> str:
    """Return the prompt of one of `polbayes.instrument.scenarios.UNITS`."""
    kind = "first" if unit == STAGES[0] else "next" if unit in STAGES else unit
    # Not str.format: a scenario may contain braces.
    return texts.turns[kind].replace("{text}", text)
