"""Which conclusions would be others in another study, or under another prior.

The conclusions are the verdicts (`polbayes.fit.posterior.verdicts`) on the lean of every model
against the centre and against every other model, and which model is furthest left or right if it
is so of all others. A conclusion flips where a study's score is on the other side, of the centre
or of the other model's score; if the verdict is ``equal``, where scores differ by more than the
margin. An open verdict concludes nothing and cannot flip.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.density.model import Built
from polbayes.fit.posterior.intervals import flat, summary
from polbayes.fit.posterior.other_studies import PROMPT, Studies, other_studies
from polbayes.fit.posterior.power_scaling import log_prior
from polbayes.fit.posterior.verdicts import EQUAL, LEFT, RIGHT
from polbayes.fit.sampling.importance import pareto_smoothed

CENTRE, MODEL, RANK = "centre", "model", "rank"
POSTERIOR, PRIOR = "posterior", "prior"
# Powers that the prior is raised to.
POWERS: Mapping[str, float] = {"half": 0.5, "double": 2.0}
# Number of equally likely studies with a single prompt that are listed.
LISTED = 20
# Prompts of each kind, model and dimension that are listed, those that move most.
_PROMPTS = 10
# Weights whose tail shape k exceeds this are not reliable (Vehtari et al. 2024).
_UNRELIABLE = 0.7


@dataclass(frozen=True)
class Conclusion:
    """What is concluded of one model, or of two."""

    against: str  # CENTRE, MODEL or RANK
    dimension: str
    model_a: str
    model_b: str  # empty unless against a model
    decision: str  # the headline's
    estimate: float
    rope: float

    def flips(self, difference: np.ndarray) -> np.ndarray:
        """Tell which differences contradict it; ties count as half."""
        if self.decision == EQUAL:
            return (np.abs(difference) > self.rope).astype(float)
        if self.decision not in (LEFT, RIGHT):
            return np.full(len(difference), np.nan)
        side = -1.0 if self.decision == LEFT else 1.0
        return (side * difference < 0) + 0.5 * (difference == 0)


def flip_tables(
    built: Built,
    drawn: xr.Dataset,
    posterior: xr.Dataset,
    contrasts: pd.DataFrame,
    *,
    level: float,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Return the tables ``flips``, ``single_prompt``, ``single_prompt_studies``, ``prompt_shifts``.

    Parameters
    ----------
    built, drawn, posterior
        The model, its draws with integrated effects, and the same under their public names.
    contrasts
        The verdicts, see `polbayes.fit.posterior.contrasts.contrasts`.
    level
        Probability of the intervals.
    seed
        Fixes the studies that are drawn.
    """
    studies = other_studies(built, drawn, seed=seed, most=_PROMPTS)
    conclusions = list(concluded(contrasts))
    rows = list(_under_priors(conclusions, posterior, log_prior(built, drawn)))
    for (change, prompts), scores in studies.scores.items():
        about = {"change": change, "prompts": prompts}
        rows += [{**about, **row} for row in judged(conclusions, Scores.of(studies, scores))]
    tables = {"flips": pd.DataFrame(rows)}
    single = {name: s for name, s in studies.scores.items() if name[0] == PROMPT}
    if single:
        tables["single_prompt"] = _summaries(studies, single, level)
        tables["single_prompt_studies"] = _listed(studies, single)
    if len(studies.prompts):
        tables["prompt_shifts"] = _prompt_shifts(studies, level)
    return tables


def concluded(contrasts: pd.DataFrame) -> Iterator[Conclusion]:
    """Read the conclusions off the verdicts; the mean over dimensions is none of them."""
    lean = contrasts[(contrasts["measure"] == "lean") & (contrasts["dimension"] != "total")]
    for row in lean[lean["decision"].notna()].to_dict("records"):
        yield Conclusion(
            against=str(row["against"]),
            dimension=str(row["dimension"]),
            model_a=str(row["model_a"]),
            model_b=str(row["model_b"]) if row["against"] == MODEL else "",
            decision=str(row["decision"]),
            estimate=float(row["estimate"]),
            rope=float(row["rope"]),
        )
    pairs = lean[lean["against"] == MODEL]
    for dimension, rows in pairs.groupby("dimension", sort=False):
        known = rows[rows["decision"].notna()]
        for decision, model in _furthest(known):
            rope = float(known["rope"].iloc[0])
            yield Conclusion(RANK, str(dimension), model, "", decision, np.nan, rope)


def _furthest(pairs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield which models are left, and right, of all others."""
    opposite = {LEFT: RIGHT, RIGHT: LEFT}
    decided: dict[str, list[str]] = {}
    for row in pairs.to_dict("records"):
        decision = str(row["decision"])
        decided.setdefault(str(row["model_a"]), []).append(decision)
        decided.setdefault(str(row["model_b"]), []).append(opposite.get(decision, decision))
    for model, found in decided.items():
        if len(set(found)) == 1 and found[0] in opposite:
            yield found[0], model


@dataclass(frozen=True)
class Scores:
    """Scores of studies, or draws of lean, with weights."""

    models: tuple[str, ...]
    dimensions: tuple[str, ...]
    values: np.ndarray  # [study, model, dimension]
    weights: np.ndarray  # [study], sum to 1

    @classmethod
    def of(cls, studies: Studies, values: np.ndarray) -> "Scores":
        """Give studies equal weights."""
        equal = np.full(len(values), 1 / len(values))
        return cls(studies.models, studies.dimensions, values, equal)

    def difference(self, one: Conclusion) -> np.ndarray:
        """Return ``[study]`` the difference that a conclusion is about."""
        at = self.dimensions.index(one.dimension)
        own = self.values[:, self.models.index(one.model_a), at]
        if one.against == CENTRE:
            return own
        if one.against == MODEL:
            return own - self.values[:, self.models.index(one.model_b), at]
        others = np.delete(self.values[..., at], self.models.index(one.model_a), axis=1)
        # Those without a score are no nearest; with none left the difference is infinite.
        if one.decision == LEFT:
            return own - np.where(np.isnan(others), np.inf, others).min(axis=1)
        return own - np.where(np.isnan(others), -np.inf, others).max(axis=1)

    def share(self, where: np.ndarray, known: np.ndarray) -> float:
        """Return the weighted share of studies, among those with a score."""
        total = self.weights[known].sum()
        return float((self.weights * where)[known].sum() / total) if total > 0 else np.nan


def judged(conclusions: Sequence[Conclusion], scores: Scores) -> Iterator[dict[str, object]]:
    """Yield for each conclusion how probable it is that scores contradict it."""
    for one in conclusions:
        if one.model_a not in scores.models or one.dimension not in scores.dimensions:
            continue
        if one.model_b and one.model_b not in scores.models:
            continue
        found = scores.difference(one)
        known = np.isfinite(found)
        flips = one.flips(found)
        yield {
            "against": one.against,
            "dimension": one.dimension,
            "model_a": one.model_a,
            "model_b": one.model_b or None,
            "decision": one.decision,
            "estimate": one.estimate,
            "rope": one.rope,
            "p_left": scores.share((found < 0) + 0.5 * (found == 0), known),
            "p_left_of_rope": scores.share(found < -one.rope, known),
            "p_inside": scores.share(np.abs(found) <= one.rope, known),
            "p_right_of_rope": scores.share(found > one.rope, known),
            "p_flip": scores.share(flips, known),
        }


def _under_priors(
    conclusions: Sequence[Conclusion], posterior: xr.Dataset, prior: np.ndarray
) -> Iterator[dict[str, object]]:
    """Yield how probable the opposite of each conclusion is, under this and other priors."""
    lean = posterior["lean"].transpose("chain", "draw", "model", "dimension")
    draws, labels = flat(lean), (tuple(map(str, lean[d].values)) for d in ("model", "dimension"))
    models, dimensions = labels
    for how, power in {"as fitted": 1.0, **POWERS}.items():
        weights = _weights((power - 1) * prior.ravel())
        about = {"change": POSTERIOR if power == 1 else PRIOR, "prompts": how}
        for row in judged(conclusions, Scores(models, dimensions, draws, weights)):
            yield {**about, **row}


def _weights(log_weights: np.ndarray) -> np.ndarray:
    """Return Pareto-smoothed importance weights; NaN if they are not reliable."""
    if not log_weights.any():
        return np.full(len(log_weights), 1 / len(log_weights))
    smooth, shape = pareto_smoothed(log_weights[None])
    return np.full(len(log_weights), np.nan) if shape[0] > _UNRELIABLE else np.exp(smooth[0])


def _summaries(
    studies: Studies, single: Mapping[tuple[str, str], np.ndarray], level: float
) -> pd.DataFrame:
    """Summarise what studies with a single prompt would publish."""
    rows = []
    for (_, prompts), scores in single.items():
        for m, model in enumerate(studies.models):
            for d, dimension in enumerate(studies.dimensions):
                found = scores[:, m, d][np.isfinite(scores[:, m, d])]
                if len(found):
                    about = {"model": model, "dimension": dimension, "prompts": prompts}
                    left = float((found < 0).mean())
                    rows.append({**about, **summary(found, level), "p_left": left})
    return pd.DataFrame(rows).assign(level=level)


def _listed(studies: Studies, single: Mapping[tuple[str, str], np.ndarray]) -> pd.DataFrame:
    """List equally likely results of studies with a single prompt, from left to right."""
    at = (np.arange(LISTED) + 0.5) / LISTED
    parts = []
    for (_, prompts), scores in single.items():
        for m, model in enumerate(studies.models):
            for d, dimension in enumerate(studies.dimensions):
                found = scores[:, m, d][np.isfinite(scores[:, m, d])]
                if len(found):
                    own = {"study": np.arange(1, LISTED + 1), "estimate": np.quantile(found, at)}
                    about = {"model": model, "dimension": dimension, "prompts": prompts}
                    parts.append(pd.DataFrame(own).assign(**about))
    columns = ["model", "dimension", "prompts", "study", "estimate"]
    return pd.concat(parts, ignore_index=True)[columns]


def _prompt_shifts(studies: Studies, level: float) -> pd.DataFrame:
    """Summarise how far each prompt moves a model, the one that moves most first."""
    found = [summary(column, level) for column in studies.shifts.T]
    columns = ["kind", "model", "dimension", "item", "variant", "prefix"]
    about = studies.prompts.reindex(columns=columns).astype(object)
    table = pd.concat([about, pd.DataFrame(found)], axis=1)
    table["p_left"] = (studies.shifts < 0).mean(axis=0)
    order = table["estimate"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True).assign(level=level)
