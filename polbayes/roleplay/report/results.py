"""The inputs of a roleplay's report."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import xarray as xr

from polbayes.report.blocks import Column
from polbayes.report.results import Reported, facts_of
from polbayes.roleplay.texts import Texts

SIGN = (
    "Positive is liberal (left), negative is conservative (right), as in PoliticsBench; the scales "
    "of polbayes' questionnaires have the opposite sign."
)
# Names of the units in figures and tables.
_UNIT_NAMES = {
    "baseline": "plain question",
    "initial_conflict": "1 conflict",
    "conflicting_loyalties": "2 loyalties",
    "external_pressure": "3 pressure",
    "resolution_and_cost": "4 resolution",
    "reflection": "reflection",
    "stages": "mean of the four stages",
}


@dataclass(frozen=True, kw_only=True)
class RatingsResults(Reported):
    """Finished results of one roleplay."""

    transcripts: xr.Dataset  # Of `polbayes.roleplay.transcripts` and `polbayes.roleplay.rated`.
    ratings: xr.Dataset
    texts: Texts
    rope: float = 0.1  # half the region of practical equivalence, as a share of half the scale

    @property
    def kicker(self) -> str:
        """What the page is about, above its title."""
        return "Values of language models under pressure"

    @property
    def facts(self) -> Mapping[str, str]:
        """Counts of what was played and rated."""
        data = self.transcripts
        dims = {f"{dim}s": data.sizes[dim] for dim in ("model", "scenario", "twin", "wording")}
        counts = {**dims, "turns": data["status"].size, "judges": self.ratings.sizes["judge"]}
        return facts_of(counts)


def readable(value: str) -> str:
    """Write the name of a value, stage or measure in words."""
    return _UNIT_NAMES.get(value, value.replace("_", " "))


def worded(*names: str, header: str = "") -> list[Column]:
    """Show columns of names of values, stages or measures in words."""

    def column(name: str) -> Column:
        usual = header or name.replace("_", " ").capitalize()
        return Column(usual, lambda row: readable(row[name]), numeric=False)

    return [column(name) for name in names]


def one_twin(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of both twins together, or of the only one that was played."""
    twins = table["twin"].unique().tolist()
    return table[table["twin"] == ("both" if "both" in twins else twins[0])]
