"""The title and the lead of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from polbayes.config.schema import RunConfig
from polbayes.report.prose import listed

# Keys that change what the titles and leads of the shipped experiments speak of, with those below.
_SUBJECT = ("instruments", "prefixes", "variants", "imported")
# How the answers are asked for altogether; its keys are settings of that.
_WHOLE = ("elicitation",)
# Where a table is and how it is read; which respondents and statements it has is the others.
_OF_READING = ("imported.path", "imported.show", "imported.ignore", "imported.reservations")


def heading(
    config: RunConfig, overrides: Sequence[str], instruments: Sequence[str]
) -> tuple[str, str]:
    """Return the title and the lead of a run: its own, unless it asks something else.

    What an experiment says of itself is a fixed text, and is not true of other statements or ways
    to ask them, which `overrides` may have put in their place. The titles of its `instruments` then
    take its place, or its name, and there is no lead.
    """
    changed = {part.lstrip("+~").split("=")[0] for part in overrides}
    if "title" in changed or not any(map(_of_subject, changed)):
        return config.title or config.name, config.description
    titles = listed(list(instruments))
    return f"Political leaning: {titles}" if titles else config.name, ""


def heading_in(
    folder: Path, config: RunConfig, stages: Mapping[str, Mapping[str, Any]]
) -> tuple[str, str]:
    """Return the title and the lead of the run in a folder, whose finished `stages` are given."""
    path = folder / ".hydra" / "overrides.yaml"
    overrides = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
    return heading(config, overrides, stages.get("probe", {}).get("instruments", []))


def _of_subject(key: str) -> bool:
    if key in _WHOLE:
        return True
    return key.split(".")[0] in _SUBJECT and key not in _OF_READING
