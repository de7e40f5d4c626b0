"""The definition of a section of a run's report."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from polbayes.report.blocks import Section
from polbayes.report.prose import Noun
from polbayes.report.results import Results


@dataclass(frozen=True)
class SectionMaker:
    """A section of a run's report.

    Parameters
    ----------
    name
        Its name in the list of absent sections, with ``{who.many}`` where it names the respondents.
    make
        Makes the section; None if the results have nothing for it.
    analysis
        The only kind of analysis that can have it; empty for both.
    joint
        Whether it needs an analysis on one scale, which unlinked runs lack.
    optional
        Whether it is shown on request only, and is otherwise not listed as absent.
    """

    name: str
    make: Callable[[Results], Section | None]
    analysis: Literal["", "ideology", "mixed"] = ""
    joint: bool = False
    optional: bool = False

    def named(self, who: Noun) -> str:
        """Return its name in a report of certain respondents."""
        return self.name.format(who=who)

    def missed(self, results: Results) -> bool:
        """Return whether the analysis could have had the section."""
        if self.optional:
            return False
        if results.unlinked:
            return not (self.joint or self.analysis)
        return self.analysis != ("ideology" if results.mixed else "mixed")
