"""What the spec of a mixed model means, as lines of plain text."""

from typing import Any

import numpy as np

from polbayes.data.prose import plural
from polbayes.fit.mixed.model import MixedModel
from polbayes.fit.mixed.spec import MixedSpec


def equation(spec: MixedSpec, model: MixedModel, *, strata: int = 1) -> str:
    """Write a spec as the equations it means."""
    lines = [spec.distribution.link.format(response=spec.response)]
    common = spec.formula.common.removeprefix("1 + ")
    if spec.distribution.ordinal and common == "1":
        common = ""  # the thresholds replace the intercept
    terms = [f"β[{common}]"] if common and common != "0" else []
    groups = [f"u[{group.group}: {', '.join(group.terms)}]" for group in model.groups]
    lines.append(f"η = {' + '.join([*terms, *groups]) or 0}")
    for group, name in zip(model.groups, groups, strict=True):
        scale = "σ²" if len(group.terms) == 1 else "diag(σ²)"
        lines.append(f"    {name} ~ Normal(0, {scale}), {plural(len(group.levels), 'level')}")
    if spec.by is not None:
        lines.append(f"fitted separately for each {spec.by} ({strata})")
    return "\n".join(lines)


def prior_lines(spec: MixedSpec, model: MixedModel, *, answered: bool) -> list[str]:
    """Write the priors of a model, one per line."""
    lines = []
    if model.intercept:
        where = ", at the mean of the predictors" if model.common else ""
        lines.append(f"mu: Intercept{where} ~ {_shown(model.mean.intercept_term.prior)}")
    for term in model.common:
        prior = model.mean.common_terms[term.variable].prior
        lines += [f"mu: coefficient of {n} ~ {text}" for n, text in _each(prior, term.names)]
    for group in model.groups:
        prior = model.mean.group_specific_terms[group.variable].prior.args["sigma"]
        lines += [
            f"mu: standard deviation of {group.group}: {n} ~ {text}"
            for n, text in _each(prior, group.terms)
        ]
    for theirs, ours in (("sigma", "σ"), ("kappa", "φ")):
        if theirs in model.parameters:
            lines.append(f"{ours} ~ {_shown(model.parameters[theirs].prior)}")
    if spec.distribution.ordinal:
        prior = model.parameters["threshold"].prior
        names = [f"c[{k + 1}]" for k in range(len(model.points) - 1)]
        lines += [f"{n} ~ {text}, in increasing order" for n, text in _each(prior, names)]
    if spec.distribution.normal and not answered:
        lines.append(
            f"(Those that analysis.priors does not set are in standard deviations of "
            f"{spec.response}, around its mean.)"
        )
    elif spec.by is not None:
        lines.append(
            f"(Those that analysis.priors does not set are the first {spec.by}'s; those of the "
            "others are scaled to their own rows in the same way.)"
        )
    return lines


def _each(prior: Any, names: Any) -> list[tuple[str, str]]:
    """Write a prior, whose arguments may be vectors, for each of its quantities."""
    count = len(names)
    numbers = {
        key: np.broadcast_to(np.squeeze(np.asarray(value, dtype=float)), count)
        for key, value in prior.args.items()
        if isinstance(value, int | float | np.ndarray | list)
    }
    texts = [
        f"{prior.name}({', '.join(f'{column[k]:.3g}' for column in numbers.values())})"
        for k in range(count)
    ]
    return list(zip(names, texts, strict=True))


def _shown(prior: Any) -> str:
    return _each(prior, ("",))[0][1]
