"""Whether models lean alike in every language."""

from polbayes.report.section import SectionMaker
from polbayes.report.sections.modes import languages

SECTION = SectionMaker("Languages", languages, optional=True)
