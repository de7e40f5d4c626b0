"""Measures of ratings by judges, after PoliticsBench.

Sign of alignment throughout: **positive is liberal (left), negative is conservative (right)**,
as it is published, and the reverse of the other measures of polbayes. Each table of alignments
has a column ``positive``, which says so.
"""

from polbayes.measures.ratings.agreement import judge_agreement, judge_icc
from polbayes.measures.ratings.alignment import alignment, profiles
from polbayes.measures.ratings.data import check_ratings, ratings_from_table, self_weights
from polbayes.measures.ratings.icc import intraclass_correlations
from polbayes.measures.ratings.judges import judge_checks, judge_effects
from polbayes.measures.ratings.sensitivity import weight_sensitivity
from polbayes.measures.ratings.stages import ablation, stage_curves
from polbayes.measures.ratings.symmetry import twin_symmetry
from polbayes.measures.ratings.wordings import wording_spread

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
    "ratings_from_table",
    "self_weights",
    "stage_curves",
    "twin_symmetry",
    "weight_sensitivity",
    "wording_spread",
]
