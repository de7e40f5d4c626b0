"""The cost of judging: usage so far, from journals, and an estimate from the answers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding.registry import CODERS, judges
from polbayes.coding.responses import uncoded
from polbayes.config.schema import CoderConfig, CodingConfig
from polbayes.data.dataset import STATUS
from polbayes.data.tables import write_csv
from polbayes.judging.engine import judged_before
from polbayes.judging.rubric import pair_digest
from polbayes.judging.stances import JudgeCoder, open_judge
from polbayes.probing.costs import (
    AROUND_A_TURN,
    BYTES_A_TOKEN,
    answer_tokens,
    usage_in_words,
    usage_table,
)
from polbayes.probing.journal import CODING
from polbayes.probing.remarks import remarks_in
from polbayes.respondents.chat_api.budget import cost, expected
from polbayes.respondents.chat_api.settings import api_of

_USAGE_CODING = "usage_coding.csv"
# Number of prompts measured; more would take long without being more precise.
_SAMPLE = 2000


def _asked(
    folder: Path, coders: Iterable[str], models: Mapping[str, CoderConfig]
) -> dict[str, JudgeCoder]:
    declared = judges(coders, models).items()
    return {name: open_judge(name, one, models, folder / CODING) for name, one in declared}


def judges_notes(
    folder: Path, coders: Iterable[str], models: Mapping[str, CoderConfig]
) -> list[str]:
    """Return what is to be said of coders that are judges, such as what their servers refused."""
    return [
        str(remark["note"]).replace(judge.asked.journal_name, name)
        for name, judge in _asked(folder, coders, models).items()
        for remark in remarks_in([judge.journal] if judge.journal else [])
        if "note" in remark
    ]


def write_judges_usage(
    folder: Path, coders: Iterable[str], models: Mapping[str, CoderConfig]
) -> dict[str, str]:
    """Write ``usage_coding.csv`` if a coder is a judge behind a server; print its usage."""
    asked = _asked(folder, coders, models)
    journals = {name: judge.journal for name, judge in asked.items() if judge.journal is not None}
    table = usage_table(journals, {name: judge.asked.respondent for name, judge in asked.items()})
    if len(table):
        write_csv(folder / _USAGE_CODING, table)
    return {row["model"]: usage_in_words(row) for row in table.to_dict("records")}


def estimate_judges(
    data: xr.Dataset, coding: CodingConfig, *, longest: int, journal_dir: Path
) -> pd.DataFrame:
    """Estimate the cost of judging the answers of a run."""
    rows = []
    for n, coder in enumerate(coding.coders):
        before = [name for name in coding.coders[:n] if name in CODERS]
        for name, config in judges([coder], coding.models).items():
            judge = open_judge(name, config, coding.models, journal_dir)
            rows.append({"model": name, **_of_judge(judge, data, before, longest)})
    return pd.DataFrame(rows)


def _of_judge(
    judge: JudgeCoder, data: xr.Dataset, before: Sequence[str], longest: int
) -> dict[str, Any]:
    asked, judged = judge.asked, 0
    if "completion" in data:
        pairs = uncoded(data, before)
        known = judged_before(judge.journal) if judge.journal else ()
        left = [pair for pair in pairs if pair_digest(*pair) not in known]
        questions, judged = len(pairs), len(pairs) - len(left)
        sizes = [len(asked.prompt(*pair).encode("utf-8", "replace")) for pair in left[:_SAMPLE]]
        mean = float(np.mean(sizes)) if sizes else 0.0
    else:
        questions = int((data["status"] == STATUS["pending"]).sum())
        statements = [str(text) for text in data["statement"].values.ravel() if text]
        mean = float(np.mean([len(asked.prompt(text, "").encode()) for text in statements]))
        mean += longest * BYTES_A_TOKEN
    times = (questions - judged) * asked.needed
    tokens_in = round(times * (mean / BYTES_A_TOKEN + AROUND_A_TURN))
    tokens_out = times * answer_tokens(asked.elicitation, asked.respondent)
    api = api_of(asked.respondent)
    return {
        "questions": questions,
        "answered": judged,
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "cost": cost(expected(tokens_in, tokens_out, api), api)
        if asked.respondent.backend == "chat_api"
        else None,
        "currency": api.currency,
    }
