"""How intervals are made in these tests."""

import pytest

from polbayes.measures.resampling import Bootstrap


@pytest.fixture(scope="session")
def few():
    return Bootstrap(400, 0.95, 1)
