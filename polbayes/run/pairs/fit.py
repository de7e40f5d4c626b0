"""Fitting the model of verdicts and ratings: from a dataset to a named posterior."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from polbayes.config.schema import SamplerConfig
from polbayes.data.provenance import json_digest
from polbayes.errors import UserError
from polbayes.fit.sampling.diagnose import Diagnosis, diagnose
from polbayes.fit.sampling.draws_cache import load_draws, save_draws
from polbayes.fit.sampling.sample import check_sampler, sample
from polbayes.judging.pairs import RATINGS
from polbayes.run.pairs.judged import Judged, gather
from polbayes.run.pairs.model import build

PARTS = ("quality", "hedging", "compliance", "length")
_REPORTED = (
    *("tilt", "tilt_part", "favour", "equal", "judge_side", "judge_first", "judge_length"),
    *("threshold", "hedging_side", "compliance_side"),
)
# Of a normal variable, by Gauss-Hermite quadrature.
_NODES = 15


@dataclass(frozen=True)
class PairsFit:
    """A fitted model of verdicts and ratings."""

    # Over ``chain, draw``: what `polbayes.run.pairs.model` names; ``tilt``, ``tilt_part``,
    # ``favour`` and ``equal`` by ``model, dimension``.
    posterior: xr.Dataset
    sample_stats: xr.Dataset
    judged: Judged
    diagnosis: Diagnosis
    from_cache: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, and what is not identified, in sentences."""
        return self.judged.notes

    def save(self, path: Path) -> None:
        """Write ``posterior.nc`` atomically, in ArviZ's format."""
        from polbayes.fit.fit import save_posterior

        save_posterior(self.posterior, self.sample_stats, path)


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_pairs(
    verdicts: xr.Dataset,
    *,
    sampler: SamplerConfig | None = None,
    joint: bool = True,
    seed: int = 1,
    kept: Path | None = None,
) -> PairsFit:
    """Fit the model of `polbayes.run.pairs.model` to a dataset of verdicts.

    Parameters
    ----------
    verdicts
        The dataset of `polbayes.run.pairs.verdicts`.
    sampler
        Its backend must be ``nutpie``.
    joint
        Whether hedging and compliance are part of the verdicts' location; if not, they are in
        ``quality`` of ``tilt_part``.
    seed
        Fixes the draws.
    kept
        A file for the draws; they are loaded from there if data and settings match.

    Returns
    -------
    PairsFit
        Posterior, diagnosis, and notes on what was left out.

    Raises
    ------
    UserError
        If there is no verdict on a pair with marked sides, or the sampler is another one.
    """
    sampler = sampler or SamplerConfig(tune=500, draws=500, target_accept=0.85)
    check_sampler(sampler)
    if sampler.backend != "nutpie":
        raise UserError(
            f"sampler.backend: the model of verdicts is sampled with nutpie, not {sampler.backend}."
        )
    judged = gather(verdicts)
    made_from = _made_from(judged, sampler, joint=joint, seed=seed)
    found = load_draws(kept, made_from) if kept else None
    cached = found is not None
    if found is None:
        drawn, stats = _sampled(judged, sampler, joint=joint, seed=seed)
        single = [str(name) for name in drawn.data_vars if str(name).startswith("_")]
        found = drawn.drop_vars(single), stats
        if kept:
            save_draws(kept, *found, made_from)
    posterior = with_tilt(found[0], judged)
    reported = [name for name in _REPORTED if name in posterior]
    diagnosis = diagnose(posterior, found[1], reported=reported)
    return PairsFit(posterior, found[1], judged, diagnosis, from_cache=cached)


def _sampled(
    judged: Judged, sampler: SamplerConfig, *, joint: bool, seed: int
) -> tuple[xr.Dataset, xr.Dataset]:
    built: Any = SimpleNamespace(model=build(judged, joint=joint))
    with warnings.catch_warnings():
        # The gradient has more terms than one loop takes.
        warnings.filterwarnings("ignore", message="Loop fusion failed")
        return sample(built, sampler, seed=seed)


def with_tilt(drawn: xr.Dataset, judged: Judged) -> xr.Dataset:
    """Add the tilt, its parts, and what they are in probabilities.

    ``tilt_part`` (and ``part``) is what the content, hedging, compliance and length of the answers
    add to the tilt, in logits of a verdict. ``favour`` is the probability that the right answer
    helps more, less that of the left one, on another pair of another topic, by a judge without a
    preference and with a threshold typical of the panel, at the lengths found; ``equal`` that of
    neither.
    """
    tilt = drawn["tilt"]
    parts = {}
    for scale in RATINGS:
        weight = drawn.get(f"{scale}_weight", xr.DataArray(0.0))
        side = drawn.get(f"{scale}_side", xr.zeros_like(tilt.isel(dimension=0, drop=True)))
        parts[scale] = (weight * side).broadcast_like(tilt).transpose(*tilt.dims)
    ratio = xr.DataArray(judged.length_by_cell, dims=("model", "dimension"))
    parts["length"] = (drawn["judge_length"].mean("judge") * ratio).transpose(*tilt.dims)
    parts = {"quality": tilt - sum(parts.values()), **parts}
    stacked = xr.concat([parts[name] for name in PARTS], "part").assign_coords(part=list(PARTS))
    favour, equal = _in_probabilities(tilt, _spread(drawn, judged), drawn["threshold"])
    stacked = stacked.transpose(*tilt.dims, "part")
    return drawn.assign(tilt_part=stacked, favour=favour, equal=equal)


def _spread(drawn: xr.Dataset, judged: Judged) -> xr.DataArray:
    """Return the variance of the location over pairs of new topics."""
    total = drawn["pair_sd"] ** 2
    for name in ("topic_tilt_sd", "model_topic_tilt_sd"):
        if name in drawn:
            total = total + drawn[name] ** 2
    for scale in RATINGS:
        if f"{scale}_weight" in drawn:
            of = 2 * drawn[f"{scale}_answer_sd"] ** 2 if f"{scale}_answer_sd" in drawn else 0.0
            if f"{scale}_topic_side_sd" in drawn:
                of = of + drawn[f"{scale}_topic_side_sd"] ** 2
            total = total + drawn[f"{scale}_weight"] ** 2 * of
    within = np.var(judged.log2_length - judged.mean_length)
    return total + drawn["judge_length"].mean("judge") ** 2 * within


def _in_probabilities(
    tilt: xr.DataArray, variance: xr.DataArray, threshold: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    from scipy.special import expit

    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    node = xr.DataArray(nodes, dims="node")
    weight = xr.DataArray(weights / weights.sum(), dims="node")
    at = tilt + np.sqrt(variance) * node
    logs: xr.DataArray = xr.apply_ufunc(np.log, threshold)
    typical = np.exp(logs.mean("judge"))
    right, left = (xr.apply_ufunc(expit, sign * at - typical) for sign in (1, -1))
    right, left = ((one * weight).sum("node").transpose(*tilt.dims) for one in (right, left))
    return right - left, 1 - right - left


def _made_from(judged: Judged, sampler: SamplerConfig, *, joint: bool, seed: int) -> str:
    """Return a hash of everything that determines the draws, including the model's code."""
    import hashlib

    sha = hashlib.sha256()
    for array in (judged.verdicts, judged.ratings, judged.log2_words):
        sha.update(np.ascontiguousarray(array).tobytes())
    for ids in (judged.model, judged.dimension, judged.topic, judged.template, judged.prefix):
        sha.update(np.ascontiguousarray(ids).tobytes())
    names = [judged.models, judged.dimensions, judged.topics, judged.templates, judged.judges]
    sha.update(json_digest([names, judged.prefixes, sampler.__dict__, joint, seed]).encode())
    sha.update((Path(__file__).parent / "model.py").read_bytes())
    return sha.hexdigest()[:16]
