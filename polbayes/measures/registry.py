"""The classical measures by name; other packages add theirs by entry points of the group."""

from collections.abc import Callable, Iterable

import pandas as pd

from polbayes.config.registry import Registry
from polbayes.errors import UserError
from polbayes.measures.measure import Job, Measure

_HERE = "polbayes.measures"
_OWN = (
    *("bias", "validity", "agreement", "consistency", "compass", "prefix_shift", "contrasts"),
    *("ranks", "stability", "paraphrases", "text_features", "scores"),
)

MEASURES: Registry[Measure] = Registry(
    "polbayes.measures",
    "measure",
    {name: f"{_HERE}.{name}:MEASURE" for name in _OWN}
    | {"item_instability": f"{_HERE}.paraphrases:OVER_MODELS"},
)


def compute_all(models: Iterable[Job], whole: Callable[[], Job]) -> dict[str, pd.DataFrame]:
    """Compute every measure that a dataset allows, model by model where that is the same."""
    measures = dict(MEASURES.items())
    found: dict[str, dict[str, list[pd.DataFrame]]] = {name: {} for name in measures}
    for job in models:
        for name, measure in measures.items():
            if measure.by_model:
                for table, rows in measure.compute(job).items():
                    found[name].setdefault(table, []).append(rows)
    job = whole()
    tables: dict[str, pd.DataFrame] = {}
    for name, measure in measures.items():
        parts = found[name]
        if not measure.by_model:
            parts = {table: [rows] for table, rows in measure.compute(job).items()}
        twice = sorted(set(parts) & set(tables))
        if twice:
            raise UserError(
                f"measure '{name}': its table '{twice[0]}' has the name of another measure's; "
                "rename it."
            )
        tables |= {table: _under_each_other(rows) for table, rows in parts.items()}
    return tables


def _under_each_other(tables: list[pd.DataFrame]) -> pd.DataFrame:
    filled = [table for table in tables if len(table)] or tables[:1]
    return filled[0] if len(filled) == 1 else pd.concat(filled, ignore_index=True)
