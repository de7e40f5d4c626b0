"""The equations of a spec, as plain text."""

from collections.abc import Mapping

from polbayes.data.prose import plural
from polbayes.fit.spec.formula import GroupTerm
from polbayes.fit.spec.priors import CONSTANT
from polbayes.fit.spec.spec import COPIES, POSITIONS, WALK, Spec, common_names
from polbayes.fit.spec.terms import BoundGroup, BoundPart
from polbayes.instrument.poles import POLITICAL, Poles

# Descriptions of the parts common to all families.
_OWN = {"decisiveness": "κ = exp(decisiveness), the unit of η is the standard deviation of quirks"}


def equation(
    spec: Spec, parts: Mapping[str, BoundPart] | None = None, poles: Poles = POLITICAL
) -> str:
    """Write a spec as equations, of answers between these poles."""
    family = spec.observation
    link, texts = family.sharp_link if spec.sampled_items else family.link, {**_OWN, **family.texts}
    lines = [link.format(response=spec.response), f"η = {_predictor(spec)}"]
    if spec.misclassification is not None:
        lines.insert(
            1, f"P(read as c, confidence in bin b | {spec.response} = k) = P[k, c] · Q[k, c, b]"
        )
    if any(POSITIONS[part] == "believed" for part in spec.parts):
        lines.append(
            f"s = +1 where agreeing is {poles.positive.leaning}, "
            f"−1 where it is {poles.negative.leaning}"
        )
    lines += [
        f"theta[{model}, {dimension}] > 0 at the mode" for dimension, model in spec.anchors.items()
    ]
    lines += [texts[part] for part in spec.parts if part in texts]
    if "validity" in spec.parts:
        lines.append(family.validity)
    for name, formula in spec.parts.items():
        terms = [f"β[{formula.common}]"] if formula.common != "0" else []
        terms += [f"u[{_levels(group)}]" for group in formula.groups]
        log = name == "discrimination" and not spec.signed
        shown = f"log {name}" if log else name
        lines.append(f"{shown} = {' + '.join(terms)}")
        if parts and _has_copies(parts[name]):
            lines.append(f"{shown} = {COPIES}, of models that were asked once or repeat one answer")
        bound = {g.term: g for g in parts[name].groups} if parts else {}
        lines += [
            _distribution(spec, name, g, bound.get(g), left_out=bool(parts) and g not in bound)
            for g in formula.groups
        ]
    return "\n".join(lines)


def prior_lines(spec: Spec, parts: Mapping[str, BoundPart] | None = None) -> list[str]:
    """Write the priors of a spec, one per line, bound to data if given."""
    lines = []
    for name, formula in spec.parts.items():
        copies = [COPIES] if parts and _has_copies(parts[name]) else []
        for term in [*common_names(formula.common), *copies]:
            lines.append(f"{name}: coefficients of {term} ~ {spec.prior(name, term)}")
        for group in formula.groups:
            each = f", one for each {group.by}" if group.by else ""
            for label in [(scale,) for scale in WALK] if group.walk else [()]:
                of = f"the {label[0]} of " if label else ""
                prior = spec.prior(name, group.name, *label, "sd")
                lines.append(f"{name}: standard deviation of {of}{group} ~ {prior}{each}")
            if group.heavy:
                nu = spec.prior(name, group.name, "nu")
                lines.append(f"{name}: degrees of freedom of {group} ~ {nu}")
            if group.expr not in ("0", "1") and group.correlated:
                cor = spec.prior(name, group.name, "cor")
                lines.append(f"{name}: correlations of {group} ~ {cor}")
    if spec.observation.gaps(3):
        lines.append(f"distance of neighbouring cutpoints ~ {spec.cutpoint_prior}")
    errors = spec.misclassification
    if errors is not None:
        each = f", one P a model with {errors.pooled:g} answers of the others" * errors.by_model
        lines.append(
            f"rows of P and Q ~ Dirichlet(counts of {errors.confusion} + {errors.prior:g}){each}"
        )
    return lines


def _predictor(spec: Spec) -> str:
    belief = "theta − difficulty" if "difficulty" in spec.parts else "theta"
    if "discrimination" in spec.parts:
        as_one = "difficulty" in spec.parts and not spec.signed
        belief = f"discrimination · ({belief})" if as_one else f"discrimination · {belief}"
    inside = " + ".join([belief, *(p for p in ("steer", "quirk", "dif") if p in spec.parts)])
    asked = [p for p in ("acquiescence", "wording") if p in spec.parts]
    return " + ".join([*asked, f"s · ({inside})"])


def _levels(group: GroupTerm) -> str:
    names = ", ".join(group.factors)
    expr = group.expr.replace("0 +", "").strip()
    return names if expr == "1" else f"{names}; {expr}"


def _distribution(
    spec: Spec, part: str, group: GroupTerm, bound: BoundGroup | None, *, left_out: bool
) -> str:
    scale = f"σ²[{group.by}]" if group.by else "σ²"
    nu = "ν"
    if group.heavy and spec.prior(part, group.name, "nu").name == CONSTANT:
        nu = f"{spec.prior(part, group.name, 'nu').values[0]:g}"
    normal = f"t({nu}, 0, {scale})" if group.heavy else f"Normal(0, {scale})"
    if group.expr not in ("0", "1"):
        normal = "MvNormal(0, Σ)" if group.correlated else "Normal(0, diag(σ²))"
    if spec.sampled_items and left_out:
        return f"    u[{_levels(group)}] is left out, as nothing was asked twice"
    line = f"    u[{_levels(group)}] ~ {normal}"
    if group.walk:
        before = ", ".join([*group.factors[:-1], f"{group.factors[-1]} before"])
        first = "the first Normal(0, σ²[start])"
        line = f"    u[{_levels(group)}] ~ Normal(u[{before}], σ²[step]), {first}"
    if bound is not None:
        line += f", {plural(len(bound.levels), 'level')}"
        if bound.entering is not None:
            line += ", 0 in the baseline"
        if bound.centred_in is not None:
            groups = int(bound.centred_in.max()) + 1
            line += ", summing to zero" + (f" in each of {groups} groups" if groups > 1 else "")
        if bound.integrated:
            line += ", integrated out"
    return line


def _has_copies(part: BoundPart) -> bool:
    return part.common is not None and COPIES in part.common.terms
