"""Sample logs of lm-evaluation-harness (``samples_*.jsonl``, written with ``--log_samples``)."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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
from polbayes.data.tables import json_lines
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon, surfaces

_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)")
Sample = Mapping[str, Any]
Scores = Mapping[str, float]  # the log-likelihood of each choice


def read(path: Path, config: ImportConfig) -> pd.DataFrame:
    """Read one file of samples: a row for each answer, or for each question with its masses.

    Every column of the documents is there as ``doc.NAME``.
    """
    named = _FILE.fullmatch(path.stem)
    about = {"model": _model(path, named), "task": named["task"] if named else path.stem}
    rows: list[dict[str, Any]] = []
    is_taken = taken_by(config, path)
    scored: list[tuple[dict[str, Any], Mapping[str, Any], Scores]] = []
    for sample in _once(path):
        doc = sample["doc"] if isinstance(sample["doc"], dict) else {}
        first = _requests(sample)[0]
        row = {
            **about,
            "doc_id": sample["doc_id"],
            **about_question(doc, sample["doc_id"]),
            "prompt": first[0],
            **{f"doc.{key}": value for key, value in doc.items()},
            "output_type": _output_type(first),
        }
        if row["output_type"] == "generate_until":
            answers = enumerate(sample["resps"][0], start=1)
            rows += [{"run": run, **row, "answer": answer} for run, answer in answers]
            continue
        rows.append({"run": 1, **row})
        wanted = "p_agree" in config.columns and row["output_type"] == "multiple_choice"
        if wanted and is_taken(rows[-1]):
            scored.append((rows[-1], doc, _scores(sample, path)))
    doubles = _doubles([scores for *_, scores in scored])
    for row, given, scores in scored:
        counted = {c: x for c, x in scores.items() if c not in doubles[tuple(scores)]}
        row |= _masses(counted, options_of(given, config, path), path)
    return as_table(rows, path)


def _once(path: Path) -> Iterator[Sample]:
    """Yield the samples, of those that several filters went over only the first."""
    seen: set[Any] = set()
    for number, sample in json_lines(path):
        try:
            _requests(sample)[0][0], sample["resps"][0][0], sample["doc"]
            if (one := json.dumps(sample["doc_id"])) not in seen:
                seen.add(one)
                yield sample
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise UserError(
                f"{path}: line {number} is not a sample of lm-evaluation-harness; give a "
                "samples_*.jsonl, which lm_eval --log_samples writes."
            ) from error


def _requests(sample: Sample) -> list[list[Any]]:
    """Return what was asked for one document, each a context and a continuation or settings."""
    given = sample["arguments"]
    if isinstance(given, dict):
        return [list(one.values()) for one in given.values()]
    return [list(one) for one in given]


def _model(path: Path, named: re.Match[str] | None) -> str:
    """Return the name of the model, from the results beside the samples or from their folder."""
    results = path.with_name(f"results_{named['date']}.json") if named else path
    if named and results.is_file():
        try:
            said = json.loads(results.read_text(encoding="utf-8"))
            if name := str(said.get("model_name") or ""):
                # A checkpoint in a folder is called after it, one on the hub as it is.
                return Path(name).name if Path(name).is_absolute() else name
        except (ValueError, AttributeError):
            pass
    return path.resolve().parent.name


def _output_type(request: Sequence[Any]) -> str:
    """Return lm_eval's name for tasks with such requests, one for all that score given texts."""
    if len(request) == 1:
        return "loglikelihood_rolling"
    return "multiple_choice" if isinstance(request[1], str) else "generate_until"


def _scores(sample: Sample, path: Path) -> Scores:
    """Return the log-likelihood of each choice after the prompt.

    For the metric ``acc_mutual_info`` lm_eval asks for each choice without a prompt, too.
    """
    requests = _requests(sample)
    document = f"document {sample['doc_id']}"
    try:
        values = [float(answers[0][0]) for answers in sample["resps"]]
        asked = [(*one[:2], x) for one, x in zip(requests, values, strict=True)]
    except (ValueError, TypeError, LookupError) as error:
        raise UserError(f"{path}: {document} has no log-likelihood of every choice.") from error
    if any(context not in ("", requests[0][0]) for context, *_ in asked):
        raise UserError(
            f"{path}: the choices of {document} follow different prompts; leave out its task by "
            "imported.where, or give the samples of a task with one prompt for all choices."
        )
    return {choice: value for context, choice, value in asked if context == requests[0][0]}


def _doubles(samples: Sequence[Scores]) -> dict[tuple[str, ...], set[str]]:
    """Return, by list of choices, those that are the same tokens as one before them.

    They are ways of writing one word that have the same log-likelihood in all samples.
    """
    alike: dict[tuple[str, ...], list[Scores]] = {}
    for scores in samples:
        alike.setdefault(tuple(scores), []).append(scores)
    found: dict[tuple[str, ...], set[str]] = {}
    for choices, group in alike.items():
        first: dict[tuple[str, ...], str] = {}
        for choice in choices:
            values = (str(scores[choice]) for scores in group)
            first.setdefault((choice.strip().casefold(), *values), choice)
        found[choices] = {*choices} - {*first.values()}
    return found


def _masses(scores: Scores, lexicon: Lexicon, path: Path) -> dict[str, float]:
    forms = {
        form.strip().casefold(): stance
        for word, stance in zip(lexicon.options, lexicon.stance, strict=True)
        for form in surfaces(word)
    }
    texts = {choice: choice.strip().casefold() for choice in scores}
    if missing := [text for text in texts.values() if text not in forms]:
        raise UserError(
            f"{path}: the choice '{missing[0]}' is no option of lexicon '{lexicon.lexicon}'; "
            f"known: {', '.join(lexicon.options)}."
        )
    return by_stance((forms[texts[choice]], math.exp(x)) for choice, x in scores.items())


READER = Reader(lambda path, base: files_of(path, base, "samples_*.jsonl"), read)
