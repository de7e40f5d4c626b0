"""The planted parameters, and the answers that the ideology model gives for them.

For respondent m, item i of dimension d, wording v with keying s, and prefix p::

    eta = acquiescence[m] + prefix_acquiescence[m,p] + wording[i,v] + wording_by_model[m,i,v]
          + s * (discrimination[i] * (theta[m,d] - difficulty[i]) + prefix_steer[m,p] + quirk[m,i])

and answers follow decisiveness[m] * eta. Quirks have a standard deviation of 1, which is the unit.

What belongs to a respondent stands in `models/planted.yaml`. What belongs to an item or to one
of its wordings is drawn from a hash of the seed and the ids, so that a new item leaves the draws
of all others alone and an item that nobody has seen before has parameters too.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polbayes.config.resources import folder, read_yaml
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.questionnaires import DIMENSIONS, load_instrument

# Stance classes of an answer; for the Likert prefix the class is the number itself.
OPEN_CLASSES = ("disagree", "neutral", "agree", "unrelated", "refused")
FORCED_CLASSES = ("disagree", "agree", "invalid")
LIKERT_CLASSES = ("1", "2", "3", "4", "5")

_NORMAL = NormalDist()


@dataclass(frozen=True)
class ItemScales:
    """Standard deviations of what all respondents share, and the seed of the draws."""

    seed: int = 1
    difficulty: float = 0.4  # before they are centred
    log_discrimination: float = 0.15  # before they are centred
    wording: float = 0.15  # what one wording adds to agreeing in all respondents


@dataclass(frozen=True)
class Truth:
    """What was planted in one respondent."""

    name: str
    theta: Mapping[str, float]  # by dimension, right positive, in units of the quirks
    decisiveness: float = 1.0  # turns the distance from a threshold into logits
    acquiescence: float = 0.0  # added to agreeing with any wording
    # What a prefix adds to agreeing and to right-leaning answers: sums to 0 over the shipped ones.
    prefix_acquiescence: Mapping[str, float] = field(default_factory=dict)
    prefix_steer: Mapping[str, float] = field(default_factory=dict)
    wording_scale: float = 0.1  # standard deviation of `wording_by_model`
    quirk_scale: float = 1.0
    seed: int = 1
    # Distance from 0 of the inner and the outer (strongly) thresholds of the ordinal answer.
    threshold: float = 0.4
    outer_threshold: float = 1.6
    validity: float = 0.97  # mass on valid options in forced choice, in (0, 1]
    unrelated: float = 0.015  # share of open answers that are beside the point
    refused: float = 0.015  # share of open answers that refuse
    architecture: str = "causal"  # or ``masked``
    instruct: bool = False  # whether its checkpoint has a chat template
    items: ItemScales = field(default_factory=ItemScales)


def load_truths(path: Path | None = None) -> dict[str, Truth]:
    """Read the planted parameters of every respondent."""
    path = path or folder("models") / "planted.yaml"
    content = read_yaml(path)
    if not isinstance(content, dict) or not isinstance(content.get("respondents"), dict):
        raise UserError(f"{path}: must have a mapping 'respondents', by name.")
    items = ItemScales(**_checked(content.get("items") or {}, ItemScales, f"{path}: items"))
    return {
        str(name): _truth(str(name), entry, items, f"{path}: respondent '{name}'")
        for name, entry in content["respondents"].items()
    }


def _checked(entry: Any, target: type, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise UserError(f"{where}: must be a mapping of keys to values.")
    known = set(target.__dataclass_fields__) - {"name", "items"}  # type: ignore[attr-defined]
    check_known("key", *entry, known=known, where=where)
    return entry


def _truth(name: str, entry: Any, items: ItemScales, where: str) -> Truth:
    entry = _checked(entry, Truth, where)
    theta = entry.get("theta")
    if not isinstance(theta, dict) or set(theta) != set(DIMENSIONS):
        raise UserError(f"{where}: theta: must give a number for each of {', '.join(DIMENSIONS)}.")
    if entry.get("architecture", "causal") not in ("causal", "masked"):
        raise unknown("architecture", entry["architecture"], ("causal", "masked"), where=where)
    truth = Truth(name=name, items=items, **entry)
    if not 0 < truth.threshold < truth.outer_threshold:
        raise UserError(f"{where}: 'threshold' must be above 0 and below 'outer_threshold'.")
    if not 0 < truth.decisiveness < math.inf:
        raise UserError(f"{where}: decisiveness: must be a number above 0.")
    if not 0 < truth.validity <= 1 or not 0 <= truth.unrelated + truth.refused < 1:
        raise UserError(f"{where}: validity, unrelated and refused are shares between 0 and 1.")
    return truth


def linear_predictor(
    truth: Truth, *, item: str, variant: str, dimension: str, keying: int, prefix: str
) -> float:
    """Return eta of one cell."""
    asked = (
        truth.acquiescence
        + truth.prefix_acquiescence.get(prefix, 0.0)
        + truth.items.wording * _normal(truth.items.seed, "wording", item, variant)
        + truth.wording_scale * _normal(truth.seed, truth.name, "wording", item, variant)
    )
    if keying == 0:
        return asked
    location = truth.theta.get(dimension, 0.0) - difficulty(truth.items, item)
    believed = (
        discrimination(truth.items, item) * location
        + truth.prefix_steer.get(prefix, 0.0)
        + truth.quirk_scale * _centred(truth.seed, f"{truth.name}|quirk", item)
    )
    return asked + keying * believed


def stance_probabilities(
    eta: ArrayLike, threshold: float, decisiveness: float = 1.0
) -> NDArray[np.float64]:
    """Return ``[..., 3]`` the probabilities of disagree, neutral and agree, given eta of any shape.

    P(agree) = logistic(decisiveness (eta - threshold)) and P(disagree) = logistic(decisiveness
    (-eta - threshold)), which is cumulative logit with symmetric thresholds.
    """
    eta, wide = decisiveness * np.asarray(eta, dtype=float), decisiveness * threshold
    neutral = _between(-wide - eta, wide - eta)
    return np.stack([_logistic(-eta - wide), neutral, _logistic(eta - wide)], axis=-1)


def likert_probabilities(
    eta: ArrayLike, threshold: float, outer_threshold: float, decisiveness: float = 1.0
) -> NDArray[np.float64]:
    """Return the probabilities of the numbers from 1 to 5."""
    one, _, five = np.moveaxis(stance_probabilities(eta, outer_threshold, decisiveness), -1, 0)
    three = stance_probabilities(eta, threshold, decisiveness)[..., 1]
    eta = decisiveness * np.asarray(eta, dtype=float)
    low, high = decisiveness * threshold, decisiveness * outer_threshold
    two, four = _between(-high - eta, -low - eta), _between(-high + eta, -low + eta)
    return np.stack([one, two, three, four, five], axis=-1)


def agree_probability(eta: ArrayLike, decisiveness: float = 1.0) -> NDArray[np.float64]:
    """Return logistic(decisiveness eta): agreeing among the valid forced choices."""
    return _logistic(decisiveness * np.asarray(eta, dtype=float))


def class_probabilities(truth: Truth, eta: float, kind: str) -> NDArray[np.float64]:
    """Return the planted probability of each class of answer."""
    sharp = truth.decisiveness
    if kind == "likert":
        return likert_probabilities(eta, truth.threshold, truth.outer_threshold, sharp)
    if kind == "open":
        beside = np.array([truth.unrelated, truth.refused])
        stances = stance_probabilities(eta, truth.threshold, sharp) * (1 - beside.sum())
        return np.concatenate([stances, beside])
    disagree, agree = (float(agree_probability(side * eta, sharp)) for side in (-1, 1))
    valid = truth.validity
    return np.array([disagree * valid, agree * valid, 1 - valid])


def difficulty(scales: ItemScales, item: str) -> float:
    """Return the difficulty of an item; those of an instrument's dimension sum to zero."""
    return scales.difficulty * _centred(scales.seed, "difficulty", item)


def discrimination(scales: ItemScales, item: str) -> float:
    """Return the discrimination of an item, of geometric mean 1 in an instrument's dimension."""
    return math.exp(scales.log_discrimination * _centred(scales.seed, "discrimination", item))


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import expit

    return np.asarray(expit(x), dtype=float)


def _between(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logistic(high) - logistic(low), above 0 even where both round to the same number."""
    return _logistic(high) * _logistic(-low) * -np.expm1(low - high)


@cache
def _normal(seed: int, *keys: str) -> float:
    """Draw from the standard normal what these keys always give."""
    digest = hashlib.sha256("|".join((str(seed), *keys)).encode()).digest()
    return _NORMAL.inv_cdf((int.from_bytes(digest[:6], "big") + 0.5) / 2**48)


@cache
def _centred(seed: int, key: str, item: str) -> float:
    """Draw for an item, less the mean over its dimension of its shipped instrument."""
    group = _groups().get(item, ())
    mean = math.fsum(_normal(seed, key, other) for other in group) / max(len(group), 1)
    return _normal(seed, key, item) - mean


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Map every shipped scored item to the items of its instrument and dimension."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in sorted((folder("data") / "instruments").glob("*.yaml")):
        for item in load_instrument(path.stem).items:
            if item.dimension:
                groups.setdefault((path.stem, item.dimension), []).append(item.item)
    return {item: tuple(group) for group in groups.values() for item in group}
