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
)
from polbayes.config.schema import ImportConfig
from polbayes.data.tables import json_lines
from polbayes.errors import UserError
from polbayes.instrument.prompts import surfaces

_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)")
Sample = Mapping[str, Any]


def read(path: Path, config: ImportConfig) -> pd.DataFrame:
    """Read one file of samples: a row for each answer, or for each question with its masses.

    Every column of the documents is there as ``doc.NAME``.
    """
    samples = list(_once(path))
    named = _FILE.fullmatch(path.stem)
    about = {"model": _model(path, named), "task": named["task"] if named else path.stem}
    rows: list[dict[str, Any]] = []
    doubles = _doubles(samples)
    for sample in samples:
        doc = sample["doc"] if isinstance(sample["doc"], dict) else {}
        requests = _requests(sample)
        cell = {
            **about,
            "doc_id": sample["doc_id"],
            **about_question(doc, sample["doc_id"]),
            "prompt": requests[0][0],
            **{f"doc.{key}": value for key, value in doc.items()},
        }
        if isinstance(requests[0][1], str):
            choices = tuple(r[1] for r in requests)
            wanted = "p_agree" in config.columns
            masses = _masses(sample, choices, doubles[choices], config, path) if wanted else {}
            rows.append({"run": 1, **cell, "output_type": "multiple_choice", **masses})
            continue
        for run, answer in enumerate(sample["resps"][0], start=1):
            rows.append({"run": run, **cell, "output_type": "generate_until", "answer": answer})
    return as_table(rows, path)


def _once(path: Path) -> Iterator[Sample]:
    """Yield the samples, of those that several filters went over only the first."""
    seen: set[Any] = set()
    for number, sample in json_lines(path):
        try:
            _requests(sample)[0][1], sample["resps"][0][0], sample["doc"]
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


def _log_likelihoods(sample: Sample) -> list[float]:
    return [float(answers[0][0]) for answers in sample["resps"]]


def _doubles(samples: Sequence[Sample]) -> dict[tuple[str, ...], set[int]]:
    """Return, by list of choices, those that are the same tokens as one before them.

    They are ways of writing one word that have the same log-likelihood in all samples.
    """
    found: dict[tuple[str, ...], dict[int, tuple[str, list[float]]]] = {}
    for sample in samples:
        requests = _requests(sample)
        if not isinstance(requests[0][1], str):
            continue
        choices = tuple(r[1] for r in requests)
        empty: dict[int, tuple[str, list[float]]] = {
            n: (choice.strip().casefold(), []) for n, choice in enumerate(choices)
        }
        columns = found.setdefault(choices, empty)
        for n, value in enumerate(_log_likelihoods(sample)):
            columns[n][1].append(value)
    return {
        choices: {n for n in columns if columns[n] in [columns[k] for k in range(n)]}
        for choices, columns in found.items()
    }


def _masses(
    sample: Sample, choices: Sequence[str], doubles: set[int], config: ImportConfig, path: Path
) -> dict[str, float]:
    lexicon = options_of(sample["doc"], config, path)
    forms = {
        form.strip().casefold(): stance
        for word, stance in zip(lexicon.options, lexicon.stance, strict=True)
        for form in surfaces(word)
    }
    texts = [choice.strip().casefold() for choice in choices]
    if missing := [text for text in texts if text not in forms]:
        raise UserError(
            f"{path}: the choice '{missing[0]}' is no option of lexicon '{lexicon.lexicon}'; "
            f"known: {', '.join(lexicon.options)}."
        )
    each = zip(texts, _log_likelihoods(sample), strict=True)
    return by_stance(
        (forms[text], math.exp(value)) for n, (text, value) in enumerate(each) if n not in doubles
    )


READER = Reader(lambda path, base: files_of(path, base, "samples_*.jsonl"), read)
