"""A coder's errors by model, prefix and keying, and their effect on the bias measure.

References
----------
Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions:
comparison of eleven methods. Statistics in Medicine 17, 873-890 (method 10).
"""

from typing import Any

import numpy as np
import pandas as pd

from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import (
    Bootstrap,
    generator,
    percentile_interval,
    resample_answers,
    share,
    wilson,
)
from polbayes.tasks.validation.coded import Coded

SIDES = {-1: "left", 1: "right", 0: "none"}


def errors_table(coded: Coded, bootstrap: Bootstrap) -> pd.DataFrame:
    """Compute error rates and proportions not coded by model, prefix and keying."""
    groups = dict(coded.answers.groups)
    if coded.answers.keying is not None:
        sides = [SIDES[k] for k in coded.answers.keying.tolist()]
        groups["keying"] = np.array(sides, dtype=object)
    rows = []
    for group, values in groups.items():
        for value in dict.fromkeys(values.tolist()):
            here = values == value
            for measure, (count, n) in _error_counts(coded, here).items():
                labels = {"group": group, "value": value, "measure": measure}
                found = share(count, n, bootstrap.level)
                rows.append({"coder": coded.coder, **labels, **found})
    columns = ["coder", "group", "value", "measure", *INTERVAL, "count", "n"]
    return pd.DataFrame(rows, columns=[*columns, "level"])


def _error_counts(coded: Coded, here: np.ndarray) -> dict[str, tuple[int, int]]:
    n_coded = int((coded.is_coded & here).sum())
    wrong = n_coded - int((coded.is_right & here).sum())
    return {
        "error_rate": (wrong, n_coded),
        "share_not_coded": (int(here.sum()) - n_coded, int(here.sum())),
    }


def newcombe(
    first: tuple[int, int], second: tuple[int, int], level: float
) -> tuple[float, float, float]:
    """Compute the difference of two independent proportions with its interval."""
    if not first[1] or not second[1]:
        return np.nan, np.nan, np.nan
    a, b = first[0] / first[1], second[0] / second[1]
    (a_low, a_high), (b_low, b_high) = wilson(*first, level), wilson(*second, level)
    lower = a - b - float(np.hypot(a - a_low, b_high - b))
    return a - b, lower, a - b + float(np.hypot(a_high - a, b - b_low))


def keying_table(coded: Coded, bootstrap: Bootstrap) -> pd.DataFrame | None:
    """Compare a coder's errors on right- and left-keyed statements."""
    keying = coded.answers.keying
    if keying is None or not (keying == 1).any() or not (keying == -1).any():
        return None
    sides = [_error_counts(coded, keying == side) for side in (1, -1)]
    rows: list[dict[str, Any]] = []
    for measure, name in (("error_rate", "error_rate"), ("share_not_coded", "not_coded")):
        right, left = (side[measure] for side in sides)
        found = newcombe(right, left, bootstrap.level)
        note = "" if np.isfinite(found[0]) else "no answer of a side was coded"
        rows.append(_row(f"{name}_difference", found, right[1] + left[1], "newcombe", note))
    rows += _bias_rows(coded, keying, bootstrap)
    return pd.DataFrame(rows).assign(coder=coded.coder, level=bootstrap.level)[
        ["coder", *(c for c in rows[0] if c != "note"), "level", "note"]
    ]


def _row(
    measure: str, found: tuple[float, float, float], n: int, interval: str, note: str
) -> dict[str, Any]:
    return {
        "measure": measure,
        "estimate": found[0],
        "lower": found[1],
        "upper": found[2],
        "n": n,
        "interval": interval,
        "note": note,
    }


def _bias_rows(coded: Coded, keying: np.ndarray, bootstrap: Bootstrap) -> list[dict[str, Any]]:
    scores = coded.answers.classes.scores()
    names = ("bias_labels", "bias_coded", "bias_shift")
    by = "answers" if coded.answers.items is None else "items"
    if scores is None:
        note = "the classes do not tell agreeing and disagreeing from the rest"
        return [_row(m, (np.nan, np.nan, np.nan), 0, f"bootstrap of {by}", note) for m in names]
    sums = _sums(coded, keying, scores)
    kinds, times = np.unique(sums, axis=0, return_counts=True)
    rng = generator(bootstrap.seed, "keying", coded.coder)
    drawn = resample_answers(times, bootstrap.draws, rng) @ kinds
    estimates, draws = _biases(sums.sum(axis=0)), _biases(drawn)
    perfect = bool(coded.is_right[keying != 0].all())
    n = int(np.count_nonzero(keying))
    rows = []
    for k, name in enumerate(names):
        lower, upper, _ = percentile_interval(draws[..., k], bootstrap.level)
        note = "" if np.isfinite(estimates[k]) else "a side has no usable answer"
        if name == "bias_shift" and perfect:
            note = "no error was seen, so that resampling shows none either"
        if note:
            lower = upper = np.nan
        found = (float(estimates[k]), lower, upper)
        rows.append(_row(name, found, n, f"bootstrap of {by}", note))
    return rows


def _sums(coded: Coded, keying: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Sum the scores and the usable answers of every item by side, for labels and codes.

    Over ``item`` and eight columns: (left, right) x (label, code) x (score, usable).
    """
    items = coded.answers.items
    given = scores[coded.answers.labels]
    read = np.where(coded.is_coded, scores[coded.coded_as], np.nan)
    columns = [
        np.where((keying == side) & np.isfinite(values), part, 0.0)
        for side in (-1, 1)
        for values in (given, read)
        for part in (np.nan_to_num(values), 1.0)
    ]
    table = np.column_stack(columns)
    if items is None:
        return table
    names, which = np.unique(items.astype(str), return_inverse=True)
    out = np.zeros((len(names), table.shape[1]))
    np.add.at(out, which, table)
    return out


def _biases(sums: np.ndarray) -> np.ndarray:
    """Return bias by labels, bias by codes, and their difference over ``...`` and these three."""
    parts = sums.reshape(*sums.shape[:-1], 2, 2, 2)
    total, usable = parts[..., 0], parts[..., 1]
    net = np.full(total.shape, np.nan)
    np.divide(total, usable, out=net, where=usable > 0)
    bias = (net[..., 1, :] - net[..., 0, :]) / 2
    return np.concatenate([bias, (bias[..., 1] - bias[..., 0])[..., None]], axis=-1)
