"""What the report of a roleplay is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polbayes.roleplay.texts import Texts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

SIGN = (
    "Positive is liberal (left), negative is conservative (right), as PoliticsBench has it; on the "
    "scales of polbayes' questionnaires it is the other way round."
)
# How the units are called in figures and tables.
UNIT_NAMES = {
    "baseline": "plain question",
    "initial_conflict": "1 conflict",
    "conflicting_loyalties": "2 loyalties",
    "external_pressure": "3 pressure",
    "resolution_and_cost": "4 resolution",
    "reflection": "reflection",
    "stages": "mean of the four stages",
}


@dataclass(frozen=True)
class RatingsResults:
    """Finished results of one roleplay.

    Parameters
    ----------
    title, description, name, command, created, duration, config_yaml, provenance
        As of `polbayes.report.results.Results`.
    transcripts, ratings
        See `polbayes.roleplay.transcripts` and `polbayes.roleplay.rated`.
    tables
        See `polbayes.roleplay.tables`.
    level
        Coverage of their intervals.
    texts
        What was put around the scenarios, and what judges were asked.
    exclusions, notes
        What is not in the numbers, and what else is to be known, in sentences.
    verdict, verdict_sentences
        Whether the draws of the many-facet model can be used, and why; empty where there is none.
    """

    title: str
    description: str
    name: str
    command: str
    created: str
    transcripts: "xr.Dataset"
    ratings: "xr.Dataset"
    tables: "Mapping[str, pd.DataFrame]"
    level: float
    texts: Texts
    exclusions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    config_yaml: str = ""
    provenance: dict[str, str] = field(default_factory=dict)
    duration: str = ""
    verdict: str = ""
    verdict_sentences: list[str] = field(default_factory=list)

    def table(self, name: str) -> "pd.DataFrame | None":
        """Return the table of that name, or None where it is absent or empty."""
        table = self.tables.get(name)
        return None if table is None or table.empty else table


def readable(value: str) -> str:
    """Write the name of a value, stage or measure in words."""
    return UNIT_NAMES.get(value, value.replace("_", " "))


def one_twin(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of both twins together, or of the only one that was played."""
    twins = table["twin"].unique().tolist()
    return table[table["twin"] == ("both" if "both" in twins else twins[0])]
