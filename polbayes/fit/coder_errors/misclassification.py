"""The validated coder, and its readings of the answers.

The counts of a validation (``validation/confusion.nc`` of ``task=validate_coder``) give the coder's
confusion matrix a Dirichlet posterior, which is the prior here. Without counts the prior is
Dirichlet(1/2, ..., 1/2) (Jeffreys). If the validation distinguishes models, each has its own
matrix, with a prior worth a few answers of the other models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding.responses import EXACT
from polbayes.config.schema import MisclassificationConfig
from polbayes.data.dataset import STANCE, STANCE_CLASSES, read_dataset
from polbayes.errors import UserError, check_known
from polbayes.fit.coder_errors import confusion

WHERE = "analysis.misclassification"
# Rounds of the EM algorithm, which converges fast on a handful of classes.
_ROUNDS = 500
# Upper bound of the odds of an answer without a point.
_MOST_ODDS = 1e3


@dataclass(frozen=True)
class Coder:
    """A validated coder."""

    prior: np.ndarray  # [number] shapes of the gamma variables of `confusion`
    tables: tuple[str, ...]  # owner of each matrix: a model, or "" for all models not named
    points: tuple[str, ...]  # labels of the latent points
    edges: tuple[float, ...]  # [bin - 1] boundaries of the confidence bins
    others: bool  # whether the validation has answers without a point

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of confusion matrices, points and bins."""
        return len(self.tables), len(self.points), len(self.edges) + 1

    def table_of(self, model: str) -> int:
        """Return the number of a model's confusion matrix."""
        return self.tables.index(model if model in self.tables else "")

    def confusion(self) -> np.ndarray:
        """Return ``[table, point, class]`` the mean confusion; last point and class: none."""
        tables, points, bins = self.sizes
        mean = confusion.shares(self.prior, tables, points, bins)
        return mean[: tables * (points + 1) ** 2].reshape(tables, points + 1, points + 1)


@dataclass(frozen=True)
class Readings:
    """A coder's readings of the answers, by cell."""

    coder: Coder  # the coder
    counts: np.ndarray  # [cell, reading] classes in the order of points, each in bins of confidence
    table: np.ndarray  # [cell] number of the matrix; the last is for answers read without error
    odds: np.ndarray  # [cell] odds of an answer without a point

    def as_coded(self, p: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Turn ``[cell, point]`` probabilities into those of the readings, given that there is one.

        `numbers` is one draw of the variables of `polbayes.fit.coder_errors.confusion`.
        """
        tables, points, bins = self.coder.sizes
        whole = confusion.expand(numbers, tables, points, bins)
        by_class = whole.reshape(tables + 1, points + 1, points, bins).sum(axis=-1)
        joint = np.column_stack([p, self.odds])
        coded = np.einsum("ck,ckj->cj", joint, by_class[self.table])
        return np.asarray(coded / coded.sum(axis=1, keepdims=True))


def load_coder(
    settings: MisclassificationConfig, points: tuple[str, ...], models: Sequence[str]
) -> Coder:
    """Load the counts of a validation."""
    data = _validation(settings, points)
    labels = [str(name) for name in data["label"].values]
    into = np.array([points.index(name) if name in points else len(points) for name in labels])
    size = len(points) + 1
    whole = _merged(data["confusion"].values, into, size)
    if not whole[: len(points)].sum(axis=1).all():
        missing = points[int(np.flatnonzero(whole[: len(points)].sum(axis=1) == 0)[0])]
        raise UserError(
            f"{WHERE}.confusion: {settings.confusion}: no answer is labelled '{missing}', so that "
            "nothing is known of how such answers are read; label some."
        )
    tables, by_model = [""], {}
    if settings.by_model and "confusion_by_model" in data:
        known = [str(name) for name in data["model"].values]
        by_model = {
            name: _merged(data["confusion_by_model"].sel(model=name).values, into, size)
            for name in models
            if name in known
        }
        tables = [*by_model, *([""] if set(models) - set(by_model) else [])]
    classes = []
    for name in tables:
        own = by_model.get(name, whole)
        others = whole - own if name else np.zeros_like(whole)
        classes.append(own + _worth(others, settings))
    shapes = [np.concatenate([table.ravel() for table in classes])]
    edges = tuple(float(edge) for edge in data["bin_start"].values[1:])
    if edges:
        sure = _confidences(data["confidence"].values, into, len(points))
        error = 1.0 - np.eye(*sure.shape[:2])[..., None]
        # Other errors with the same reading inform the confidence of one kind of error a little.
        others = error * ((error * sure).sum(axis=0) - sure)
        shapes.append((sure + _worth(others, settings)).ravel())
    return Coder(
        np.concatenate(shapes), tuple(tables), points, edges, bool(whole[len(points)].any())
    )


def _validation(settings: MisclassificationConfig, points: tuple[str, ...]) -> xr.Dataset:
    """Return the counts of the coder that is meant, whose labels must tell the points apart."""
    data, where = read_dataset(_file(settings)), f"{WHERE}.confusion: {settings.confusion}"
    for name in ("confusion", "confidence", "bin_start"):
        if name not in data.variables:
            raise UserError(
                f"{where}: has no '{name}'; it must be the confusion.nc of task=validate_coder."
            )
    coders = [str(name) for name in data["coder"].values]
    wanted = settings.coder or (coders[0] if len(coders) == 1 else "cascade")
    check_known("coder", wanted, known=coders, where=f"{WHERE}.coder")
    labels = [str(name) for name in data["label"].values]
    for point in points:
        if point not in labels:
            raise UserError(
                f"{where}: its labels ({', '.join(labels)}) do not tell '{point}' from other "
                "answers; label answers anew, or use analysis.response=agree."
            )
    return data.sel(coder=wanted)


def _file(settings: MisclassificationConfig) -> Path:
    path = Path(settings.confusion).expanduser()
    if not path.is_file():
        raise UserError(
            f"{WHERE}.confusion: {path}: no such file; validate the coder first "
            "(task=validate_coder), which writes it."
        )
    return path


def _merged(counts: np.ndarray, into: np.ndarray, size: int) -> np.ndarray:
    """Merge labels and codes without a point: ``[label, coded_as]``, none last."""
    columns = np.append(into, size - 1)  # not coded at all
    out = np.zeros((size, size))
    np.add.at(out, (into[:, None], columns[None, :]), counts)
    return out


def _worth(others: np.ndarray, settings: MisclassificationConfig) -> np.ndarray:
    """Return the parameters of a Dirichlet prior, from the counts of similar answers."""
    total = others.sum(axis=-1, keepdims=True)
    share = others / np.maximum(total, 1.0)
    return settings.prior + np.minimum(settings.pooled, total) * share


def _confidences(counts: np.ndarray, into: np.ndarray, points: int) -> np.ndarray:
    """Return counts of confidences ``[point, class, bin]``; the last point is none."""
    out = np.zeros((points + 1, points, counts.shape[-1]))
    for label, k in enumerate(into):
        for coded, c in enumerate(into):
            if c < points:
                out[k, c] += counts[label, coded]
    return out


def readings(data: xr.Dataset, coder: Coder) -> xr.Dataset:
    """Add the reading of every answer, and the number of its confusion matrix."""
    for name in ("stance_prob", "coder"):
        if name not in data:
            raise UserError(f"{WHERE}: the answers have no '{name}'; code them again.")
    dims = data["status"].dims
    stance = data["stance"].transpose(*dims).values
    probs = data["stance_prob"].transpose(*dims, "stance_class").values
    exact = np.isin(data["coder"].transpose(*dims).values, _exact_codes(data))
    bins = len(coder.edges) + 1
    reading = np.full(stance.shape, -1, dtype=np.int16)
    for k, point in enumerate(coder.points):
        here = stance == STANCE[point]
        sure = np.searchsorted(coder.edges, probs[..., STANCE_CLASSES.index(point)], side="right")
        reading = np.where(here, k * bins + np.where(exact, 0, sure), reading).astype(np.int16)
    own = [coder.table_of(str(name)) for name in data["model"].values]
    shape = [-1 if dim == "model" else 1 for dim in dims]
    table = np.broadcast_to(np.array(own, dtype=np.int16).reshape(shape), stance.shape)
    table = np.where(exact, np.int16(len(coder.tables)), table)
    return data.assign(reading=(dims, reading), table=(dims, table))


def _exact_codes(data: xr.Dataset) -> list[int]:
    about = data["coder"].attrs
    names = str(about["flag_meanings"]).split()
    return [int(v) for v, name in zip(about["flag_values"], names, strict=True) if name in EXACT]


def odds_of_none(counts: np.ndarray, table: np.ndarray) -> float:
    """Estimate a model's odds of an answer without a point.

    EM (Dempster, Laird and Rubin 1977) finds the most likely mixture of the rows of a confusion
    matrix ``[point, class]``, given the number of readings as each ``[class]``.
    """
    shares = np.full(len(table), 1 / len(table))
    for _ in range(_ROUNDS):
        joint = shares[:, None] * table
        expected = (joint * (counts / joint.sum(axis=0))).sum(axis=1)
        shares = expected / expected.sum()
    return float(min(shares[-1] / max(1 - shares[-1], 1 / _MOST_ODDS), _MOST_ODDS))


def odds_by_model(frame: pd.DataFrame, coder: Coder) -> dict[str, float]:
    """Return every model's odds of an answer without a point; 0 if no label has none."""
    tables, points, bins = coder.sizes
    mean, out = coder.confusion(), {}
    for model, rows in frame.groupby("model", observed=True):
        read = rows.loc[rows["table"] < tables, "reading"].to_numpy()
        counts = np.bincount(np.where(read < 0, points, read // bins), minlength=points + 1)
        known = coder.others and counts.sum() > 0
        out[str(model)] = odds_of_none(counts, mean[coder.table_of(str(model))]) if known else 0.0
    return out
