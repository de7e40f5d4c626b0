"""The log-likelihood of every row under the draws of a mixed model, and leave-one-out.

It is computed from the posterior's public names, so a saved fit is enough.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import CELL_DIMS
from polbayes.fit.mixed.columns import RESPONSE
from polbayes.fit.mixed.families import MixedFamily
from polbayes.fit.mixed.fit import reduced
from polbayes.fit.mixed.model import build
from polbayes.fit.mixed.rows import TRIALS, Rows
from polbayes.fit.mixed.spec import MixedSpec
from polbayes.fit.posterior.loo import Loo, left_out


@dataclass(frozen=True)
class Pointwise:
    """The inputs of the likelihood of every row."""

    family: MixedFamily  # of the spec
    matrix: np.ndarray  # [row, coefficient] predictors, with a column of ones for an intercept
    coefficients: np.ndarray  # [draw, coefficient]
    at: tuple[np.ndarray, ...]  # for every term of every group [row] the effect that enters
    times: tuple[np.ndarray, ...]  # and what it is multiplied with, [row]
    effects: np.ndarray  # [draw, effect]
    own: np.ndarray  # [draw] sigma or phi, or [draw, threshold]; empty for other families
    answers: np.ndarray  # [row] the response; for ordinal families the number of the point
    trials: np.ndarray  # [row] answers in the row

    def log_likelihood(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return ``[row, draw]`` the log-likelihood of some of the rows."""
        eta = self.matrix[rows] @ self.coefficients.T
        for at, times in zip(self.at, self.times, strict=True):
            eta += times[rows, None] * self.effects[:, at[rows]].T
        y, n = self.answers[rows, None], self.trials[rows, None]
        return self.family.log_density(y, n, eta, self.own)


def pointwise(rows: Rows, spec: MixedSpec, posterior: xr.Dataset) -> Pointwise:
    """Collect the inputs of the likelihood of every row."""
    model = build(rows, spec)
    draws = posterior.stack(sample=("chain", "draw")).transpose("sample", ...)
    count = draws.sizes["sample"]
    matrix, names = model.matrix, [n for term in model.common for n in term.names]
    if model.intercept:
        matrix = np.column_stack([np.ones(len(matrix)), matrix])
        names = ["Intercept", *names]
    coefficients = draws["coefficient"].sel(term=names).values if names else np.empty((count, 0))
    at, times = [], []
    for group, term in zip(model.groups, model.mean.group_specific_terms.values(), strict=True):
        varying = np.asarray(term.predictor, dtype=float).reshape(len(matrix), -1)
        for column, name in enumerate(group.terms):
            labels = [f"{group.group}: {name} [{level}]" for level in group.levels]
            where = draws.indexes["group_level"].get_indexer(labels)
            at.append(where[term.group_index])
            times.append(varying[:, column])
    return Pointwise(
        family=spec.distribution,
        matrix=matrix,
        coefficients=coefficients,
        at=tuple(at),
        times=tuple(times),
        effects=draws["group_effect"].values if model.groups else np.empty((count, 0)),
        own=_own(draws, count),
        answers=_answers(rows, spec),
        trials=rows.frame[TRIALS].to_numpy() if TRIALS in rows.frame else np.ones(len(matrix)),
    )


def _own(draws: xr.Dataset, count: int) -> np.ndarray:
    for name in ("sigma", "phi", "threshold"):
        if name in draws:
            values: np.ndarray = draws[name].values
            # A point that does not occur in this stratum has no threshold there.
            return values if values.ndim == 1 else values[:, np.isfinite(values).all(axis=0)]
    return np.empty(count)


def _answers(rows: Rows, spec: MixedSpec) -> np.ndarray:
    answers = rows.frame[RESPONSE].to_numpy(dtype=float)
    if not spec.distribution.ordinal:
        return answers
    return np.unique(answers, return_inverse=True)[1].astype(float)


def leave_out_rows(data: xr.Dataset, spec: MixedSpec, posterior: xr.Dataset) -> Loo:
    """Compute PSIS-LOO of every row of a mixed model."""
    parts = []
    spec, split, _ = reduced(data, spec)
    for name, rows in split:
        own = posterior if spec.by is None else posterior.sel({spec.by: name})
        likelihood = pointwise(rows, spec, own)
        size, chains = len(likelihood.answers), posterior.sizes["chain"]
        found = left_out(likelihood.log_likelihood, size, chains=chains)
        parts.append(_labelled(rows).assign(**found))
    return Loo("answers", pd.concat(parts, ignore_index=True).assign(integrated=False))


def rows_to_leave_out(data: xr.Dataset, spec: MixedSpec) -> pd.DataFrame:
    """Return the rows of `leave_out_rows`, without the results."""
    parts = [_labelled(rows) for _, rows in reduced(data, spec)[1]]
    return pd.concat(parts, ignore_index=True)


def _labelled(rows: Rows) -> pd.DataFrame:
    """Return a row's identifying labels, its observed value, and its number of answers."""
    frame = rows.frame
    labels: dict[str, Any] = {
        name: frame[name].astype(str) if name in frame else "" for name in CELL_DIMS
    }
    observed = frame[RESPONSE].map("{:.9g}".format)
    if TRIALS in frame:
        labels["n"] = frame[TRIALS].astype(int)
        observed = (labels["n"] - frame[RESPONSE].astype(int)).astype(str) + " " + observed
    return pd.DataFrame({"n": 1} | labels | {"observed": observed}, index=frame.index)
