"""Asking respondents for wordings: the statements are the items, the calls are the runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import ElicitationConfig, ParaphraseConfig, RespondentConfig
from polbayes.data.dataset import STATUS
from polbayes.instrument.design import design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument
from polbayes.probing.probe import probe
from polbayes.respondents import describe
from polbayes.tasks.paraphrasing.instructions import Instruction
from polbayes.tasks.paraphrasing.lines import lines_of

# Only says which respondents can be asked for free text at all; the prompt is the instruction.
_TEMPLATE = "faulborn"
_UNPREFIXED = Prefix("baseline", "", "open")
CANDIDATE = ("item", "set", "kind", "instruction", "call", "line", "text", "reason")


def elicitation_of(config: ParaphraseConfig) -> ElicitationConfig:
    """Return how the respondents are asked."""
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
    """Ask every respondent for wordings of every statement, what was asked before left out."""
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
    return pd.DataFrame(rows, columns=list(CANDIDATE))


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
