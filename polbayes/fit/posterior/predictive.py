"""Posterior predictive checks: replicated answers compared with observed ones.

The same statistics are computed for every replicated set of answers and the observed one (Gelman,
Meng and Stern 1996): an observed value outside the replicates is something the model misses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from polbayes.fit.density.kernel import forward
from polbayes.fit.density.model import Built
from polbayes.fit.posterior.intervals import two_intervals
from polbayes.fit.posterior.pointwise import Draws, draws_of
from polbayes.fit.spec.cells import Cells, levels

REPLICATES = 400
LABELS = ("model", "prefix", "item", "keying")
# The tails of quirks: their kurtosis, which is informative from so many statements.
TAILS, _ENOUGH = "quirk_tails", 8
# Answer probabilities below this, or above one minus this, leave hardly any doubt.
_EXTREME = 0.05


@dataclass(frozen=True)
class Answers:
    """One set of answers, observed or replicated, summed within cells."""

    # [cell] answers that agree and that disagree; for answer probabilities R+ and 1 - R+, 0 if
    # missing
    agree: np.ndarray
    disagree: np.ndarray
    extreme: np.ndarray  # [cell] answers that leave hardly any doubt; only for answer probabilities
    n: np.ndarray  # [cell] answers with a stance
    asked: np.ndarray  # [cell] answers, usable or not
    usable: np.ndarray  # [cell] usable answers, or the probability of all usable answers
    # [cell] pairs of identical answers to the same question, and all pairs
    same: np.ndarray
    pairs: np.ndarray


@dataclass(frozen=True)
class Statistic:
    """A proportion of answers in each of some groups of cells."""

    name: str  # name in the tables
    # agree, neutral, extreme or usable for a proportion of answers; repeated for the proportion of
    # identical pairs of answers to one question; wordings for the spread of an item's wordings
    what: str
    labels: pd.DataFrame  # [group] labels of the groups
    index: np.ndarray  # [cell] group; for wordings the wording of an item by a model
    # For wordings, [wording] item and [item] group, and [cell] keying times direction
    item: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    model: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    sign: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def group(self) -> np.ndarray:
        """``[cell]`` group."""
        return self.model[self.item[self.index]] if len(self.item) else self.index


def statistics(built: Built) -> list[Statistic]:
    """List the statistics that a model's answers can be checked by."""
    frame = built.cells.every.frame
    wanted: list[tuple[str, str, tuple[str, ...]]] = [
        ("agreement_by_keying", "agree", ("model", "keying")),
        ("agreement_by_prefix", "agree", ("model", "prefix")),
        ("agreement_by_item", "agree", ("item", "keying")),
    ]
    if len(built.cells.points) % 2:
        wanted.append(("neutral", "neutral", ("model",)))
        wanted.append(("neutral_by_item", "neutral", ("item",)))
    if built.cells.counts.size and (built.cells.answered > 1).any():
        wanted.append(("repeated", "repeated", ("model",)))
    if not built.spec.observation.counts:
        wanted.append(("extreme", "extreme", ("model",)))
    if built.layout.validity is not None:
        wanted.append(("usable", "usable", ("model",)))
        wanted.append(("usable_by_item", "usable", ("item",)))
    out = []
    for name, what, by in wanted:
        index, table = levels(frame, by)
        out.append(Statistic(name, what, table, index))
    if (frame.groupby("item")["variant"].nunique() > 1).any():
        wording, wordings = levels(frame, ("model", "item", "variant"))
        item, items = levels(wordings, ("model", "item"))
        model, models = levels(items, ("model",))
        sign = frame["keying"].to_numpy(dtype=float) * frame["direction"].to_numpy(dtype=float)
        out.append(Statistic("between_wordings", "wordings", models, wording, item, model, sign))
    return out


# What a statistic divided by last, and its sums: the same for many sets of answers.
Wholes = dict[str, tuple[np.ndarray, np.ndarray]]


def evaluate(statistic: Statistic, answers: Answers, known: Wholes | None = None) -> np.ndarray:
    """Return ``[group]`` a statistic of a set of answers; NaN for a group without answers."""
    known = {} if known is None else known
    if statistic.what == "wordings":
        return _between_wordings(statistic, answers, known)
    part, whole = answers.agree, answers.n
    if statistic.what == "neutral":
        part = answers.n - answers.agree - answers.disagree
    elif statistic.what == "extreme":
        part = answers.extreme
    elif statistic.what == "usable":
        part, whole = answers.usable, answers.asked
    elif statistic.what == "repeated":
        part, whole = answers.same, answers.pairs
    total = _sums(statistic, whole, known)
    with np.errstate(invalid="ignore"):  # 0 / 0 without answers
        share: np.ndarray = np.bincount(statistic.index, part, len(total)) / total
    return share


def _sums(statistic: Statistic, whole: np.ndarray, known: Wholes) -> np.ndarray:
    """Sum by group, once as long as it is the same array."""
    if statistic.name not in known or known[statistic.name][0] is not whole:
        size = len(statistic.item) or len(statistic.labels)
        known[statistic.name] = whole, np.bincount(statistic.index, whole, size)
    return known[statistic.name][1]


def _between_wordings(statistic: Statistic, answers: Answers, known: Wholes) -> np.ndarray:
    """Return ``[model]`` the standard deviation between the wordings of an item.

    It is that of the proportion agreeing minus the proportion disagreeing, with the sign reversed
    for wordings of opposite meaning; the root of the variance (n - 1) averaged over items.
    """
    n = _sums(statistic, answers.n, known)
    there = n > 0
    item, items = statistic.item[there], len(statistic.model)
    surplus = np.bincount(statistic.index, statistic.sign * (answers.agree - answers.disagree))
    net = surplus[there] / n[there]
    wordings = np.bincount(item, minlength=items)
    mean = np.bincount(item, net, items) / np.maximum(wordings, 1)
    several = wordings > 1
    squares = np.bincount(item, (net - mean[item]) ** 2, items)
    variance = squares[several] / (wordings[several] - 1)
    size = len(statistic.labels)
    with np.errstate(invalid="ignore"):  # 0 / 0 for a model without two wordings of an item
        average = np.bincount(statistic.model[several], variance, size) / np.bincount(
            statistic.model[several], minlength=size
        )
    return np.asarray(np.sqrt(average))


def observed_answers(cells: Cells) -> Answers:
    """Return the answers that were given."""
    cells = cells.every
    if cells.counts.size:
        return _of_counts(cells.counts, cells.asked)
    return _of_values(cells.value, cells.mass)


def _of_counts(counts: np.ndarray, asked: np.ndarray) -> Answers:
    half = counts.shape[1] // 2
    agree, disagree = counts[:, -half:].sum(axis=1), counts[:, :half].sum(axis=1)
    n = counts.sum(axis=1)
    same = (counts * (counts - 1) / 2).sum(axis=1)
    return Answers(agree, disagree, np.zeros(len(counts)), n, asked, n, same, n * (n - 1) / 2)


def _of_values(value: np.ndarray, mass: np.ndarray, like: Answers | None = None) -> Answers:
    """Return numbers as answers; what all sets of them have in common is that of another set."""
    if like is None:
        one, none = np.ones(len(value)), np.zeros(len(value))
        like = Answers(none, none, none, np.isfinite(value) * one, one, one, none, none)
    there = like.n > 0
    return replace(
        like,
        agree=np.where(there, value, 0.0),
        disagree=np.where(there, 1 - value, 0.0),
        extreme=(there & ((value < _EXTREME) | (value > 1 - _EXTREME))).astype(float),
        usable=mass if mass.size else like.asked,
    )


def replicates(built: Built, draws: Draws, *, seed: int) -> Iterator[Answers]:
    """Yield for each draw answers to the same questions.

    Each cell has as many answers as were usable; if the spec has a part for validity, it determines
    how many of those asked are usable.
    """
    rng, cells, family = np.random.default_rng(seed), built.cells.every, built.spec.observation
    spread = built.cells.spread
    g, validity = built.layout.answers, built.layout.validity
    answered, given = cells.answered.astype(int), observed_answers(built.cells)
    for effects, gaps, readings in zip(draws.effects, draws.gaps, draws.readings, strict=True):
        eta, own = map(spread, forward(effects, *g.plain))
        n, mass = answered, cells.mass
        if validity is not None and mass.size:
            valid, wide = map(spread, forward(effects, *validity.plain))
            mass = family.simulate(valid, wide, gaps, rng)
        elif validity is not None:
            usable = expit(forward(effects, *validity.plain)[0])
            n = rng.binomial(cells.asked.astype(int), usable)
        answers = family.simulate(eta, own, gaps, rng)
        if family.counts:
            p = answers if cells.read is None else cells.read.as_coded(answers, readings)
            counts = rng.multinomial(n, p / p.sum(axis=1, keepdims=True))
            yield _of_counts(counts.astype(float), cells.asked)
        else:
            # Cells without answers are not compared.
            yield _of_values(answers, mass, like=given)


def replicated(
    built: Built, draws: Draws, wanted: Sequence[Statistic], *, seed: int
) -> list[np.ndarray]:
    """Return the values ``[draw, group]`` of each statistic in replicated answers."""
    values: list[list[np.ndarray]] = [[] for _ in wanted]
    known: Wholes = {}
    for answers in replicates(built, draws, seed=seed):
        for statistic, rows in zip(wanted, values, strict=True):
            rows.append(evaluate(statistic, answers, known))
    return [np.stack(rows) for rows in values]


def thinned(draws: Draws, most: int) -> Draws:
    """Return at most so many draws, evenly spread."""
    at = np.unique(np.linspace(0, len(draws.effects) - 1, most).astype(int))
    every = (draws.effects, draws.gaps, draws.scales, draws.readings, draws.tails)
    return Draws(*(values[at] for values in every))


def posterior_predictive(
    built: Built, drawn: xr.Dataset, *, level: float = 0.9, seed: int, most: int = REPLICATES
) -> pd.DataFrame:
    """Compare the observed answers with replicates from the posterior.

    `level` is the probability of the wider interval, `most` the number of evenly spaced draws used.
    """
    wanted = statistics(built)
    values = replicated(built, thinned(draws_of(drawn), most), wanted, seed=seed)
    given = observed_answers(built.cells)
    tables = []
    for statistic, rows in zip(wanted, values, strict=True):
        observed = evaluate(statistic, given)
        whole = given.asked if statistic.what == "usable" else given.n
        above = (rows > observed).mean(axis=0) + (rows == observed).mean(axis=0) / 2
        n = np.bincount(statistic.group, whole, len(statistic.labels)).astype(int)
        table = statistic.labels.assign(n=n, observed=observed, **_intervals(rows, level), p=above)
        there = np.isfinite(observed) & np.isfinite(table["estimate"].to_numpy())
        tables.append(table[there].assign(statistic=statistic.name))
    tables += quirk_tails(built, draws_of(drawn), level=level, seed=seed)
    whole_table = pd.concat(tables, ignore_index=True).assign(level=level)
    numbers = [c for c in whole_table if c not in ("statistic", *LABELS)]
    return whole_table.reindex(columns=["statistic", *LABELS, *numbers])


def quirk_tails(built: Built, draws: Draws, *, level: float, seed: int) -> list[pd.DataFrame]:
    """Compare the tails of the quirks in the draws with those of their distribution.

    A realised discrepancy (Gelman, Meng and Stern 1996): the kurtosis of a model's quirks in each
    draw, and that of as many new ones. If the model is correct, both have the same distribution.
    """
    rng, out = np.random.default_rng(seed), []
    for block in built.layout.blocks:
        group = block.group
        if block.part != "quirk" or not group or set(group.term.factors) != {"model", "item"}:
            continue
        if group.matrix is not None:
            continue
        whose, names = levels(group.levels, ("model",))
        n = np.bincount(whose)
        effects = draws.effects[:, block.start : block.stop]
        scale = np.maximum(np.abs(draws.scales[:, block.every_scale]), 1e-12)
        fresh = rng.standard_normal(effects.shape)
        if block.tail >= 0:
            fresh = rng.standard_t(draws.tails[:, [block.tail]], effects.shape)
        found, new = (_kurtosis(u, whose) for u in (effects / scale, fresh))
        table = names.assign(
            n=n,
            observed=np.median(found, axis=0),
            **_intervals(new, level),
            p=(new > found).mean(axis=0),
            statistic=TAILS,
        )
        out.append(table[n >= _ENOUGH])
    return out


def _kurtosis(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return ``[draw, group]`` the fourth moment about 0 divided by the squared second moment."""
    means = [
        np.stack([np.bincount(group, row) for row in values**power]) / np.bincount(group)
        for power in (2, 4)
    ]
    return np.asarray(means[1] / means[0] ** 2)


def _intervals(rows: np.ndarray, level: float) -> dict[str, np.ndarray]:
    """Return median and equal-tailed intervals of ``[draw, group]`` values."""
    out = {}
    with np.errstate(invalid="ignore"):
        missing = np.isnan(rows).any(axis=0)
    filled = np.where(missing, 0.0, rows)
    for name, at in two_intervals(level).items():
        out[name] = np.where(missing, np.nan, np.quantile(filled, at, axis=0))
    return out


def coverage(predictive: pd.DataFrame) -> pd.DataFrame:
    """Count how many observed values lie within the intervals of the replicates."""
    rows = []
    groups = [*predictive.groupby("statistic", sort=False), ("all", predictive)]
    for name, part in groups:
        half = part["observed"].between(part["lower_50"], part["upper_50"])
        most = part["observed"].between(part["lower"], part["upper"])
        rows.append((name, len(part), half.mean(), most.mean(), part["level"].iloc[0]))
    return pd.DataFrame(rows, columns=["statistic", "groups", "inside_50", "inside", "level"])
