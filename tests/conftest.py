"""Fixtures that several test modules share."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data by others, or skip where it is not there."""
    if not SHARED.is_dir():
        pytest.skip(f"the real data by others is not at {SHARED}")
    return SHARED
