"""The classical measures by name; other packages add theirs by entry points of the group."""

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
    "polbayes.measures", "measure", {name: f"{_HERE}.{name}:MEASURE" for name in _OWN}
)


def compute_all(job: Job) -> dict[str, pd.DataFrame]:
    """Compute every measure that a dataset allows."""
    tables: dict[str, pd.DataFrame] = {}
    for name, measure in MEASURES.items():
        found = measure.compute(job)
        twice = sorted(set(found) & set(tables))
        if twice:
            raise UserError(
                f"measure '{name}': its table '{twice[0]}' has the name of another measure's; "
                "rename it."
            )
        tables |= found
    return tables
