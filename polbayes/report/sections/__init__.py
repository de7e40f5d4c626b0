"""The sections of a run's report; other packages add theirs by entry points."""

from polbayes.config.registry import Registry
from polbayes.report.section import SectionMaker

_REPORT = "polbayes.report"
# In the order of the page; sections of other packages come before the last.
_OWN = (
    *("comparison", "study", "headline", "ranking", "over_time", "issues", "reference"),
    *("planted", "populations", "dif"),
    *("decisiveness", "predictors", "coefficients", "instruments", "modes", "languages", "bias"),
    *("prefixes", "sensitivity", "flips", "consistency", "acquiescence", "variance", "precision"),
    *("items", "validity", "adaptive", "diagnostics", "priors", "checks", "prompts", "model"),
    "rerun",
)

SECTIONS: Registry[SectionMaker] = Registry(
    "polbayes.sections",
    "section",
    {
        name: f"{_REPORT}.studies:SECTION"
        if name == "study"
        else f"{_REPORT}.sections.{name}:SECTION"
        for name in _OWN
    },
)


def in_order() -> list[SectionMaker]:
    """Return all sections in the order of the page."""
    from polbayes.report.sections.declared import declared_sections

    *before, last = _OWN
    others = [name for name in SECTIONS if name not in _OWN]
    first = [SECTIONS[name] for name in (*before, *others)]
    return [*first, *declared_sections(), SECTIONS[last]]
