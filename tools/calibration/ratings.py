"""Ratings by judges with known severity, leaning, consistency and self-preference.

They are drawn from the model's equation, without the code that fits it, and with
independent effects where the model has sum-to-zero constraints.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from polbayes.instrument.scenarios import TWINS, UNITS, WORDINGS
from polbayes.instrument.values import COMMITMENT_MAX, RATING_MAX, VALUES, WEIGHTS

if TYPE_CHECKING:
    import xarray as xr

_WEIGHTS = np.array([WEIGHTS[value] for value in VALUES])


@dataclass(frozen=True)
class Judge:
    """The planted parameters of a judge, in points."""

    severity: float = 0.0  # below the truth, for all values
    tilt: float = 0.0  # along the published weights, positive for liberal
    noise: float = 1.0  # scale of its logistic noise
    range_use: float = 1.0  # stretch of its ratings around the middle
    self_level: float = 0.0  # for all values if it rates the model of its name
    self_tilt: float = 0.0  # the same, along the weights


@dataclass(frozen=True)
class Planted:
    """The planted parameters of ratings."""

    positions: dict[str, float]  # by model, points along the published weights
    judges: dict[str, Judge]  # a judge with a model's name is this model
    scenarios: int = 20
    twins: int = 2
    wordings: int = 1
    stages: int = len(UNITS)
    # Standard deviations in points. Models' effects are also drawn along the weights,
    # half as wide.
    scales: dict[str, float] = field(
        default_factory=lambda: {
            "model": 1.0,
            "scenario": 1.0,
            "stage": 0.5,
            "model:scenario": 0.7,
            "dialogue": 0.5,
            "unit": 0.8,
            "judge": 0.5,
            "judge:model": 0.2,
            "judge:unit": 0.4,
        }
    )


def simulate(planted: Planted, seed: int) -> tuple["xr.Dataset", "xr.Dataset"]:
    """Draw a dataset of ratings, and return it with the true values."""
    import xarray as xr

    rng = np.random.default_rng(seed)
    names = {
        "model": list(planted.positions),
        "scenario": [f"s{k + 1}" for k in range(planted.scenarios)],
        "twin": list(TWINS[: planted.twins]),
        "wording": list(WORDINGS[: planted.wordings]),
        "stage": list(UNITS[: planted.stages]),
    }
    judges = list(planted.judges)
    latent = _truth(planted, [len(labels) for labels in names.values()], rng)
    effects = np.stack([_of_judge(planted, judge, rng) for judge in planted.judges.values()])
    rating = np.stack(
        [
            _rated(latent + effect, planted, name, rng)
            for name, effect in zip(judges, effects, strict=True)
        ],
        axis=5,
    )
    commitment = np.clip(np.round(rating[..., 0] / 4), 0, COMMITMENT_MAX)
    units = ("model", "scenario", "twin", "wording", "stage")
    asking = np.where(np.arange(planted.scenarios) % 2 == 0, -1, 1)
    coords = {**names, "value": list(VALUES), "judge": judges}
    ratings = xr.Dataset(
        {
            "rating": ((*units, "judge", "value"), rating),
            "commitment": ((*units, "judge"), commitment),
        },
        coords={**coords, "asking": ("scenario", asking)},
    )
    # A judge's range is planted around 10, but estimated around the mean cutpoint.
    wide = np.array([judge.range_use for judge in planted.judges.values()])
    moved = (_centre_of(rating) - 10) * (1 - 1 / wide)
    effects = effects + moved.reshape(-1, *[1] * latent.ndim)
    return ratings, _true(planted, latent + effects.mean(axis=0), effects, coords)


def _centre_of(rating: np.ndarray) -> float:
    """Return the mean of the cutpoints, weighted by the frequency of the adjacent points."""
    points, often = np.unique(rating, return_counts=True)
    around = often[1:] + often[:-1]
    return float(((points[1:] + points[:-1]) / 2 * around).sum() / around.sum())


def _true(
    planted: Planted, latent: np.ndarray, effects: np.ndarray, coords: dict[str, list[str]]
) -> "xr.Dataset":
    """Return the true values, given the panel's latent ratings and the judges' effects."""
    import xarray as xr

    judges = planted.judges.values()
    noise = np.array([judge.noise for judge in judges])
    whole = float(np.exp(np.log(noise).mean()))
    fair = np.zeros(latent.shape)
    for cut in np.arange(RATING_MAX) + 0.5:
        fair += 1 / (1 + np.exp((cut - latent) / whole))
    beside = effects.mean(axis=(1, 2, 3, 4, 5)) - effects.mean(axis=(0, 1, 2, 3, 4, 5))
    selves = [name for name in planted.judges if name in planted.positions]
    one = float(_WEIGHTS @ _WEIGHTS)
    truth = {
        "fair": (("model", "stage", "value"), fair.mean(axis=(1, 2, 3))),
        "severity": (("judge",), -beside.mean(axis=-1)),
        "tilt": (("judge",), beside @ _WEIGHTS),
        "consistency": (("judge",), whole / noise),
        "range_use": (("judge",), np.array([judge.range_use for judge in judges])),
        "self_level": (("self",), [planted.judges[name].self_level for name in selves]),
        "self_tilt": (("self",), [one * planted.judges[name].self_tilt for name in selves]),
    }
    kept = {dim: coords[dim] for dim in ("model", "stage", "value", "judge")}
    return xr.Dataset(truth, coords={**kept, "self": selves})


def _truth(planted: Planted, size: list[int], rng: np.random.Generator) -> np.ndarray:
    models, scenarios, _, _, stages = size
    values, sd = len(VALUES), planted.scales
    places = np.array(list(planted.positions.values())).reshape(-1, 1, 1, 1, 1, 1)
    truth = 10 + 0.5 * rng.standard_normal(values) + places * _WEIGHTS
    truth = truth + sd["model"] * _beside(rng, (models, 1, 1, 1, 1))
    truth = truth + sd["scenario"] * rng.standard_normal((1, scenarios, 1, 1, 1, values))
    truth = truth + sd["stage"] * rng.standard_normal((1, 1, 1, 1, stages, values))
    for name, shape in (
        ("model:scenario", (models, scenarios, 1, 1, 1)),
        ("dialogue", (*size[:-1], 1)),
        ("unit", tuple(size)),
    ):
        along = 0.5 * rng.standard_normal((*shape, 1)) * _WEIGHTS
        truth = truth + sd[name] * (rng.standard_normal((*shape, values)) + along)
    return np.asarray(truth)


def _beside(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw a model's effect on each value, orthogonal to the weights."""
    drawn = rng.standard_normal((*shape, len(VALUES)))
    return np.asarray(drawn - (drawn @ _WEIGHTS)[..., None] * _WEIGHTS / (_WEIGHTS @ _WEIGHTS))


def _of_judge(planted: Planted, judge: Judge, rng: np.random.Generator) -> np.ndarray:
    """Return ``[model, 1, 1, 1, 1, value]`` a judge's additions, without self-preference."""
    sd, shape = planted.scales, (len(planted.positions), 1, 1, 1, 1)
    added = judge.tilt * _WEIGHTS - judge.severity + sd["judge"] * _beside(rng, ())
    return np.asarray(added + sd["judge:model"] * rng.standard_normal((*shape, len(VALUES))))


def _rated(latent: np.ndarray, planted: Planted, name: str, rng: np.random.Generator) -> np.ndarray:
    """Return the ratings of one judge."""
    judge, units = planted.judges[name], latent.shape[:-1]
    own = np.array([model == name for model in planted.positions], dtype=float)
    added = judge.self_level + judge.self_tilt * _WEIGHTS
    latent = latent + own.reshape(-1, 1, 1, 1, 1, 1) * added
    latent = latent + planted.scales["judge:unit"] * rng.standard_normal((*units, 1))
    latent = latent + rng.logistic(0.0, judge.noise, latent.shape)
    return np.clip(np.round(10 + judge.range_use * (latent - 10)), 0, RATING_MAX)
