"""Posteriors of verdicts that are drawn from the prior."""

import warnings

import numpy as np
import xarray as xr

from polbayes.data.groups import group_of
from polbayes.run.pairs import fit
from polbayes.run.pairs.model import build


def draw_from_prior(patch):
    """Draw posteriors from the prior, which takes seconds, for tests of what comes after."""
    import pymc as pm

    def drawn(judged, sampler, *, joint, seed):
        with warnings.catch_warnings(), build(judged, joint=joint):
            warnings.filterwarnings("ignore", message="The effect of Potentials")
            found = pm.sample_prior_predictive(draws=600, random_seed=seed)
        prior = group_of(found, "prior").isel(chain=0, drop=True)
        halves = [
            prior.isel(draw=half).assign_coords(draw=np.arange(300))
            for half in (slice(0, 300), slice(300, 600))
        ]
        stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((2, 300), dtype=bool))})
        return xr.concat(halves, "chain").assign_coords(chain=[0, 1]), stats

    patch.setattr(fit, "_sampled", drawn)
