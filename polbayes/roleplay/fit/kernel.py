"""The loop over all ratings: the log-likelihood and its slopes in one pass.

With the latent rating eta, the cutpoints c[k] of the judge and the judge's noise sigma,

    P(rating at or below point k) = logistic((c[k] - eta) / sigma),

so that with a and b the arguments at the upper and the lower cutpoint of a point its probability is

    F(a) - F(b) = F(a) (1 - F(b)) (1 - exp(b - a)),

the last factor of which is the same for all ratings of a judge at this point.
"""

import math

import numpy as np

from polbayes.fit.compilation import compiled


@compiled
def moved(
    effects: np.ndarray,
    starts: np.ndarray,
    widths: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Add the effects of some terms, with their weights, to the shift in each direction."""
    for term in range(starts.shape[0]):
        at = starts[term] + index[term] * widths[term]
        for d in range(widths[term]):
            columns[d] += weight[term] * effects[at + d]


@compiled
def turned(mean: np.ndarray, basis: np.ndarray, columns: np.ndarray, eta: np.ndarray) -> None:
    """Write ``[value]`` latent ratings into `eta`, given the shift in each direction."""
    for v in range(mean.shape[0]):
        eta[v] = mean[v]
        for d in range(columns.shape[0]):
            eta[v] += basis[v, d] * columns[d]


@compiled
def _tables(
    cuts: np.ndarray, noise: np.ndarray, stretch: np.ndarray, middle: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute ``[judge, cutpoint]`` cutpoints in units of noise, and what follows from widths."""
    judges, size = noise.shape[0], cuts.shape[0]
    scaled, width = np.empty((judges, size)), np.zeros((judges, size))
    ratio = np.zeros((judges, size))
    for j in range(judges):
        for k in range(size):
            scaled[j, k] = (middle + stretch[j] * (cuts[k] - middle)) / noise[j]
            if k > 0:
                missing = -math.expm1(scaled[j, k - 1] - scaled[j, k])
                width[j, k] = math.log(missing)
                ratio[j, k] = (1.0 - missing) / missing
    return scaled, width, ratio


@compiled
def rate(
    eta: np.ndarray,
    answers: np.ndarray,
    scaled: np.ndarray,
    width: np.ndarray,
    ratio: np.ndarray,
    of_scaled: np.ndarray,
    of_eta: np.ndarray,
) -> tuple[float, float]:
    """Score ``[value]`` ratings of a unit by a judge, given eta in units of the judge's noise.

    `scaled`, `width` and `ratio` are the judge's (`_tables`); slopes are added to `of_scaled`, and
    replaced in `of_eta`.
    """
    top, total, of_noise = scaled.shape[0], 0.0, 0.0
    for v in range(eta.shape[0]):
        of_eta[v] = 0.0
        y = answers[v]
        if y < 0:
            continue
        d_a, d_b, product = 0.0, 0.0, 1.0
        if y < top:
            a = scaled[y] - eta[v]
            small = math.exp(-abs(a))
            product = 1.0 + small
            d_a = (small if a > 0.0 else 1.0) / product
            total += min(a, 0.0)
        if y > 0:
            b = scaled[y - 1] - eta[v]
            small = math.exp(-abs(b))
            d_b = -(1.0 if b > 0.0 else small) / (1.0 + small)
            product *= 1.0 + small
            total -= max(b, 0.0)
            if y < top:
                total += width[y]
                d_a += ratio[y]
                d_b -= ratio[y]
        total -= math.log(product)
        if y < top:
            of_scaled[y] += d_a
        if y > 0:
            of_scaled[y - 1] += d_b
        of_eta[v] = -(d_a + d_b)
        of_noise -= of_eta[v] * eta[v]
    return total, of_noise


@compiled
def evaluate(
    effects: np.ndarray,
    mean: np.ndarray,
    cuts: np.ndarray,
    noise: np.ndarray,
    stretch: np.ndarray,
    data: tuple,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the log-likelihood and its slopes.

    ``[unit, judge, value]`` `answers` are points, negative where there is no rating, and ``[value,
    column]`` `basis` directions; judges stretch the scale from its `middle`
    (`polbayes.roleplay.fit.steps`). `starts`, `widths`, and ``[unit, term]`` `index` and `weight`
    are of the terms about what was rated; those of judges have a ``[unit, judge, term]`` index.
    """
    answers, basis, middle, truths, of_judges = data
    starts, widths, index, weight = truths
    judge_starts, judge_widths, judge_index = of_judges
    units, judges, values = answers.shape
    top = cuts.shape[0]
    scaled, width, ratio = _tables(cuts, noise, stretch, middle)
    of_scaled, ones = np.zeros((judges, top)), np.ones(judge_starts.shape[0])
    gradient = np.zeros(effects.shape[0])
    of_mean, of_noise, of_stretch = np.zeros(values), np.zeros(judges), np.zeros(judges)
    truth, of_truth = np.empty(values), np.empty(values)
    columns, of_columns = np.empty(values), np.empty(values)
    eta, of_eta, total = np.empty(values), np.empty(values), 0.0
    for unit in range(units):
        truth[:] = 0.0
        of_truth[:] = 0.0
        moved(effects, starts, widths, index[unit], weight[unit], truth)
        for j in range(judges):
            if answers[unit, j].max() < 0:
                continue
            columns[:] = truth
            moved(effects, judge_starts, judge_widths, judge_index[unit, j], ones, columns)
            turned(mean, basis, columns, eta)
            eta /= noise[j]
            logp, slope = rate(
                eta, answers[unit, j], scaled[j], width[j], ratio[j], of_scaled[j], of_eta
            )
            total += logp
            of_noise[j] += slope
            of_columns[:] = 0.0
            for v in range(values):
                of_eta[v] /= noise[j]
                of_mean[v] += of_eta[v]
                for d in range(values):
                    of_columns[d] += basis[v, d] * of_eta[v]
            of_truth += of_columns
            for term in range(judge_starts.shape[0]):
                at = judge_starts[term] + judge_index[unit, j, term] * judge_widths[term]
                for d in range(judge_widths[term]):
                    gradient[at + d] += of_columns[d]
        for term in range(starts.shape[0]):
            at = starts[term] + index[unit, term] * widths[term]
            for d in range(widths[term]):
                gradient[at + d] += weight[unit, term] * of_truth[d]
    of_cuts = np.zeros(top)
    for j in range(judges):
        for k in range(top):
            of_cuts[k] += of_scaled[j, k] * stretch[j] / noise[j]
            of_stretch[j] += of_scaled[j, k] * stretch[j] * (cuts[k] - middle) / noise[j]
            of_noise[j] -= of_scaled[j, k] * scaled[j, k]
    return total, gradient, of_mean, of_cuts, of_noise, of_stretch


@compiled
def expected(
    truth: np.ndarray, cuts: np.ndarray, noise: float, points: np.ndarray, nodes: int
) -> np.ndarray:
    """Compute the expected rating by a judge without severity, leaning and stretch.

    It is computed at some latent ratings; the curve is interpolated linearly between these nodes,
    and constant beyond them.
    """
    low, high = cuts[0] - 12.0 * noise, cuts[-1] + 12.0 * noise
    step = (high - low) / (nodes - 1)
    curve = np.full(nodes, points[0])
    for node in range(nodes):
        at = low + node * step
        for k in range(cuts.shape[0]):
            curve[node] += (points[k + 1] - points[k]) / (1.0 + math.exp((cuts[k] - at) / noise))
    found = np.empty(truth.shape[0])
    for number in range(truth.shape[0]):
        place = min(max((truth[number] - low) / step, 0.0), nodes - 1.001)
        node = int(place)
        found[number] = curve[node] + (place - node) * (curve[node + 1] - curve[node])
    return found
