"""The folder of a trained classifier: checkpoint, card, record, and held-out answers."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polbayes.coding.readings import Reading
from polbayes.config.schema import CoderConfig, RunConfig, TrainingConfig
from polbayes.data.provenance import versions
from polbayes.huggingface.trained import TRAINED, Trained
from polbayes.measures.resampling import Bootstrap
from polbayes.tasks.training.card import Facts, card
from polbayes.tasks.training.data import (
    HELD_OUT,
    VALIDATION,
    Material,
    Outputs,
    by_output,
    labelled_frame,
)
from polbayes.tasks.training.loop import Training
from polbayes.tasks.training.network import Base
from polbayes.tasks.validation.coded import code_labelled
from polbayes.tasks.validation.labelled import Labelled
from polbayes.tasks.validation.scores import score_table
from polbayes.tasks.validation.temperature import FEWEST, Temperature, fit_temperature

CARD, RECORD, HELD = "README.md", "training.json", "held_out.parquet"


@dataclass(frozen=True)
class Job:
    """A training before it begins."""

    config: RunConfig
    table: Path  # the file with the labelled answers
    labelled: Labelled
    outputs: Outputs
    base: Base
    how: Reading  # what the classifier is given, and what its output means
    identity: str  # hash of all that determines the result
    target: Path
    command: Sequence[str]

    @property
    def settings(self) -> TrainingConfig:
        """The section of the config."""
        return self.config.training

    @property
    def state_folder(self) -> Path:
        """The folder of its state during training."""
        return self.target.parent / f".{self.target.name}.training"


def build(job: Job, training: Training, material: Material, limit: int, built: Path) -> Facts:
    """Write everything into a folder, and score its classifier on the held-out answers."""
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
    """Fit the temperature; if impossible, return None and the reason."""
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


def _scores(job: Job, material: Material, built: Path) -> pd.DataFrame | None:
    """Write the held-out answers, and score the saved classifier on them."""
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


def seal(folder: Path) -> None:
    """Sync files before their folder gets its final name."""
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)
        with path.open("rb") as file:
            os.fsync(file.fileno())
