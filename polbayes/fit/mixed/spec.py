"""The spec of an ordinary mixed model: one formula, in the notation of lme4 and brms."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polbayes.config.schema import AnalysisConfig, FeatureConfig
from polbayes.errors import UserError, check_known, unknown
from polbayes.fit.mixed.families import FAMILIES, MixedFamily
from polbayes.fit.spec.answers import selection
from polbayes.fit.spec.formula import Formula, GroupTerm, parse_formula
from polbayes.fit.spec.priors import Prior, flatten, parse_prior
from polbayes.fit.spec.spec import common_names, drops

PART = "mu"

# Functions allowed in a formula, by purpose; no other Python is allowed in a config.
FUNCTIONS = (
    *("scale", "standardize", "center"),
    *("log", "log2", "log10", "exp", "sqrt", "abs"),
    *("I", "C", "T", "S", "bs", "poly"),
)
_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\s*\(")
_SCALES = {family.scale for family in FAMILIES.values() if family.scale}


@dataclass(frozen=True)
class MixedSpec:
    """A parsed spec of a mixed model."""

    # The response, and its distribution
    response: str
    family: str
    formula: Formula  # the formula of the mean, with an intercept unless it says 0 +
    priors: Mapping[str, str]  # the user's by dotted key; others are Bambi's defaults
    select: Mapping[str, tuple[Any, ...]]  # coordinate values to keep, by coordinate name
    by: str | None = None  # variable with a separate fit for each level
    table: str | None = None  # path of a table whose columns are joined to the answers, or None
    features: FeatureConfig = field(default_factory=FeatureConfig)  # for text features
    drops: bool = False  # whether unidentified terms are dropped, not refused

    @property
    def distribution(self) -> MixedFamily:
        """The family."""
        return FAMILIES[self.family]

    @property
    def parts(self) -> Mapping[str, Formula]:
        """The formula, by the name of its part."""
        return {PART: self.formula}

    @property
    def simple(self) -> bool:
        """Whether it is Gaussian with at most one group-specific term, ``(1 | group)``."""
        groups = self.formula.groups
        return self.distribution.normal and len(groups) <= 1 and all(g.expr == "1" for g in groups)

    def prior(self, *names: str) -> Prior | None:
        """Return the most specific of the user's priors, or None.

        `names` are that of a term; of a grouping factor and ``"sd"``; or of the own scale.
        """
        if names[0] in _SCALES:
            keys = [names[0]]
        elif names[-1] == "sd":
            keys = [".".join((PART, *names)), f"{PART}.sd", "sd"]
        elif names == ("Intercept",):
            keys = [f"{PART}.Intercept"]
        else:
            keys = [f"{PART}.{names[0]}", f"{PART}.common", "common"]
        for key in keys:
            if key in self.priors:
                return _prior(key, self.priors[key])
        return None


def is_mixed(config: AnalysisConfig) -> bool:
    """Tell whether a spec is for an ordinary mixed model: it has the part ``mu``."""
    return config.parts.get(PART) is not None


def parse_mixed(config: AnalysisConfig, features: FeatureConfig | None = None) -> MixedSpec:
    """Parse and check the spec of a mixed model as far as possible without data."""
    check_known("family of mixed models", config.family, known=FAMILIES, where="analysis.family")
    if config.anchor:
        raise UserError(
            "analysis.anchor: an anchor is for the ideology model, whose discriminations may then "
            "have either sign; a mixed model has none."
        )
    if config.reference:
        raise UserError(
            "analysis.reference: is for the ideology model, which estimates positions; a mixed "
            "model has none."
        )
    if config.misclassification is not None:
        raise UserError(
            "analysis.misclassification: is for the ideology model; a mixed model takes what a "
            "coder read for true."
        )
    _check_parts(config)
    allowed = FAMILIES[config.family].responses
    if allowed is not None and config.response not in allowed:
        raise unknown(
            f"response for family {config.family}",
            config.response,
            allowed,
            where="analysis.response",
        )
    formula = _formula(str(config.parts[PART]), config.family)
    priors = flatten(config.priors)
    _check_priors(priors, formula, config.family)
    return MixedSpec(
        response=config.response,
        family=config.family,
        formula=formula,
        priors=priors,
        select=selection(config.select),
        by=config.by,
        table=config.table,
        features=features or FeatureConfig(),
        drops=drops(config),
    )


def _check_parts(config: AnalysisConfig) -> None:
    for part, text in config.parts.items():
        if part == PART or text is None:
            continue
        if FAMILIES[config.family].ordinal:
            raise UserError(
                f"analysis.parts.{part}: an ordinal mixed model has one formula, mu, because Bambi "
                "cannot let its thresholds depend on predictors; the parts theta and threshold of "
                "the ideology model can, without mu."
            )
        raise UserError(
            f"analysis.parts.{part}: the part mu makes the analysis an ordinary mixed model, which "
            "has no other part; leave out one of the two."
        )


def _formula(text: str, family: str) -> Formula:
    """Parse the formula; unlike a part of the ideology model it has an intercept by default."""
    where = f"analysis.parts.{PART}"
    body = text.strip().removeprefix("~").strip()
    if "~" in body:
        raise UserError(
            f"{where}: '{text}' has a response; say it in analysis.response and begin with '~'."
        )
    _check_calls(body, where)
    parsed = parse_formula(f"1 + {body}" if body else body, where=where)
    common = parsed.common.removeprefix("1 + ")
    for group in parsed.groups:
        _check_group(group, where)
    names = common_names(common, where)
    if FAMILIES[family].ordinal and "Intercept" not in names:
        raise UserError(
            f"{where}: an ordinal model has thresholds in place of the intercept, so there is "
            f"none to leave out; write the formula without 0 or -1."
        )
    if not names and not parsed.groups:
        raise UserError(f"{where}: '{text}' has no term.")
    return Formula(text.strip(), common, parsed.groups)


def _check_calls(body: str, where: str) -> None:
    for name in _CALL.findall(body):
        if name == "gr":
            raise UserError(
                f"{where}: gr(…, by = …) is not available here, because Bambi gives a grouping "
                "factor one standard deviation for all its levels; write (1 | a:b)."
            )
        check_known("function", name, known=FUNCTIONS, where=where)


def _check_group(group: GroupTerm, where: str) -> None:
    """Refuse correlated coefficients, which Bambi does not support."""
    bare = group.expr.replace(" ", "")
    if group.correlated and bare != "1" and not bare.startswith(("0+", "-1+")):
        raise refuse_correlated(group, where)
    common_names(group.expr, where)


def refuse_correlated(group: GroupTerm, where: str) -> UserError:
    """Return the error for correlated group-specific coefficients."""
    return UserError(
        f"{where}: {group} asks for correlated coefficients, which Bambi would fit as if they were "
        f"independent; write ({group.expr} || {group.name}) if independent is what you mean."
    )


def _check_priors(priors: Mapping[str, str], formula: Formula, family: str) -> None:
    known = {"common", "sd", f"{PART}.common", f"{PART}.sd"}
    known |= {f"{PART}.{name}" for name in common_names(formula.common, f"analysis.parts.{PART}")}
    known |= {f"{PART}.{group.name}.sd" for group in formula.groups}
    if FAMILIES[family].ordinal:
        known.discard(f"{PART}.Intercept")
    known |= {FAMILIES[family].scale} - {""}
    for key, text in priors.items():
        check_known("prior", key, known=known, where="analysis.priors")
        _prior(key, text)


def _prior(key: str, text: str) -> Prior:
    scale = key.endswith("sd") or key in _SCALES
    return parse_prior(text, where=f"analysis.priors.{key}", scale=scale, correlation=False)
