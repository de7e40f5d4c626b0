"""Messages of the hub."""

import logging
import sys
from types import SimpleNamespace

import pytest

from polbayes.coding.logs.huggingface import READER
from polbayes.config.schema import ImportConfig
from polbayes.errors import UserError
from polbayes.huggingface import checkpoint
from polbayes.huggingface.hub import quiet
from polbayes.huggingface.source import Source

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


@pytest.mark.parametrize("load", [checkpoint.load_config, checkpoint.load_tokenizer])
def test_what_is_loaded_is_loaded_quietly(load, tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(checkpoint, "quiet", lambda: called.append(True))
    with pytest.raises(UserError):
        load(Source("respondents.m", str(tmp_path), local=True, revision=None, remote_code=False))
    assert called


def test_data_sets_are_loaded_quietly(tmp_path, monkeypatch):
    """Bars and messages are off before anything is loaded."""
    done = []

    def load(*_, **__):
        done.append("loaded")
        raise ValueError("there is none")

    errors = SimpleNamespace(set_verbosity_error=lambda: done.append("messages"))
    fake = SimpleNamespace(
        disable_progress_bars=lambda: done.append("bars"),
        utils=SimpleNamespace(logging=errors),
        load_dataset=load,
    )
    monkeypatch.setitem(sys.modules, "datasets", fake)
    with pytest.raises(UserError, match="there is none"):
        READER.read(tmp_path, ImportConfig(path=str(tmp_path)))
    assert sorted(done[:2]) == ["bars", "messages"]
    assert done[2:] == ["loaded"]
