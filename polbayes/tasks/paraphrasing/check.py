"""Does a wording mean what it should? Natural-language inference both ways, and a judge.

A paraphrase has to entail the statement and be entailed by it; a negation or an opposite has to
contradict it and be contradicted by it. The smaller of the two probabilities is the wording's
``relation``, which is held against a threshold. A judge is any respondent, who is given both
statements and a fixed rubric (`data/instructions.yaml`) and answers with one word.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polbayes.coding.registry import get_coder, resolve
from polbayes.config.schema import CoderConfig, ElicitationConfig, RespondentConfig
from polbayes.data.dataset import STANCE_CLASSES, STATUS
from polbayes.errors import UserError, unknown
from polbayes.instrument.design import design
from polbayes.instrument.prompts import Prefix, Template
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.instrument.wordings import KINDS
from polbayes.probing.probe import model_info, probe
from polbayes.tasks.paraphrasing.instructions import rubric

if TYPE_CHECKING:
    import pandas as pd

EXPECTED = {kind: "same" if kind == "paraphrase" else "opposite" for kind in KINDS}
VERDICTS = ("same", "opposite", "other")
UNREAD = "unread"
# Candidate to statement and back, and what of either is probable.
SCORES = ("entails", "entailed", "contradicts", "contradicted")

_VERDICT = re.compile(rf"\b(?:{'|'.join(VERDICTS)})\b")
_JUDGING = ElicitationConfig(template="faulborn", max_new_tokens=8, top_k=1, temperature=0.0)


def nli_config(name: str, models: Mapping[str, CoderConfig]) -> CoderConfig:
    """Return the declaration of a coder as it compares two statements.

    Raises
    ------
    UserError
        If there is no such coder, or it is not of kind nli.
    """
    declared = resolve(name, models)
    if declared.kind != "nli":
        raise UserError(
            f"paraphrase.nli: '{name}' is of kind {declared.kind}; name a coder of kind nli."
        )
    plain = {"text": "{response}", "hypotheses": {"agree": "{statement}"}, "threshold": 0.0}
    return replace(declared, **plain)  # type: ignore[arg-type]


def check_least(least: Mapping[str, float]) -> None:
    """Refuse thresholds that are none.

    Raises
    ------
    UserError
        For a kind that is none.
    """
    for kind in least:
        if kind not in KINDS:
            raise unknown("kind", kind, KINDS, where="paraphrase.least")


def infer(
    texts: Sequence[str],
    originals: Sequence[str],
    kinds: Sequence[str],
    *,
    nli: str,
    models: Mapping[str, CoderConfig],
    journal_dir: Path,
) -> "pd.DataFrame":
    """Compare candidates with their statements by natural-language inference.

    Parameters
    ----------
    texts, originals, kinds
        Of each candidate.
    nli, models
        The coder and the declared ones.
    journal_dir
        Where what it reads is kept, so that nothing is read twice.

    Returns
    -------
    pandas.DataFrame
        One row a candidate, probabilities in [0, 1]: ``entails`` and ``contradicts`` with the
        candidate as premise, ``entailed`` and ``contradicted`` with the statement as premise, and
        ``relation``, the smaller of the two that its kind is about. NaN where it cannot be read.

    Raises
    ------
    UserError
        If the checkpoint cannot be used.
    """
    import pandas as pd

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
    """Have a respondent judge how candidates relate to their statements.

    Parameters
    ----------
    texts, originals
        Of each candidate.
    judge
        The respondent's name and who it is. It answers greedily.
    batch_size
        Of its questions.
    seed
        Of the run.
    journal_dir
        Where its answers are kept, so that no pair is judged twice.

    Returns
    -------
    list of str
        For each candidate one of `VERDICTS`, or `UNREAD` where the answer names none or several.

    Raises
    ------
    UserError, KeyboardInterrupt
        As `polbayes.probing.probe.probe` does.
    """
    name, config = judge
    pairs = {_digest(pair): pair for pair in zip(originals, texts, strict=True)}
    if not pairs:
        return []
    prefix = Prefix("baseline", "", "open")
    text = rubric()
    template = Template("judge", "open_ended", {"base": f"{text}\n", "chat": text})
    asked = design(
        [Instrument("judge", "judge", "", tuple(_item(k, pair) for k, pair in pairs.items()))],
        [prefix],
        [model_info(name, config, template)],
    )
    answered = probe(
        asked,
        {name: config},
        elicitation=replace(_JUDGING, batch_size=batch_size),
        lexicon=None,
        prefixes=[prefix],
        seed=seed,
        journal_dir=journal_dir,
    ).squeeze(("model", "variant", "prefix", "run"))
    ok = answered["status"].values == STATUS["ok"]
    found = {
        str(key): verdict(str(answer)) if fine else UNREAD
        for key, answer, fine in zip(
            answered["item"].values, answered["completion"].values, ok, strict=True
        )
    }
    return [found[_digest(pair)] for pair in zip(originals, texts, strict=True)]


def verdict(answer: str) -> str:
    """Read a judge's answer: the one word of the rubric that is in it.

    Examples
    --------
    >>> verdict("**SAME**."), verdict("same or opposite")
    ('same', 'unread')
    """
    named = set(_VERDICT.findall(answer.casefold()))
    return named.pop() if len(named) == 1 else UNREAD


def _item(key: str, pair: tuple[str, str]) -> Item:
    text = f"First: {pair[0]}\nSecond: {pair[1]}"
    return Item(key, "", 0, "", (Variant("original", text, "original", 1),), {})


def _digest(pair: tuple[str, str]) -> str:
    text = "\0".join(pair).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=10).hexdigest()
