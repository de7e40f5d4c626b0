"""Fixtures that several test modules share."""

import signal
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data by others, or skip where it is not there."""
    if not SHARED.is_dir():
        pytest.skip(f"the real data by others is not at {SHARED}")
    return SHARED


def pytest_configure() -> None:
    """Have Ctrl-C interrupt, as some tests do, also where a shell in the background says not to."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
