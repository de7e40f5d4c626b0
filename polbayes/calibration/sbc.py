"""The ranks of true values among the draws of the posterior, over many simulated data sets."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.calibration.answers import Answers, draw_answers, estimands, log_likelihood
from polbayes.calibration.prior import Parameters, draw_parameters
from polbayes.fit.cells import Cells, gather_cells
from polbayes.fit.model import Built, build, coordinates
from polbayes.fit.operation import answers_of, validity_answers
from polbayes.fit.spec import Spec
from polbayes.fit.start import find_start
from polbayes.fit.terms import BoundPart, bind

if TYPE_CHECKING:
    import xarray as xr

    from polbayes.config import SamplerConfig

# A fit whose chains disagree by more than this is repeated as a user would fit these answers, with
# start and coordinates of its own.
_R_HAT = 1.1

# Draws that a true value is ranked among: few enough for them to be nearly independent.
KEPT = 99

Breaking = Callable[[Parameters], Parameters]


@dataclass(frozen=True)
class Problem:
    """A spec bound to a design.

    Parameters
    ----------
    spec, cells, parts
        The spec, the cells of the design (their answers do not matter) and the bound parts.
    runs
        Answers a cell.
    """

    spec: Spec
    cells: Cells
    parts: Mapping[str, BoundPart]
    runs: int

    def simulate(
        self, rng: np.random.Generator, *, broken: Breaking | None = None
    ) -> tuple[Parameters, Answers]:
        """Draw parameters, and answers from them (from what `broken` makes of them)."""
        parameters = draw_parameters(self.spec, self.parts, len(self.cells.points), rng)
        used = broken(parameters) if broken else parameters
        return parameters, draw_answers(used, self.cells.frame, self.spec, self.runs, rng)

    def with_answers(self, answers: Answers) -> Cells:
        """Return the cells with these answers."""
        value = np.exp(answers.logs[:, 0]) if len(answers.logs) else np.empty(0)
        return replace(self.cells, counts=answers.counts, value=value, asked=answers.asked)


def pose(spec: Spec, data: "xr.Dataset", runs: int) -> Problem:
    """Bind a spec to a design.

    Parameters
    ----------
    spec
        The spec.
    data
        A coded dataset in which every cell has some answer.
    runs
        Answers a cell.
    """
    cells = gather_cells(data, spec)
    return Problem(spec, cells, bind(spec, cells), runs)


class Sampler:
    """The model of a problem, compiled once for all answers.

    Where chains start, and whether correlated coefficients are drawn as they are, follows one set
    of answers, drawn with `seed`.
    """

    def __init__(self, problem: Problem, config: "SamplerConfig", *, seed: int) -> None:
        import nutpie

        self.problem, self.config = problem, config
        _, answers = problem.simulate(np.random.default_rng(seed))
        self.built = build(problem.spec, problem.with_answers(answers), problem.parts)
        starts = self.built.model.rvs_to_initial_values
        jitter = {variable for variable, start in starts.items() if start is None}
        self.compiled = nutpie.compile_pymc_model(self.built.model, jitter_rvs=jitter)

    def sample(self, answers: Answers, *, seed: int, cores: int) -> tuple[Built, "xr.Dataset"]:
        """Return the draws, ``[chain, draw, ...]``, and the model that they belong to."""
        import nutpie

        if len(answers.logs):
            data = {"answers_answers": answers.logs}
        else:
            data = {"answers_answers": answers.counts}
        cells = self.problem.with_answers(answers)
        if "validity" in self.problem.parts:
            data["validity_answers"] = validity_answers(cells)
        layout = self.built.layout
        data |= coordinates(layout, find_start(layout, self.problem.spec, cells))
        trace = nutpie.sample(
            self.compiled.with_data(**data),
            draws=self.config.draws,
            tune=self.config.tune,
            chains=self.config.chains,
            target_accept=self.config.target_accept,
            seed=seed,
            cores=cores,
            progress_bar=False,
            save_warmup=False,
        )
        return replace(self.built, cells=cells), trace.posterior

    def again(self, answers: Answers, *, seed: int) -> tuple[Built, "xr.Dataset"]:
        """Sample with start and coordinates from these answers, as `polbayes.fit.fit.fit` does."""
        from polbayes.fit.sample import sample

        cells = self.problem.with_answers(answers)
        built = build(self.problem.spec, cells, self.problem.parts)
        longer = replace(self.config, tune=2 * self.config.tune)
        return built, sample(built, longer, seed=seed)[0]


@dataclass(frozen=True)
class Ranked:
    """One simulated data set, fitted.

    Parameters
    ----------
    number
        Which one.
    ranks
        How many of the kept draws lie below the true value, by quantity.
    r_hat, ess
        The largest and the smallest of all quantities.
    repeated
        Whether the chains disagreed at first and were sampled anew.
    """

    number: int
    ranks: Mapping[str, int]
    r_hat: float
    ess: float
    repeated: bool


def simulate_ranks(
    sampler: Sampler,
    numbers: Iterable[int],
    *,
    seed: int,
    keep: int = KEPT,
    cores: int = 2,
    broken: Breaking | None = None,
) -> Iterator[Ranked]:
    """Simulate, fit and rank.

    Parameters
    ----------
    sampler
        The compiled model.
    numbers
        Which data sets: each is fixed by its number and `seed`.
    seed
        Fixes data and draws.
    keep
        Evenly spaced draws that the true value is ranked among.
    cores
        Chains at a time.
    broken
        Changes the parameters that answers are drawn from, to see whether that is noticed.
    """
    problem = sampler.problem
    frame, spec = problem.cells.frame, problem.spec
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        parameters, answers = problem.simulate(rng, broken=broken)
        true = dict(estimands(parameters, frame, spec))
        true["log_likelihood"] = log_likelihood(parameters, frame, spec, answers)
        built, drawn = sampler.sample(answers, seed=int(rng.integers(2**31)), cores=cores)
        found = posterior_quantities(built, drawn, answers)
        r_hat, ess = _convergence(found)
        repeated = not r_hat <= _R_HAT
        if repeated:
            built, drawn = sampler.again(answers, seed=int(rng.integers(2**31)))
            found = posterior_quantities(built, drawn, answers)
            r_hat, ess = _convergence(found)
        yield Ranked(number, _rank(true, found, keep, rng), r_hat, ess, repeated)


def simulate_in_parallel(
    sampler: Sampler,
    numbers: Iterable[int],
    *,
    jobs: int,
    seed: int,
    broken: Breaking | None = None,
) -> Iterator[Ranked]:
    """Do what `simulate_ranks` does in several processes, which share what was compiled.

    Parameters
    ----------
    sampler, numbers, seed, broken
        See `simulate_ranks`.
    jobs
        Processes. They are forked, because what numba compiled cannot be sent to others; with
        one, all is done in this process.
    """
    if jobs == 1:
        yield from simulate_ranks(sampler, numbers, seed=seed, broken=broken)
        return
    context = multiprocessing.get_context("fork")
    settings = (sampler, seed, broken)
    with context.Pool(jobs, initializer=_inherit, initargs=settings) as pool:
        yield from pool.imap_unordered(_in_child, numbers)


_inherited: list[tuple[Sampler, int, Breaking | None]] = []


def _inherit(sampler: Sampler, seed: int, broken: Breaking | None) -> None:
    _inherited.append((sampler, seed, broken))


def _in_child(number: int) -> Ranked:
    sampler, seed, broken = _inherited[-1]
    return next(simulate_ranks(sampler, [number], seed=seed, cores=1, broken=broken))


def _convergence(quantities: Mapping[str, np.ndarray]) -> tuple[float, float]:
    import arviz as az

    moving = [draws for draws in quantities.values() if not _fixed(draws)]
    return max(float(az.rhat(d)) for d in moving), min(float(az.ess(d)) for d in moving)


def _fixed(draws: np.ndarray) -> bool:
    """Whether a quantity is fixed by a constraint."""
    return bool(np.ptp(draws) < 1e-10)


def _rank(
    true: Mapping[str, float],
    quantities: Mapping[str, np.ndarray],
    keep: int,
    rng: np.random.Generator,
) -> dict[str, int]:
    if set(true) != set(quantities):
        raise AssertionError(f"not the same quantities: {set(true) ^ set(quantities)}")
    ranks = {}
    for name, value in true.items():
        if not _fixed(quantities[name]):
            draws = quantities[name].ravel()
            kept = draws[np.linspace(0, len(draws) - 1, keep).round().astype(int)]
            # Ties are broken at random.
            ranks[name] = int((kept < value).sum() + rng.integers((kept == value).sum() + 1))
    return ranks


def posterior_quantities(
    built: Built, drawn: "xr.Dataset", answers: Answers
) -> dict[str, np.ndarray]:
    """Return ``[chain, draw]`` of every quantity, named as `estimands` names them.

    Parameters
    ----------
    built, drawn
        Model and draws.
    answers
        The data, for the log-likelihood.
    """
    from polbayes.fit.readout import read_off

    posterior = read_off(built, drawn)
    out: dict[str, np.ndarray] = {}
    for name in posterior.data_vars:
        if name in ("wording_scale", "prefix_scale"):  # these are among the scales
            continue
        values = posterior[name]
        for at in np.ndindex(*values.shape[2:]):
            draws = values.to_numpy()[(slice(None), slice(None), *at)]
            if np.isnan(draws).all():
                continue
            labels = [str(values[d].values[k]) for d, k in zip(values.dims[2:], at, strict=True)]
            if name == "gap":
                labels = [str(at[0])]
            out[f"{name}[{', '.join(labels)}]" if labels else str(name)] = draws
    out["log_likelihood"] = _log_likelihoods(built, drawn, answers)
    return out


def _log_likelihoods(built: Built, drawn: "xr.Dataset", answers: Answers) -> np.ndarray:
    """Return ``[chain, draw]`` the kernel's log-likelihood of the draws."""
    from polbayes.fit import kernel
    from polbayes.fit.operation import KINDS
    from polbayes.fit.pointwise import draws_of

    draws = draws_of(drawn)
    kind = KINDS[built.spec.family]
    observed = answers.logs if len(answers.logs) else answers_of(built.spec.family, built.cells)
    terms: list[tuple[int, np.ndarray, Any]] = [(kind, observed, built.layout.answers)]
    if built.layout.validity is not None:
        terms.append((kernel.BINOMIAL, validity_answers(built.cells), built.layout.validity))
    total = np.zeros(len(draws.effects))
    for number, (of_kind, data, g) in enumerate(terms):
        for k, row in enumerate(draws.effects):
            distances = draws.gaps[k] if number == 0 else np.empty(0)
            total[k] += kernel.evaluate(row, distances, of_kind, data, *g.arrays.values())[0]
    return total.reshape(drawn.sizes["chain"], drawn.sizes["draw"])
