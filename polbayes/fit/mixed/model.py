"""A spec and its rows as a Bambi model."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from polbayes.errors import UserError
from polbayes.fit.mixed.columns import RESPONSE
from polbayes.fit.mixed.rows import TRIALS, Rows, group_column
from polbayes.fit.mixed.spec import MixedSpec
from polbayes.fit.spec.formula import NAMESPACE
from polbayes.fit.spec.priors import Prior
from polbayes.fit.spec.spec import common_names

if TYPE_CHECKING:
    import pymc as pm

# If the level means of every grouping factor have this reliability, the data are more informative
# about the effects than their distribution, and the centred parametrisation is easier to sample.
_CENTRED_FROM = 0.9


@dataclass(frozen=True)
class Coefficients:
    """The location of one term's coefficients."""

    variable: str  # name of the variable in the PyMC model
    names: tuple[str, ...]  # names of the coefficients, in the order of the variable's entries


@dataclass(frozen=True)
class GroupEffects:
    """The location of the effects of one group-specific term."""

    variable: str  # name in the PyMC model; its standard deviations are {variable}_sigma
    group: str  # name of the grouping factor
    terms: tuple[str, ...]  # names of what varies, e.g. ("Intercept",)
    levels: tuple[str, ...]  # levels of the factor, in the order of the variable's entries


@dataclass(frozen=True)
class MixedModel:
    """A built Bambi model, and the names of its parts."""

    bambi: Any  # the Bambi model
    model: "pm.Model"  # its PyMC model, without variables that have an entry per row
    common: tuple[Coefficients, ...]  # the terms of the common part, except the intercept
    intercept: bool  # whether there is one; in the PyMC model it is of centred predictors
    groups: tuple[GroupEffects, ...]  # the group-specific terms
    points: tuple[str, ...]  # labels of the occurring points of an ordinal response

    @property
    def mean(self) -> Any:
        """Bambi's component of the mean."""
        return _mean(self.bambi)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Bambi's components: the mean and the other parameters of the family."""
        return _parameters(self.bambi)

    @property
    def matrix(self) -> np.ndarray:
        """``[row, coefficient]`` the predictors, without the intercept and not centred."""
        columns = [term.data for term in self.mean.common_terms.values()]
        return np.column_stack(columns) if columns else np.empty((len(self.bambi.data), 0))


def _parameters(model: Any) -> Mapping[str, Any]:
    """Return Bambi's parameters of a model, which were components before version 0.21."""
    found: Mapping[str, Any] = (
        model.parameters if hasattr(model, "parameters") else model.components
    )
    return found


def _mean(model: Any) -> Any:
    return _parameters(model)[model.family.likelihood.parent]


def build(rows: Rows, spec: MixedSpec) -> MixedModel:
    """Build the Bambi model of a spec for one stratum of checked rows."""
    import bambi

    frame, points = _with_response(rows, spec)
    with warnings.catch_warnings():
        # Thresholds replace the intercept, which the formula needs for its contrasts.
        warnings.filterwarnings("ignore", message="The intercept is omitted in ordinal families")
        model = bambi.Model(
            _bambi_formula(spec),
            frame,
            family=spec.family,
            priors=_bambi_priors(spec),
            noncentered=not _informed(frame, spec),
            extra_namespace=dict(NAMESPACE),
        )
    _set_group_priors(model, spec)
    model.build()
    return _named(model, spec, points)


def _with_response(rows: Rows, spec: MixedSpec) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Give the response the type by which Bambi recognises its family."""
    # Bambi recognises texts by their old type.
    texts = [n for n, t in rows.frame.dtypes.items() if isinstance(t, pd.StringDtype)]
    frame = rows.frame.astype(dict.fromkeys(texts, object))
    if TRIALS in frame:
        constant = frame[RESPONSE].sum() in (0, frame[TRIALS].sum())
    else:
        constant = frame[RESPONSE].nunique() < 2
    if constant:
        raise UserError(
            f"fit: {spec.response} is the same in all {len(frame):,} rows, so that nothing can be "
            "learned about what it depends on."
        )
    if not spec.distribution.ordinal:
        return frame.astype({RESPONSE: int}) if spec.distribution.whole else frame, ()
    lowest = -1 if spec.response == "stance" else 0
    codes = np.sort(frame[RESPONSE].unique())
    points = tuple(rows.points[int(code) - lowest] for code in codes)
    ordered = pd.Categorical(frame[RESPONSE], categories=codes, ordered=True)
    return frame.assign(**{RESPONSE: ordered}), points


def _bambi_formula(spec: MixedSpec) -> str:
    left = f"p({RESPONSE}, {TRIALS})" if spec.distribution.counted else RESPONSE
    groups = [f"({g.expr} | {group_column(k)})" for k, g in enumerate(spec.formula.groups)]
    return f"{left} ~ {' + '.join([spec.formula.common, *groups])}"


def _informed(frame: pd.DataFrame, spec: MixedSpec) -> bool:
    """Tell whether the means of the levels of every grouping factor are reliable.

    The reliability of a mean of n answers is B / (B + W / n), where B is the variance between
    levels and W that within. Here W includes the variance explained by the predictors.
    """
    answers = frame[RESPONSE].astype(float)
    counted = TRIALS in frame
    weight = frame[TRIALS] if counted else answers * 0 + 1
    squares = answers if counted else answers**2
    for k in range(len(spec.formula.groups)):
        level = frame[group_column(k)]
        n = weight.groupby(level).sum()
        mean = answers.groupby(level).sum() / n
        noise = (squares.groupby(level).sum() / n - mean**2) / n
        between = max(float(mean.var() - noise.mean()), 0.0)
        if not between or (between / (between + noise)).mean() < _CENTRED_FROM:
            return False
    return True


def bambi_prior(prior: Prior) -> Any:
    """Return a prior in Bambi's form."""
    import bambi

    return bambi.Prior(prior.name, **prior.arguments)


def _bambi_priors(spec: MixedSpec) -> Mapping[str, Any]:
    """Return the user's priors of the common coefficients and of the family's own scale."""
    priors = {}
    for name in common_names(spec.formula.common):
        prior = spec.prior(name)
        if prior is not None and not (name == "Intercept" and spec.distribution.ordinal):
            priors[name] = bambi_prior(prior)
    family = spec.distribution
    own = spec.prior(family.scale) if family.scale else None
    if own is not None:
        priors[family.bambi_scale] = bambi_prior(own)
    return priors


def _set_group_priors(model: Any, spec: MixedSpec) -> None:
    """Set the user's priors of standard deviations, whose terms come from Bambi."""
    import bambi

    priors = {}
    mean = _mean(model)
    for name, term in mean.group_specific_terms.items():
        number = _group_number(name)
        prior = spec.prior(spec.formula.groups[number].name, "sd")
        if prior is not None:
            priors[term.name] = bambi.Prior("Normal", mu=0, sigma=bambi_prior(prior))
    if priors:
        model.set_priors(priors)


def _group_number(name: str) -> int:
    return int(name.rsplit("|polbayes_group", 1)[1])


def _named(model: Any, spec: MixedSpec, points: tuple[str, ...]) -> MixedModel:
    mean = _mean(model)
    common = tuple(
        Coefficients(term.name, _coefficient_names(term.name, term.coords, term.data))
        for term in mean.common_terms.values()
    )
    groups = []
    for name, term in mean.group_specific_terms.items():
        what = name.rsplit("|", 1)[0]
        what = "Intercept" if what == "1" else what
        inner = [v for k, v in term.coords.items() if k.endswith("__expr_dim")]
        terms = tuple(f"{what}[{level}]" for level in inner[0]) if inner else (what,)
        factor = spec.formula.groups[_group_number(name)].name
        groups.append(GroupEffects(name, factor, terms, tuple(map(str, term.groups))))
    pymc_model = model.backend.model
    # Variables with an entry per row would fill the memory.
    kept = type(pymc_model.deterministics)()
    for variable in pymc_model.deterministics:
        if "__obs__" not in pymc_model.named_vars_to_dims[variable.name]:
            kept.append(variable)
    pymc_model.deterministics = kept
    intercept = mean.intercept_term is not None
    return MixedModel(model, pymc_model, common, intercept, tuple(groups), points)


def _coefficient_names(name: str, coords: Mapping[str, Any], data: np.ndarray) -> tuple[str, ...]:
    if not coords:
        return (name,)
    levels = next(iter(coords.values()))
    assert len(levels) == data[:1].size
    return tuple(f"{name}[{level}]" for level in levels)
