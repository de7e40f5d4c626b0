"""The inputs of the report of a run on paired requests."""

from collections.abc import Mapping
from dataclasses import dataclass

import xarray as xr

from polbayes.report.results import Reported, facts_of

SIGN = "Negative is to the left, positive to the right."
PARTS = {
    "quality": "content",
    "hedging": "hedging",
    "compliance": "refusing",
    "length": "length",
}
SCALES = {"hedging": "Hedging", "compliance": "Compliance"}


@dataclass(frozen=True, kw_only=True)
class PairsResults(Reported):
    """Finished results of one run on paired requests."""

    verdicts: xr.Dataset  # of `polbayes.run.pairs.verdicts`
    responses: xr.Dataset
    way: str  # of giving verdicts
    rope: float = 0.1
    # What the checks of the sampler said of the run that the positions are of; empty if unknown.
    positions_verdict: str = ""

    @property
    def kicker(self) -> str:
        """What the page is about, above its title."""
        return "Even-handedness of language models"

    @property
    def facts(self) -> Mapping[str, str]:
        """Counts of what was asked and judged."""
        sizes = self.verdicts.sizes
        verdicts = int((self.verdicts["verdict_status"] == 0).sum())
        counts = {
            "models": sizes["model"],
            "pairs": sizes["item"],
            "prefixes": sizes["prefix"],
            "runs": sizes["run"],
            "judges": sizes["judge"],
            "verdicts": verdicts,
        }
        return facts_of(counts)
