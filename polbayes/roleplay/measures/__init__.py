"""Measures of ratings by judges, after PoliticsBench.

Sign of alignment throughout: **positive is liberal (left), negative is conservative (right)**, as
published, and the reverse of the other measures of polbayes. The column ``positive`` of each table
of alignments says so. A dataset that is not one of ratings, too few judges and settings out of
range are a `UserError`.
"""

from polbayes.roleplay.measures.agreement import judge_agreement, judge_icc
from polbayes.roleplay.measures.alignment import alignment, profiles
from polbayes.roleplay.measures.data import check_ratings
from polbayes.roleplay.measures.icc import intraclass_correlations
from polbayes.roleplay.measures.judges import judge_checks, judge_effects
from polbayes.roleplay.measures.sensitivity import weight_sensitivity
from polbayes.roleplay.measures.stages import ablation, stage_curves
from polbayes.roleplay.measures.symmetry import twin_symmetry
from polbayes.roleplay.measures.wordings import wording_spread

__all__ = [
    "ablation",
    "alignment",
    "check_ratings",
    "intraclass_correlations",
    "judge_agreement",
    "judge_checks",
    "judge_effects",
    "judge_icc",
    "profiles",
    "stage_curves",
    "twin_symmetry",
    "weight_sensitivity",
    "wording_spread",
]
