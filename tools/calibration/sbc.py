"""The ranks of true values among the draws of the posterior, over many simulated data sets."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from polbayes.fit.density.model import Built, build
from polbayes.fit.sampling.imputation import with_integrated
from polbayes.fit.spec.cells import Cells, gather_cells
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import BoundPart, bind
from tools.calibration.answers import Answers, draw_answers, estimands, log_likelihood
from tools.calibration.prior import Parameters, draw_parameters

if TYPE_CHECKING:
    import xarray as xr

    from polbayes.config.schema import SamplerConfig

# A fit whose chains disagree by more than this is repeated with twice the warm-up.
_R_HAT = 1.1

# Number of draws in the ranking: few enough to be nearly independent.
KEPT = 99

# Draws of the priors that show which quantities are fixed, and the largest range of such a one.
_PRIOR_DRAWS, _STILL = 5, 1e-10

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
        """Draw parameters, and answers from them (after `broken` has changed them)."""
        parameters = draw_parameters(self.spec, self.parts, len(self.cells.points), rng)
        used = broken(parameters) if broken else parameters
        return parameters, draw_answers(used, self.cells.frame, self.spec, self.runs, rng)

    def with_answers(self, answers: Answers) -> Cells:
        """Return the cells with these answers."""
        # Exact 0 or 1 has no density.
        value, mass = (
            np.clip(np.exp(logs[:, 0]), np.finfo(float).tiny, np.nextafter(1, 0))
            for logs in (answers.logs, answers.mass)
        )
        return replace(
            self.cells,
            counts=answers.counts,
            value=value,
            asked=answers.asked,
            mass=mass,
            copies=(),
        )


def pose(spec: Spec, data: "xr.Dataset", runs: int) -> Problem:
    """Bind a spec to a design.

    Parameters
    ----------
    spec
        The spec.
    data
        A coded dataset with an answer in every cell.
    runs
        Answers a cell.
    """
    cells = gather_cells(data, spec)
    return Problem(spec, cells, bind(spec, cells), runs)


def _sample(
    problem: Problem, answers: Answers, config: "SamplerConfig", seed: int
) -> tuple[Built, "xr.Dataset"]:
    """Sample as `polbayes.fit.fit.fit` does; return the model and the draws."""
    from polbayes.fit.sampling.sample import sample

    built = build(problem.spec, problem.with_answers(answers), problem.parts)
    return built, with_integrated(built, sample(built, config, seed=seed)[0], seed=seed)


@dataclass(frozen=True)
class Ranked:
    """One simulated data set, fitted.

    Parameters
    ----------
    number
        Which one.
    ranks
        Number of kept draws below the true value, by quantity.
    r_hat, ess
        The largest and the smallest of all quantities.
    repeated
        Whether the chains disagreed and sampling was repeated.
    """

    number: int
    ranks: Mapping[str, int]
    r_hat: float
    ess: float
    repeated: bool


def simulate_ranks(
    problem: Problem,
    config: "SamplerConfig",
    numbers: Iterable[int],
    *,
    seed: int,
    keep: int = KEPT,
    broken: Breaking | None = None,
    fixed: frozenset[str] | None = None,
) -> Iterator[Ranked]:
    """Simulate, fit and rank.

    Parameters
    ----------
    problem
        Spec and design.
    config
        Settings of the fits.
    numbers
        Numbers of the data sets, each of which is fixed by its number and `seed`.
    seed
        Fixes data and draws.
    keep
        Number of evenly spaced draws in the ranking.
    broken
        Changes the parameters of the answers, to test whether that is detected.
    fixed
        Quantities that a constraint fixes, which have no rank; None to find them.
    """
    frame, spec = problem.cells.frame, problem.spec
    if fixed is None:
        fixed = _fixed(problem, seed)
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        parameters, answers = problem.simulate(rng, broken=broken)
        true = dict(estimands(parameters, frame, spec))
        true["log_likelihood"] = log_likelihood(parameters, frame, spec, answers)
        built, drawn = _sample(problem, answers, config, int(rng.integers(2**31)))
        found = posterior_quantities(built, drawn)
        r_hat, ess = _convergence(found)
        repeated = not r_hat <= _R_HAT
        if repeated:
            longer = replace(config, tune=2 * config.tune)
            built, drawn = _sample(problem, answers, longer, int(rng.integers(2**31)))
            found = posterior_quantities(built, drawn)
            r_hat, ess = _convergence(found)
        yield Ranked(number, _rank(true, found, fixed, keep, rng), r_hat, ess, repeated)


def simulate_in_parallel(
    problem: Problem,
    config: "SamplerConfig",
    numbers: Iterable[int],
    *,
    jobs: int,
    seed: int,
    broken: Breaking | None = None,
) -> Iterator[Ranked]:
    """Run `simulate_ranks` in several processes.

    Parameters
    ----------
    problem, config, numbers, seed, broken
        See `simulate_ranks`.
    jobs
        Number of processes; 1 for the current process.
    """
    work = partial(_one, problem, config, seed, broken, _fixed(problem, seed))
    if jobs == 1:
        yield from map(work, numbers)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(work, numbers)


def _one(
    problem: Problem,
    config: "SamplerConfig",
    seed: int,
    broken: Breaking | None,
    fixed: frozenset[str],
    number: int,
) -> Ranked:
    ranks = simulate_ranks(problem, config, [number], seed=seed, broken=broken, fixed=fixed)
    return next(ranks)


def _convergence(quantities: Mapping[str, np.ndarray]) -> tuple[float, float]:
    from arviz_stats.base.array import array_stats

    # A decided model's bias may be the largest there is in every draw.
    moving = np.stack([draws for draws in quantities.values() if np.ptp(draws) >= _STILL])
    r_hat = array_stats.rhat(moving, method="rank")
    return float(np.max(r_hat)), float(np.min(array_stats.ess(moving, method="bulk")))


def _fixed(problem: Problem, seed: int) -> frozenset[str]:
    """Return the quantities that a constraint fixes: those that are the same in draws of priors."""
    spec, points = problem.spec, len(problem.cells.points)
    drawn = []
    for n in range(_PRIOR_DRAWS):
        parameters = draw_parameters(spec, problem.parts, points, np.random.default_rng([seed, n]))
        drawn.append(dict(estimands(parameters, problem.cells.frame, spec)))
    return frozenset(name for name in drawn[0] if np.ptp([one[name] for one in drawn]) < _STILL)


def _rank(
    true: Mapping[str, float],
    quantities: Mapping[str, np.ndarray],
    fixed: frozenset[str],
    keep: int,
    rng: np.random.Generator,
) -> dict[str, int]:
    if set(true) != set(quantities):
        raise AssertionError(f"not the same quantities: {set(true) ^ set(quantities)}")
    ranks = {}
    for name, value in true.items():
        if name not in fixed:
            draws = quantities[name].ravel()
            kept = draws[np.linspace(0, len(draws) - 1, keep).round().astype(int)]
            # Ties are broken at random.
            ranks[name] = int((kept < value).sum() + rng.integers((kept == value).sum() + 1))
    return ranks


def posterior_quantities(built: Built, drawn: "xr.Dataset") -> dict[str, np.ndarray]:
    """Return ``[chain, draw]`` of every quantity, with the names of `estimands`.

    Parameters
    ----------
    built, drawn
        Model and draws.
    """
    from polbayes.fit.posterior.naming import name_posterior

    posterior = name_posterior(built, drawn)
    out: dict[str, np.ndarray] = {}
    for name in posterior.data_vars:
        if name in ("wording_scale", "prompt_scale", "prefix_scale"):  # these are among the scales
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
    out["log_likelihood"] = _log_likelihoods(built, drawn)
    return out


def _log_likelihoods(built: Built, drawn: "xr.Dataset") -> np.ndarray:
    """Return ``[chain, draw]`` the kernel's log-likelihood of the draws."""
    from polbayes.fit.density import kernel
    from polbayes.fit.density.observed import likelihood_parts
    from polbayes.fit.posterior.pointwise import draws_of

    draws = draws_of(drawn)
    terms = likelihood_parts(built.layout, built.spec, built.cells)
    total = np.zeros(len(draws.effects))
    for number, (of_kind, data, g) in enumerate(terms):
        for k, row in enumerate(draws.effects):
            distances = draws.gaps[k] if number == 0 else np.empty(0)
            rest = of_kind, data, *g.arrays.values()
            total[k] += kernel.evaluate(row, distances, np.empty(0), *rest)[0]
    return total.reshape(drawn.sizes["chain"], drawn.sizes["draw"])
