"""Fitting the many-facet model: from ratings to a named posterior."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError, check_known
from polbayes.fit.sampling.diagnose import Diagnosis, diagnose
from polbayes.fit.sampling.draws_cache import load_draws, save_draws
from polbayes.fit.sampling.interruption import postponed
from polbayes.fit.sampling.nuts import compiled_for_nutpie, draw_with_nutpie
from polbayes.fit.sampling.sample import check_sampler
from polbayes.instrument.values import WEIGHTS
from polbayes.roleplay.fit.density import FacetDensity
from polbayes.roleplay.fit.model import FacetModel, build
from polbayes.roleplay.fit.rated import Rated, gather
from polbayes.roleplay.fit.readout import MODEL_LEVEL, name_posterior

POSITIVE = "liberal"
_MODEL_FILES = ("density", "effects", "kernel", "model", "rated", "readout", "steps", "terms")


@dataclass(frozen=True)
class FacetFit:
    """A fitted many-facet model."""

    posterior: xr.Dataset  # see `polbayes.roleplay.fit.readout.name_posterior`
    sample_stats: xr.Dataset
    model: FacetModel
    diagnosis: Diagnosis
    from_cache: bool = False  # whether the draws were drawn before

    @property
    def rated(self) -> Rated:
        """The ratings."""
        return self.model.rated

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, and what is not identified, in sentences."""
        return self.model.notes

    def save(self, path: Path) -> None:
        """Write ``posterior.nc`` atomically, in ArviZ's format."""
        from polbayes.fit.fit import save_posterior

        save_posterior(self.posterior, self.sample_stats, path)


@threadpool_limits.wrap(limits=1, user_api="blas")  # as in `polbayes.fit.fit`
def fit_ratings(
    ratings: xr.Dataset,
    *,
    variable: str = "rating",
    weights: Mapping[str, float] = WEIGHTS,
    scales: Mapping[str, float] | None = None,
    sampler: SamplerConfig | None = None,
    seed: int = 1,
    kept: Path | None = None,
) -> FacetFit:
    """Fit the many-facet model (after Linacre 1989) to a dataset of ratings.

    Parameters
    ----------
    ratings
        As described in `polbayes.roleplay.measures.data`.
    variable
        ``rating``, of the ten values, or ``commitment``.
    weights
        Of the values in the alignment, positive for liberal ones.
    scales
        See `polbayes.roleplay.fit.model.build`; 0 omits a term.
    sampler
        Four chains of 500 draws after 400 of warm-up by default; the backend must be ``nutpie``.
    seed
        Fixes the draws.
    kept
        A file for the draws; they are loaded from there if ratings, settings and model match.

    Raises
    ------
    UserError
        If the dataset is not one of ratings, or a setting is invalid.
    """
    from polbayes.instrument.values import COMMITMENT_MAX, RATING_MAX
    from polbayes.roleplay.measures.data import COMMITMENT, check_ratings

    check_ratings(ratings)
    check_known("variable", variable, known=("rating", COMMITMENT), where="fit_ratings")
    of_values = variable == "rating"
    rated = gather(
        ratings[variable],
        scale=(0, RATING_MAX if of_values else COMMITMENT_MAX),
        weights=weights if of_values else None,
        axis=POSITIVE if of_values else "",
        asking=ratings.coords.get("asking"),
        own=ratings.get("self_judged"),
    )
    return fit_rated(rated, scales=scales, sampler=sampler, seed=seed, kept=kept)


def fit_rated(
    rated: Rated,
    *,
    scales: Mapping[str, float] | None = None,
    sampler: SamplerConfig | None = None,
    seed: int = 1,
    kept: Path | None = None,
) -> FacetFit:
    """Fit the many-facet model to ratings on any scale, as arranged by `gather`."""
    from polbayes.config.schema import SamplerConfig

    sampler = sampler or SamplerConfig(tune=400, draws=500, target_accept=0.8)
    check_facet_sampler(sampler)
    model = build(rated, scales)
    made_from = _made_from(model, sampler, seed)
    found = load_draws(kept, made_from) if kept else None
    posterior, stats = found or _sampled(model, sampler, seed)
    if kept and not found:
        save_draws(kept, posterior, stats, made_from)
    diagnosis = diagnose(posterior, stats, reported=MODEL_LEVEL)
    return FacetFit(posterior, stats, model, diagnosis, from_cache=found is not None)


def check_facet_sampler(sampler: SamplerConfig) -> None:
    """Refuse a sampler that cannot draw from the many-facet model."""
    check_sampler(sampler)
    if sampler.backend != "nutpie":
        raise UserError(
            f"sampler.backend: the many-facet model of ratings is sampled with nutpie, not "
            f"{sampler.backend}."
        )


def _sampled(model: FacetModel, sampler: SamplerConfig, seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    with postponed():
        density = FacetDensity(model)
        density(density.start(0))  # compiled once, and not in every chain
        compiled = compiled_for_nutpie(density)
    drawn, stats = draw_with_nutpie(compiled, sampler, seed)
    return name_posterior(drawn, model), stats


def _made_from(model: FacetModel, sampler: SamplerConfig, seed: int) -> str:
    """Return a hash of everything that determines the draws, including the model's code."""
    rated = model.rated
    sha = hashlib.sha256()
    for array in (rated.answers, rated.points, rated.side, rated.score_weights):
        sha.update(np.ascontiguousarray(array).tobytes())
    about = [dict(rated.names), rated.scale, dict(model.priors), sampler.__dict__, seed]
    sha.update(json.dumps(about).encode())
    folder = Path(__file__).parent
    for name in _MODEL_FILES:
        sha.update((folder / f"{name}.py").read_bytes())
    return sha.hexdigest()[:16]
