"""The effect of dropping answers below a confidence (Faulborn et al. 2025, Figure 3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from polbayes.measures.resampling import Bootstrap, wilson
from polbayes.tasks.validation.coded import Coded
from polbayes.tasks.validation.scores import confusion, macro_f1, macro_f1_interval

_THRESHOLDS = (*np.linspace(0, 0.95, 20).round(2).tolist(), 0.99)


def threshold_table(
    coded: Coded, bootstrap: Bootstrap, thresholds: Sequence[float] | None = None
) -> pd.DataFrame:
    """Compute macro F1 and the proportion kept by confidence threshold."""
    rows = []
    total, k = len(coded.coded_as), len(coded.answers.classes.names)
    for threshold in sorted(set(_THRESHOLDS if thresholds is None else thresholds)):
        kept = coded.is_coded & (np.nan_to_num(coded.confidence, nan=-1.0) >= threshold)
        counts = confusion(coded, kept)[:, :k]
        n, classes = int(kept.sum()), int((counts.sum(axis=1) > 0).sum())
        found: dict[str, tuple[Any, float, float]] = {
            "macro_f1": (macro_f1(counts), *macro_f1_interval(counts, bootstrap, coded.coder)),
            "share_kept": (n / total, *wilson(n, total, bootstrap.level)),
        }
        for measure, (estimate, lower, upper) in found.items():
            rows.append(
                {
                    "coder": coded.coder,
                    "threshold": float(threshold),
                    "measure": measure,
                    "estimate": float(estimate),
                    "lower": lower,
                    "upper": upper,
                    "n": n if measure == "macro_f1" else total,
                    "n_classes": classes,
                    "interval": "bootstrap" if measure == "macro_f1" else "wilson",
                    "level": bootstrap.level,
                }
            )
    return pd.DataFrame(rows)
