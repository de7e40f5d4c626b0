"""Generalizability theory on the draws of a posterior: how well a design measures its models.

Models are the objects of measurement; items, wordings nested in items, prefixes and runs are the
facets (Cronbach et al. 1972; Brennan 2001). A model's score is the average
of its keyed answers (`polbayes.fit.posterior.measurement_design`); its error comes from sampling
the levels of the facets. With the variance u of universe scores, the relative error variance r
(errors that differ between models) and the absolute error variance a (all errors),

    generalizability = u / (u + r)        dependability = u / (u + a)

The first is about comparisons between models, the second about their positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from polbayes.fit.posterior.intervals import flat
from polbayes.fit.posterior.measurement_design import Study, Term, average, spread

RUN = "run"
REPETITION = "repetition"
DISCRIMINATION = "discrimination: item"


@dataclass(frozen=True)
class Plan:
    """The numbers of questions to ask of each model."""

    items: float  # items on the dimension, or on all dimensions if these are measured together
    # Wordings of each item, prefixes with each wording, answers to each of these
    wordings: float = 1.0
    prefixes: float = 1.0
    runs: float = 1.0

    @property
    def questions(self) -> float:
        """Number of answers of a model."""
        return self.items * self.wordings * self.prefixes * self.runs


@dataclass(frozen=True)
class Source:
    """A source of error in the scores, draw by draw."""

    name: str  # the term's
    facets: frozenset[str]  # the facets (item, variant, prefix, run) that its effects differ by
    relative: bool  # whether its effects differ between models
    variance: np.ndarray  # [draw, measure] variance in one answer, averaged over models
    own: np.ndarray  # [draw, measure] variance in the scores of the design, averaged over models
    by_model: np.ndarray  # [draw, model, measure] the same for each model
    asked: bool = False  # adds to agreement: cancels between opposite keyings
    # Whether more levels of the facets would average it out as they do for independent effects; if
    # that is not known, every design gets the value of the run's
    planned: bool = True


@dataclass(frozen=True)
class Scores:
    """The variance of universe scores, and the sources of error."""

    measures: tuple[str, ...]  # the dimensions and their mean
    universe: np.ndarray  # [draw, measure] variance of the models' universe scores
    sources: tuple[Source, ...]  # of error
    gain: np.ndarray  # [draw, measure] change of a score with theta: the mean discrimination
    slope: np.ndarray  # [draw, model, measure] change of the expected answer with the predictor
    fixed_prefixes: bool = False  # whether prefixes are fixed, not a sample

    def is_fixed(self, source: Source) -> bool:
        """Tell whether a source is not an error because prefixes are fixed."""
        return self.fixed_prefixes and source.facets == {"prefix"}

    def thinned(self, most: int) -> "Scores":
        """Return the same for at most so many draws, evenly spaced."""
        kept = slice(None, None, -(-len(self.universe) // most))
        sources = [
            replace(s, variance=s.variance[kept], own=s.own[kept], by_model=s.by_model[kept])
            for s in self.sources
        ]
        return replace(
            self,
            universe=self.universe[kept],
            sources=tuple(sources),
            gain=self.gain[kept],
            slope=self.slope[kept],
        )


def left_of(source: Source, plan: Plan, *, fixed_prefixes: bool = False) -> float:
    """Return the fraction of a source's variance left in a score: one over its number of levels.

    Half of the statements are keyed each way, so effects on agreement cancel unless
    they differ by item or wording. Fixed prefixes are not an error of their own.
    """
    facets = source.facets
    if source.asked and not facets & {"item", "variant"}:
        return 0.0
    if fixed_prefixes and facets == {"prefix"}:
        return 0.0
    numbers = {
        "item": plan.items,
        "variant": plan.wordings,
        "prefix": plan.prefixes,
        RUN: plan.runs,
    }
    return 1.0 / float(np.prod([numbers[facet] for facet in facets]))


def error(
    scores: Scores, measure: str, plans: Sequence[Plan | None], *, relative: bool
) -> np.ndarray:
    """Return ``[draw, plan]`` the error variance of the scores."""
    at = scores.measures.index(measure)
    total = np.zeros((len(scores.universe), len(plans)))
    for source in scores.sources:
        if relative and not source.relative:
            continue
        own = 0.0 if scores.is_fixed(source) else source.own[:, at]
        for k, plan in enumerate(plans):
            if plan is None or not source.planned:
                total[:, k] += own
            else:
                share = left_of(source, plan, fixed_prefixes=scores.fixed_prefixes)
                total[:, k] += share * source.variance[:, at]
    return total


def coefficient(universe: np.ndarray, error_variance: np.ndarray) -> np.ndarray:
    """Return the proportion of universe-score variance in that of scores, 0 if both are 0."""
    total = universe + error_variance
    return np.divide(universe, total, out=np.zeros_like(total), where=total > 0)


def scores_of(
    posterior: xr.Dataset, study: Study, *, latent: bool, fixed_prefixes: bool = False
) -> Scores | None:
    """Compute the variances from a posterior.

    The variance of universe scores is that of the models in the run, with their number minus one
    as divisor. Theta is a model's position on the items and prefixes that it was asked:
    the variance of their means is subtracted, as in the expected mean squares of an analysis
    of variance, with a minimum of 0.
    """
    if len(study.models) < 2:
        return None
    theta = flat(posterior["theta"].transpose("chain", "draw", "model", "dimension"))
    centre, steepness, gain = _discriminations(posterior, study, len(theta))
    universe = spread(_with_total(theta * centre[:, None]), axis=1)
    sources = [_of_term(term, posterior) for term in study.terms]
    squares = _with_total(spread(theta, axis=1))
    if "discrimination" in posterior:
        if not study.signed:
            sources = [_steeper(s, gain, steepness) if _difficulty(s) else s for s in sources]
        middle = _with_total(average(theta, axis=1) ** 2)
        sources += [
            _of_items(study, steepness * squares, relative=True),
            _of_items(study, steepness * middle, relative=False),
        ]
    slope = _with_total(flat(posterior["answer_slope"]))
    sources.append(_repetition(posterior, study, slope, latent=latent))
    for term, source in zip(study.terms, sources, strict=False):
        if term.absorbed and not (fixed_prefixes and source.facets == {"prefix"}):
            universe = universe - source.own
    return Scores(
        study.measures,
        np.where(universe < 0, 0.0, universe),
        tuple(sources),
        gain,
        slope,
        fixed_prefixes,
    )


def _with_total(values: np.ndarray) -> np.ndarray:
    """Append the mean over the last axis, the dimensions."""
    if values.shape[-1] == 1:
        return values
    return np.concatenate([values, values.mean(axis=-1, keepdims=True)], axis=-1)


def _of_term(term: Term, posterior: xr.Dataset) -> Source:
    squares = flat(posterior["scale"])[:, term.scales] ** 2
    if "nu" in posterior and term.name in posterior["nu"]["tail_name"].values:
        nu = flat(posterior["nu"].sel(tail_name=term.name))[:, None]
        with np.errstate(divide="ignore"):
            squares = squares * np.where(nu > 2, nu / np.maximum(nu - 2, 0.0), np.inf)
    by_model = np.einsum("ds,smk->dmk", squares, term.left)
    return Source(
        name=term.name,
        facets=term.facets,
        relative=term.relative,
        variance=squares @ term.single,
        own=average(by_model, axis=1),
        by_model=by_model,
        asked=term.asked,
        planned=term.planned,
    )


def _difficulty(source: Source) -> bool:
    return source.name.startswith("difficulty:")


def _discriminations(
    posterior: xr.Dataset, study: Study, draws: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means by dimension, and variances and means by measure, of the discriminations."""
    if "discrimination" not in posterior:
        ones = np.ones((draws, len(study.dimensions)))
        return ones, np.zeros((draws, len(study.measures))), np.ones((draws, len(study.measures)))
    values = [
        flat(posterior["discrimination"].sel(item=list(study.items[d]))) for d in study.dimensions
    ]
    centre = np.stack([v.mean(axis=1) for v in values], axis=1)
    unequal = np.stack([v.var(axis=1) for v in values], axis=1)
    return centre, _with_total(unequal), _with_total(centre)


def _steeper(source: Source, gain: np.ndarray, steepness: np.ndarray) -> Source:
    """Multiply the variance of difficulties by the mean square of the discriminations."""
    factor = gain**2 + steepness
    return replace(
        source,
        variance=source.variance * factor,
        own=source.own * factor,
        by_model=source.by_model * factor[:, None],
    )


def _of_items(study: Study, variance: np.ndarray, *, relative: bool) -> Source:
    """Return the source of error from items' different discriminations."""
    by_model = variance[:, None] * study.left["item"]
    own = average(by_model, axis=1)
    return Source(DISCRIMINATION, frozenset({"item"}), relative, variance, own, by_model)


def _repetition(posterior: xr.Dataset, study: Study, slope: np.ndarray, *, latent: bool) -> Source:
    """Return the source of error from repeated answers to the same question."""
    noise = flat(posterior["answer_noise" if latent else "answer_variance"])
    steepness = np.ones_like(slope) if latent else slope**2
    single = _with_total(average(noise, axis=1))
    dimensions = len(study.dimensions)
    kept = noise * study.left["answer"][:, :dimensions]
    if dimensions > 1:
        whole = kept.sum(axis=-1, keepdims=True) / dimensions**2
        kept = np.concatenate([kept, whole], axis=-1)
    # Draws of a wide prior have answers that are certain and do not change with the predictor.
    mean = np.maximum(average(steepness, axis=1), 1e-12)
    return Source(
        name=REPETITION,
        facets=frozenset({"item", "variant", "prefix", RUN}),
        relative=True,
        variance=single / mean,
        own=average(kept, axis=1) / mean,
        by_model=kept / np.maximum(steepness, 1e-12),
    )


def own_plan(study: Study, measure: str) -> Plan:
    """Return the effective numbers of the run's design: harmonic means if it is unbalanced."""
    at = study.measures.index(measure)
    left = {name: float(average(values[:, at], axis=0)) for name, values in study.left.items()}
    return Plan(
        items=1 / left["item"],
        wordings=left["item"] / left["wording"],
        prefixes=1 / left["prefix"],
        runs=left["cell"] / left["answer"],
    )
