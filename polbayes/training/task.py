"""``task=train_coder``: labelled answers in, a folder with a classifier out."""

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.annotation.task import LABELLED
from polbayes.coding.readings import TRAINED, Reading, Trained, reading
from polbayes.config import CoderConfig, RunConfig, TrainingConfig
from polbayes.errors import UserError
from polbayes.manifest import digest, versions
from polbayes.measures.resampling import Bootstrap
from polbayes.terminal import say
from polbayes.training.card import Facts, card
from polbayes.training.data import (
    HELD_OUT,
    TRAIN,
    VALIDATION,
    Material,
    Outputs,
    by_output,
    labelled_frame,
    outputs_of,
    prepare,
)
from polbayes.training.loop import Training
from polbayes.training.network import Base, load_network, open_base
from polbayes.training.settings import SECTION, check_settings
from polbayes.training.state import State, read_state, write_state
from polbayes.validation.coded import code_labelled
from polbayes.validation.labelled import Labelled, read_labelled
from polbayes.validation.scores import score_table
from polbayes.validation.temperature import FEWEST, Temperature, fit_temperature

if TYPE_CHECKING:
    import pandas as pd

CARD, RECORD, HELD = "README.md", "training.json", "held_out.parquet"
# How the results are called, or whether the state is kept, is no other training.
_NOT_OF_IT = ("table", "columns", "folder", "resume", "device")


@dataclass(frozen=True)
class Job:
    """A training before it begins.

    Parameters
    ----------
    config
        Of the run.
    table
        The file with the labelled answers.
    labelled, outputs
        The answers, and what is told apart.
    base
        The checkpoint.
    how
        What the classifier is given, and what its output means.
    identity
        Of all that determines the result.
    target
        The folder that it goes to.
    command
        The command line.
    """

    config: RunConfig
    table: Path
    labelled: Labelled
    outputs: Outputs
    base: Base
    how: Reading
    identity: str
    target: Path
    command: Sequence[str]

    @property
    def settings(self) -> TrainingConfig:
        """The section of the config."""
        return self.config.training

    @property
    def state_folder(self) -> Path:
        """Where the state is kept meanwhile."""
        return self.target.parent / f".{self.target.name}.training"


def train_coder(config: RunConfig, *, command: Sequence[str]) -> Path:
    """Train a classifier, and write it with its card.

    Parameters
    ----------
    config
        With `run_dir` and `training`.
    command
        The command line, for the card.

    Returns
    -------
    pathlib.Path
        The classifier's folder.

    Raises
    ------
    UserError
        If the table or the checkpoint is not there, something in them is wrong, or the folder
        holds something else.
    """
    job = _job(config, command)
    if _is_done(job):
        say(f"train_coder: {job.target} has this classifier already; nothing was changed")
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
    say(_about(job, material, training))
    training.run(_keeper(job) if job.settings.resume else None)
    try:
        # Beside the state, so that what a killed process leaves there goes with it.
        job.state_folder.mkdir(parents=True, exist_ok=True)
        built = Path(tempfile.mkdtemp(prefix="built-", dir=job.state_folder))
        try:
            facts = _build(job, training, material, encoder.limit, built)
            _seal(built)
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
    """Tell whether this very classifier is there, and refuse to replace anything else."""
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
        f"train_coder: {counts[0]} answers to be learnt, {counts[1]} to say when to stop, "
        f"{counts[2]} held out; {', '.join(job.outputs.stances)}; "
        f"{training.total} steps at most{again}"
    )


def _build(job: Job, training: Training, material: Material, limit: int, built: Path) -> Facts:
    """Write everything into a folder, and have the classifier that is in it read what was held out.

    What the card says of it is so what is found by whoever loads it.
    """
    temperature, note = _calibrate(job, training, material)
    texts = job.how.texts[0]
    said = Trained(*texts, temperature=temperature.value if temperature else 1.0)
    setattr(training.network.config, TRAINED, asdict(said))
    training.network.save_pretrained(built)
    job.base.tokenizer.save_pretrained(built)
    scores = _scores(job, material, built)
    labels = np.array([answer.label for answer in material.answers])
    n = len(job.outputs.stances)
    facts = Facts(
        table=job.table.name,
        outputs=job.outputs,
        counts={
            name: np.bincount(labels[rows], minlength=n).tolist()
            for name, rows in material.parts.items()
        },
        n_unlabelled=job.labelled.n_unlabelled,
        n_empty=material.n_empty,
        base=job.base.identity,
        settings=job.settings,
        seed=job.config.seed,
        texts=texts,
        limit=limit,
        looks=training.state.looks,
        steps=training.state.step,
        total=training.total,
        stopped_early=training.stopped_early,
        temperature=temperature,
        note=note,
        scores=scores,
        versions=versions(),
        command=job.command,
    )
    (built / CARD).write_text(card(facts), encoding="utf-8", errors="backslashreplace")
    text = json.dumps(_record(job, facts), indent=2, default=str)
    (built / RECORD).write_text(text + "\n", encoding="utf-8")
    return facts


def _calibrate(job: Job, training: Training, material: Material) -> tuple[Temperature | None, str]:
    """Fit the temperature; None, and why, where there is none."""
    rows = material.parts[VALIDATION]
    if not job.settings.calibrate:
        return None, "not asked for"
    if len(rows) < FEWEST:
        return None, f"fewer than {FEWEST} validation answers"
    probs = training.probabilities(material.part(VALIDATION))
    answers = by_output(job.labelled.take(material.rows[rows]), job.outputs)
    level = job.config.measures.level
    found = fit_temperature(probs, answers, np.arange(len(rows)), level)
    if found.at_end:
        return None, "the validation answers were all read rightly, or none of them"
    return found, ""


def _scores(job: Job, material: Material, built: Path) -> "pd.DataFrame | None":
    """Write down what was held out, and score the saved classifier on it."""
    rows = material.rows[material.parts[HELD_OUT]]
    if not len(rows):
        return None
    held = job.labelled.take(rows)
    labelled_frame(held).to_parquet(built / HELD, index=False)
    settings, measures = job.settings, job.config.measures
    coder = CoderConfig(
        kind="classifier",
        checkpoint=str(built),
        device=settings.device,
        trust_remote_code=settings.trust_remote_code,
    )
    coded = code_labelled(held, "trained", {"trained": coder})
    return score_table(coded, Bootstrap(measures.bootstrap, measures.level, job.config.seed))


def _record(job: Job, facts: Facts) -> dict[str, Any]:
    best = facts.best
    return {
        "identity": job.identity,
        "base": dict(facts.base),
        "labels": dict(zip(facts.outputs.names, facts.outputs.stances, strict=True)),
        "counts": dict(facts.counts),
        "steps": facts.steps,
        "best_step": best.step if best else facts.steps,
        "stopped_early": facts.stopped_early,
        "looks": [asdict(look) for look in facts.looks],
        "temperature": asdict(facts.temperature) if facts.temperature else None,
        "training": asdict(facts.settings),
        "seed": facts.seed,
        "versions": dict(facts.versions),
        "command": list(facts.command),
    }


def _seal(folder: Path) -> None:
    """Make sure that files are on the disk before their folder gets its name."""
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _tell(job: Job, facts: Facts) -> None:
    if facts.scores is not None:
        whole = facts.scores[facts.scores["label"] == ""]
        for row in whole[whole["answers"] == "coded"].to_dict(orient="records"):
            say(f"train_coder: held out: {row['measure'].replace('_', ' ')} {row['estimate']:.3f}")
    say(f"train_coder: {job.target / CARD}")
