"""Studies of a design that were not made: simulated, and fitted as they would be.

A D-study is about the mean of linear scores, with spreads that are known. A fit weighs answers by
what they tell, has priors, and does not know the spreads; so its intervals are measured: for each
of some draws of a population (`polbayes.tasks.planning.populations`) a study with new statements,
wordings and prefixes gets answers from the model, and is fitted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit
from threadpoolctl import threadpool_limits

from polbayes.config.schema import PlanConfig, SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.density.kernel import forward
from polbayes.fit.density.model import Built, build
from polbayes.fit.posterior.components import with_variances
from polbayes.fit.posterior.contrasts import prefix_effects
from polbayes.fit.posterior.intervals import flat, tails
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.posterior.pointwise import Draws, draws_of
from polbayes.fit.posterior.verdicts import LEFT, RIGHT, decide
from polbayes.fit.sampling.imputation import with_integrated
from polbayes.fit.sampling.sample import sample
from polbayes.fit.spec.cells import Cells, gather_cells
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import UnidentifiedError, bind
from polbayes.tasks.planning.layouts import (
    as_if_answered,
    codes_of,
    laid_out,
    places,
    with_answers,
    with_numbers,
)
from polbayes.tasks.planning.populations import (
    Likeness,
    Population,
    likeness,
    once_in,
    study_effects,
    study_scales,
    study_tails,
)

# Fewer draws than of a study that is reported: intervals are averaged over many studies. Not the
# Laplace approximation: its intervals of small studies are too narrow (`benchmarks/plan.py`).
_QUICK: Mapping[str, Any] = {"chains": 2, "tune": 200, "draws": 200, "target_accept": 0.8}


# The slope of the answers depends on the effect that is planted, and the effect on the slope.
_STEPS = 3


@dataclass(frozen=True)
class World:
    """A study whose truth is known."""

    data: xr.Dataset  # its questions and answers
    built: Built  # its model, with every question answered
    truth: xr.Dataset  # ``[chain, draw, ...]`` one draw: effects, scales and so on
    planted: Mapping[str, tuple[str, float]]  # by model, a prefix and the sign of its effect


@dataclass(frozen=True)
class Outcome:
    """What the fit of one study says."""

    # ``[model, dimension]`` ends of the intervals, means, and true values of the positions
    lower: np.ndarray
    upper: np.ndarray
    estimate: np.ndarray
    true: np.ndarray
    between: np.ndarray  # ``[pair, dimension]`` width of the intervals of differences
    found: np.ndarray  # ``[model]`` whether the effect of the planted prefix was found


@dataclass(frozen=True)
class Simulator:
    """Simulates and fits studies.

    Parameters
    ----------
    population
        Where positions and effects are from.
    spec
        What is fitted.
    base
        The questions that those of the studies are like.
    level
        Probability of the intervals.
    rope
        Differences on the bias scale that do not matter.
    seed
        Fixes everything that is drawn.
    sampler
        Fits the studies.
    """

    population: Population
    spec: Spec
    base: xr.Dataset
    level: float
    rope: float
    seed: int
    sampler: SamplerConfig = field(default_factory=partial(SamplerConfig, **_QUICK))

    def studies(
        self, numbers: Mapping[str, int], models: int, wanted: PlanConfig, *, planted: bool = False
    ) -> Iterator[Outcome]:
        """Yield what studies with these numbers of questions find, one a draw.

        Parameters
        ----------
        numbers
            ``items`` of each dimension, ``wordings``, ``prefixes`` and ``runs``.
        models
            Number of models.
        wanted
            The scale of positions, and the size of a prefix effect that is to be found.
        planted
            Whether one prefix of each model has such an effect.
        """
        total = len(self.population.draws.effects)
        order = np.random.default_rng(self.seed).permutation(total)
        own = self
        for study in range(total):
            rng = np.random.default_rng([self.seed, study, int(planted)])
            made = own.world(int(order[study]), numbers, models, rng, wanted if planted else None)
            # Which terms such studies identify is found out once.
            own = replace(self, spec=made.built.spec)
            yield self.outcome(made, wanted, seed=self.seed + study)

    @threadpool_limits.wrap(limits=1, user_api="blas")
    def world(
        self,
        draw: int,
        numbers: Mapping[str, int],
        models: int,
        rng: np.random.Generator,
        wanted: PlanConfig | None = None,
    ) -> World:
        """Make a study whose truth is a draw of the population; see `studies`."""
        every = [str(name) for name in self.base["model"].values]
        labels = [f"m{n}" for n in range(models)]
        like = likeness(self.population, every, labels, rng)
        data = as_if_answered(laid_out(self.base, numbers, like.source, rng), self.spec)
        cells = replace(gather_cells(data, self.spec), once=once_in(self.population, like))
        built = _built(self.spec, cells)
        truth = _truth(self.population, draw, built, like, rng)
        planted: Mapping[str, tuple[str, float]] = {}
        if wanted is not None:
            truth, planted = _with_planted(built, truth, wanted, rng)
        copies = [name for name in labels if name in like.own]
        copies = [n for n in copies if like.source[n] in self.population.built.cells.copies]
        return World(_answered(data, built, truth, copies, rng), built, truth, planted)

    @threadpool_limits.wrap(limits=1, user_api="blas")
    def outcome(self, world: World, wanted: PlanConfig, *, seed: int) -> Outcome:
        """Fit a study, and say what its intervals are."""
        built = _built(world.built.spec, gather_cells(world.data, self.spec))
        drawn = with_integrated(built, sample(built, self.sampler, seed=seed)[0], seed=seed)
        posterior = name_posterior(built, drawn)
        name = "lean" if wanted.scale == "bias" else "theta"
        dims = ("chain", "draw", "model", "dimension")
        positions = flat(posterior[name].transpose(*dims))
        known = name_posterior(world.built, world.truth)[name]
        same = {dim: posterior[name][dim] for dim in dims[2:]}
        lower, upper = self._interval(positions)
        pairs = list(combinations(range(positions.shape[1]), 2))
        apart = [self._interval(positions[:, a] - positions[:, b]) for a, b in pairs]
        between = [np.ptp(ends, axis=0) for ends in apart]
        found = np.empty(0)
        if world.planted:
            found = self._found(with_variances(posterior, built, drawn), world.planted, wanted)
        return Outcome(
            lower,
            upper,
            positions.mean(axis=0),
            flat(known.sel(same).transpose(*dims))[0],
            np.array(between).reshape(len(pairs), positions.shape[2]),
            found,
        )

    def _interval(self, draws: np.ndarray) -> np.ndarray:
        """Return ``[end, ...]`` an interval that few draws do not make too narrow."""
        return np.quantile(draws, tails(self.level), axis=0, method="weibull")

    def _found(
        self,
        posterior: xr.Dataset,
        planted: Mapping[str, tuple[str, float]],
        wanted: PlanConfig,
    ) -> np.ndarray:
        """Return ``[model]`` whether the effect of the planted prefix is found, on its side."""
        if "prefix_steer" not in posterior:
            return np.zeros(len(planted))
        bias = wanted.scale == "bias"
        every = prefix_effects(posterior) if bias else posterior["prefix_steer"]
        rope = self.rope if wanted.found == "verdict" else 0.0
        found = []
        for model, (prefix, sign) in planted.items():
            draws = every.sel(model=model, prefix=prefix).to_numpy().ravel()
            lower, upper = map(float, self._interval(draws))
            decision = decide(lower, upper, rope)
            found.append(decision == (RIGHT if sign > 0 else LEFT))
        return np.array(found, dtype=float)


def unsimulated(spec: Spec) -> str:
    """Say why studies with an analysis cannot be simulated; empty if they can."""
    if spec.misclassification is not None:
        return "the errors of a coder"
    if spec.signed or spec.reference or spec.populations:
        return "anchors, references or populations, which are models by name"
    if any(group.walk for formula in spec.parts.values() for group in formula.groups):
        return "random walks over time"
    return "statements that differ between groups" if "dif" in spec.parts else ""


def _built(spec: Spec, cells: Cells) -> Built:
    """Return the model of a study, without the terms that it cannot identify."""
    try:
        return build(spec, cells, bind(spec, cells))
    except UnidentifiedError:
        spec, _ = reduced(spec, cells)
        return build(spec, cells, bind(spec, cells))


def _truth(
    population: Population, draw: int, built: Built, like: Likeness, rng: np.random.Generator
) -> xr.Dataset:
    """Draw the true effects of a study."""
    frame, layout = built.cells.frame, built.layout
    values = {
        "effects": study_effects(population, draw, layout, like, frame, rng),
        "sd": study_scales(population, draw, layout, like),
        "gap": population.draws.gaps[draw],
        "nu": study_tails(population, draw, layout),
    }
    if layout.coefficients:
        values["b"] = np.zeros(len(layout.coefficients))
    return xr.Dataset(
        {
            name: (("chain", "draw", f"{name}_at"), value[None, None])
            for name, value in values.items()
            if len(value)
        },
        coords={"chain": [0], "draw": [0]},
    )


def steering(built: Built) -> list[int]:
    """Return the positions of the terms with an effect of prefixes on the leaning of models."""
    return [
        at
        for at, block in enumerate(built.layout.blocks)
        if block.part == "steer"
        and block.group is not None
        and set(block.group.term.factors) == {"model", "prefix"}
        and block.group.matrix is None
    ]


def _with_planted(
    built: Built, truth: xr.Dataset, wanted: PlanConfig, rng: np.random.Generator
) -> tuple[xr.Dataset, dict[str, tuple[str, float]]]:
    """Give one prefix of each model an effect of the wanted size, to either side.

    The effect is the difference from the model's mean over prefixes; on the bias scale, multiplied
    by the mean slope of its answers, which changes with it.
    """
    block = built.layout.blocks[steering(built)[0]]
    assert block.group is not None
    effects, dims = truth["effects"].to_numpy().copy(), truth["effects"].dims
    planted: dict[str, tuple[str, float]] = {}
    moved: dict[str, tuple[int, float]] = {}
    for model, own in block.group.levels.groupby("model", sort=False):
        at = block.start + own.index.to_numpy()
        chosen, sign = int(rng.integers(len(at))), float(rng.choice([-1.0, 1.0]))
        planted[str(model)] = (str(own["prefix"].iloc[chosen]), sign)
        rest = np.delete(at, chosen)
        effects[0, 0, rest] -= effects[0, 0, rest].mean()
        # Where n effects average to 0, this one is so far from the mean of the others.
        moved[str(model)] = (int(at[chosen]), sign * wanted.effect * len(at) / len(rest))
    for _ in range(1 if wanted.scale == "theta" else _STEPS):
        now = truth.assign(effects=(dims, effects))
        slopes = None if wanted.scale == "theta" else _slopes(built, now)
        for model, (place, size) in moved.items():
            effects[0, 0, place] = size if slopes is None else size / float(slopes.sel(model=model))
    return truth.assign(effects=(dims, effects)), planted


def _slopes(built: Built, truth: xr.Dataset) -> xr.DataArray:
    """Return ``[model]`` the mean slope of the answers."""
    slopes = with_variances(xr.Dataset(), built, truth)["answer_slope"]
    return slopes.isel(chain=0, draw=0).mean("dimension")


def _answered(
    data: xr.Dataset,
    built: Built,
    truth: xr.Dataset,
    copies: Sequence[str],
    rng: np.random.Generator,
) -> xr.Dataset:
    """Draw the answers to a study; the runs of some models are copies of each other."""
    cells, family = built.cells.every, built.spec.observation
    draws, spread = draws_of(truth), built.cells.spread
    eta, own = map(spread, forward(draws.effects[0], *built.layout.answers.plain))
    runs, at = data.sizes["run"], places(data, cells)
    if family.counts and cells.frame.duplicated(["model", "item", "variant", "prefix"]).any():
        raise UserError(
            "plan: studies cannot be simulated whose runs differ in something that the analysis "
            "knows of; use plan.simulate=false."
        )
    validity = built.layout.validity
    valid = spread(forward(draws.effects[0], *validity.plain)[0]) if validity else None
    if not family.counts:
        return _numbers(data, built, draws, (eta, own), rng)
    p = family.simulate(eta, own, draws.gaps[0], rng)
    total = np.cumsum(p, axis=1)
    chosen = (rng.random((len(eta), runs, 1)) * total[:, None, -1:] > total[:, None, :-1]).sum(-1)
    if valid is not None:
        chosen = np.where(rng.random(chosen.shape) < expit(valid)[:, None], chosen, -1)
    again = cells.frame["model"].isin(copies).to_numpy()
    chosen[again] = chosen[again][:, :1]
    answers = np.full(data["status"].shape, -1)
    answers[at] = chosen
    return with_answers(data, built.spec, codes_of(built.spec, p.shape[1]), answers)


def _numbers(
    data: xr.Dataset,
    built: Built,
    draws: Draws,
    predictor: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> xr.Dataset:
    """Draw answers that are numbers, and their masses."""
    cells, family, spread = built.cells.every, built.spec.observation, built.cells.spread
    value = family.simulate(*predictor, draws.gaps[0], rng)
    mass = np.full(len(value), 0.9)
    if (validity := built.layout.validity) is not None:
        valid, wide = map(spread, forward(draws.effects[0], *validity.plain))
        mass = family.simulate(valid, wide, draws.gaps[0], rng)
    at = places(data, cells)
    found = []
    for one in (value, mass):
        whole = np.full(data["status"].shape, np.nan)
        whole[at] = one[:, None]
        found.append(whole)
    return with_numbers(data, *found)
