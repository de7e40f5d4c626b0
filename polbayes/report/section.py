"""What makes a section of a run's report."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from polbayes.report.blocks import Section
from polbayes.report.results import Results


@dataclass(frozen=True)
class SectionMaker:
    """What makes a section of a run's report.

    Parameters
    ----------
    name
        What the reader is told is absent where there is nothing to show.
    make
        Makes the section; None where the results have nothing for it.
    analysis
        The kind of analysis that alone can have it; empty for both.
    joint
        Whether it needs an analysis on one scale, which runs that share nothing have not.
    optional
        Whether it is shown only where it was asked for, so that it is not missed otherwise.
    """

    name: str
    make: Callable[[Results], Section | None]
    analysis: Literal["", "ideology", "mixed"] = ""
    joint: bool = False
    optional: bool = False

    def missed(self, results: Results) -> bool:
        """Tell whether the analysis could have had the section."""
        if self.optional:
            return False
        if results.unlinked:
            return not (self.joint or self.analysis)
        return self.analysis != ("ideology" if results.mixed else "mixed")
