"""The many-facet model on ratings: its terms, scales and priors, and the layout of its effects."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polbayes.errors import UserError, check_known
from polbayes.roleplay.fit.effects import centre_back
from polbayes.roleplay.fit.rated import MISSING, Rated
from polbayes.roleplay.fit.terms import (
    SCALES,
    VALUE,
    Term,
    columns_of,
    free,
    informed,
    judge_terms,
    truth_terms,
)

# Standard deviations of priors, as shares of the length of the rating scale; that of the noise is
# the median of a log-normal distribution, whose logarithm has standard deviation 1.
MEAN, SELF, NOISE = 0.25, 0.1, 0.05
# Of logarithms.
STRETCH, WIDTHS = 0.3, 0.5


@dataclass(frozen=True)
class FacetModel:
    """The model on given ratings."""

    rated: Rated
    truth: tuple[Term, ...]  # about what was rated
    judges: tuple[Term, ...]  # about who rated
    # By term, in rating points, scales of the half-normal priors of the standard deviations of its
    # effects; effects without levels, such as that of the side, have this standard deviation.
    priors: Mapping[str, float]

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms, in the order of their effects."""
        return (*self.truth, *self.judges)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, and what is not identified, in sentences."""
        there = {term.name for term in self.terms}
        notes = list(self.rated.notes)
        if "sway" not in there and self.rated.sizes["twin"] == 2:
            notes.append(
                "Which side asks is unknown, so that its effect cannot be separated from the texts."
            )
        own = (self.rated.self_of != MISSING).any()
        if own and not len(self.selves):
            notes.append(
                "A judge is one of the models, but what it adds to ratings of itself is not "
                "identified: that takes several judges and models, and ratings of itself."
            )
        return tuple(notes)

    @property
    def widths(self) -> np.ndarray:
        """``[term]`` number of directions of each term."""
        return np.array([len(term.kinds) for term in self.terms], dtype=np.int64)

    @cached_property
    def starts(self) -> np.ndarray:
        """``[term + 1]`` start of the effects of each term, and the end."""
        sizes = [len(term.levels) * len(term.kinds) for term in self.terms]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def scales(self) -> list[tuple[str, str]]:
        """Term and kind of direction of every scale that is estimated."""
        terms = [term for term in self.terms if term.factors]
        return [(term.name, kind) for term in terms for kind in dict.fromkeys(term.kinds)]

    @property
    def scale_priors(self) -> np.ndarray:
        """``[scale]`` scales of their half-normal priors, in rating points."""
        return np.array([self.priors[name] for name, _ in self.scales])

    @property
    def self_kinds(self) -> tuple[str, ...]:
        """In which directions judges may differ about themselves: axis and level."""
        kinds = columns_of(self.rated)
        return tuple(kind for kind in kinds if kind != VALUE) or kinds[:1]

    @cached_property
    def selves(self) -> np.ndarray:
        """``[pair, 2]`` judges that rate themselves, if identified, and the model."""
        if self.crossed is None:
            return np.empty((0, 2), dtype=np.int64)
        rated = self.rated
        there = (rated.answers != MISSING).any(axis=2)
        pairs = [
            (judge, model)
            for judge, model in enumerate(rated.self_of)
            if model != MISSING and there[rated.units["model"] == model, judge].any()
        ]
        return np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)

    @property
    def crossed(self) -> int | None:
        """Number of the term ``judge:model``, None without it."""
        names = [term.name for term in self.terms]
        return names.index("judge:model") if "judge:model" in names else None

    @cached_property
    def pattern(self) -> np.ndarray:
        """``[free level, pair]`` the effect of self-rating on the free effects of ``judge:model``.

        This is what is left after subtracting the means of the judge and of the model, which have
        terms of their own (`polbayes.roleplay.fit.density.FacetDensity.values`).
        """
        if self.crossed is None:
            return np.empty((0, 0))
        term, sizes = self.terms[self.crossed], self.rated.sizes
        own = np.zeros((len(term.levels), len(self.selves)))
        for k, pair in enumerate(self.selves):
            own[:, k] = (term.levels == pair).all(axis=1)
        grid = own.reshape(sizes["judge"], sizes["model"], -1)
        grid = grid - grid.mean(axis=0) - grid.mean(axis=1)[:, None] + grid.mean(axis=(0, 1))
        return self.uncrossed(grid.reshape(own.shape))

    def uncrossed(self, effects: np.ndarray) -> np.ndarray:
        """Return ``[free level, column]`` the free effects behind those of ``judge:model``.

        The map from free effects to all is an isometry, so its transpose is the inverse.
        """
        assert self.crossed is not None
        term = self.terms[self.crossed]
        levels, width = effects.shape
        back = np.array(effects, dtype=float).ravel()
        rows = [[0, levels, width, k * levels, g.max() + 1] for k, g in enumerate(term.groups)]
        parts = np.concatenate([shares(group) for group in term.groups])
        centre_back(back, np.array(rows), np.concatenate(term.groups), parts)
        return back.reshape(levels, width)[free(term)]

    @cached_property
    def turned(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Directions in which self-rating moves the free effects of ``judge:model``.

        What a judge adds to ratings of itself is normal with a known standard deviation and is
        integrated out: it gives the effects a covariance, and a variance each in the directions in
        which that is diagonal. Returns ``[column, free level]`` places of the effects, ``[free
        level, direction]`` the matrix, and ``[direction]`` the variances.
        """
        if self.crossed is None or not len(self.selves):
            return np.empty((0, 0), dtype=np.int64), np.empty((0, 0)), np.empty(0)
        term, start = self.terms[self.crossed], self.starts[self.crossed]
        sd = SELF * self.rated.width
        extra, matrix = np.linalg.eigh(sd**2 * self.pattern @ self.pattern.T)
        columns = np.arange(len(self.self_kinds))[:, None]
        places = start + np.flatnonzero(free(term)) * len(term.kinds) + columns
        known = np.where(extra > 1e-9, extra, 0.0)
        return places.astype(np.int64), np.ascontiguousarray(matrix), known

    @cached_property
    def drawn(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Place, scale, number of ratings by judge, and known variance of each drawn effect.

        An effect whose scale is not estimated has the index after the last, with scale 0.
        """
        places, scales, counts, known = [], [], [], []
        for start, term in zip(self.starts[:-1], self.terms, strict=True):
            levels, width = np.flatnonzero(free(term)), len(term.kinds)
            number = np.full(width, len(self.scales))
            if term.factors:
                number[:] = [self.scales.index((term.name, kind)) for kind in term.kinds]
            variance = 0.0 if term.factors else self.priors[term.name] ** 2
            known.append(np.full(len(levels) * width, variance))
            places.append((start + levels[:, None] * width + np.arange(width)).ravel())
            scales.append(np.tile(number, len(levels)))
            counts.append(informed(term, self.rated)[levels].reshape(len(levels) * width, -1))
        place = np.concatenate(places).astype(np.int64)
        extra = np.concatenate(known)
        for column in self.turned[0]:
            extra[np.searchsorted(place, column)] = self.turned[2]
        return (place, np.concatenate(scales).astype(np.int64), np.concatenate(counts), extra)

    @cached_property
    def constraints(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Arguments of `polbayes.roleplay.fit.effects.centre`."""
        rows, groups, parts = [], [], []
        first = 0
        for start, term in zip(self.starts[:-1], self.terms, strict=True):
            for group in term.groups:
                rows.append([start, len(group), len(term.kinds), first, group.max() + 1])
                groups.append(group)
                parts.append(shares(group))
                first += len(group)
        return (
            np.array(rows, dtype=np.int64).reshape(len(rows), 5),
            np.concatenate([*groups, np.empty(0)]).astype(np.int64),
            np.concatenate([*parts, np.empty(0)]),
        )

    @property
    def frequencies(self) -> np.ndarray:
        """``[point]`` frequency of each point."""
        answers = self.rated.answers
        return np.bincount(answers[answers != MISSING]).astype(float)

    @property
    def cutpoints(self) -> tuple[np.ndarray, np.ndarray]:
        """``[cutpoint]`` even cutpoints, and their weights: those of the adjacent points."""
        points, often = self.rated.points, self.frequencies
        around = often[1:] + often[:-1]
        return (points[1:] + points[:-1]) / 2, around / around.sum()

    @cached_property
    def noise(self) -> float:
        """An initial value of the judges' noise, in points: their differences apart from means."""
        answers = self.rated.answers
        values = np.where(answers == MISSING, np.nan, self.rated.points[answers])
        judges = values.shape[1]
        least = self.rated.width / 100
        enough = (~np.isnan(values)).sum(axis=1) == judges
        if judges == 1 or not enough.any():
            return self.rated.width * NOISE
        rest = values.transpose(0, 2, 1)[enough]
        rest = rest - rest.mean(axis=1, keepdims=True)
        rest = rest - rest.mean(axis=0)
        spread = np.sqrt((rest**2).mean() * judges / (judges - 1))
        return max(float(spread) * np.sqrt(3) / np.pi, least)


def shares(group: np.ndarray) -> np.ndarray:
    """Return ``[level]`` the share of its group's sum that `effects.centre` subtracts."""
    n = np.bincount(group)[group]
    last = len(group) - 1 - np.unique(group[::-1], return_index=True)[1]
    share = 1 / (n + np.sqrt(n))
    share[last] = 1 / np.sqrt(n[last])
    return np.asarray(share)


def build(rated: Rated, scales: Mapping[str, float] | None = None) -> FacetModel:
    """Determine the terms that the ratings identify."""
    given = dict(scales or {})
    for name, value in given.items():
        check_known("term", name, known=SCALES, where="scales")
        if not (np.isfinite(value) and value >= 0):
            raise UserError(f"scales: {name}: must be a number of at least 0, not {value}.")
    shares = {**SCALES, **given}
    truth = tuple(term for term in truth_terms(rated) if shares[term.name])
    judges = tuple(term for term in judge_terms(rated) if shares[term.name])
    if not (truth or judges):
        raise UserError("ratings: one model, one judge, one unit: there is nothing to compare.")
    priors = {term.name: shares[term.name] * rated.width for term in (*truth, *judges)}
    return FacetModel(rated, truth, judges, priors)
