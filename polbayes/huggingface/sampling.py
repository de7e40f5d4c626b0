"""Sampling that depends on the cell only: top-k and top-p with noise from a hash.

The maximum of ``logit / temperature + Gumbel noise`` is a draw from the softmax (the Gumbel-max
trick), so greedy decoding over noisy logits samples. The noise is a pure function of the cell's
seed, the step and the token id, not of a generator's state: a cell gets the same answer in any
batch, in any order, and after resuming.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The constants of splitmix64 (Steele, Lea and Flood, 2014).
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mix(state: ArrayLike) -> NDArray[np.uint64]:
    """Return the next output of splitmix64 for each state, an array of 64 random-looking bits."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is what is wanted
        z = np.asarray(state, dtype=np.uint64) + _GAMMA
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        return np.asarray(z ^ (z >> np.uint64(31)))


def uniform(*keys: ArrayLike) -> NDArray[np.float64]:
    """Hash integers below 2**64, or arrays that broadcast together, to numbers in (0, 1)."""
    state = np.zeros((), dtype=np.uint64)
    for key in keys:
        state = mix(state ^ np.asarray(key, dtype=np.uint64))
    return (np.asarray(state >> np.uint64(11), dtype=np.float64) + 0.5) * 2.0**-53


def choose(
    values: NDArray[np.floating[Any]], tokens: ArrayLike, *, seeds: ArrayLike, step: int
) -> NDArray[np.int64]:
    """Draw one candidate per row from the softmax of its values."""
    rows = np.asarray(seeds, dtype=np.uint64)[:, None]
    noise = -np.log(-np.log(uniform(rows, step, tokens)))
    return np.asarray(np.argmax(np.asarray(values, dtype=np.float64) + noise, axis=1))


@dataclass(frozen=True)
class Sampler:
    """How the next token is drawn."""

    top_k: int  # how many of the likeliest tokens are drawn from; 0 for all
    temperature: float  # what logits are divided by; at 0 the likeliest token is taken
    # The likeliest of these that together have this probability are eligible, in (0, 1].
    top_p: float = 1.0

    def draw(self, logits: Any, seeds: ArrayLike, step: int) -> NDArray[np.int64]:
        """Return one token per row of logits (row, token of the vocabulary).

        There is one seed per row; `step` is the number of tokens drawn before. Logits that are NaN
        are a ValueError.
        """
        import torch

        if not torch.isfinite(logits.amax(dim=1)).all():
            raise ValueError("the model gave logits that are not numbers")
        if self.temperature == 0:
            return np.asarray(logits.argmax(dim=1).cpu().numpy())
        size = logits.shape[1]
        values, tokens = logits.float().topk(min(self.top_k or size, size), dim=1)
        scaled = nucleus(values.cpu().double().numpy() / self.temperature, self.top_p)
        candidates = tokens.cpu().numpy()
        at = choose(scaled, candidates, seeds=seeds, step=step)
        return np.asarray(candidates[np.arange(len(at)), at])


def nucleus(values: NDArray[np.float64], top_p: float) -> NDArray[np.float64]:
    """Keep the smallest set of candidates that reaches `top_p` (Holtzman et al., 2020)."""
    if top_p >= 1:
        return values
    mass = np.exp(values - values[:, :1])
    mass /= mass.sum(axis=1, keepdims=True)
    before = mass.cumsum(axis=1) - mass
    return np.asarray(np.where(before < top_p, values, -np.inf))


class SampledOnly:
    """A logits processor that keeps one token per row: the one drawn after padded prompts."""

    def __init__(self, sampler: Sampler, seeds: Sequence[int], start: int) -> None:
        self._sampler = sampler
        self._seeds = np.array(seeds, dtype=np.uint64)
        self._start = start

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return `scores` with everything but the drawn tokens at minus infinity."""
        import torch

        drawn = self._sampler.draw(scores, self._seeds, input_ids.shape[1] - self._start)
        at = torch.as_tensor(drawn, device=scores.device)[:, None]
        return torch.full_like(scores, -torch.inf).scatter_(1, at, 0.0)
