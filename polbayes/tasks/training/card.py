"""The model card of a trained classifier, written from its training and its scores."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from polbayes.config.schema import TrainingConfig
from polbayes.data.prose import plural
from polbayes.report.numbers import interval, number
from polbayes.tasks.training.data import HELD_OUT, TRAIN, VALIDATION, Outputs
from polbayes.tasks.training.state import Look
from polbayes.tasks.validation.scores import SCORES
from polbayes.tasks.validation.temperature import Temperature


@dataclass(frozen=True)
class Facts:
    """The contents of a card."""

    table: str  # name of the file with the labelled answers
    outputs: Outputs
    counts: Mapping[str, Sequence[int]]  # answers of each output by part
    n_unlabelled: int  # rows left out because they have no label, or no answer
    n_empty: int
    base: Mapping[str, Any]  # what identifies the checkpoint that was trained further
    settings: TrainingConfig
    seed: int
    texts: tuple[str, str]  # templates of what the classifier is given
    limit: int  # tokens in a window
    looks: Sequence[Look]
    # Batches done, and planned.
    steps: int
    total: int
    stopped_early: bool
    # The one stored, or None and the reason.
    temperature: Temperature | None
    note: str
    # Of the held-out answers; None without any.
    scores: pd.DataFrame | None
    versions: Mapping[str, str]
    command: Sequence[str]

    @property
    def best(self) -> Look | None:
        """The evaluation whose weights were kept."""
        return min(self.looks, key=lambda look: look.loss) if self.looks else None


def card(facts: Facts) -> str:
    """Write the model card."""
    return (
        "\n\n".join(
            (
                _FRONT,
                "# Stance classifier",
                f"Reads which stance an answer takes on a statement: "
                f"{', '.join(facts.outputs.stances)}. It says nothing about texts of "
                "another kind than those it was trained on.",
                "## Use",
                _USE,
                "## Answers",
                _answers(facts),
                "## Training",
                _training(facts),
                "## Scores",
                _scores(facts),
                "## Made with",
                _made(facts),
            )
        )
        + "\n"
    )


_FRONT = """---
library_name: transformers
pipeline_tag: text-classification
tags: [stance-detection]
---"""

_USE = """As a coder of polbayes, where FOLDER is this folder, or the name it gets on the hub:

```yaml
coding:
  coders: [likert, trained]
  models:
    trained: {kind: classifier, checkpoint: FOLDER}
```

What it is given of an answer, and its temperature, stand in `config.json` and are applied."""


def _answers(facts: Facts) -> str:
    parts = (TRAIN, VALIDATION, HELD_OUT)
    rows = [
        (_class(name, stance), *(str(facts.counts[part][k]) for part in parts))
        for k, (name, stance) in enumerate(
            zip(facts.outputs.names, facts.outputs.stances, strict=True)
        )
    ]
    rows.append(("all", *(str(sum(facts.counts[part])) for part in parts)))
    together = f"the same {facts.settings.group}" if facts.settings.group else "the same texts"
    text = (
        f"Labelled answers of `{_plain(facts.table)}`, split at random by the seed so that every "
        f"part has about the same shares of the classes and answers with {together} stay "
        f"together. Left out: {facts.n_unlabelled} without a label, {facts.n_empty} without any "
        "text."
    )
    if sum(facts.counts[HELD_OUT]):
        text += " The held-out ones are `held_out.parquet`."
    return f"{text}\n\n{_table(('label', *parts), rows)}"


def _class(name: str, stance: str) -> str:
    return name if name == stance else f"{name}, read as {stance}"


def _training(facts: Facts) -> str:
    settings, best = facts.settings, facts.best
    base = f"`{_plain(str(facts.base['checkpoint']))}`"
    for key in ("revision", "commit"):
        if facts.base[key]:
            base += f", {key} `{facts.base[key]}`"
    if facts.base["weights"]:
        base += f", digest of its weights `{facts.base['weights']}`"
    second = f" and `{facts.texts[1]}`" if facts.texts[1] else ""
    rows = [
        ("base checkpoint", base),
        ("given of an answer", f"`{facts.texts[0]}`{second}"),
        ("tokens in a window", f"{facts.limit}; of longer answers the mean over windows"),
        ("steps", f"{facts.steps} of {facts.total}{_stopped(facts)}"),
        ("weights of step", str(best.step if best else facts.steps)),
        ("batch size", str(settings.batch_size)),
        (
            "optimiser",
            f"AdamW, beta {settings.beta1:g} and {settings.beta2:g}, epsilon {settings.epsilon:g}",
        ),
        (
            "learning rate",
            f"{settings.learning_rate:g}, rising over {settings.warmup_steps} "
            "steps, then falling to zero",
        ),
        ("weight decay", f"{settings.weight_decay:g}, not of biases and norms"),
        ("longest gradient", f"{settings.max_gradient_norm:g}"),
        ("class weights", settings.class_weights or "none"),
        ("computed in", settings.dtype),
        ("seed", str(facts.seed)),
    ]
    if best:
        rows.append(
            (
                "validation loss",
                f"{best.loss:.4f}, {best.accuracy:.3f} right; it said "
                "when to stop, and is too good for that",
            )
        )
    rows.append(("temperature", _temperature(facts)))
    return _table(("", ""), rows)


def _stopped(facts: Facts) -> str:
    if not facts.stopped_early:
        return ""
    return f", stopped after {facts.settings.patience} looks without a smaller validation loss"


def _temperature(facts: Facts) -> str:
    found = facts.temperature
    if found is None:
        return f"none: {facts.note}"
    return f"{found.value:.3f} {interval(found.lower, found.upper)}, of the validation answers"


def _scores(facts: Facts) -> str:
    if facts.scores is None:
        return (
            "No answers were held out. `task=validate_coder` with other labelled answers says how "
            "well it reads."
        )
    level = float(facts.scores["level"].iloc[0])
    rows = [
        (
            SCORES[row["measure"]],
            _plain(row["label"]) or "all",
            number(row["estimate"], 3),
            interval(row["lower"], row["upper"], 3),
            str(row["n"]),
        )
        for row in facts.scores.to_dict(orient="records")
        if not (row["answers"] == "all" and row["measure"] != "share_coded") and row["n"]
    ]
    return (
        f"Of the {plural(sum(facts.counts[HELD_OUT]), 'answer')} held out, which had no part in "
        f"training, stopping or the temperature, with {level:.0%} intervals that take them as "
        "independent.\n\n"
        f"{_table(('measure', 'label', 'estimate', 'interval', 'of'), rows)}"
    )


def _made(facts: Facts) -> str:
    lines = [f"- {name} {version}" for name, version in facts.versions.items()]
    fence = "````"
    command = shlex.join(facts.command).replace(fence, "")
    return "\n".join([*lines, "", f"{fence}bash", command, fence])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        heads,
        ["---" for _ in heads],
        *([cell.replace("|", "\\|") for cell in r] for r in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Return a user's name on one line, without anything that would end its code span."""
    return " ".join(text.replace("`", "'").split())
