"""Asking respondents for wordings: statements are the items, calls are the runs."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import ElicitationConfig, ParaphraseConfig, RespondentConfig
from polbayes.data.dataset import STATUS
from polbayes.data.tables import text_of
from polbayes.huggingface.encoding import SPECIAL_TOKEN
from polbayes.instrument.design import design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument
from polbayes.probing.probe import probe
from polbayes.respondents import describe
from polbayes.tasks.paraphrasing.instructions import Instruction

# Only determines which respondents can give free text; the prompt is the instruction.
_TEMPLATE = "faulborn"
_UNPREFIXED = Prefix("baseline", "", "open")
_CANDIDATE = ("item", "set", "kind", "instruction", "call", "line", "text", "reason")


def elicitation_of(config: ParaphraseConfig) -> ElicitationConfig:
    """Return the elicitation of the respondents."""
    return ElicitationConfig(
        kind="open_ended",
        template=_TEMPLATE,
        runs=config.calls,
        max_new_tokens=config.max_new_tokens,
        top_k=config.top_k,
        temperature=config.temperature,
        batch_size=config.batch_size,
    )


def generate(
    instruments: Sequence[Instrument],
    instructions: Sequence[Instruction],
    respondents: Mapping[str, RespondentConfig],
    *,
    config: ParaphraseConfig,
    items: Sequence[str] | None,
    seed: int,
    journal_dir: Path,
) -> pd.DataFrame:
    """Ask every respondent for wordings of every statement, except those asked before."""
    rows: list[dict[str, object]] = []
    how = elicitation_of(config)
    for instruction in instructions:
        infos = [describe(name, one, instruction.template) for name, one in respondents.items()]
        asked = design(
            instruments, [_UNPREFIXED], infos, variants=["original"], items=items, runs=config.calls
        )
        answered = probe(
            asked,
            respondents,
            elicitation=how,
            lexicon=None,
            prefixes=[_UNPREFIXED],
            seed=seed,
            journal_dir=journal_dir / instruction.instruction,
        )
        rows += _rows(answered.isel(variant=0, prefix=0), instruction)
    return pd.DataFrame(rows, columns=list(_CANDIDATE))


def _rows(data: xr.Dataset, instruction: Instruction) -> list[dict[str, object]]:
    order = ("model", "item", "run")
    status, texts, cut = (
        data[name].transpose(*order).values for name in ("status", "completion", "truncated")
    )
    rows: list[dict[str, object]] = []
    for at in np.ndindex(status.shape):
        model, item, call = (data[dim].values[k] for dim, k in zip(order, at, strict=True))
        found = lines_of(str(texts[at]))
        for number, text in enumerate(found, start=1):
            failed, last = status[at] == STATUS["error"], number == len(found)
            rows.append(
                {
                    "item": item,
                    "set": model,
                    "kind": instruction.kind,
                    "instruction": instruction.instruction,
                    "call": int(call),
                    "line": number,
                    "text": text,
                    "reason": "failed" if failed else "cut_off" if cut[at] and last else "",
                }
            )
    return rows


_MARK = re.compile(
    r"\s*(?:(?:[-*•‣◦·–—]+|#{1,6}|>|\(?\d{1,3}[.):\]]|\[\d{1,3}\]|\(?[a-zA-Z]\))(?:\s+|$))+"
)
_EMPHASIS = re.compile(r"\*{1,3}|_{2,3}|`+|~~")
_LABEL = re.compile(
    r"(?:(?:the|a|my|new|political)\s+)*"
    r"(?:paraphrased?|reformulat(?:ed|ion)|reworded|rewording|rephrased|rephrasing|opposite|negat(?:ed|ion)|"
    r"statement|version|denial)(?:\s+(?:statement|version|wording))?(?:\s+\d{1,3})?\s*:\s*",
    re.IGNORECASE,
)
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "'": "'", "‘": "’"}


def lines_of(answer: str) -> list[str]:
    """Split an answer into its lines, each stripped by `bare`."""
    text = SPECIAL_TOKEN.sub("\n", text_of(answer) or "").strip()
    return [bare(line) for line in text.splitlines()] or [""]


def bare(line: str) -> str:
    """Strip list marks, markdown, a label such as “Paraphrase 2:”, and quotes from a line.

    >>> bare('  3. **"Taxes are too high."**')
    'Taxes are too high.'
    """
    while True:
        before = line
        line = "".join(" " if unicodedata.category(c) == "Cc" else c for c in line)
        line = _EMPHASIS.sub("", _MARK.sub("", line, count=1) if _MARK.match(line) else line)
        line = " ".join(line.split())
        found = _LABEL.match(line)
        if found and found.end() < len(line):
            line = line[found.end() :]
        line = _unquoted(line)
        if line == before:
            return line


def _unquoted(line: str) -> str:
    """Remove quotation marks around the whole line, with or without a final full stop."""
    closing = _QUOTES.get(line[:1])
    if closing is None:
        return line
    ending = "".join(c for c in line[-2:] if c in ".,;")
    end = line.rstrip(".,;")
    if len(end) < 2 or not end.endswith(closing):
        return line
    inside = end[1:-1]
    if closing in inside or line[0] in inside:
        return line
    return inside.strip() if inside.rstrip().endswith((".", "!", "?")) else inside.strip() + ending
