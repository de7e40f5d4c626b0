"""Published figures of studies, for comparison with a run's."""

import pandas as pd

from polbayes.config.resources import folder
from polbayes.config.schema import STUDIES
from polbayes.errors import check_known

NAMES = {
    "faulborn": "Faulborn et al. (2025)",
    "haller": "Haller et al. (2024)",
    "lunardi": "Lunardi et al. (2024)",
}


def load_published(study: str) -> pd.DataFrame:
    """Load the published figures of a study."""
    check_known("study", study, known=STUDIES)
    path = folder("data") / "published" / f"{study}.csv"
    return pd.read_csv(path, comment="#", keep_default_na=False, na_values=[""])


def published_at(study: str, at: str) -> pd.DataFrame:
    """Return a study's numbers of one figure or table, without unused columns."""
    table = load_published(study)
    return table[table["at"] == at].drop(columns="at").dropna(axis="columns", how="all")
