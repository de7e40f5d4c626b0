"""The backends ``stub`` and ``stub_judge``, and posteriors that are drawn from the prior."""

import warnings

import numpy as np
import pytest
import xarray as xr
from asking import Stub, World

from polbayes.data.groups import group_of
from polbayes.instrument.design import ModelInfo
from polbayes.respondents import BACKENDS, Backend
from polbayes.run.pairs import fit
from polbayes.run.pairs.model import build


@pytest.fixture
def world(monkeypatch):
    world = World()

    def describe(name, config, template):
        return ModelInfo(name, "{statement}", chat=True, checkpoint=config.checkpoint)

    for backend, kind, says in (("stub", "paired", "says"), ("stub_judge", "judging", "judges")):
        made = Backend((kind,), describe, lambda name, c, t, e, says=says: Stub(name, world, says))
        monkeypatch.setitem(BACKENDS, backend, made)
    return world


@pytest.fixture
def prior_only(monkeypatch):
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

    monkeypatch.setattr(fit, "_sampled", drawn)
