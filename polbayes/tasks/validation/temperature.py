"""Temperature scaling: calibration of a coder by one number.

The logarithms of its probabilities are divided by the temperature that maximises the likelihood of
the labels of one half of the answers (Guo et al. 2017); the other half shows the gain. The
likeliest class does not change.

References
----------
Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
networks. ICML.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from polbayes.measures.resampling import Bootstrap, generator
from polbayes.tasks.validation.coded import Coded, of_classes, tempered
from polbayes.tasks.validation.confidence import calibration_error, mean_interval, one_sided
from polbayes.tasks.validation.labelled import Labelled

_RANGE = (0.05, 20.0)
_GRID = np.geomspace(*_RANGE, 241)
# Minimum number of answers for fitting a temperature.
FEWEST = 10


@dataclass(frozen=True)
class Temperature:
    """A fitted temperature, above 1 if the coder is overconfident, and its interval."""

    value: float
    lower: float
    upper: float
    # Whether it is at an end of the search range: no answer was wrong, or none right.
    at_end: bool


def fit_temperature(
    probs: np.ndarray, answers: Labelled, rows: np.ndarray, level: float
) -> Temperature:
    """Find the maximum-likelihood temperature."""
    from scipy.optimize import minimize_scalar
    from scipy.stats import chi2

    both = np.column_stack([probs[rows], answers.labels[rows]])
    kinds, times = np.unique(both, axis=0, return_counts=True)
    labels = kinds[:, -1].astype(np.int64)

    def loss(temperature: float) -> float:
        return float(times @ log_loss(kinds[:, :-1], labels, answers, temperature))

    losses = np.array([loss(t) for t in _GRID])
    best = int(losses.argmin())
    near = (max(best - 1, 0), min(best + 1, len(_GRID) - 1))
    found = minimize_scalar(
        lambda x: loss(float(np.exp(x))), bounds=np.log(_GRID[list(near)]), method="bounded"
    )
    value, least = float(np.exp(found.x)), min(float(found.fun), float(losses[best]))
    if losses[best] <= found.fun:
        value = float(_GRID[best])
    inside = np.flatnonzero(losses - least <= chi2.ppf(level, 1) / 2)
    within = (value, value) if not inside.size else (_GRID[inside[0]], _GRID[inside[-1]])
    return Temperature(
        value,
        min(float(within[0]), value),
        max(float(within[1]), value),
        best in (0, len(_GRID) - 1),
    )


def log_loss(
    probs: np.ndarray, labels: np.ndarray, answers: Labelled, temperature: float = 1.0
) -> np.ndarray:
    """Return the negative log probability of each answer's label at a temperature."""
    merged = of_classes(tempered(probs, temperature), answers)
    return -np.log(np.maximum(merged[np.arange(len(labels)), labels], 1e-300))


def temperature_table(coded: Coded, bootstrap: Bootstrap, bins: int = 10) -> pd.DataFrame:
    """Fit a temperature on a random half of the answers and try it on the other."""
    n = len(coded.coded_as)
    order = generator(bootstrap.seed, "held out").permutation(n)
    fitted, held = (half[coded.is_coded[half]] for half in (order[: n // 2], order[n // 2 :]))
    enough = min(len(fitted), len(held)) >= FEWEST
    note = "" if enough else f"fewer than {FEWEST} coded answers in a half"
    names = ("log_loss", "log_loss_scaled", "log_loss_change", "ece", "ece_scaled")
    nothing = (np.nan, np.nan, np.nan)
    found = dict.fromkeys(("temperature", *names), nothing)
    if enough:
        fit = fit_temperature(coded.probs, coded.answers, fitted, bootstrap.level)
        found["temperature"] = (fit.value, fit.lower, fit.upper)
        if fit.at_end:
            note = "at the end of what was searched: the half has no error, or only errors"
        found |= _held_out(coded, held, fit.value, bootstrap, bins)
    rows = [
        {
            "coder": coded.coder,
            "measure": name,
            "half": "fitted" if name == "temperature" else "held out",
            "estimate": estimate,
            "lower": lower,
            "upper": upper,
            "n": len(fitted) if name == "temperature" else len(held),
            "level": bootstrap.level,
            "note": note if name == "temperature" or not enough else "",
        }
        for name, (estimate, lower, upper) in found.items()
    ]
    return pd.DataFrame(rows)


def _held_out(
    coded: Coded, held: np.ndarray, temperature: float, bootstrap: Bootstrap, bins: int
) -> dict[str, tuple[float, float, float]]:
    rng = generator(bootstrap.seed, "held out", coded.coder)
    probs, labels = coded.probs[held], coded.answers.labels[held]
    right = coded.is_right[held].astype(np.float64)
    before, after = (log_loss(probs, labels, coded.answers, t) for t in (1.0, temperature))
    scaled = of_classes(tempered(probs, temperature), coded.answers)
    sure = scaled[np.arange(len(held)), coded.coded_as[held]]
    means = {
        "log_loss": mean_interval(before, bootstrap, rng),
        "log_loss_scaled": mean_interval(after, bootstrap, rng),
        "log_loss_change": mean_interval(after - before, bootstrap, rng),
    }
    if one_sided(right):
        means = {name: (mean, np.nan, np.nan) for name, (mean, _, _) in means.items()}
    return means | {
        "ece": (calibration_error(coded.confidence[held], right, bins), np.nan, np.nan),
        "ece_scaled": (calibration_error(sure, right, bins), np.nan, np.nan),
    }
