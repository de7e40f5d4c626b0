"""The analysis spec: the parts of the predictor, with a formula and priors for each.

For model m, item i of dimension d, wording v, prefix p, keyed s = ±1, the predictor is::

    eta = acquiescence + wording
          + s * ( discrimination * (theta - difficulty) + steer + quirk + dif )

Every part is optional except theta, and is defined by its formula. Answers depend on ``decisiveness
* eta``: with that part, the unit of the predictor is the spread of a model's views on single
statements (the standard deviation of quirks), statements are a sample from a domain, and neither
quirks nor difficulties sum to zero. Without it the unit is the noise between runs and estimates are
for the statements asked. Discriminations are positive. With anchors they may have either sign, and
the model is the two-parameter item response model used for ideal points of votes: ``discrimination
* theta - difficulty`` instead of ``discrimination * (theta - difficulty)``, in which an item with
discrimination 0 would have no location.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from polbayes.config.schema import AnalysisConfig, MisclassificationConfig
from polbayes.errors import UserError, check_known
from polbayes.fit.families import FAMILIES
from polbayes.fit.families.base import Family
from polbayes.fit.spec.answers import selection
from polbayes.fit.spec.formula import Formula, described, parse_formula
from polbayes.fit.spec.priors import Prior, flatten, parse_prior

# Part -> where it enters: in agreement, in belief, or on its own.
POSITIONS: Mapping[str, str] = {
    "acquiescence": "asked",
    "wording": "asked",
    "theta": "believed",
    "difficulty": "believed",
    "steer": "believed",
    "quirk": "believed",
    "dif": "believed",
    "discrimination": "discrimination",
    "decisiveness": "decisiveness",
    "threshold": "threshold",
    "sigma": "sigma",
    "phi": "phi",
    "validity": "validity",
    "validity_sigma": "validity",
    "validity_phi": "validity",
}

# The parts whose effects have the unit of the predictor.
IN_UNITS = {part for part, where in POSITIONS.items() if where in ("asked", "believed")}

# For discriminations of either sign: the mean of theta is separate from those of the other parts,
# and discriminations have their own mean.
_SIGNED: Mapping[str, str] = {"theta": "multiplied", "discrimination": "multiplier"}

# Positions of the parts that only some families have.
_OF_FAMILIES = ("threshold", "sigma", "phi", "validity")

_DEFAULT_PRIORS = {
    "common": "Normal(0, 1)",
    "sd": "HalfNormal(0.5)",
    "cor": "LKJ(2)",
    "nu": "Gamma(2, 0.1)",
    "theta.sd": "HalfNormal(1)",
    "acquiescence.model.sd": "HalfNormal(1)",
    "difficulty.sd": "HalfNormal(1)",
    "discrimination.sd": "HalfNormal(0.3)",
    "dif.sd": "HalfNormal(0.2)",
    "dif.nu": "Constant(1)",
    "sigma.common": "Normal(-1, 1)",
    "phi.common": "Normal(2, 1)",
    "validity.common": "Normal(0, 2)",
    "validity.sd": "HalfNormal(1)",
    "validity_sigma.common": "Normal(0, 1)",
    "validity_phi.common": "Normal(2, 1)",
    "cutpoints": "LogNormal(0, 0.7)",
}

# What 0 and the unit of reported positions are from.
STATEMENTS, REFERENCE, POPULATION = SCALES = ("statements", "reference", "population")

# Labels of the scales of a random walk: of where it starts, and of its steps.
WALK = ("start", "step")

# The term of models whose runs are copies of one answer, or that were asked once
# (`polbayes.fit.spec.terms.bind`).
COPIES = "copies"

# With decisiveness, the spread of quirks is the unit of the predictor.
_UNIT = {"quirk.sd": "Constant(1)"}
_UNIT_DEFAULTS = {
    "decisiveness.common": "Normal(1, 1)",
    "decisiveness.sd": "Constant(1)",
    f"decisiveness.{COPIES}": "Constant(1.5)",
    **_UNIT,
}

# For a product of two effects with mean 0 the data identify only the product of the scales. There
# are usually more items than models, so their scale is the better unit; it is also the unit of
# theta with positive discriminations.
_SIGNED_PRIORS = {"discrimination.sd": "Constant(1)", "difficulty.sd": "HalfNormal(2)"}


@dataclass(frozen=True)
class Spec:
    """A parsed analysis spec.

    Parameters
    ----------
    response, family
        The response and its observation model.
    parts
        Formula of each part.
    priors
        Priors by dotted key, the user's over the defaults.
    select
        Coordinate values to keep, by coordinate name.
    anchors
        By dimension, the model known to be right of the middle, if discriminations may
        have either sign.
    misclassification
        Settings of the coder's errors; None if it makes none.
    fixed_prefixes
        Whether the estimand covers only the prefixes asked, not a population of prefixes.
    reference
        Values of attributes of models by name: those of the reference
        (`polbayes.fit.posterior.reference`).
    drops
        Whether unidentified terms are dropped, not refused.
    scale
        What 0 and the unit of the positions that are reported are from, one of `SCALES`.
    populations
        Values of attributes of models by name: those of populations
        (`polbayes.fit.posterior.populations`).
    """

    response: str
    family: str
    parts: Mapping[str, Formula]
    priors: Mapping[str, str]
    select: Mapping[str, tuple[Any, ...]]
    anchors: Mapping[str, str] = field(default_factory=dict)
    misclassification: MisclassificationConfig | None = None
    fixed_prefixes: bool = False
    reference: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    drops: bool = False
    scale: str = STATEMENTS
    populations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def observation(self) -> Family:
        """The observation family."""
        return FAMILIES[self.family]

    @property
    def signed(self) -> bool:
        """Whether discriminations may have either sign."""
        return bool(self.anchors)

    @property
    def sampled_items(self) -> bool:
        """Whether the items are a sample from a domain, and the spread of quirks the unit."""
        return "decisiveness" in self.parts

    @property
    def own_decisiveness(self) -> bool:
        """Whether it has priors of the decisiveness that are not the default ones."""
        defaults = _DEFAULT_PRIORS | _UNIT_DEFAULTS
        return any(
            key.startswith("decisiveness.")
            and key != f"decisiveness.{COPIES}"
            and text.replace(" ", "") != defaults.get(key, "").replace(" ", "")
            for key, text in self.priors.items()
        )

    @property
    def held_decisiveness(self) -> float:
        """The decisiveness of respondents whose answers do not tell it."""
        return math.exp(self.prior("decisiveness", COPIES).values[0])

    def position(self, part: str) -> str:
        """Return where a part enters the predictor."""
        return (_SIGNED if self.signed else {}).get(part, POSITIONS[part])

    def prior(self, part: str, *names: str) -> Prior:
        """Return the most specific prior for a quantity of a part.

        `names` are that of the term and, for group-specific ones, ``"sd"``, ``"cor"`` or ``"nu"``.
        The label of a scale may be in between; only those of random walks have priors of their own.
        """
        kind = names[-1] if names[-1] in ("sd", "cor", "nu") else "common"
        shorter = [".".join((part, names[0], kind))] * (len(names) > 2)
        for key in (".".join((part, *names)), *shorter, f"{part}.{kind}", kind):
            if key in self.priors:
                return _parsed(key, self.priors[key])
        raise AssertionError(f"no default prior for {part}.{names}")

    @property
    def cutpoint_prior(self) -> Prior:
        """Prior of the distance between neighbouring cutpoints."""
        return _parsed("cutpoints", self.priors["cutpoints"])


def _parsed(key: str, text: str) -> Prior:
    """Parse a prior; its key determines the kind of parameter."""
    kind = key.split(".")[-1]
    return parse_prior(
        text,
        where=f"analysis.priors.{key}",
        scale=kind in ("sd", "nu", "cutpoints"),
        correlation=kind == "cor",
        constant=kind in ("sd", "nu", COPIES),
    )


def parse_spec(config: AnalysisConfig) -> Spec:
    """Parse and check a spec as far as possible without data.

    Parameters
    ----------
    config
        The spec, as in ``conf/analysis``.

    Raises
    ------
    UserError
        Naming the key that is unknown or does not fit, and what would be right.
    """
    family = FAMILIES.chosen(config.family, where="analysis.family")
    check_known(
        f"response for family {config.family}",
        config.response,
        known=family.responses,
        where="analysis.response",
    )
    known = [p for p, at in POSITIONS.items() if at not in _OF_FAMILIES or p in family.parts]
    parts = {}
    for part, text in config.parts.items():
        if text is None:  # a part dropped by an override
            continue
        check_known("part", part, known=known, where="analysis.parts")
        parts[part] = parse_formula(str(text), where=f"analysis.parts.{part}")
    check_known("value", config.scale, known=SCALES, where="analysis.scale")
    if config.scale == POPULATION and not config.populations:
        raise UserError(
            "analysis.scale: positions on the scale of a population need one; add "
            "analysis.populations, e.g. {who: population}."
        )
    if config.scale == REFERENCE and not config.reference:
        raise UserError(
            "analysis.scale: positions on the scale of the reference need one; add "
            "analysis.reference, e.g. {who: party}."
        )
    if config.populations and "decisiveness" not in parts:
        raise UserError(
            "analysis.populations: the spread of persons is read off the decisiveness; add the "
            "part, e.g. '~ 1 + (1 | model)' with a quirk '~ (1 | model:item)'."
        )
    if "theta" not in parts:
        raise UserError("analysis.parts: the part 'theta' is missing; it is what is estimated.")
    _check_spread(parts, family.spread)
    given = flatten(config.priors)
    _check_unit(parts, given)
    if config.anchor and "discrimination" not in parts:
        raise UserError(
            "analysis.anchor: an anchor is needed where discriminations may have either sign, but "
            "there is no part 'discrimination'; add one, e.g. '~ (1 | item)', or leave the anchor "
            "out."
        )
    _check_prior_keys(given, parts)
    for key, text in given.items():
        _parsed(key, text)
    defaults = _DEFAULT_PRIORS | (_SIGNED_PRIORS if config.anchor else {})
    defaults |= _UNIT_DEFAULTS if "decisiveness" in parts else {}
    anchors = {str(dimension): str(model) for dimension, model in config.anchor.items()}
    errors = config.misclassification
    if errors is not None and config.response not in ("stance", "agree"):
        raise UserError(
            "analysis.misclassification: is for answers that a coder read, which "
            f"{config.response} is not; use response=stance or agree, or leave it out."
        )
    return Spec(
        response=config.response,
        family=family.name,
        parts=parts,
        priors={**defaults, **given},
        select=selection(config.select),
        anchors=anchors,
        misclassification=errors,
        fixed_prefixes=config.precision.prefixes == "fixed",
        reference=_attributes(config.reference),
        populations=_attributes(config.populations),
        drops=drops(config),
        scale=config.scale,
    )


def drops(config: AnalysisConfig) -> bool:
    """Tell whether a spec's unidentified terms are dropped, not refused."""
    known = ["refuse", "leave_out"]
    check_known("value", config.unidentified, known=known, where="analysis.unidentified")
    return config.unidentified == "leave_out"


def _attributes(given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return values of attributes of models as texts; an attribute set to null is none."""
    given = {name: wanted for name, wanted in given.items() if wanted is not None}
    return {name: tuple(map(str, wanted)) for name, wanted in selection(given).items()}


def _check_unit(parts: Mapping[str, Formula], given: Mapping[str, str]) -> None:
    """Refuse a decisiveness without a unit."""
    if "decisiveness" not in parts:
        return
    where = "analysis.parts.decisiveness"
    quirks = parts["quirk"].groups if "quirk" in parts else ()
    if len([q for q in quirks if q.expr == "1" and set(q.factors) == {"model", "item"}]) != 1:
        raise UserError(
            f"{where}: the unit is the spread of what a model thinks of single statements, so "
            "that the part quirk needs the term (1 | model:item); add it, or leave decisiveness "
            "out (analysis=ideology_logit)."
        )
    for key in ("quirk.sd", "quirk.model:item.sd"):
        if key in given and not given[key].replace(" ", "").startswith("Constant("):
            raise UserError(
                f"analysis.priors.{key}: with a decisiveness the spread of quirks is the unit, "
                f"and must be known, e.g. Constant(1), not {given[key]}."
            )


def without_errors(spec: Spec) -> Spec:
    """Return the spec without coder errors."""
    return replace(spec, misclassification=None)


def without_part(spec: Spec, part: str) -> Spec:
    """Return the spec without a part."""
    return replace(spec, parts={name: f for name, f in spec.parts.items() if name != part})


def _check_spread(parts: dict[str, Formula], spread: str) -> None:
    """Check the spread of the validity of numeric answers."""
    if not spread:
        return
    if spread in parts and "validity" not in parts:
        raise UserError(
            f"analysis.parts.{spread}: is the spread of the part 'validity', which is missing; add "
            "one, e.g. '~ 1 + (1 | model)'."
        )
    if "validity" in parts and spread not in parts:
        parts[spread] = parse_formula("~ 1", where=f"analysis.parts.{spread}")


def _check_prior_keys(given: Mapping[str, str], parts: Mapping[str, Formula]) -> None:
    known = {"common", "sd", "cor", "cutpoints"}
    if any(group.heavy for formula in parts.values() for group in formula.groups):
        known |= {"nu"}
    for part, formula in parts.items():
        known |= {f"{part}.common", f"{part}.sd", f"{part}.cor"}
        known |= {
            f"{part}.{name}" for name in common_names(formula.common, f"analysis.parts.{part}")
        }
        known |= {f"{part}.{g.name}.{kind}" for g in formula.groups for kind in ("sd", "cor")}
        walks = [g.name for g in formula.groups if g.walk]
        known |= {f"{part}.{name}.{label}.sd" for name in walks for label in WALK}
        heavy = [g.name for g in formula.groups if g.heavy]
        known |= {f"{part}.nu" for _ in heavy} | {f"{part}.{name}.nu" for name in heavy}
    if "decisiveness" in parts:
        known |= {f"decisiveness.{COPIES}"}
    check_known("prior", *given, known=known, where="analysis.priors")


def common_names(common: str, where: str = "analysis.parts") -> list[str]:
    """Return formulae's names of the common terms of a formula."""
    terms = described(common, "common_terms", where=where) if common != "0" else []
    return [str(getattr(term, "name", "Intercept")) for term in terms]
