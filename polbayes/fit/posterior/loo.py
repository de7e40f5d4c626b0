"""Prediction of each cell from all others: PSIS-LOO, in bounded memory.

Pareto-smoothed importance sampling (Vehtari, Gelman and Gabry 2017; Vehtari et al. 2024)
reweights the posterior's draws to the posterior without the cell.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import gammaln

from polbayes.fit.density.model import Built
from polbayes.fit.posterior.pointwise import (
    Draws,
    Likelihood,
    draws_of,
    likelihoods,
    log_likelihood,
)
from polbayes.fit.sampling.importance import pareto_smoothed
from polbayes.fit.spec.cells import Cells

# Above this tail shape of the weights, importance sampling with the usual numbers of draws does
# not converge in practice; above 1 the weights have no mean (Vehtari et al. 2024).
K_BAD, K_VERY_BAD = 0.7, 1.0
_BANDS: Mapping[str, tuple[float, float]] = {
    "k_good": (-np.inf, 0.5),
    "k_ok": (0.5, K_BAD),
    "k_bad": (K_BAD, K_VERY_BAD),
    "k_very_bad": (K_VERY_BAD, np.inf),
}
# Number of log-likelihoods at a time, with some five copies in memory: 80 MB in all.
AT_ONCE = 2_000_000
# Number of evenly spaced cells for estimating the efficiency of the draws.
_FOR_EFFICIENCY = 200

# More cells than this are sampled: sums are estimated, and their standard errors say so.
MOST_CELLS = 100_000

# Number of log-likelihoods of answers to keep, in evenly thinned draws, for `posterior.nc`.
KEPT = 2_000_000

# Gives ``[cell, draw]`` the log-likelihoods of some of the cells.
LogLikelihood = Callable[["slice | np.ndarray"], np.ndarray]
# Receives each chunk of them, with its cells.
Reader = Callable[[slice, np.ndarray], None]


@dataclass(frozen=True)
class Loo:
    """The results of leaving out one cell at a time."""

    part: str  # answers, or validity for whether answers were usable
    # One row a cell: its variables, observed (what was answered, as text), n (answers), elpd
    # (expected log predictive density), p_loo (by how much the cell's own part in the posterior
    # raises it), pareto_k and integrated (whether an effect of this cell alone was integrated out).
    # Where cells were sampled, stands_for: how many of all cells there are for each of these.
    cells: pd.DataFrame
    # Of the log-likelihoods that it rests on: ``[chain, draw]`` their sum over cells, and of the
    # answers ``[chain, draw, cell]`` themselves at every `step`-th draw. None where cells were
    # sampled, and in what is read from a table.
    total: np.ndarray | None = None
    thinned: np.ndarray | None = None
    step: int = 1

    @property
    def times(self) -> float:
        """How many of all cells there are for each of these: 1, or more where they were sampled."""
        return float(self.cells["stands_for"].iloc[0]) if "stands_for" in self.cells else 1.0

    @property
    def elpd(self) -> float:
        """Sum over all cells, estimated where they were sampled."""
        return self.times * float(self.cells["elpd"].sum())

    @property
    def se(self) -> float:
        """Standard error of the sum, cells taken as a sample."""
        return self.times * _se(self.cells["elpd"].to_numpy())

    @property
    def bands(self) -> dict[str, int]:
        """Cells by Pareto k: good (to 0.5), ok (to 0.7), bad (to 1), very bad."""
        k = self.cells["pareto_k"].to_numpy()
        return {name: int(((k > low) & (k <= high)).sum()) for name, (low, high) in _BANDS.items()}

    @property
    def unreliable(self) -> int:
        """Cells with k above 0.7."""
        return self.bands["k_bad"] + self.bands["k_very_bad"]

    def row(self) -> dict[str, object]:
        """Return the summary, one row of ``loo.csv``."""
        probability, guess = self._chances()
        return {
            "part": self.part,
            "elpd_loo": self.elpd,
            "se": self.se,
            "p_loo": self.times * float(self.cells["p_loo"].sum()),
            "of": round(self.times * len(self.cells)),
            "cells": len(self.cells),
            "answers": int(self.cells["n"].sum()),
            **self.bands,
            "integrated": int(self.cells["integrated"].sum()),
            "probability": probability,
            "guess": guess,
        }

    def _chances(self) -> tuple[float, float]:
        """Return the geometric mean probabilities of an answer, from other cells and by guessing.

        Guesses use each model's proportions of answers. Missing for numbers.
        """
        text = self.cells["observed"].astype(str)
        if not text.str.contains(" ").all():
            return np.nan, np.nan
        counts = text.str.split(" ", expand=True).to_numpy(dtype=float)
        ways = gammaln(counts.sum(axis=1) + 1).sum() - gammaln(counts + 1).sum()
        probability = np.exp((self.cells["elpd"].sum() - ways) / counts.sum())
        model = np.unique(self.cells["model"], return_inverse=True)[1]
        total = np.zeros((model.max() + 1, counts.shape[1]))
        np.add.at(total, model, counts)
        share = total / total.sum(axis=1, keepdims=True)
        logs = (total * np.log(np.where(total > 0, share, 1.0))).sum()
        return float(probability), float(np.exp(logs / total.sum()))


def _se(values: np.ndarray) -> float:
    return float(np.sqrt(len(values) * values.var(ddof=1))) if len(values) > 1 else float("nan")


def leave_one_out(
    built: Built,
    drawn: xr.Dataset,
    *,
    at_once: int = AT_ONCE,
    most: int = MOST_CELLS,
    kept: int = KEPT,
) -> list[Loo]:
    """Compute PSIS-LOO of every cell, or of so many at most, for each likelihood of a model.

    Effects that enter only one cell are integrated out first (Merkle, Furr and Rabe-Hesketh 2019):
    without the cell, the data say nothing about its effect. `kept` limits `Loo.thinned`.
    """
    draws = draws_of(drawn)
    chains = drawn.sizes["chain"]
    return [
        _of_part(part, draws, built.cells.every, chains=chains, at_once=at_once, kept=kept)
        for part in likelihoods(built, single=True, most=most).values()
    ]


def _of_part(
    part: Likelihood, draws: Draws, cells: Cells, *, chains: int, at_once: int, kept: int
) -> Loo:
    size, count = len(part.at), len(draws.effects)
    step = max(1, -(-count * size // kept))
    every = np.arange(count).reshape(chains, -1)
    chosen = every[:, ::step] if part.part == "answers" else every[:, :0]
    total, thinned = np.zeros(count), np.empty((*chosen.shape, size), dtype=np.float32)

    def read(here: slice, logp: np.ndarray) -> None:
        np.add(total, logp.sum(axis=0), out=total)
        thinned[:, :, here] = logp.T[chosen]

    logp = partial(log_likelihood, part, draws)
    columns = left_out(logp, size, chains=chains, at_once=at_once, read=read)
    frame = cells.frame.iloc[part.at].reset_index(drop=True)
    observed = observations(cells, part.part, part.at)
    counts = cells.asked if part.part == "validity" else cells.answered
    frame = frame.assign(observed=observed, n=counts[part.at].astype(int), **columns)
    if part.of > size:
        frame = frame.assign(stands_for=part.of / size, integrated=part.integrated)
        return Loo(part.part, frame)
    frame = frame.assign(integrated=part.integrated)
    return Loo(part.part, frame, total.reshape(chains, -1), thinned, step)


def left_out(
    logp: LogLikelihood,
    size: int,
    *,
    chains: int,
    at_once: int = AT_ONCE,
    read: Reader | None = None,
) -> dict[str, np.ndarray]:
    """Leave out each of some independent observations, in chunks of log-likelihoods.

    `read` is called with each chunk. Returns ``elpd``, ``p_loo`` and ``pareto_k``, each ``[cell]``;
    see `Loo`.
    """
    few = logp(np.unique(np.linspace(0, size - 1, _FOR_EFFICIENCY).astype(int)))
    efficiency, step = _efficiency(few, chains), max(at_once // few.shape[1], 1)
    columns = {name: np.empty(size) for name in ("elpd", "p_loo", "pareto_k")}
    for start in range(0, size, step):
        here = slice(start, min(start + step, size))
        values = logp(here)
        if read is not None:
            read(here, values)
        found = psis_loo(values, efficiency=efficiency)
        for name, column in zip(columns, found, strict=True):
            columns[name][here] = column
    return columns


def observations(cells: Cells, part: str, at: np.ndarray) -> np.ndarray:
    """Return ``[cell]`` what was observed in some, as text: counts at each point, or the answer."""
    if part == "validity" and cells.mass.size:
        return np.array([f"{value:.9g}" for value in cells.mass[at]], dtype=object)
    if part == "validity":
        rows = np.stack([cells.asked - cells.answered, cells.answered], axis=1)
    elif cells.read is not None:
        rows = cells.read.counts
    elif cells.counts.size:
        rows = cells.counts
    else:
        return np.array([f"{value:.9g}" for value in cells.value[at]], dtype=object)
    return np.array([" ".join(f"{n:.0f}" for n in row) for row in rows[at]], dtype=object)


def _efficiency(logp: np.ndarray, chains: int) -> float:
    """Return the mean relative efficiency of draws for likelihoods ``[cell, draw]``."""
    from arviz_stats.base.array import array_stats

    logp = logp[np.ptp(logp, axis=1) > _CONSTANT]
    if not len(logp):
        return 1.0
    likelihood = np.exp(logp - logp.max(axis=1, keepdims=True)).reshape(len(logp), chains, -1)
    found = np.asarray(array_stats.ess(likelihood, method="mean", relative=True))
    found = found[np.isfinite(found)]  # undefined if a chain does not move
    return float(found.mean()) if len(found) else 1.0


# Smaller differences of log-likelihoods are ignored: draws and cell carry no information about each
# other.
_CONSTANT = 1e-9


def psis_loo(
    logp: np.ndarray, *, efficiency: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``[cell]`` elpd, p_loo and Pareto k from ``[cell, draw]`` log-likelihoods; see `Loo`.

    `efficiency` is effective draws divided by draws, which sets how much of the tail is smoothed.
    """
    weights, k = pareto_smoothed(-logp, efficiency=efficiency)
    elpd = _log_sum(weights + logp)
    lppd = _log_sum(logp) - np.log(logp.shape[1])
    constant = np.ptp(logp, axis=1) <= _CONSTANT
    # Weights that are all the same have every moment.
    k = np.where(constant, 0.0, k)
    return np.where(constant, lppd, elpd), np.where(constant, 0.0, lppd - elpd), k


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials along the last axis."""
    # Five times as fast as SciPy's function.
    largest = logs.max(axis=1)
    total: np.ndarray = largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1))
    return total


def loo_tables(found: Iterable[Loo]) -> dict[str, pd.DataFrame]:
    """Return the tables ``loo`` (a row per part) and ``loo_cells`` (a row per part and cell)."""
    found = list(found)
    cells = [loo.cells.assign(part=loo.part) for loo in found]
    return {
        "loo": pd.DataFrame([loo.row() for loo in found]),
        "loo_cells": pd.concat(cells, ignore_index=True),
    }


def sampling_notes(table: pd.DataFrame) -> list[str]:
    """Say for each part of the table ``loo`` how many cells were drawn, if not all."""
    return [
        f"PSIS-LOO of the {row['part']} rests on {row['cells']:,} cells drawn at random from "
        f"{row['of']:,}; its sums are estimates for all of them."
        for row in table.to_dict("records")
        if row["of"] > row["cells"]
    ]


def from_table(cells: pd.DataFrame) -> list[Loo]:
    """Read the results back from the table ``loo_cells``."""
    return [
        Loo(str(part), rows.drop(columns="part").reset_index(drop=True))
        for part, rows in cells.groupby("part", sort=False)
    ]
