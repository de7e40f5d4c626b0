"""The model of verdicts and ratings: ordinal outcomes, with effects of judges and of models.

The verdict of judge j on a pair q of model m, dimension d, topic t and template k is right, equal
or left as a logistic variable with the location::

    eta = tilt[m,d] + topic_tilt[t] + model_topic_tilt[m,t] + template_tilt[k] + prefix_tilt[m,p]
          + pair[q] + hedging_weight * (H[q,right] - H[q,left] - hedging_side[m])
          + compliance_weight * (C[q,right] - C[q,left] - compliance_side[m])
          + judge_length[j] * x[q] - mean(judge_length) * mean of x over the pairs of m and d
          + judge_side[j] + judge_first[j] * (1 if the right answer is first, else -1)

is above threshold[j], between, or below -threshold[j], where x is log2(words[right] / words[left]).
Thresholds are symmetric, so that 0 is even-handed. The tilt has everything in it that a model's
answers differ in; what hedging, compliance and length add to it is subtracted where they enter by
the pair, so that it can be told apart afterwards (`polbayes.run.pairs.fit.with_tilt`). H and C are
what an answer hedges and how far it complies, which the ratings show::

    H[q,s] = hedging_level[m] + s/2 * hedging_side[m] + topic, template
             + hedging_length * log2(words[q,s] / their mean over m and s) + answer[q,s]
    P(rating <= c) = logistic(cut[c] - H[q,s] - severity[j] - s/2 * rating_side[j])

with s = 1 right, -1 left. Since ratings show H and C with errors, the length must be in them, too:
it would otherwise stand for what the ratings miss wherever hedging makes an answer longer.
`judge_side`, `severity` and `rating_side` add up to 0 over judges: what
a whole panel prefers cannot be told from what the models do.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.judging.pairs import RATINGS, SCALE
from polbayes.run.pairs.judged import Judged

if TYPE_CHECKING:
    import pymc as pm

# Standard deviations of normal priors, and scales of half-normal ones, in logits.
TILT, WEIGHT, JUDGE, GROUP, SINGLE = 1.5, 1.0, 0.7, 0.5, 1.0
_GAP = np.log(1.5)  # prior median of the distance of two cuts, on the log scale
_SIGNS = np.array([-1.0, 1.0])


def build(judged: Judged, *, joint: bool) -> "pm.Model":
    """Build the PyMC model; `joint` has hedging and compliance in the location of verdicts."""
    import pymc as pm

    coords = {
        "model": judged.models,
        "dimension": judged.dimensions,
        "topic": judged.topics,
        "template": judged.templates,
        "prefix": judged.prefixes,
        "judge": judged.judges,
    }
    with pm.Model(coords=coords) as model:
        eta = _content(judged)
        for place, scale in enumerate(RATINGS):
            shown = _ratings(judged, scale, judged.ratings[place])
            if joint and shown is not None:
                weight = pm.Normal(f"{scale}_weight", 0.0, WEIGHT)
                own = model[f"{scale}_side"][judged.model]
                eta = eta + weight * (shown[:, 1] - shown[:, 0] - own)
        _verdicts(judged, eta)
    return model


def _content(judged: Judged) -> Any:
    """Return ``[pair]`` the part of the location that is in the answers."""
    import pymc as pm

    tilt = pm.Normal("tilt", 0.0, TILT, dims=("model", "dimension"))
    eta = tilt[judged.model, judged.dimension]
    if len(judged.topics) > 1:
        eta = eta + _effects("topic_tilt", ("topic",), GROUP)[judged.topic]
        if len(judged.models) > 1:
            own = _effects("model_topic_tilt", ("model", "topic"), GROUP)
            eta = eta + own[judged.model, judged.topic]
    if len(judged.templates) > 1:
        template = pm.ZeroSumNormal("template_tilt", GROUP, dims="template")
        eta = eta + template[judged.template]
    if len(judged.prefixes) > 1:
        prefix = pm.ZeroSumNormal("prefix_tilt", GROUP, dims=("model", "prefix"))
        eta = eta + prefix[judged.model, judged.prefix]
    return eta + _single("pair", len(judged.model), SINGLE)


def _effects(name: str, dims: tuple[str, ...], scale: float) -> Any:
    """Return normal effects with a standard deviation of their own."""
    import pymc as pm

    sd = pm.HalfNormal(f"{name}_sd", scale)
    return pm.Deterministic(name, sd * pm.Normal(f"_{name}", dims=dims), dims=dims)


def _single(name: str, shape: int | tuple[int, ...], scale: float) -> Any:
    """Return effects of single pairs or answers, whose draws nobody reads."""
    import pymc as pm

    return pm.HalfNormal(f"{name}_sd", scale) * pm.Normal(f"_{name}", shape=shape)


def _verdicts(judged: Judged, eta: Any) -> None:
    """Add the likelihood of the verdicts, given ``[pair]`` their location."""
    import pymc as pm
    import pytensor.tensor as pt

    first = pm.Normal("judge_first", 0.0, JUDGE, dims="judge")
    longer = pm.Normal("judge_length", 0.0, WEIGHT, dims="judge")
    threshold = pm.LogNormal("threshold", -0.3, 0.75, dims="judge")
    own = longer[:, None] * judged.log2_length - longer.mean() * judged.mean_length[None]
    if len(judged.judges) > 1:
        own = own + pm.ZeroSumNormal("judge_side", JUDGE, dims="judge")[:, None]
    at = (eta[None, :] + own)[:, :, None] + first[:, None, None] * _SIGNS
    c = threshold[:, None, None]
    below, above = -pt.softplus(at + c), -pt.softplus(c - at)  # of left and of right
    # The difference of two logistic functions as a product, which does not cancel.
    between = -pt.softplus(-at - c) - pt.softplus(at - c) + pt.log(-pt.expm1(-2 * c))
    left, equal, right = np.moveaxis(judged.verdicts, -1, 0)
    pm.Potential("verdicts", (left * below + equal * between + right * above).sum())


def _ratings(judged: Judged, scale: str, ratings: np.ndarray) -> Any:
    """Add the likelihood of [judge, pair, side] ratings; return [pair, side] what they rate."""
    import pymc as pm
    import pytensor.tensor as pt

    if not ratings.any():
        return None
    level = pm.Normal(f"{scale}_level", 0.0, TILT, dims="model")
    side = pm.Normal(f"{scale}_side", 0.0, 1.0, dims="model")
    shown = level[judged.model][:, None] + side[judged.model][:, None] * _SIGNS / 2
    shown = shown + pm.Normal(f"{scale}_length", 0.0, WEIGHT) * judged.own_length
    if len(judged.topics) > 1:
        topic = _effects(f"{scale}_topic", ("topic",), GROUP)[judged.topic]
        sided = _effects(f"{scale}_topic_side", ("topic",), GROUP)[judged.topic]
        shown = shown + topic[:, None] + sided[:, None] * _SIGNS / 2
    if len(judged.templates) > 1:
        template = pm.ZeroSumNormal(f"{scale}_template", GROUP, dims="template")
        shown = shown + template[judged.template][:, None]
    seen = shown
    if len(judged.judges) > 1:
        # With one judge, an answer and the chance in its only rating are the same.
        shown = shown + _single(f"{scale}_answer", (len(judged.model), 2), SINGLE)
        severity = pm.ZeroSumNormal(f"{scale}_severity", JUDGE, dims="judge")
        own = pm.ZeroSumNormal(f"{scale}_judge_side", JUDGE, dims="judge")
        seen = shown[None] + severity[:, None, None] + own[:, None, None] * _SIGNS / 2
    else:
        seen = shown[None]
    gaps = pm.LogNormal(f"{scale}_gap", _GAP, 0.5, shape=SCALE[1] - SCALE[0] - 1)
    cuts = pt.concatenate([[0.0], pt.cumsum(gaps)])
    cuts = pm.Deterministic(f"{scale}_cut", cuts - cuts.mean())
    pm.Potential(f"{scale}_ratings", _cumulative(seen, cuts, gaps, ratings))
    return shown


def _cumulative(at: Any, cuts: Any, gaps: Any, ratings: np.ndarray) -> Any:
    """Return the log-likelihood of ordinal ratings; 0 where there is none."""
    import pytensor.tensor as pt

    lowest, highest = SCALE
    upper = np.clip(ratings - lowest, 0, highest - lowest - 1)
    lower = np.clip(ratings - lowest - 1, 0, highest - lowest - 1)
    has_upper = ((ratings > 0) & (ratings < highest)).astype(float)
    has_lower = (ratings > lowest).astype(float)
    inner = np.bincount(ratings.ravel(), minlength=highest + 1)[lowest + 1 : highest]
    return (
        -(has_upper * pt.softplus(at - cuts[upper])).sum()
        - (has_lower * pt.softplus(cuts[lower] - at)).sum()
        + (inner * pt.log(-pt.expm1(-gaps))).sum()
    )


PRIORS: Mapping[str, str] = {
    "tilt": f"Normal(0, {TILT})",
    "standard deviations of topics and models by topics": f"HalfNormal({GROUP})",
    "standard deviations of pairs and answers": f"HalfNormal({SINGLE})",
    "templates, prefixes": f"Normal(0, {GROUP}), adding up to 0",
    "judges: side, severity": f"Normal(0, {JUDGE}), adding up to 0",
    "judges: first": f"Normal(0, {JUDGE})",
    "judges: length; weights of hedging and compliance": f"Normal(0, {WEIGHT})",
    "thresholds": "LogNormal(-0.3, 0.75)",
    "levels of ratings": f"Normal(0, {TILT})",
    "length in ratings": f"Normal(0, {WEIGHT})",
    "differences between the sides in ratings": "Normal(0, 1)",
}
