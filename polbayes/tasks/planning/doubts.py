"""Where a D-study does not apply, so that designs are simulated."""

import numpy as np

from polbayes.fit.posterior.generalizability import Scores
from polbayes.fit.posterior.measurement_design import average
from polbayes.fit.spec.spec import Spec

# Fewer models, or statements on a dimension, leave the spreads themselves uncertain, which the
# D-study takes as known (`benchmarks/plan.py`).
FEW_MODELS, FEW_ITEMS = 4, 20
# Where the slope of the answers of one model is so many times that of another, a mean slope
# describes neither.
_UNEVEN = 3.0


def doubts(spec: Spec, scores: Scores, *, models: int, items: int, assumed: bool) -> list[str]:
    """Say why the D-study of a design is not to be trusted; nothing if it is.

    Parameters
    ----------
    spec
        The analysis.
    scores
        What is known.
    models, items
        Numbers of models, and of statements on each dimension.
    assumed
        Whether the scores are from priors.
    """
    found = []
    if assumed:
        found.append("priors, under which models and their answers differ widely")
    if models < FEW_MODELS:
        found.append(f"fewer than {FEW_MODELS} models")
    if items < FEW_ITEMS:
        found.append(f"fewer than {FEW_ITEMS} statements on a dimension")
    if not (spec.observation.counts or spec.observation.latent):
        found.append("answers that are linear in the predictor neither as they are nor as logits")
    slope = average(scores.slope, axis=0)
    if np.nanmax(slope) > _UNEVEN * np.nanmin(slope):
        found.append("models whose answers hardly change with their positions")
    return found


def unsimulated(spec: Spec) -> str:
    """Say why studies with an analysis cannot be simulated; empty if they can."""
    if spec.misclassification is not None:
        return "the errors of a coder"
    if spec.signed or spec.referred or spec.reference or spec.populations:
        return "anchors, references or populations, which are models by name"
    if any(group.walk for formula in spec.parts.values() for group in formula.groups):
        return "random walks over time"
    return "statements that differ between groups" if "dif" in spec.parts else ""
