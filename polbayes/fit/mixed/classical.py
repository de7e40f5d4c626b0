"""The classical fit of a Gaussian mixed model with one random intercept: REML, t and p.

It uses the same sums as the exact draws (`polbayes.fit.mixed.exact`): with flat priors the
density of the standard deviations is the restricted likelihood. Given their ratio, the residual
standard deviation has a closed form, which leaves a search in one dimension. Degrees of freedom
are Satterthwaite's (1946) for the variance of a coefficient, as lmerTest computes them
(Kuznetsova, Brockhoff and Christensen 2017).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize_scalar

from polbayes.fit.mixed.columns import RESPONSE
from polbayes.fit.mixed.exact import Sums, conditional, sums_of
from polbayes.fit.mixed.identify import design_matrix
from polbayes.fit.mixed.rows import Rows, group_column
from polbayes.fit.mixed.spec import PART, MixedSpec

# Range of the search for log(tau / sigma).
_RATIOS = np.arange(-10, 15, 0.1)
# Below, lme4 calls a fit singular: the groups do not differ.
_SINGULAR = 1e-4
_STEP = 0.01
# A residual variance due to rounding only, relative to the mean square of the response.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class RemlFit:
    """A restricted maximum likelihood fit."""

    beta: np.ndarray  # [coefficient] estimates
    se: np.ndarray  # [coefficient]
    df: np.ndarray  # [coefficient]
    # Standard deviations of the residual and of the intercepts; tau is 0 where the fit is singular
    sigma: float
    tau: float


def has_classical(spec: MixedSpec) -> bool:
    """Tell whether a spec has a classical fit here."""
    return spec.simple and spec.formula.common != "0"


def classical_table(rows: Rows, spec: MixedSpec, *, level: float) -> pd.DataFrame:
    """Fit a spec by REML and test its coefficients."""
    names, matrix = design_matrix(rows.frame, spec.formula.common, f"analysis.parts.{PART}")
    y = rows.frame[RESPONSE].to_numpy(dtype=float)
    index = np.empty(0, dtype=int)
    if spec.formula.groups:
        index = pd.factorize(rows.frame[group_column(0)])[0]
    fit = reml(matrix, y, index, intercept="Intercept" in names)
    tested = np.array([name != "Intercept" for name in names])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = fit.beta / fit.se
    p = 2 * stats.t.sf(np.abs(t), fit.df)
    half = stats.t.isf((1 - level) / 2, fit.df) * fit.se
    return pd.DataFrame(
        {
            "term": names,
            "estimate": fit.beta,
            "se": fit.se,
            "lower": fit.beta - half,
            "upper": fit.beta + half,
            "df": fit.df,
            "t": t,
            "p": p,
            "p_bonferroni": np.where(tested, np.minimum(1.0, p * tested.sum()), np.nan),
            "tests": int(tested.sum()),
            "n": len(y),
            "n_groups": len(np.unique(index)),
            "coverage": level,
            "note": _note(fit, grouped=bool(len(index))),
        }
    )


def _note(fit: RemlFit, *, grouped: bool) -> str:
    if np.isnan(fit.se).any():
        return "the predictors explain every answer: nothing to test"
    if grouped and fit.tau == 0:
        return "singular: the groups do not differ beyond chance"
    return ""


def reml(x: np.ndarray, y: np.ndarray, group: np.ndarray, *, intercept: bool) -> RemlFit:
    """Fit a linear model with an intercept that varies by group, by REML.

    `x` is ``[row, coefficient]``, of full rank and with fewer columns than rows; the first column
    is ones if `intercept` is true. `group` is ``[row]``, from 0, and empty without groups.
    """
    # Centring preserves the precision of the sums; `turn` and `centre` restore the intercept.
    turn, centre = np.eye(x.shape[1]), np.zeros(x.shape[1])
    if intercept:
        means = x.mean(axis=0)
        turn[0, 1:], centre[0] = -means[1:], y.mean()
        x = np.column_stack([np.ones(len(x)), x[:, 1:] - means[1:]])
        y = y - y.mean()
    flat = np.zeros(x.shape[1])
    scale = float(np.sqrt(np.mean(y**2))) or 1.0
    profile = _Profile(sums_of(x, y / scale, group, precision=flat, mean=flat), turn)
    ratio = _ratio(profile) if len(group) else -np.inf
    at = profile.at(np.array([ratio]))
    freedom = len(y) - x.shape[1]
    sigma2 = float(at.square[0]) / freedom
    beta = turn @ at.mean[0] * scale + centre
    nothing = np.full(x.shape[1], np.nan)
    if sigma2 < _ROUNDING:
        return RemlFit(beta, nothing, nothing, 0.0, 0.0)
    se = np.sqrt(sigma2 * at.variance[0])
    sigma = float(np.sqrt(sigma2)) * scale
    if not np.isfinite(ratio):
        return RemlFit(beta, se * scale, np.full(x.shape[1], float(freedom)), sigma, 0.0)
    df = _satterthwaite(profile, ratio, sigma2, freedom)
    return RemlFit(beta, se * scale, df, sigma, sigma * float(np.exp(ratio)))


@dataclass(frozen=True)
class _At:
    """Terms of the likelihood at some ratios of the standard deviations, with sigma 1."""

    square: np.ndarray  # [point] weighted sum of squared residuals
    determinants: np.ndarray  # [point] log determinants of covariance and coefficients' precision
    mean: np.ndarray  # [point, coefficient] estimates, of centred predictors
    variance: np.ndarray  # [point, coefficient] their variances, of the original predictors


@dataclass(frozen=True)
class _Profile:
    sums: Sums
    turn: np.ndarray

    def at(self, log_ratio: np.ndarray) -> _At:
        found = conditional(self.sums, np.zeros(len(log_ratio)), log_ratio)
        with_groups = np.log1p(self.sums.group_rows * np.exp(2 * log_ratio)[:, None]).sum(axis=1)
        diagonal = np.diagonal(found.root, axis1=1, axis2=2)
        determinants = with_groups + 2 * np.log(diagonal).sum(axis=1)
        half = np.linalg.solve(found.root, np.broadcast_to(self.turn.T, found.root.shape))
        square = np.maximum(-2 * found.log_density - determinants, 0.0)
        return _At(square, determinants, found.mean, (half**2).sum(axis=1))

    def deviance(self, log_ratio: np.ndarray) -> np.ndarray:
        """Return minus twice the restricted log-likelihood at the best sigma, up to a constant."""
        at = self.at(log_ratio)
        freedom = self.sums.rows - self.sums.xx.shape[0]
        return at.determinants + freedom * np.log(np.maximum(at.square, np.finfo(float).tiny))


def _ratio(profile: _Profile) -> float:
    """Return the log of tau / sigma at the maximum; minus infinity where tau is 0."""
    deviance = profile.deviance(_RATIOS)
    best = int(np.argmin(deviance))
    ends = _RATIOS[max(best - 1, 0)], _RATIOS[min(best + 1, len(_RATIOS) - 1)]
    found = minimize_scalar(
        lambda v: float(profile.deviance(np.array([v]))[0]),
        bounds=ends,
        method="bounded",
        options={"xatol": 1e-9},
    )
    none = float(profile.deviance(np.array([-np.inf]))[0])
    if np.exp(found.x) < _SINGULAR or none <= found.fun:
        return -np.inf
    return float(found.x)


def _satterthwaite(profile: _Profile, ratio: float, sigma2: float, freedom: int) -> np.ndarray:
    """Return the degrees of freedom ``[coefficient]``: 2 v² over the variance of v.

    The variance v of a coefficient depends on log sigma and on the log of the ratio; theirs is
    the inverse of the observed information, and that of v follows by the delta method. The
    derivatives by the log of the ratio are differences of fourth order.
    """
    at = profile.at(ratio + _STEP * np.arange(-2, 3))
    first = np.array([1, -8, 0, 8, -1]) / (12 * _STEP)
    second = np.array([-1, 16, -30, 16, -1]) / (12 * _STEP**2)
    # Of minus the restricted log-likelihood, by log sigma and the log of the ratio.
    cross = -(first @ at.square) / sigma2
    curve = 0.5 * (second @ at.square / sigma2 + second @ at.determinants)
    information = np.array([[2.0 * freedom, cross], [cross, curve]])
    slope = np.stack([2 * at.variance[2], first @ at.variance])
    spread = np.einsum("ak,ab,bk->k", slope, np.linalg.inv(information), slope)
    return 2 * at.variance[2] ** 2 / spread
