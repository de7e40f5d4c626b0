"""Asking a causal LM: sharing stretches of prompts if possible, plainly otherwise."""

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from polbayes.huggingface.continuation import Ids
from polbayes.huggingface.padded import PlainPass, same
from polbayes.huggingface.portions import Portion
from polbayes.huggingface.positions import positions
from polbayes.huggingface.shared_prefix import SharedPass
from polbayes.huggingface.tree_attention import takes

_log = logging.getLogger("polbayes")

# Config keys for the attention window; no longer prompts are shared.
_WINDOWS = ("sliding_window", "attention_chunk_size", "window_size")

# Tokens in a trial pass: enough for attention in several parts.
_TRIAL = 128


class Passes:
    """Chooses how to feed prompts to a causal LM."""

    def __init__(self, model: Any, *, ends: Sequence[int], pad: int, rows: int | None) -> None:
        self._model = model
        self._plain = PlainPass(model, ends=ends, pad=pad, rows=rows)
        self._shared = SharedPass(model, ends=ends, rows=rows)
        self._window = _window(model)

    @property
    def plain(self) -> PlainPass:
        """Feeds every prompt whole."""
        return self._plain

    def choose(self, longest: int) -> SharedPass | PlainPass:
        """Return how to feed prompts that have, with answers, at most `longest` tokens."""
        return self._shared if longest <= self._window and self.can_share else self._plain

    @cached_property
    def can_share(self) -> bool:
        """Whether the model gives the same answers if prompts share stretches.

        Random tokens are fed both ways: a model that ignores position ids or custom masks, that
        caches anything but keys and values, or that confuses positions in a pass with positions in
        a prompt, differs or fails.
        """
        if not (takes(self._model, "position_ids") and takes(self._model, "past_key_values")):
            return False
        trial = SharedPass(self._model, ends=(), rows=None)
        trial.tokens = Portion(min(self._shared.tokens.size, _TRIAL))
        sequences, reads = _trial(self._model, min(self._window, 24), trial.tokens.size)
        try:
            shared = trial.log_probabilities(sequences, reads)
            plain = self._plain.log_probabilities(sequences, reads)
            again = self._plain.log_probabilities(sequences, reads, most=1)
        except Exception as error:  # whatever a model raises that is asked what it cannot do
            _log.debug("prompts do not share stretches: %s", error)
            return False
        return same(shared, plain, again, self._model)


def _trial(model: Any, longest: int, portion: int) -> tuple[list[Ids], list[tuple[int, int, int]]]:
    """Return random sequences that fill two passes, and what to read from a few of them."""
    about = model.config.get_text_config()
    length = min(longest, positions(about, model))
    random = np.random.default_rng(0)
    drawn = random.integers(about.vocab_size, size=(2 + 4 * portion // length, length))
    # All share a beginning, and every second one is like its predecessor up to the middle.
    drawn[:, : length // 4] = drawn[0, : length // 4]
    drawn[1::2, : length // 2] = drawn[: len(drawn) // 2 * 2 : 2, : length // 2]
    sequences = sorted(tuple(row) for row in drawn.tolist())
    tokens = random.integers(about.vocab_size, size=8).tolist()
    rows = (0, len(sequences) // 2, len(sequences) - 2, len(sequences) - 1)
    return sequences, [(row, length - 1, token) for row in rows for token in tokens]


def _window(model: Any) -> int:
    about = model.config.get_text_config()
    given = (getattr(about, name, None) for name in _WINDOWS)
    return min((n for n in given if isinstance(n, int) and n > 0), default=1 << 30)
