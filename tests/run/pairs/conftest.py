"""The backends ``stub`` and ``stub_judge``, and posteriors that are drawn from the prior."""

import pytest
from asking import Stub, World
from prior_draws import draw_from_prior

from polbayes.instrument.design import ModelInfo
from polbayes.respondents import BACKENDS, Backend


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
    draw_from_prior(monkeypatch)
