"""Messages of the hub."""

import logging

import pytest

from polbayes.huggingface.hub import quiet

utils = pytest.importorskip("huggingface_hub.utils", reason="huggingface_hub is not installed")


def test_retries_of_the_hub_are_not_told(caplog, monkeypatch):
    logger = logging.getLogger("huggingface_hub")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    before = logger.level
    logger.setLevel(logging.WARNING)

    def said():
        caplog.clear()
        # Nothing listens there.
        with pytest.raises(Exception, match="refused"):
            utils.http_backoff("GET", "http://127.0.0.1:9/", max_retries=1, base_wait_time=0)
        return caplog.text

    try:
        assert "Retrying in 0" in said()
        quiet()
        assert said() == ""
    finally:
        logger.setLevel(before)
