"""The cost of asking: usage so far, from journals, and an estimate of what is left.

For judges (`polbayes.judging.stances`) see `polbayes.judging.costs`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import TEXTS, ElicitationConfig, RespondentConfig
from polbayes.data.prose import plural
from polbayes.data.tables import write_csv
from polbayes.probing.journal import journal_path, read
from polbayes.respondents.chat_api.budget import cost, expected
from polbayes.respondents.chat_api.request import ANSWER_TOKENS
from polbayes.respondents.chat_api.settings import api_of
from polbayes.respondents.questions import PendingQuestions
from polbayes.respondents.usage import Usage

_USAGE = "usage.csv"
# English prose has more than four bytes per token; chats add some tokens around each turn.
BYTES_A_TOKEN = 4.5
AROUND_A_TURN = 8
# Number of prompts measured; more would take long without being more precise.
_SAMPLE = 2000


def usage_table(
    journals: Mapping[str, Path], respondents: Mapping[str, RespondentConfig]
) -> pd.DataFrame:
    """Sum up what each respondent behind a server has used.

    Columns are ``model, answers, input_tokens, output_tokens, uncounted_requests, cost,
    cost_at_most, currency``. `cost` covers the tokens that the server counted; `cost_at_most` adds
    requests without a count at their longest possible length. Both are empty without declared
    prices.
    """
    rows = []
    for name, config in respondents.items():
        path = journals[name]
        if config.backend != "chat_api" or not path.is_file():
            continue
        api, total, answers = api_of(config), Usage(), 0
        for record in read(path):
            answers += record.get("status", "error") != "error"
            total += Usage(*record.get("tokens", ()))
        rows.append(
            {
                "model": name,
                "answers": answers,
                "input_tokens": total.input,
                "output_tokens": total.output,
                "uncounted_requests": total.uncounted,
                "cost": cost(total, api),
                "cost_at_most": cost(total, api, at_most=True),
                "currency": api.currency,
            }
        )
    return pd.DataFrame(rows)


def write_usage(folder: Path, respondents: Mapping[str, RespondentConfig]) -> pd.DataFrame:
    """Write ``usage.csv`` if any respondent is behind a server; see `usage_table`."""
    journals = {name: journal_path(folder / "journal", name) for name in respondents}
    table = usage_table(journals, respondents)
    if len(table):
        write_csv(folder / _USAGE, table)
    return table


def usage_in_words(row: Mapping[str, Any]) -> str:
    """Describe a row of `usage_table`."""
    text = f"{plural(row['input_tokens'], 'token')} in, {row['output_tokens']:,} out"
    if row["uncounted_requests"]:
        text += f", {plural(row['uncounted_requests'], 'request')} without a count from the server"
    paid = row["cost"]
    if paid is None or np.isnan(paid):
        return text
    most = row["cost_at_most"]
    upper = f" (at most {most:,.4g})" if most > paid else ""
    return f"{text}, {paid:,.4g}{upper} {row['currency']}"


def estimate(
    design: xr.Dataset,
    respondents: Mapping[str, RespondentConfig],
    elicitation: ElicitationConfig,
    journal_dir: Path,
) -> pd.DataFrame:
    """Estimate the cost of asking the questions of a design from the lengths of the prompts."""
    rows = []
    for name in map(str, design["model"].values):
        config = respondents[name]
        questions = PendingQuestions(design, name, {})
        cells = ("cell" in record for record in read(journal_path(journal_dir, name)))
        answered = min(sum(cells), len(questions))
        left = len(questions) - answered
        tokens = left * _mean_tokens(questions, config)
        said, api = left * answer_tokens(elicitation, config), api_of(config)
        paid = cost(expected(round(tokens), said, api), api)
        rows.append(
            {
                "model": name,
                "questions": len(questions),
                "answered": answered,
                "input_tokens": round(tokens),
                "output_tokens": said,
                "cost": paid if config.backend == "chat_api" else None,
                "currency": api.currency,
            }
        )
    return pd.DataFrame(rows)


def _mean_tokens(questions: PendingQuestions, config: RespondentConfig) -> float:
    """Estimate the mean number of tokens per prompt from prompts spread over all lengths."""
    places = np.linspace(0, len(questions) - 1, min(len(questions), _SAMPLE)).round().astype(int)
    sizes = [len(questions[int(n)].prompt.encode("utf-8", "surrogatepass")) for n in places]
    if config.backend != "chat_api":
        return float(np.mean(sizes)) / BYTES_A_TOKEN if sizes else 0.0
    system = api_of(config).system or ""
    around = AROUND_A_TURN * (2 if system else 1)
    mean = float(np.mean(sizes)) if sizes else 0.0
    return (mean + len(system.encode("utf-8", "surrogatepass"))) / BYTES_A_TOKEN + around


def answer_tokens(elicitation: ElicitationConfig, config: RespondentConfig) -> int:
    """Return the maximum number of tokens generated for one question."""
    thinking = config.thinking_tokens or 0
    if elicitation.kind in TEXTS:
        return elicitation.max_new_tokens + thinking
    return ANSWER_TOKENS + thinking if config.backend == "chat_api" else thinking


def cost_in_words(tokens: tuple[int, int], config: RespondentConfig) -> str:
    """Describe the tokens of prompts and answers, and their cost if there is any."""
    text = f"{tokens[0]:,}, {tokens[1]:,}"
    if config.backend != "chat_api":
        return text
    api = api_of(config)
    paid = cost(expected(*tokens, api), api)
    return f"{text}, " + (
        "no prices are declared" if paid is None else f"about {paid:,.4g} {api.currency}"
    )


def estimate_in_words(
    table: pd.DataFrame, respondents: Mapping[str, RespondentConfig], *, who: str = "respondent"
) -> str:
    """Format the table of `estimate`, with a line for every budget that may not suffice."""
    lines = [f"{who}: questions, tokens of prompts (about), tokens of answers (at most), cost"]
    for row in table.to_dict("records"):
        before = f" ({row['answered']:,} answered before)" if row["answered"] else ""
        priced = row["cost"] is not None and not np.isnan(row["cost"])
        config = respondents[row["model"]]
        half = " by batches at half the price" if api_of(config).batch is not None else ""
        paid = f", about {row['cost']:,.4g} {row['currency']}{half}" if priced else ""
        if config.backend == "chat_api" and not priced:
            paid = ", no prices are declared"
        lines.append(
            f"  {row['model']}: {row['questions']:,}{before}, {row['input_tokens']:,}, "
            f"{row['output_tokens']:,}{paid}"
        )
        budget = api_of(config).budget
        if priced and budget is not None and row["cost"] > budget:
            lines.append(f"    may not be enough: the budget is {budget:,.4g} {row['currency']}")
    return "\n".join(lines)
