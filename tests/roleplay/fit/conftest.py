"""Small panels of judges, and one quick fit that several tests look at."""

import pytest

from polbayes.config.schema import SamplerConfig
from polbayes.roleplay.fit.fit import fit_ratings
from tools.calibration.ratings import Judge, Planted, simulate


def planted(**changes):
    positions = {"m1": 1.5, "m2": 0.0, "m3": -1.5}
    judges = {"m1": Judge(1.0, 0.5, self_level=0.5), "j2": Judge(-1.0, -0.5, 1.3), "j3": Judge()}
    return Planted(positions, judges, **{"scenarios": 3, "stages": 2, **changes})


@pytest.fixture(scope="session")
def panel():
    return planted


@pytest.fixture(scope="session")
def ratings():
    return simulate(planted(), 1)[0]


@pytest.fixture(scope="session")
def quick():
    return SamplerConfig(chains=2, tune=150, draws=100, target_accept=0.8)


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("facets") / "draws.nc"


@pytest.fixture(scope="session")
def fitted(ratings, quick, kept):
    return fit_ratings(ratings, sampler=quick, seed=1, kept=kept)
