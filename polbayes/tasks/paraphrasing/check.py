"""The meaning of wordings: natural-language inference in both directions, and a judge.

A paraphrase must entail the statement and be entailed by it; a negation or an opposite must
contradict it and be contradicted by it. The smaller of the two probabilities is the wording's
``relation``, which is compared with a threshold. A judge is any respondent; it gets both statements
and a fixed rubric (`data/instructions.yaml`) and answers with one word.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.coding.registry import get_coder, resolve
from polbayes.config.schema import CoderConfig, ElicitationConfig, RespondentConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.errors import UserError, check_known
from polbayes.instrument.prompts import Template
from polbayes.instrument.wordings import KINDS
from polbayes.judging.engine import Judge, Task
from polbayes.judging.rubric import pair_digest
from polbayes.probing.dispatch import Asking
from polbayes.probing.journal import journal_path
from polbayes.respondents import describe
from polbayes.tasks.paraphrasing.instructions import rubric

EXPECTED = {kind: "same" if kind == "paraphrase" else "opposite" for kind in KINDS}
VERDICTS = ("same", "opposite", "other")
UNREAD = "unread"
# Both directions, and the probabilities of each.
SCORES = ("entails", "entailed", "contradicts", "contradicted")

_VERDICT = re.compile(rf"\b(?:{'|'.join(VERDICTS)})\b")
_JUDGING = ElicitationConfig(template="faulborn", max_new_tokens=8, top_k=1, temperature=0.0)


def nli_config(name: str, models: Mapping[str, CoderConfig]) -> CoderConfig:
    """Return the declaration of a coder for comparing two statements."""
    declared = resolve(name, models)
    if declared.kind != "nli":
        raise UserError(
            f"paraphrase.nli: '{name}' is of kind {declared.kind}; name a coder of kind nli."
        )
    plain = {"text": "{response}", "hypotheses": {"agree": "{statement}"}, "threshold": 0.0}
    return replace(declared, **plain)  # type: ignore[arg-type]


def check_least(least: Mapping[str, float]) -> None:
    """Refuse invalid thresholds."""
    check_known("kind", *least, known=KINDS, where="paraphrase.least")


def infer(
    texts: Sequence[str],
    originals: Sequence[str],
    kinds: Sequence[str],
    *,
    nli: str,
    models: Mapping[str, CoderConfig],
    journal_dir: Path,
) -> pd.DataFrame:
    """Compare candidates with their statements by natural-language inference."""
    coder = get_coder(nli, {nli: nli_config(nli, models)}, journal_dir=journal_dir)
    both = coder([*originals, *texts], [*texts, *originals]).astype(float)
    forward, backward = both[: len(texts)], both[len(texts) :]
    entail, contradict = (STANCE_CLASSES.index(name) for name in ("agree", "disagree"))
    columns = (
        forward[:, entail],
        backward[:, entail],
        forward[:, contradict],
        backward[:, contradict],
    )
    table = pd.DataFrame(dict(zip(SCORES, columns, strict=True)))
    same = np.array([EXPECTED[kind] == "same" for kind in kinds], dtype=bool)
    entailed = np.minimum(table["entails"], table["entailed"])
    return table.assign(
        relation=np.where(same, entailed, np.minimum(table["contradicts"], table["contradicted"]))
    )


def judged(
    texts: Sequence[str],
    originals: Sequence[str],
    *,
    judge: tuple[str, RespondentConfig],
    batch_size: int | None,
    seed: int,
    journal_dir: Path,
) -> list[str]:
    """Ask a respondent to judge the relation of candidates to their statements."""
    pairs = list(zip(originals, texts, strict=True))
    if not pairs:
        return []
    (name, config), text = judge, rubric()
    template = Template("judge", "open_ended", {"base": f"{text}\n", "chat": text})
    info = describe(name, config, template)
    asking = Asking(replace(_JUDGING, batch_size=batch_size), None, seed)
    tasks = {
        pair_digest(*pair): Task(pair_digest(*pair), "First: {}\nSecond: {}".format(*pair))
        for pair in pairs
    }
    found = Judge("paraphrases", config, info, asking, {"options": None}).verdicts(
        tasks,
        lambda key, said, attempt: [tasks[key]],
        lambda task, record: verdict(record["text"]) if record["status"] == "ok" else UNREAD,
        journal=journal_path(journal_dir, name),
    )
    return [found[pair_digest(*pair)][0] for pair in pairs]


def verdict(answer: str) -> str:
    """Read a judge's answer: the one word of the rubric that it contains.

    >>> verdict("**SAME**."), verdict("same or opposite")
    ('same', 'unread')
    """
    named = set(_VERDICT.findall(answer.casefold()))
    return named.pop() if len(named) == 1 else UNREAD
