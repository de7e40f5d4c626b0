"""The backends ``stub`` and ``stub_judge``."""

import pytest
from playing import Stub, World

from polbayes.instrument.design import ModelInfo
from polbayes.respondents import BACKENDS, Backend


@pytest.fixture
def world(monkeypatch):
    """Return what the backends ``stub`` and ``stub_judge`` do."""
    world = World()

    def describe(name, config, template):
        return ModelInfo(name, "{statement}", chat=True, checkpoint=config.checkpoint)

    for backend, kind, says in (
        ("stub", "roleplay", "says"),
        ("stub_judge", "judging", "judges"),
    ):
        made = Backend(
            (kind,),
            describe,
            lambda name, config, template, elicitation, says=says: Stub(name, world, says),
        )
        monkeypatch.setitem(BACKENDS, backend, made)
    return world
