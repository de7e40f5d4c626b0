"""One label per answer from several: by majority, or by a third person without one."""

from collections import Counter
from collections.abc import Mapping

import pandas as pd

MAJORITY, THIRD, OPEN = "majority", "adjudicated", "open"


def adjudicate(labels: pd.DataFrame, decided: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Decide the label of every answer.

    `labels` is indexed by id, with a column per annotator and None for missing labels; `decided`
    are a third person's labels for answers without a majority. Returns ``label`` (None if open),
    ``by`` (a majority is a label more frequent than any other, given by at least two annotators
    unless there is only one) and ``votes``, the labels in alphabetical order.
    """
    least = min(2, len(labels.columns))
    rows = []
    for name, given in zip(labels.index, labels.to_numpy(dtype=object), strict=True):
        votes = sorted(x for x in given if isinstance(x, str))
        label: str | None = _winner(votes) if len(votes) >= least else None
        by = MAJORITY
        if label is None:
            label = (decided or {}).get(name)
            by = OPEN if label is None else THIRD
        rows.append({"label": label, "by": by, "votes": ", ".join(votes)})
    table = {key: [row[key] for row in rows] for key in ("label", "by", "votes")}
    return pd.DataFrame(table, index=labels.index, dtype=object)


def _winner(votes: list[str]) -> str | None:
    ranked = Counter(votes).most_common(2)
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return None
    return ranked[0][0]
