"""The chance of finding the effect of a prefix, by the D-study."""

import numpy as np
from scipy.stats import norm

from polbayes.config.schema import PlanConfig
from polbayes.fit.posterior.generalizability import RUN, Plan, Scores, left_of
from polbayes.fit.posterior.measurement_design import TOTAL, average


def prefix_power(
    scores: Scores, plan: Plan, wanted: PlanConfig, *, level: float, rope: float
) -> np.ndarray:
    """Compute the chance that the effect of one prefix on one model's leaning is found.

    With v the error variance of the model's score under one prefix, over all dimensions, and n
    prefixes, the difference of one score from their mean has the variance s² = v (1 - 1 / n). The
    hierarchical model shrinks it by w = t² / (t² + v), where t² is the variance of prefix effects
    that such a study would find: that of the pilot, and what the sought effect d adds to it,
    d² n / (n - 1)². The effect is found if its interval is beyond the region [-rope, rope]:

        P = Φ((w d - rope - z √w s) / (w s))

    Parameters
    ----------
    scores
        Variances of effects, draw by draw.
    plan
        Numbers of questions; its items are those of all dimensions.
    wanted
        Size and scale of the effect, and what counts as found.
    level
        Probability of the interval.
    rope
        On the bias scale.

    Returns
    -------
    numpy.ndarray
        ``[draw]`` probabilities; 0 with a single prefix.
    """
    at = scores.measures.index(TOTAL) if TOTAL in scores.measures else 0
    number = plan.prefixes
    if number < 2:
        return np.zeros(len(scores.universe))
    single = Plan(plan.items, plan.wordings, 1, plan.runs)
    spread, error = np.zeros(len(scores.universe)), np.zeros(len(scores.universe))
    for source in scores.sources:
        if not {"prefix", RUN} & source.facets:
            continue
        if source.facets == {"prefix"}:
            spread += source.variance[:, at] * (source.relative and not source.asked)
        else:
            error += left_of(source, single) * source.variance[:, at]
    to_bias = np.sqrt(average(scores.slope[:, :, at] ** 2, axis=1))
    unit = to_bias if wanted.scale == "bias" else np.ones_like(to_bias)
    effect = wanted.effect / unit
    region = rope / unit if wanted.found == "verdict" else 0.0
    spread = spread + effect**2 * number / (number - 1) ** 2
    shrunk = spread / (spread + error)
    own = np.sqrt(error * (1 - 1 / number))
    z = norm.ppf((1 + level) / 2)
    beyond = shrunk * effect - region - z * np.sqrt(shrunk) * own
    return np.asarray(norm.cdf(beyond / (shrunk * own)))
