"""Sensitivity of conclusions to the priors and to the answers.

Prior and likelihood are raised to a power near 1, one at a time, and importance weights give the
resulting posterior from the draws (Kallioinen, Paananen, Bürkner and Vehtari 2024); arviz-stats
measures the change of a quantity's distribution. The prior is that of the top-level
parameters: coefficients, standard deviations, correlations, distances of the cutpoints and
degrees of freedom. The distribution of effects given their standard deviation is part of the model.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.density.model import Built, correlation_name
from polbayes.fit.density.prior_densities import correlation_prior, priors_of
from polbayes.fit.posterior.loo import Loo
from polbayes.fit.posterior.pointwise import draws_of, likelihoods, log_likelihood
from polbayes.fit.spec.priors import log_density

# The quantities checked, and the number of draws used.
MEASURES = ("theta", "theta_asked", "lean", "decisiveness", "acquiescence")
_DRAWS = 1000
# Sensitivities from this value are flagged (the threshold of Kallioinen et al.).
_THRESHOLD = 0.05
# Interpretation, by sensitivity to the prior and to the likelihood.
WEAK, CONFLICT, NONE = "prior", "conflict", ""
# Number of cells whose log-likelihoods are in memory at once.
_CHUNK = 2000


def log_prior(built: Built, drawn: xr.Dataset) -> np.ndarray:
    """Return ``[chain, draw]`` the log prior density of top-level parameters, up to a constant."""
    layout = built.layout.sampled
    priors = priors_of(layout, built.spec, built.cells)
    scales = [built.spec.prior(*scale, "sd") for scale in layout.scales]
    groups = {"b": priors.coefficients, "sd": scales, "gap": priors.gaps, "nu": priors.tails}
    total = np.zeros((drawn.sizes["chain"], drawn.sizes["draw"]))
    for name, own in groups.items():
        for k, prior in enumerate(own):
            total += log_density(prior, drawn[name].to_numpy()[..., k])
    for block in layout.blocks:
        if block.correlated:
            values = drawn[correlation_name(block)].to_numpy()
            prior = correlation_prior(block, built.spec)
            total += (prior.values[0] - 1) * _log_determinant(values)
    return total


def _log_determinant(correlations: np.ndarray) -> np.ndarray:
    """Return ``[chain, draw]`` that of correlation matrices, or of two columns with these."""
    if correlations.ndim == 4:
        return np.asarray(np.linalg.slogdet(correlations)[1])
    return np.asarray(np.log1p(-(np.reshape(correlations, correlations.shape[:2]) ** 2)))


def log_likelihood_of(built: Built, drawn: xr.Dataset, part: str) -> np.ndarray:
    """Return ``[chain, draw]`` the log-likelihood of all answers, or of whether they were usable.

    Effects that enter only one cell are integrated out.
    """
    draws, likelihood = draws_of(drawn), likelihoods(built)[part]
    total = np.zeros(len(draws.effects))
    for first in range(0, len(likelihood.at), _CHUNK):
        total += log_likelihood(likelihood, draws, slice(first, first + _CHUNK)).sum(axis=0)
    return total.reshape(drawn.sizes["chain"], drawn.sizes["draw"])


def power_scaling(
    built: Built, drawn: xr.Dataset, posterior: xr.Dataset, loos: Iterable[Loo]
) -> pd.DataFrame:
    """Compute the sensitivity of each headline quantity to prior and likelihood.

    The log-likelihoods are those of `loos`; only where these rest on a sample of the cells are they
    computed here.
    """
    step = max(1, drawn.sizes["chain"] * drawn.sizes["draw"] // _DRAWS)
    some = drawn.isel(draw=slice(None, None, step))
    rows, values = [], []
    for name in (name for name in MEASURES if name in posterior):
        array = posterior[name].isel(draw=slice(None, None, step))
        dims = [str(d) for d in array.dims if d not in ("chain", "draw")]
        array = array.transpose("chain", "draw", *dims)
        for at in np.ndindex(*array.shape[2:]):
            own = array.to_numpy()[(slice(None), slice(None), *at)]
            if np.isfinite(own).all():
                labels = {d: str(array[d].values[k]) for d, k in zip(dims, at, strict=True)}
                rows.append((name, labels.get("model", ""), labels.get("dimension", "")))
                values.append(own)
    table = pd.DataFrame(rows, columns=["measure", "model", "dimension"])
    every = np.stack(values, axis=-1)
    table["prior"] = _sensitivity(every, log_prior(built, some))
    logp = [
        log_likelihood_of(built, some, one.part) if one.total is None else one.total[:, ::step]
        for one in loos
    ]
    table["likelihood"] = _sensitivity(every, np.sum(logp, axis=0))
    pairs = zip(table["prior"], table["likelihood"], strict=True)
    return table.assign(diagnosis=[_diagnosis(*pair) for pair in pairs])


def _sensitivity(values: np.ndarray, logp: np.ndarray) -> np.ndarray:
    """Return ``[quantity]`` the sensitivities of ``[chain, draw, quantity]``."""
    from arviz_stats.psense import psense

    dims = ("chain", "draw")
    groups = {
        "posterior": xr.Dataset({"of": ((*dims, "quantity"), values)}),
        "log_prior": xr.Dataset({"all": (dims, logp)}),
    }
    found = psense(xr.DataTree.from_dict(groups), group="prior", sample_dims=list(dims))
    return np.asarray(found["of"])


def _diagnosis(prior: float, likelihood: float) -> str:
    if prior < _THRESHOLD:
        return NONE
    return CONFLICT if likelihood >= _THRESHOLD else WEAK
