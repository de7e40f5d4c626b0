"""Precision, recall, F1 and kappa of a coder, from its confusion counts.

A confusion table is over ``label, coded_as``: the classes, and in the last column the answers not
coded. Measures of *coded* answers omit that column; measures of *all* answers count it as wrong.
"""

from typing import Any

import numpy as np
import pandas as pd

from polbayes.measures.kappa import cohen_kappa
from polbayes.measures.resampling import (
    Bootstrap,
    generator,
    percentile_interval,
    resample_answers,
    share,
    wilson,
)
from polbayes.tasks.validation.coded import Coded

SCORES = {
    "share_coded": "share coded",
    "accuracy": "share right",
    "cohen_kappa": "Cohen's κ",
    "macro_f1": "macro F1",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
}
_AT_ONCE = 2_000


def confusion(coded: Coded, where: np.ndarray | None = None) -> np.ndarray:
    """Count over ``label, coded_as`` how answers were coded; the last column is not coded."""
    k = len(coded.answers.classes.names)
    use = np.ones(len(coded.coded_as), dtype=bool) if where is None else where
    columns = np.where(coded.coded_as < 0, k, coded.coded_as)
    cells = coded.answers.labels[use] * (k + 1) + columns[use]
    return np.bincount(cells, minlength=k * (k + 1)).reshape(k, k + 1)


def f1_scores(counts: np.ndarray) -> np.ndarray:
    """Compute F1 of every class: 2 TP / (2 TP + FP + FN)."""
    k = counts.shape[-2]
    support = counts.sum(axis=-1)
    below = support + counts[..., :k].sum(axis=-2)
    hits = np.diagonal(counts[..., :k], axis1=-2, axis2=-1)
    out = np.full(support.shape, np.nan)
    return np.divide(2.0 * hits, below, out=out, where=support > 0)


def macro_f1(counts: np.ndarray) -> np.ndarray:
    """Average F1 over the classes that occur as labels."""
    scores = f1_scores(counts)
    there = np.isfinite(scores)
    number = there.sum(axis=-1)
    total = np.where(there, scores, 0.0).sum(axis=-1)
    out = np.full(number.shape, np.nan)
    return np.divide(total, number, out=out, where=number > 0)


def score_table(coded: Coded, bootstrap: Bootstrap) -> pd.DataFrame:
    """Compute all scores of a coder.

    For all labels together: ``share_coded``, ``accuracy``, ``cohen_kappa``, ``macro_f1``; for each
    ``precision``, ``recall``, ``f1``. ``answers`` says whether those not coded are omitted
    (``coded``) or count as wrong (``all``). ``interval`` is ``wilson``; for F1 Wilson's of TP / (TP
    + FP + FN), of which F1 is an increasing function; or ``bootstrap``, of answers.
    """
    counts = confusion(coded)
    k = len(counts)
    drawn = _resampled(counts, bootstrap, coded.coder)
    n, n_coded = int(counts.sum()), int(counts[:, :k].sum())
    rows = [
        _share("share_coded", "", "all", n_coded, n, bootstrap),
        _share("accuracy", "", "coded", int(np.trace(counts)), n_coded, bootstrap),
        _share("accuracy", "", "all", int(np.trace(counts)), n, bootstrap),
        _drawn("cohen_kappa", "coded", counts[:, :k], drawn[..., :k], bootstrap),
        _drawn("macro_f1", "coded", counts[:, :k], drawn[..., :k], bootstrap),
        _drawn("macro_f1", "all", counts, drawn, bootstrap),
    ]
    for at, label in enumerate(coded.answers.classes.names):
        hits, predicted = int(counts[at, at]), int(counts[:, at].sum())
        rows.append(_share("precision", label, "coded", hits, predicted, bootstrap))
        for answers, table in (("coded", counts[:, :k]), ("all", counts)):
            support = int(table[at].sum())
            rows.append(_share("recall", label, answers, hits, support, bootstrap))
            rows.append(_f1(label, answers, hits, support, predicted, bootstrap))
    return pd.DataFrame(rows).assign(coder=coded.coder)[["coder", *(c for c in rows[0])]]


def _resampled(counts: np.ndarray, bootstrap: Bootstrap, *names: object) -> np.ndarray:
    rng = generator(bootstrap.seed, "validation", *names)
    return resample_answers(counts, bootstrap.draws, rng)


def macro_f1_interval(
    counts: np.ndarray, bootstrap: Bootstrap, *names: object
) -> tuple[float, float]:
    """Return the bootstrap interval of macro F1; NaN if no answer was coded wrongly."""
    if not counts.sum() or np.trace(counts) == counts.sum():
        return np.nan, np.nan
    drawn = _resampled(counts, bootstrap, *names)
    values = [macro_f1(drawn[at : at + _AT_ONCE]) for at in range(0, len(drawn), _AT_ONCE)]
    lower, upper, _ = percentile_interval(np.concatenate(values), bootstrap.level)
    return lower, upper


def _row(measure: str, label: str, answers: str, bootstrap: Bootstrap) -> dict[str, Any]:
    return {
        "measure": measure,
        "label": label,
        "answers": answers,
        "estimate": np.nan,
        "lower": np.nan,
        "upper": np.nan,
        "count": np.nan,
        "n": 0,
        "interval": "wilson",
        "level": bootstrap.level,
        "note": "",
    }


def _share(
    measure: str, label: str, answers: str, count: int, n: int, bootstrap: Bootstrap
) -> dict[str, Any]:
    row = _row(measure, label, answers, bootstrap)
    return row | share(count, n, bootstrap.level) | {"note": "" if n else _WHY[measure]}


_WHY = {
    "share_coded": "there are no answers",
    "accuracy": "no answer was coded",
    "precision": "no answer was coded as this",
    "recall": "no such answer has this label",
}


def _f1(
    label: str, answers: str, hits: int, support: int, predicted: int, bootstrap: Bootstrap
) -> dict[str, Any]:
    row = _row("f1", label, answers, bootstrap) | {"interval": "wilson of the overlap"}
    if not support:
        return row | {"note": _WHY["recall"]}
    # The overlap: answers labelled and coded as this, of those labelled or coded so.
    either = support + predicted - hits
    bounds = [2 * end / (1 + end) for end in wilson(hits, either, bootstrap.level)]
    estimate = 2 * hits / (support + predicted)
    return row | {"estimate": estimate, "lower": bounds[0], "upper": bounds[1], "n": either}


def _drawn(
    measure: str, answers: str, counts: np.ndarray, drawn: np.ndarray, bootstrap: Bootstrap
) -> dict[str, Any]:
    compute = {"cohen_kappa": cohen_kappa, "macro_f1": macro_f1}[measure]
    row = _row(measure, "", answers, bootstrap) | {"interval": "bootstrap"}
    estimate, n = float(compute(counts)), int(counts.sum())
    lower, upper, _ = percentile_interval(np.asarray(compute(drawn)), bootstrap.level)
    note = ""
    if np.isnan(estimate):
        note = "only one label occurs" if n else "no answer was coded"
    elif np.trace(counts) == n:
        note = "no answer was coded wrongly, so that resampling shows no error either"
    bounds = {"lower": np.nan, "upper": np.nan} if note else {"lower": lower, "upper": upper}
    return row | {"estimate": estimate, "n": n, "note": note} | bounds
