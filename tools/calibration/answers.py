"""Answers drawn from parameters, their likelihood, and the estimands.

Uses only numpy, scipy and the documented equations: see `tools.calibration`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from polbayes.fit.spec.spec import Spec
from tools.calibration.prior import Parameters

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Answers:
    """Answers to all cells.

    Parameters
    ----------
    counts
        ``[cell, point]`` answers at each point; empty for continuous ones.
    logs
        ``[cell, 2]`` logarithms of the answer and of one minus the answer, which preserve
        precision near 0 and 1; empty for ordinal answers.
    asked
        ``[cell]`` answers, usable or not.
    mass
        ``[cell, 2]`` the same logarithms of the total probability of usable answers; empty
        if it is not modelled, and for ordinal answers.
    """

    counts: np.ndarray
    logs: np.ndarray
    asked: np.ndarray
    mass: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))


def predictor(parameters: Parameters, frame: "pd.DataFrame") -> np.ndarray:
    """Return ``[cell]`` the predictor of agreeing, eta.

    Parameters
    ----------
    parameters
        The parameters.
    frame
        ``[cell]`` with ``keying``.
    """
    p = {name: parameters.parts.get(name, np.zeros(1)) for name in _PARTS}
    belief = np.exp(p["discrimination"]) * (p["theta"] - p["difficulty"])
    belief = belief + p["steer"] + p["quirk"] + p["dif"]
    return p["acquiescence"] + p["wording"] + frame["keying"].to_numpy() * belief


_PARTS = (
    *("acquiescence", "wording", "theta", "difficulty", "discrimination", "steer", "quirk"),
    "dif",
)


def decisiveness(parameters: Parameters) -> np.ndarray:
    """Return ``[cell or 1]`` the factor of the distance to the cutpoints; 1 without such a part."""
    return np.exp(parameters.parts.get("decisiveness", np.zeros(1)))


def point_probabilities(parameters: Parameters, eta: np.ndarray, family: str) -> np.ndarray:
    """Return ``[cell, point]`` the probability of every point.

    Differences of two logistics lose precision far out, where the second form
    preserves it.
    """
    from scipy.special import expit

    sharp = decisiveness(parameters)
    if family == "bernoulli":
        return np.stack([expit(-sharp * eta), expit(sharp * eta)], axis=1)
    raw = np.cumsum([0.0, *parameters.gaps])
    middle = np.median(raw)
    width = np.exp(parameters.parts.get("threshold", np.zeros(1)))
    x = sharp.reshape(-1, 1) * (width.reshape(-1, 1) * (raw - middle) - eta[:, None])
    below, above = expit(x), expit(-x)
    from_below = np.diff(below, axis=1, prepend=0.0, append=1.0)
    from_above = -np.diff(above, axis=1, prepend=1.0, append=0.0)
    middle_of = np.concatenate([x[:, :1], (x[:, 1:] + x[:, :-1]) / 2, x[:, -1:]], axis=1)
    return np.where(middle_of < 0, from_below, from_above)


def draw_answers(
    parameters: Parameters, frame: "pd.DataFrame", spec: Spec, runs: int, rng: np.random.Generator
) -> Answers:
    """Draw answers.

    Parameters
    ----------
    parameters
        The parameters.
    frame
        ``[cell]`` the design.
    spec
        For family and validity.
    runs
        Answers per cell.
    rng
        Source of randomness.
    """
    eta, cells = predictor(parameters, frame), len(frame)
    if spec.family in _SPREAD:
        parts, spread = parameters.parts, _SPREAD[spec.family]
        logs = _draw_logs(spec.family, *_scaled(parameters, eta, spec.family), rng)
        mass = np.empty((0, 2))
        if "validity" in parts:
            valid = np.broadcast_to(parts["validity"], cells)
            mass = _draw_logs(spec.family, valid, parts[f"validity_{spread}"], rng)
        return Answers(np.empty((0, 0)), logs, np.ones(cells), mass)
    usable = np.full(cells, runs)
    if "validity" in parameters.parts:
        chance = 1 / (1 + np.exp(-np.broadcast_to(parameters.parts["validity"], cells)))
        usable = rng.binomial(runs, chance)
    chance = np.clip(point_probabilities(parameters, eta, spec.family), 0, 1)
    counts = rng.multinomial(usable, chance / chance.sum(axis=1, keepdims=True))
    return Answers(counts.astype(float), np.empty((0, 2)), np.full(cells, float(runs)))


def _scaled(parameters: Parameters, eta: np.ndarray, family: str) -> tuple[np.ndarray, np.ndarray]:
    """Return ``[cell]`` the middle of the logit, and the logarithm of the spread of an answer."""
    sharp, own = decisiveness(parameters), parameters.parts[_SPREAD[family]]
    return sharp * eta, own + np.log(sharp) if family == "logit_normal" else own


# Family of numeric answers -> the part with the logarithm of their spread.
_SPREAD = {"logit_normal": "sigma", "beta": "phi"}


def _draw_logs(
    family: str, eta: np.ndarray, own: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw ``[cell, 2]`` log y and log(1 - y) of numbers y in (0, 1)."""
    if family == "logit_normal":
        logit = eta + np.exp(own) * rng.standard_normal(len(eta))
        return np.asarray(-np.logaddexp(0, np.stack([-logit, logit], axis=1)))
    # phi * logistic(eta) and phi * logistic(-eta)
    phi = np.broadcast_to(np.exp(own), eta.shape)[:, None]
    shape = phi * np.exp(-np.logaddexp(0, np.stack([-eta, eta], axis=1)))
    logs = _log_gamma_draws(shape, rng)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def _log_gamma_draws(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw logarithms of gamma variables, even if these would underflow.

    If G has shape a + 1 and U is uniform, G U^(1 / a) has shape a.
    """
    return np.log(rng.gamma(shape + 1)) + np.log(rng.random(shape.shape)) / shape


def log_likelihood(
    parameters: Parameters, frame: "pd.DataFrame", spec: Spec, answers: Answers
) -> float:
    """Return the log-likelihood of answers, without multinomial coefficients."""
    from scipy import special

    eta = predictor(parameters, frame)
    total, parts = 0.0, parameters.parts
    if spec.family in _SPREAD:
        spread = _SPREAD[spec.family]
        if "validity" in parts:
            own = parts[f"validity_{spread}"]
            total += _log_density(spec.family, parts["validity"], own, answers.mass)
        scaled = _scaled(parameters, eta, spec.family)
        return total + _log_density(spec.family, *scaled, answers.logs)
    if "validity" in parameters.parts:
        usable = answers.counts.sum(axis=1)
        valid = parameters.parts["validity"]
        total += float(np.sum(usable * special.log_expit(valid)))
        total += float(np.sum((answers.asked - usable) * special.log_expit(-valid)))
    chance = point_probabilities(parameters, eta, spec.family)
    return total + float(special.xlogy(answers.counts, chance).sum())


def _log_density(family: str, eta: np.ndarray, own: np.ndarray, logs: np.ndarray) -> float:
    """Return the log-likelihood of numbers in (0, 1), or of their logits if those are normal."""
    from scipy import special, stats

    if family == "logit_normal":
        return float(stats.norm(eta, np.exp(own)).logpdf(logs[:, 0] - logs[:, 1]).sum())
    a, b = np.exp(own) * special.expit(eta), np.exp(own) * special.expit(-eta)
    return float(((a - 1) * logs[:, 0] + (b - 1) * logs[:, 1] - special.betaln(a, b)).sum())


def estimands(parameters: Parameters, frame: "pd.DataFrame", spec: Spec) -> Mapping[str, float]:
    """Return the true value of every quantity, by its name in the posterior.

    Parameters
    ----------
    parameters
        The parameters.
    frame
        ``[cell]`` the design.
    spec
        For the family.

    Returns
    -------
    dict
        E.g. ``"theta[m0, economic]"``, ``"bias_total[m0]"``, ``"scale[quirk: model:item]"``.
    """
    out: dict[str, float] = {}

    def mean(values: np.ndarray, by: list[str]) -> "pd.Series":
        return frame.assign(_v=values).groupby(by)["_v"].mean()

    def named(name: str, values: "pd.Series") -> None:
        for at, value in values.items():
            labels = at if isinstance(at, tuple) else (at,)
            out[f"{name}[{', '.join(map(str, labels))}]"] = float(value)

    def add(name: str, values: np.ndarray, by: list[str], *, exp: bool = False) -> None:
        averaged = mean(values, by)
        named(name, np.exp(averaged) if exp else averaged)

    parts, terms = parameters.parts, parameters.terms
    add("theta", parts["theta"], ["model", "dimension"])
    add("theta_asked", _on_these(parameters, frame), ["model", "dimension"])
    out |= _lean(parameters, frame, spec)
    if "decisiveness" in parts:
        add("decisiveness", parts["decisiveness"], ["model"], exp=True)
    if "instrument" in frame:
        add("theta_instrument", parts["theta"], ["model", "dimension", "instrument"])
    if "acquiescence" in parts:
        add("acquiescence", parts["acquiescence"], ["model"])
    for part, name in (("acquiescence", "prefix_acquiescence"), ("steer", "prefix_steer")):
        if (part, ("model", "prefix")) in terms:
            # All that a prefix does, relative to the mean of the prefixes.
            effect = mean(parts[part], ["model", "prefix"])
            named(name, effect - effect.groupby("model").transform("mean"))
    if "difficulty" in parts:
        add("difficulty", parts["difficulty"], ["item"])
    if "discrimination" in parts:
        add("discrimination", parts["discrimination"], ["item"], exp=True)
    if ("wording", ("item", "variant")) in terms:
        add("wording", terms["wording", ("item", "variant")], ["item", "variant"])
    if ("dif", ("item", "language")) in terms:
        # The first group has none.
        of_others = frame["language"] != frame["language"].min()
        rows = frame.assign(_v=terms["dif", ("item", "language")])[of_others]
        for (item, group), value in rows.groupby(["item", "language"])["_v"].first().items():
            out[f"dif[{item} language {group}]"] = float(value)
    for facet in [name for name in ("mode", "language") if name in frame]:
        by = ["model", "dimension", facet]
        factor = terms.get(("discrimination", (facet,)))
        if factor is not None:
            add(f"{facet}_discrimination", factor, [facet], exp=True)
        shifted = np.exp(0.0 if factor is None else factor) * parts["theta"]
        add(f"theta_{facet}", shifted + parts.get("steer", 0.0), by)
        add(f"{facet}_agreement", parts["acquiescence"], [facet])
        add(f"{facet}_decisiveness", parts["decisiveness"], [facet], exp=True)
    if "validity" in parts:
        add("validity", _usable(parameters, spec.family, len(frame)), ["model"])
    out |= {f"coefficient[{label}]": value for label, value in parameters.coefficients.items()}
    out |= {f"scale[{label}]": value for label, value in parameters.scales.items()}
    out |= {f"nu[{label}]": value for label, value in parameters.tails.items()}
    out |= {f"gap[{k}]": float(gap) for k, gap in enumerate(parameters.gaps)}
    for (part, factors), matrix in parameters.correlations.items():
        out[f"cor_{part}_{'_'.join(factors)}"] = float(matrix[0, 1])
    return out | _bias(parameters, frame, spec)


def _on_these(parameters: Parameters, frame: "pd.DataFrame") -> np.ndarray:
    """Return ``[cell]`` values that average to the positions on the statements asked."""
    quirk = np.broadcast_to(parameters.parts.get("quirk", np.zeros(1)), len(frame))
    difficulty = np.broadcast_to(parameters.parts.get("difficulty", np.zeros(1)), len(frame))
    by_item = frame.assign(_v=difficulty).drop_duplicates("item").groupby("dimension")["_v"].mean()
    middle = frame["dimension"].map(by_item).to_numpy(dtype=float)
    return np.asarray(parameters.parts["theta"] + quirk - middle)


_FACETS = {"item", "variant", "prefix", "topic", "section", "administration"}
_BELIEVED = ("steer", "quirk")


def _lean(parameters: Parameters, frame: "pd.DataFrame", spec: Spec) -> dict[str, float]:
    """Average the net agreement over the effects of new statements, by brute force.

    Effects without a facet of a statement are kept; discriminations and widths by item are averaged
    by Gauss-Hermite quadrature, terms added to the predictor by the trapezoidal rule.
    """
    n = len(frame)
    steady = {k: np.broadcast_to(v, n).astype(float) for k, v in parameters.parts.items()}
    variance: dict[str, np.ndarray] = {k: np.zeros(n) for k in parameters.parts}
    heavy = np.zeros(n), np.inf
    for (part, factors), values in parameters.terms.items():
        # A new statement means the same to everybody.
        if part in ("theta", "dif") or not _FACETS & set(factors):
            continue
        steady[part] = steady[part] - values
        label = f"{part}: {':'.join(factors)}"
        for at, row in enumerate(frame.to_dict("records")):
            names = (label, f"{label} [{row['model']}]", f"{label} [dimension[{row['dimension']}]]")
            (sd,) = [parameters.scales[name] for name in names if name in parameters.scales]
            if label in parameters.tails:
                assert part in ("quirk", "steer")
                heavy[0][at], heavy = sd, (heavy[0], parameters.tails[label])
            else:
                variance[part][at] += sd**2
    z = np.linspace(-8, 8, 1601)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    out = {}
    for (model, dimension), rows in frame.groupby(["model", "dimension"]):
        at = frame.index.get_indexer(rows.index)
        mean = {k: float(v[at].mean()) for k, v in steady.items()}
        v = {k: float(v[at].mean()) for k, v in variance.items()}
        added = sum(v.get(k, 0.0) for k in ("acquiescence", "wording", *_BELIEVED))
        asked = sum(mean.get(k, 0.0) for k in ("acquiescence", "wording"))
        total = 0.0
        slopes = _nodes(mean.get("discrimination", 0.0), v.get("discrimination", 0.0))
        widths = _nodes(mean.get("threshold", 0.0), v.get("threshold", 0.0))
        for steepness, a in slopes:
            for k, (width, b) in enumerate(widths):
                steep = np.exp(steepness)
                belief = steep * mean["theta"] + sum(mean.get(k, 0.0) for k in _BELIEVED)
                spread = (added + steep**2 * v.get("difficulty", 0.0)) ** 0.5
                moved, chance = spread * z, weight
                if np.isfinite(heavy[1]) and k == 0:  # the same for all widths
                    convolved = _convolved(float(heavy[0][at].mean()), heavy[1], spread)
                if np.isfinite(heavy[1]):
                    moved, chance = convolved
                nets = []
                for side in (1, -1):
                    eta = asked + side * belief + moved
                    own = {name: np.full(len(eta), mean[name]) for name in mean} | {
                        "threshold": np.full(len(eta), width)
                    }
                    here = Parameters(own, {}, {}, {}, parameters.gaps, {})
                    nets.append(float(_net(here, eta, spec) @ chance))
                total += a * b * (nets[0] - nets[1]) / 2
        out[f"lean[{model}, {dimension}]"] = total
    return out


def _nodes(mean: float, variance: float) -> list[tuple[float, float]]:
    """Return the nodes and weights of a quadrature over a normal variable, or a constant."""
    if variance == 0.0:
        return [(mean, 1.0)]
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    return list(zip(mean + nodes * variance**0.5, weights / weights.sum(), strict=True))


def _convolved(scale: float, nu: float, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and probabilities of a t variable of this scale plus a normal one.

    Beyond the grid all answers are certain.
    """
    grid = np.linspace(-40, 40, 2001)
    shares = (np.arange(400) + 0.5) / 400
    shifts = np.clip(scale * stats.t.ppf(shares, nu), -38, 38)
    density = np.exp(-(((grid - shifts[:, None]) / max(spread, 0.05)) ** 2) / 2).sum(axis=0)
    return grid, density / density.sum()


def _usable(parameters: Parameters, family: str, cells: int) -> np.ndarray:
    """Return ``[cell]`` the expected proportion of usable answers, or their probability."""
    valid = np.broadcast_to(parameters.parts["validity"], cells)
    if family == "logit_normal":
        spread = np.broadcast_to(np.exp(parameters.parts["validity_sigma"]), cells)
        # The trapezoidal rule is very accurate for functions that vanish at both ends.
        z = np.linspace(-8, 8, 401)
        weight = np.exp(-(z**2) / 2)
        return 1 / (1 + np.exp(-(valid[:, None] + spread[:, None] * z))) @ weight / weight.sum()
    return np.asarray(1 / (1 + np.exp(-valid)))


def _net(parameters: Parameters, eta: np.ndarray, spec: Spec) -> np.ndarray:
    """Return ``[cell]`` the expected P(agree) - P(disagree)."""
    if spec.family in ("cumulative", "bernoulli"):
        chance = point_probabilities(parameters, eta, spec.family)
        points = chance.shape[1]
        upper, lower = chance[:, (points + 1) // 2 :], chance[:, : points // 2]
        return np.asarray(upper.sum(axis=1) - lower.sum(axis=1))
    if spec.family == "beta":
        return np.asarray(np.tanh(decisiveness(parameters) * eta / 2))
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    middle, own = _scaled(parameters, eta, spec.family)
    spread = np.broadcast_to(np.exp(own), eta.shape)
    net = np.tanh((middle[:, None] + spread[:, None] * nodes) / 2) @ (weights / weights.sum())
    return np.asarray(net)


def _bias(parameters: Parameters, frame: "pd.DataFrame", spec: Spec) -> dict[str, float]:
    """Compute Faulborn et al.'s (2025) Eq. 3 with every wording at equal weight."""
    net = _net(parameters, predictor(parameters, frame), spec)
    # Disagreeing with a statement of opposite meaning counts as agreeing with the item.
    flipped = net * frame["keying"].to_numpy() * frame["direction"].to_numpy()
    table = frame.assign(flipped=flipped)
    instrument = ["instrument"] if "instrument" in frame else []
    keys = ["model", "dimension", *instrument, "direction", "item", "variant"]
    wordings = table.groupby(keys)["flipped"].mean().reset_index()
    by = {"bias_total": ["model"], "bias": ["model", "dimension"]}
    if instrument:
        by["bias_instrument"] = ["model", "dimension", "instrument"]
    # Of one statement: its keyed answer, every wording at equal weight.
    keyed = wordings.assign(keyed=wordings["flipped"] * wordings["direction"])
    of_items = keyed.groupby(["model", "item"])["keyed"].mean().items()
    out = {f"bias_item[{model}, {item}]": float(value) for (model, item), value in of_items}
    for name, levels in by.items():
        for at, rows in wordings.groupby(levels):
            sides = rows.groupby("direction")["flipped"].mean()
            out[f"{name}[{', '.join(map(str, at))}]"] = float((sides[1] - sides[-1]) / 2)
    return out
