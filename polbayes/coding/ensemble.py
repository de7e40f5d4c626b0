"""An ensemble: the weighted mean of several coders."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from polbayes.coding.registry import CODERS, Coder, get_coder, passed_on, resolve
from polbayes.config.schema import CoderConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.errors import UserError


def open_ensemble(
    name: str, config: CoderConfig, models: Mapping[str, CoderConfig], journal_dir: Path | None
) -> "Ensemble":
    """Make an ensemble of coders declared elsewhere."""
    where = f"coding.models.{name}"
    if len(config.weights) < 2:
        raise UserError(f"{where}: weights: name at least two coders, e.g. {{lexical: 1, nli: 2}}.")
    for member, weight in config.weights.items():
        if not 0 < weight < float("inf"):
            raise UserError(f"{where}: weights.{member}: must be a positive number, not {weight}.")
        if member == "likert":
            raise UserError(
                f"{where}: weights: likert reads answers to prefixes that ask for a number only; "
                "put it before the ensemble in coding.coders."
            )
        if member not in CODERS and resolve(member, models).kind == "ensemble":
            raise UserError(
                f"{where}: weights: '{member}' is an ensemble; ensembles cannot be nested."
            )
    members = [get_coder(m, models, journal_dir=journal_dir) for m in config.weights]
    return Ensemble(members, list(config.weights.values()), threshold=config.threshold)


class Ensemble:
    """The weighted mean of coders' probabilities."""

    def __init__(
        self, members: Sequence[Coder], weights: Sequence[float], *, threshold: float = 0.0
    ) -> None:
        self._members = members
        self._weights = np.asarray(weights, dtype=np.float64)
        self._threshold = threshold

    @property
    def about(self) -> str:
        """A description of its members for readers."""
        return "; ".join(filter(None, (getattr(member, "about", "") for member in self._members)))

    def __call__(self, statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
        """Code answers."""
        total = np.zeros((len(responses), len(STANCE_CLASSES)))
        weight = np.zeros((len(responses), 1))
        for member, own in zip(self._members, self._weights, strict=True):
            probs = member(statements, responses)
            read = np.isfinite(probs).all(axis=1, keepdims=True)
            total += np.where(read, probs, 0.0) * own
            weight += read * own
        mean = np.full_like(total, np.nan)
        np.divide(total, weight, out=mean, where=weight > 0)
        return passed_on(mean, self._threshold)
