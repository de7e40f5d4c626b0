"""Fitting a mixed model: from a dataset and a spec to a named posterior."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.mixed.classical import classical_table, has_classical
from polbayes.fit.mixed.exact import BACKEND, check_exact, draw
from polbayes.fit.mixed.identify import check_rows
from polbayes.fit.mixed.model import MixedModel, build
from polbayes.fit.mixed.readout import name_posterior, stack
from polbayes.fit.mixed.rows import Rows, gather_rows, strata
from polbayes.fit.mixed.spec import PART, MixedSpec
from polbayes.fit.mixed.text import equation, prior_lines
from polbayes.fit.mixed.translate import translate
from polbayes.fit.sampling.draws_cache import DrawsCache, load_draws, save_draws
from polbayes.fit.spec.reduction import without
from polbayes.fit.spec.terms import UnidentifiedError


@dataclass(frozen=True)
class MixedFit:
    """A fitted mixed model."""

    # See `polbayes.fit.mixed.readout.name_posterior`; with the dimension `MixedSpec.by` if the
    # model was fitted for each of its levels
    posterior: xr.Dataset
    # The sampler's own statistics, [chain, draw], over all fits: a transition counts as divergent
    # if it was in any of them
    sample_stats: xr.Dataset
    notes: tuple[str, ...]  # sentences about what was left out, and how much
    equation: str
    priors: tuple[str, ...]
    from_cache: bool = False  # whether the draws come from the cache


def reduced(
    data: xr.Dataset, spec: MixedSpec, *, answered: bool = True
) -> tuple[MixedSpec, list[tuple[str, Rows]], tuple[str, ...]]:
    """Drop the terms that the rows cannot identify, if the spec allows it.

    All strata have the same terms, so that what one of them cannot identify is dropped for all.

    Returns
    -------
    tuple
        The spec, its checked rows by stratum, and notes: what was left out of rows and spec.

    Raises
    ------
    UserError
        If the remaining terms are not identified, or a term is not and ``analysis.unidentified`` is
        ``refuse``.
    """
    notes: list[str] = []
    while True:
        split = strata(gather_rows(data, spec, answered=answered), spec)
        errors = {name: e for name, rows in split if (e := _unidentified(rows, spec, name))}
        if not errors:
            return spec, split, (*split[0][1].notes, *notes)
        error = next(iter(errors.values()))
        formula = without(spec.formula, error.term)
        if not spec.drops or (formula.common == "0" and not formula.groups):
            raise error
        here = [name for name, other in errors.items() if other.term == error.term]
        where = f" ({spec.by} = {', '.join(here)})" if len(here) < len(split) else ""
        notes.append(f"analysis.parts.{PART} is without {error.term}: {error.why}{where}.")
        spec = replace(spec, formula=formula)


def _unidentified(rows: Rows, spec: MixedSpec, stratum: str) -> UnidentifiedError | None:
    """Return the error of the first term that rows do not identify."""
    try:
        check_rows(rows, spec, stratum=stratum)
    except UnidentifiedError as error:
        return error
    return None


def explain(data: xr.Dataset, spec: MixedSpec, *, answered: bool) -> tuple[str, list[str]]:
    """Return equation and notes, and the priors, of a spec for a dataset or a design."""
    spec, split, notes = reduced(data, spec, answered=answered)
    model = build(split[0][1], spec)
    text = "\n".join([equation(spec, model, strata=len(split)), *notes])
    return text, prior_lines(spec, model, answered=answered)


def fit_mixed(
    data: xr.Dataset,
    spec: MixedSpec,
    config: SamplerConfig,
    *,
    seed: int,
    cache: DrawsCache | None = None,
) -> MixedFit:
    """Fit a mixed model to a coded dataset."""
    spec, split, notes = reduced(data, spec)
    first = _built(*split[0], spec)
    found = load_draws(cache.path, cache.key) if cache else None
    posterior, stats = found or _posterior(split, first, spec, config, seed)
    if cache and not found:
        save_draws(cache.path, posterior, stats, cache.key)
    text, priors = equation(spec, first, strata=len(split)), prior_lines(spec, first, answered=True)
    return MixedFit(posterior, stats, notes, text, tuple(priors), from_cache=found is not None)


def _built(name: str, rows: Rows, spec: MixedSpec) -> MixedModel:
    """Build the model of a stratum, which errors name."""
    try:
        return build(rows, spec)
    except UserError as error:
        where = f"{spec.by} = {name}: " if name else ""
        raise UserError(f"{where}{error}") from error


def _posterior(
    split: Sequence[tuple[str, Rows]],
    first: MixedModel,
    spec: MixedSpec,
    config: SamplerConfig,
    seed: int,
) -> tuple[xr.Dataset, xr.Dataset]:
    """Return posterior and statistics of all strata; the first one is already built."""
    posteriors, stats = {}, []
    for number, (name, rows) in enumerate(split):
        model = first if number == 0 else _built(name, rows, spec)
        drawn, sampled = _sample(model, spec, config, seed + number)
        posteriors[name] = name_posterior(model, drawn)
        stats.append(sampled)
    return posteriors[""] if spec.by is None else stack(posteriors, spec.by), _joined(stats)


def fit_classical(data: xr.Dataset, spec: MixedSpec, *, level: float) -> pd.DataFrame | None:
    """Fit a mixed model by REML, in addition to the posterior (`polbayes.fit.mixed.classical`)."""
    spec, split, _ = reduced(data, spec)
    if not has_classical(spec):
        return None
    tables = []
    for name, rows in split:
        table = classical_table(rows, spec, level=level)
        if spec.by is not None:
            table.insert(0, spec.by, name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _sample(
    model: MixedModel, spec: MixedSpec, config: SamplerConfig, seed: int
) -> tuple[xr.Dataset, xr.Dataset]:
    if config.backend == BACKEND:
        check_exact(spec)
        return draw(model, config, seed=seed)
    from polbayes.fit.sampling.sample import sample

    built: Any = model  # the sampler needs only the PyMC model
    drawn, stats = sample(built, config, seed=seed)
    return translate(model, drawn, seed=seed), stats


def _joined(stats: list[xr.Dataset]) -> xr.Dataset:
    """Combine the statistics of several fits: a draw is divergent if it is in any."""
    if len(stats) == 1:
        return stats[0]
    diverging = stats[0]["diverging"]
    for other in stats[1:]:
        diverging = diverging | other["diverging"]
    joined = diverging.to_dataset(name="diverging")
    if "pareto_k" in stats[0]:  # the worst stratum determines the quality of the approximation
        joined["pareto_k"] = max(float(one["pareto_k"]) for one in stats)
    return joined
