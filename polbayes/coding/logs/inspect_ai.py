"""Logs of Inspect (``.eval`` and ``.json``), read by inspect_ai itself."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import pandas as pd

from polbayes.coding.logs.reader import (
    Reader,
    about_question,
    as_table,
    by_stance,
    files_of,
    options_of,
    taken_by,
)
from polbayes.config.schema import ImportConfig
from polbayes.errors import UserError, reason
from polbayes.respondents.chat_api.options import after_thinking, option_masses
from polbayes.respondents.chat_api.reply import Position

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

# What of a sample is not looked at, and may be large.
_LEFT = {"events", "store", "attachments"}
# What Inspect itself writes beside logs: of a set of evaluations, and for its viewer.
_LISTS = ("eval-set.json", "logs.json", "listing.json")


def read(path: Path, config: ImportConfig) -> pd.DataFrame:
    """Read one log: a row for each sample and epoch.

    Columns are ``answer``, the masses of options where log probabilities were kept, with several
    choices ``choices`` (a list as JSON) and the text of the ``chosen`` one, and, as they are in
    the log, ``metadata.NAME``, ``score.NAME`` and ``score.NAME.answer``.
    """
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError as error:
        raise UserError(
            "imported.format: inspect needs inspect_ai; install it with pip install "
            "'polbayes[inspect]'."
        ) from error
    if not path.is_file():
        raise UserError(f"{path}: no such file; set imported.path to the log.")
    rows: list[dict[str, Any]] = []
    is_taken = taken_by(config, path)
    try:
        header = read_eval_log(path, header_only=True).eval
        samples: Iterator[EvalSample] = read_eval_log_samples(
            path, all_samples_required=False, resolve_attachments="core", exclude_fields=_LEFT
        )
        about = {"model": header.model, "task": header.task}
        for sample in samples:
            row = _row(sample, about)
            if "p_agree" in config.columns and is_taken(row):
                row |= _masses(sample, config, path)
            rows.append(row)
    except UserError:
        raise
    except Exception as error:  # a damaged log can fail in any way
        raise UserError(
            f"{path}: cannot be read as a log of Inspect ({reason(error)[:200]})."
        ) from error
    return as_table(rows, path)


def _row(sample: "EvalSample", about: Mapping[str, str]) -> dict[str, Any]:
    asked = sample.input if isinstance(sample.input, str) else sample.input[-1].text
    answer, thoughts = sample.output.completion, _thoughts(sample)
    scores = sample.scores or {}
    return {
        **about,
        "id": sample.id,
        "run": sample.epoch,
        **about_question(sample.metadata, sample.id),
        "prompt": asked,
        "answer": f"<think>{thoughts}</think>{answer}" if thoughts else answer,
        **{f"metadata.{key}": value for key, value in sample.metadata.items()},
        **{f"score.{name}": score.value for name, score in scores.items()},
        **{f"score.{name}.answer": score.answer for name, score in scores.items()},
        **_chosen(sample),
    }


def _chosen(sample: "EvalSample") -> dict[str, Any]:
    """Return the choices and the one that was chosen, whose letter is its place among them."""
    letters = dict(zip(ascii_uppercase, sample.choices or (), strict=False))
    answers = [score.answer for score in (sample.scores or {}).values()]
    chosen = {letters[answer] for answer in answers if answer in letters}
    one = chosen.pop() if len(chosen) == 1 else None
    return {"choices": sample.choices, "chosen": one} if sample.choices else {}


def _thoughts(sample: "EvalSample") -> str:
    """Return what Inspect kept apart from the answer; the importer does so, too."""
    choices = sample.output.choices
    content = choices[0].message.content if choices else ""
    parts = () if isinstance(content, str) else content
    return "\n\n".join(one.reasoning for one in parts if one.type == "reasoning")


def _masses(sample: "EvalSample", config: ImportConfig, path: Path) -> dict[str, float]:
    """Return the masses of the options, as they are read from the replies of a server."""
    choices = sample.output.choices
    listed = choices[0].logprobs.content if choices and choices[0].logprobs else None
    if not listed:
        return {}
    positions = after_thinking(
        [
            Position(
                one.token,
                one.logprob,
                tuple((other.token, other.logprob) for other in one.top_logprobs or ()),
            )
            for one in listed
        ],
        thoughts=_thoughts(sample),
        answer=sample.output.completion,
    )
    lexicon = options_of(sample.metadata, config, path)
    if not positions:
        return {**by_stance(()), "mass_unseen": 1.0}
    masses = option_masses(positions, lexicon)
    return {
        **by_stance(zip(lexicon.stance, masses.options, strict=True)),
        "mass_unseen": masses.unseen,
    }


READER = Reader(lambda path, base: files_of(path, base, "*.eval", "*.json", but=_LISTS), read)
