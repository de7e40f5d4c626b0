"""How many judges and scenarios a stable order of models needs.

A planned study has other judges and scenarios like those of the run, uses the same ones for every
model, and compares mean scores, so that what is common to all models cancels. With J judges, S
scenarios, and T texts of each (twins and wordings) and G stages as in the run, the error variance
of a model's score is

    V = v[model:scenario] / S + v[dialogue] / (S T) + v[unit] / (S T G)
        + v[judge:model] / J + (v[judge:unit] + v[noise]) / (J S T G),

where v[term] is the variance that a term contributes to the score: with the score's weights c and
the directions B of the values, the sum over directions of (c' B)^2 times the direction's variance,
and for the noise c'c times the mean over judges of (pi^2 / 3) noise^2. The judges of a planned
study do not rate themselves.

Two models whose scores differ by D are ordered correctly with probability Phi(|D| / sqrt(2 V)); the
probability for all models is found by drawing errors. Both are averaged over the posterior, in
which the uncertainty of D reflects the run's own sample of judges and scenarios.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from polbayes.instrument.scenarios import STAGES
from polbayes.roleplay.fit.fit import FacetFit
from polbayes.roleplay.fit.readout import ALL_STAGES

_REFLECTION = "reflection"
# Numbers to compare; those of the run are added.
JUDGES = (1, 2, 3, 5, 8, 12)
SCENARIOS = (5, 10, 20, 40, 80, 160)
# Probability of the right order of two models, on average over pairs.
_WANTED = 0.9
# Of the drawn errors.
_SEED = 1
_MOST_DRAWS = 500
_ERRORS = 40


@dataclass(frozen=True)
class Variances:
    """The variance that each term contributes to the score, by posterior draw."""

    of: dict[str, np.ndarray]  # By term ``[draw]``; zeros where the run could not tell.
    texts: int  # of each scenario

    def error(self, judges: int, scenarios: int, stages: int) -> np.ndarray:
        """Return ``[draw]`` the variance of a model's score in a study of this size."""
        v, texts = self.of, scenarios * self.texts
        return np.asarray(
            v["model:scenario"] / scenarios
            + v["dialogue"] / texts
            + v["unit"] / (texts * stages)
            + v["judge:model"] / judges
            + (v["judge:unit"] + v["noise"]) / (judges * texts * stages)
        )


def variances(fit: FacetFit, draws: np.ndarray) -> Variances:
    """Compute the contributions of the terms to the variance of the score."""
    model, rated = fit.model, fit.rated
    flat = fit.posterior[["sd", "noise"]].stack(sample=("chain", "draw"))
    sd = flat["sd"].transpose("sample", "effect").to_numpy()[draws]
    noise = flat["noise"].transpose("sample", "judge").to_numpy()[draws]
    gain = (rated.score_weights @ rated.basis) ** 2
    of = {}
    for name in ("model:scenario", "dialogue", "unit", "judge:model", "judge:unit"):
        of[name] = np.zeros(len(draws))
        for term in model.terms:
            if term.name == name:
                number = [model.scales.index((name, kind)) for kind in term.kinds]
                of[name] = (sd[:, number] ** 2) @ gain[: len(number)]
    weights = rated.score_weights
    of["noise"] = (weights @ weights) * (np.pi**2 / 3) * (noise**2).mean(axis=1)
    return Variances(of, rated.sizes["twin"] * rated.sizes["wording"])


def facet_d_study(fit: FacetFit, *, level: float) -> pd.DataFrame:
    """Compute the probability of the right order of models for studies of other sizes."""
    sizes = fit.rated.sizes
    if min(sizes["model"], sizes["judge"], sizes["scenario"]) < 2:
        return pd.DataFrame()
    rng = np.random.default_rng(_SEED)
    scores = fit.posterior["score"].stack(sample=("chain", "draw"))
    count = scores.sizes["sample"]
    draws = np.unique(np.linspace(0, count - 1, min(count, _MOST_DRAWS)).astype(int))
    known = variances(fit, draws)
    tables = []
    for source, stages in _sources(fit).items():
        own = scores.sel(source=source).transpose("sample", "model").to_numpy()[draws]
        # Other judges and scenarios would give the models slightly different scores.
        others = known.of["model:scenario"] / sizes["scenario"]
        others = others + known.of["judge:model"] / sizes["judge"]
        truth = own + np.sqrt(others)[:, None] * rng.standard_normal(own.shape)
        rows = [
            _row(truth, known.error(j, s, stages), rng, level=level)
            | {"judges": j, "scenarios": s, "ratings": j * s * known.texts * stages}
            for j in sorted({*JUDGES, sizes["judge"]})
            for s in sorted({*SCENARIOS, sizes["scenario"]})
        ]
        table = pd.DataFrame(rows)
        here = (table["judges"] == sizes["judge"]) & (table["scenarios"] == sizes["scenario"])
        good = table["p_pair"] >= _WANTED
        best = table["ratings"].where(good).idxmin() if good.any() else -1
        tables.append(table.assign(source=source, own=here, cheapest=table.index == best))
    first = ["source", "judges", "scenarios", "ratings", "own"]
    found = pd.concat(tables, ignore_index=True).assign(wanted=_WANTED, level=level)
    return found[[*first, *(name for name in found.columns if name not in first)]]


def _sources(fit: FacetFit) -> dict[str, int]:
    """Return the sources of scores, and the number of units of each text."""
    there = [str(source) for source in fit.posterior["source"].values]
    main = {_REFLECTION: 1, ALL_STAGES: len(STAGES)}
    found = {source: number for source, number in main.items() if source in there}
    return found or dict.fromkeys(there, 1)


def _row(
    truth: np.ndarray, error: np.ndarray, rng: np.random.Generator, *, level: float
) -> dict[str, float]:
    """Evaluate a design, given ``[draw, model]`` true scores and ``[draw]`` error variances."""
    from scipy.stats import norm

    spread = np.sqrt(2 * error)
    by_pair = [
        norm.cdf(np.abs(truth[:, a] - truth[:, b]) / spread)
        for a, b in combinations(range(truth.shape[1]), 2)
    ]
    right = np.array(by_pair).mean(axis=1)
    shifts = rng.standard_normal((_ERRORS, *truth.shape)) * np.sqrt(error)[:, None]
    same = ((truth + shifts).argsort(axis=-1) == truth.argsort(axis=-1)).all(axis=-1)
    universe = truth.var(axis=1, ddof=1)
    found = {"se": np.sqrt(error), "generalizability": universe / (universe + error)}
    row = {"p_pair": right.mean(), "p_least": right.min(), "p_all": same.mean()}
    for name, values in found.items():
        row[name] = values.mean()
        bounds = np.quantile(values, ((1 - level) / 2, (1 + level) / 2))
        row[f"{name}_lower"], row[f"{name}_upper"] = bounds
    return {name: float(value) for name, value in row.items()}
