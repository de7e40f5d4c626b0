"""Pipelines: planning a run, and what each of its stages does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

import pandas as pd
import yaml

from polbayes.config.registry import Registry
from polbayes.config.schema import RunConfig
from polbayes.config.tasks import Answer
from polbayes.data.provenance import digest, versions
from polbayes.data.tables import write_csv
from polbayes.run.manifest import Manifest

P = TypeVar("P")


@dataclass(frozen=True)
class Job(Generic[P]):
    """A planned run and its folder."""

    plan: P
    folder: Path
    manifest: Manifest
    keys: dict[str, str]
    text: str
    command: str


@dataclass(frozen=True)
class Stage(Generic[P]):
    """One stage."""

    # Runs it; returns its outputs, relative to the folder, and content for the manifest.
    do: Callable[[Job[P]], tuple[list[str], dict[str, Any]]]
    doing: str  # what it does, in words
    needs: Sequence[str] = ()  # the stages before it whose results it reads


@dataclass(frozen=True)
class Pipeline(Generic[P]):
    """How a kind of run is planned and carried out."""

    plan: Callable[[RunConfig], P]  # checks a config and says what it means
    dry_run: Callable[[RunConfig], str]  # returns what a config would ask
    stages: Mapping[str, Stage[P]]  # in the order of STAGES; it need not have all of them
    # Hashes of files that determine the answers, and the reading of the answers.
    inputs: Callable[[RunConfig], dict[str, str]]
    code_inputs: Callable[[RunConfig], dict[str, str]]
    # Says what the folder of a reported run found, in a few lines; the second is its page.
    answer: Callable[[Path, Path], Answer]


# By what they measure with.
PIPELINES: Registry[Pipeline[Any]] = Registry(
    "polbayes.pipelines",
    "pipeline",
    {
        "questionnaire": "polbayes.run.run:PIPELINE",
        "roleplay": "polbayes.roleplay.stages:PIPELINE",
        "paired": "polbayes.run.pairs.stages:PIPELINE",
    },
)


def pipeline_of(config: RunConfig) -> Pipeline[Any]:
    """Return the pipeline of a config: that of its elicitation, else of questionnaires."""
    kind = config.elicitation.kind
    return PIPELINES[kind if kind in PIPELINES else "questionnaire"]


def provenance(job: Job[Any], started: datetime) -> dict[str, Any]:
    """Return the attributes of a dataset that say how it was made; the stage ends now."""
    config = job.plan.config
    return {
        "config": job.text,
        "config_hash": digest(yaml.safe_load(job.text)),
        "seed": config.seed,
        "elicitation": config.elicitation.kind,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": "; ".join(f"{name} {number}" for name, number in versions().items()),
        "command": job.command,
    }


def write_tables(tables: Mapping[str, pd.DataFrame], folder: Path) -> list[str]:
    """Write a stage's tables as ``NAME.csv``, and remove those of earlier analyses.

    Returns the files as paths relative to the parent folder.
    """
    for name, table in tables.items():
        write_csv(folder / f"{name}.csv", table)
    for path in folder.glob("*.csv"):
        if path.stem not in tables:
            path.unlink()
    return [f"{folder.name}/{name}.csv" for name in tables]
