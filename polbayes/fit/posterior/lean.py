"""The expected answer to a new statement: a model's lean, on [-1, 1].

On a new statement like those asked, with a random wording and prompt, a model has a quirk, a
wording effect and so on, each with its posterior scale. Marginally, the predictor of agreeing with
a statement keyed s is normal with

    mean  asked + s · a · theta,    variance  v = sum of squared scales (a² · that of difficulties),

where the discrimination a is also averaged over. An effect with a t distribution is a normal
one whose variance is divided by a gamma variable of mean 1. With decisiveness k and cutpoints c,

    P(y > j) = E logistic(k (x - c_j)),    x ~ Normal(mean, v),

and lean is half the difference in net agreement between a right-keyed and a left-keyed statement.

Where the answers say which side a statement is on (`Spec.signed`), the sign of its discrimination
is its key: half of the new statements have either sign, their difficulty is one of agreeing, and

    mean  asked - difficulty + s · |a| · theta.
"""

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.sparse import csr_array
from scipy.special import gammaincinv, ndtri

from polbayes.fit.density import kernel
from polbayes.fit.density.layout import Block, Gathering, entries
from polbayes.fit.density.model import Built
from polbayes.fit.posterior.measurement_design import ANEW
from polbayes.fit.posterior.pointwise import draws_of, of_each
from polbayes.fit.spec.cells import levels
from polbayes.fit.spec.dif import DIF
from polbayes.fit.spec.spec import POSITIONS

# Gauss-Hermite nodes and weights for effects by item on a logarithmic scale.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Shares of equal weight for the normal mixture of a t distribution, and standard normal quantiles
# for signed discriminations, whose lean has a kink at 0 that Hermite's nodes miss.
_SHARES = (np.arange(24) + 0.5) / 24
_QUANTILES = ndtri(_SHARES)


def lean(built: Built, drawn: xr.Dataset) -> tuple[np.ndarray, pd.DataFrame]:
    """Return ``[draw, level]`` the expected keyed stance on a new statement, and the levels.

    Levels are combinations of model and dimension. Lean is averaged over prefixes like those asked,
    or over exactly these if the spec has fixed prefixes.
    """
    names = ["model", "dimension", *(["prefix"] if built.spec.fixed_prefixes else [])]
    group, table = levels(built.cells.frame, names)
    place, places = levels(table, ["model", "dimension"])
    draws = draws_of(drawn)
    expected = _Expected(built, draws, group, len(table))
    total = np.zeros((len(draws.effects), len(places)))
    for to, found in zip(place, of_each(expected.of, range(len(table))), strict=True):
        total[:, to] += found
    return total / np.bincount(place), places


class _Expected:
    """Expected answers, by group of cells."""

    def __init__(self, built: Built, draws: Any, group: np.ndarray, size: int) -> None:
        self.built, self.draws = built, draws
        self.group, self.size, self.times = group, size, built.cells.times
        self.facets = set(ANEW) - ({"prefix"} if built.spec.fixed_prefixes else set())
        steady = self._means(lambda block: not self._varies(block))
        self.asked, self.theta, self.believed = steady[kernel.ASKED], steady[1], steady[2]
        self.own, self.sharp = steady[kernel.OWN], steady[kernel.DECISIVENESS]
        self.discrimination = steady[kernel.LOG_DISCRIMINATION]
        self.sign = steady[kernel.DISCRIMINATION]
        self.heavy: list[tuple[str, np.ndarray, np.ndarray]] = []
        self.variances = self._variances()

    def _varies(self, block: Block) -> bool:
        """Tell whether a new statement would have new effects of a term."""
        if block.group is None or block.part == "theta":
            return False
        return bool(self.facets & set(block.group.term.factors))

    def _means(self, wanted: Callable[[Block], bool]) -> dict[int, np.ndarray]:
        """Average the terms of every role over the cells of a group, each ``[draw, group]``."""
        g = self.built.layout.answers
        inside = np.zeros(g.index.shape[1], dtype=bool)
        for block in filter(wanted, self.built.layout.blocks):
            inside |= (g.index[0] >= block.start) & (g.index[0] < block.stop)
        out = {}
        for role in range(kernel.ROLES):
            part = np.arange(g.roles[role], g.roles[role + 1])
            out[role] = self._average(g, part[inside[part]])
        return out

    def _average(self, g: Gathering, terms: np.ndarray) -> np.ndarray:
        weight = np.broadcast_to(g.weight[:, terms], (len(g.index), len(terms)))
        share = self.times / np.bincount(self.group, self.times, self.size)[self.group]
        rows = np.repeat(self.group, len(terms))
        # Most effects are of other terms.
        used, columns = np.unique(g.index[:, terms], return_inverse=True)
        shape = (self.size, len(used))
        values = (weight * share[:, None]).ravel()
        table = csr_array((values, (rows, columns.ravel())), shape=shape)
        return np.asarray((table @ self.draws.effects[:, used].T).T)

    def _variances(self) -> dict[str, np.ndarray]:
        """Return ``[draw, group]`` variances of a new statement's effects, by position."""
        zeros = np.zeros((len(self.draws.effects), self.size))
        places = ("asked", "believed", "multiplied", "discrimination", "own", "decisiveness")
        out = {place: zeros.copy() for place in places}
        for block in self.built.layout.blocks:
            if block.group is None or block.part == DIF or not self._varies(block):
                continue  # a new statement means the same to everybody
            place = self._place(block.part)
            if place not in out:
                continue
            table = np.zeros((len(self.built.layout.scales), self.size))
            for effect, factor in entries(block.group):
                scale = block.every_scale[effect]
                np.add.at(table, (scale, self.group), self.times * factor**2)
            table /= np.bincount(self.group, self.times, self.size)
            variance = self.draws.scales**2 @ table
            if block.tail >= 0:
                self.heavy.append((place, variance, self.draws.tails[:, block.tail]))
            else:
                out[place] += variance
        return out

    def _place(self, part: str) -> str:
        """Return the position in the predictor of a new statement's effects in a part."""
        if part == "difficulty" and not self.built.spec.signed:
            return "multiplied"
        place = POSITIONS[part]
        own = part in self.built.spec.observation.parts and place != "validity"
        return "own" if own else place

    def of(self, at: int) -> np.ndarray:
        """Return ``[draw]`` the lean in a group of cells."""
        v = {place: values[:, at] for place, values in self.variances.items()}
        mixtures = [(place, wide[:, at], _divided(nu)) for place, wide, nu in self.heavy]
        total = np.zeros(len(self.draws.effects))
        # The nodes of each mixture have equal weights.
        for nodes in product(*(range(len(found)) for _, _, found in mixtures)):
            here = dict(v)
            for (place, wide, found), node in zip(mixtures, nodes, strict=True):
                here[place] = here[place] + wide / found[node]
            total += self._given(at, here)
        return total / math.prod(len(found) for _, _, found in mixtures)

    def _given(self, at: int, v: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return ``[draw]`` the lean in a group of cells, given the variances."""
        total = np.zeros(len(self.draws.effects))
        signed = self.built.spec.signed
        asked = self.asked[:, at] + (self.believed[:, at] if signed else 0.0)
        for steepness, weight in self._discriminations(at, v["discrimination"]):
            mean = steepness * self.theta[:, at] + (0.0 if signed else self.believed[:, at])
            around = v["asked"] + v["believed"] + steepness**2 * v["multiplied"]
            for width, share in _logarithmic(self.own[:, at], v["own"]):
                for log_sharp, of_sharp in _logarithmic(self.sharp[:, at], v["decisiveness"]):
                    sides = [
                        self._net(asked + s * mean, around, width, np.exp(log_sharp))
                        for s in (1.0, -1.0)
                    ]
                    total += weight * share * of_sharp * (sides[0] - sides[1]) / 2.0
        return total

    def _discriminations(self, at: int, v: np.ndarray) -> list[tuple[np.ndarray, float]]:
        if self.built.spec.signed:
            middle, spread = self.sign[:, at], np.sqrt(v)
            return [(np.abs(middle + spread * z), 1.0 / len(_QUANTILES)) for z in _QUANTILES]
        return [(np.exp(x), w) for x, w in _logarithmic(self.discrimination[:, at], v)]

    def _net(
        self, mean: np.ndarray, v: np.ndarray, own: np.ndarray, sharp: np.ndarray
    ) -> np.ndarray:
        """Return ``[draw]`` the expected net agreement.

        `own` is the family's own parameter, multiplied by the decisiveness if that widens it.
        """
        family = self.built.spec.observation
        return family.mean_net(sharp * mean, sharp**2 * v, own, self.draws.gaps)


def _divided(nu: np.ndarray) -> np.ndarray:
    """Return ``[node, draw]`` quantiles of the divisor of the variances of t distributions."""
    # The integrand is smooth and bounded: 24 nodes leave an error below 1e-3.
    return np.asarray(np.maximum(gammaincinv(nu / 2, _SHARES[:, None]) * 2 / nu, 1e-12))


def _logarithmic(middle: np.ndarray, v: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """Return nodes and weights of a normal distribution; only its mean if the variance is 0."""
    if not v.any():
        return [(middle, 1.0)]
    return [(middle + np.sqrt(v) * z, float(w)) for z, w in zip(_NODES, _WEIGHTS, strict=True)]
