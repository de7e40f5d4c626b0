"""``task=train_coder``: from labelled answers to a folder with a classifier."""

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from polbayes.coding.readings import reading
from polbayes.config.schema import CoderConfig, RunConfig
from polbayes.data.progress import conclude
from polbayes.data.prose import plural
from polbayes.data.provenance import digest
from polbayes.errors import UserError
from polbayes.tasks.annotation.task import LABELLED
from polbayes.tasks.training.build import CARD, RECORD, Job, build, seal
from polbayes.tasks.training.card import Facts
from polbayes.tasks.training.data import (
    HELD_OUT,
    TRAIN,
    VALIDATION,
    Material,
    labelled_frame,
    outputs_of,
    prepare,
)
from polbayes.tasks.training.loop import Training
from polbayes.tasks.training.network import load_network, open_base
from polbayes.tasks.training.settings import SECTION, check_settings
from polbayes.tasks.training.state import State, read_state, write_state
from polbayes.tasks.validation.labelled import read_labelled

# Keys that do not change the training: names of results, and whether the state is kept.
_NOT_OF_IT = ("table", "columns", "folder", "resume", "device")


def train_coder(config: RunConfig, *, command: Sequence[str]) -> Path:
    """Train a classifier, and write it with its card."""
    job = _job(config, command)
    if _is_done(job):
        conclude(f"train_coder: {job.target} has this classifier already; nothing was changed")
        return job.target
    seed = config.seed
    network, encoder = load_network(job.base, job.outputs.stances, job.settings, seed=seed)
    material = prepare(job.labelled, job.outputs, encoder, job.how, job.settings, seed=seed)
    kept = read_state(job.state_folder, job.identity)
    training = Training(
        network,
        encoder,
        material.part(TRAIN),
        material.part(VALIDATION),
        settings=job.settings,
        seed=seed,
        state=kept,
    )
    conclude(_about(job, material, training))
    training.run(_keeper(job) if job.settings.resume else None)
    try:
        # Beside the state, so that leftovers of a killed process are removed with it.
        job.state_folder.mkdir(parents=True, exist_ok=True)
        built = Path(tempfile.mkdtemp(prefix="built-", dir=job.state_folder))
        try:
            facts = build(job, training, material, encoder.limit, built)
            seal(built)
            os.rename(built, job.target)
        finally:
            shutil.rmtree(built, ignore_errors=True)
    except OSError as error:
        raise UserError(f"{job.target}: cannot be written ({error.strerror or error}).") from error
    shutil.rmtree(job.state_folder, ignore_errors=True)
    _tell(job, facts)
    return job.target


def _job(config: RunConfig, command: Sequence[str]) -> Job:
    settings, run = config.training, Path(config.run_dir).expanduser()
    check_settings(settings)
    table = (
        Path(settings.table).expanduser()
        if settings.table
        else run / config.annotation.folder / LABELLED
    )
    labelled = read_labelled(table, columns=settings.columns, merge=settings.merge, section=SECTION)
    outputs = outputs_of(labelled, settings.merge)
    given = CoderConfig(kind="classifier", text=settings.text, pair=settings.pair)
    how = reading(SECTION, given, outputs.stances)
    base = open_base(settings)
    own = {k: v for k, v in asdict(settings).items() if k not in _NOT_OF_IT}
    rows = labelled_frame(labelled).to_csv(index=False, errors="backslashreplace")
    identity = digest([own, config.seed, base.identity, rows, list(outputs.stances)])
    target = (run / settings.folder).resolve()
    return Job(config, table, labelled, outputs, base, how, identity, target, command)


def _is_done(job: Job) -> bool:
    """Return whether this very classifier exists, and refuse to replace anything else."""
    if not job.target.exists() or (job.target.is_dir() and not any(job.target.iterdir())):
        return False
    try:
        record = json.loads((job.target / RECORD).read_text(encoding="utf-8"))
        if record["identity"] == job.identity:
            return True
        what = "a classifier that was trained otherwise"
    except (OSError, ValueError, KeyError, TypeError):
        what = "something else than a trained classifier"
    raise UserError(
        f"{SECTION}.folder: {job.target} holds {what}, which is not replaced; choose another "
        f"{SECTION}.folder, or move it away."
    )


def _keeper(job: Job) -> Any:
    def keep(state: State) -> None:
        write_state(job.state_folder, state, job.identity)

    return keep


def _about(job: Job, material: Material, training: Training) -> str:
    counts = [len(material.parts[name]) for name in (TRAIN, VALIDATION, HELD_OUT)]
    at = training.state.step
    again = f", going on after step {at}" if at else ""
    return (
        f"train_coder: {plural(counts[0], 'answer')} to be learnt, {counts[1]} to say when to "
        f"stop, {counts[2]} held out; {', '.join(job.outputs.stances)}; "
        f"{plural(training.total, 'step')} at most{again}"
    )


def _tell(job: Job, facts: Facts) -> None:
    if facts.scores is not None:
        whole = facts.scores[facts.scores["label"] == ""]
        for row in whole[whole["answers"] == "coded"].to_dict(orient="records"):
            conclude(
                f"train_coder: held out: {row['measure'].replace('_', ' ')} {row['estimate']:.3f}"
            )
    conclude(f"train_coder: {job.target / CARD}")
