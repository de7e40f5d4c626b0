"""Runs that asked the same models in different modes, as answers of one respondent each."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from polbayes.errors import UserError
from polbayes.tasks.compare.finished import FinishedRun

# Answers in every mode have a stance: of probabilities, that of the more likely side.
_KEPT = ("status", "stance", "completion")


def in_modes(runs: Sequence[FinishedRun], modes: Sequence[str]) -> tuple[FinishedRun, ...]:
    """Give every run its mode, as the coordinate ``mode`` of its repetitions.

    Repetitions are numbered through, so that a model's answers in different runs can be those of
    one respondent. What the runs know differently of a model (such as its template) is left out.

    Raises
    ------
    UserError
        If there is not one mode for each run, or only one in all, or answers without stances.
    """
    if len(modes) != len(runs) or len(set(modes)) < 2 or not all(mode.strip() for mode in modes):
        raise UserError(
            f"modes: give the mode of each of the {len(runs)} runs, in their order, and at least "
            "two different ones, e.g. modes=[forced_choice,open_ended]."
        )
    first, out = 0, []
    for run, mode in zip(runs, modes, strict=True):
        data = run.responses
        if "stance" not in data:
            raise UserError(
                f"modes: {run.folder} has no stances, which answers in different modes have in "
                "common; code it first."
            )
        data = data.drop_vars([name for name in data.data_vars if name not in _KEPT])
        numbers = np.arange(first, first + data.sizes["run"], dtype=np.int16) + 1
        labels = np.full(data.sizes["run"], mode.strip(), dtype=object)
        data = data.assign_coords(run=numbers, mode=("run", labels))
        first += data.sizes["run"]
        out.append(replace(run, responses=data))
    return tuple(_agreeing(out))


def _agreeing(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """Leave out attributes of models that two runs know differently."""
    known: dict[tuple[str, str], object] = {}
    differing = set()
    for run in runs:
        for name in _of_models(run.responses):
            for model, value in zip(
                run.responses["model"].values, run.responses[name].values, strict=True
            ):
                if known.setdefault((name, str(model)), value) != value:
                    differing.add(name)
    return [
        replace(run, responses=run.responses.assign_coords(_emptied(run.responses, differing)))
        for run in runs
    ]


def _of_models(data: xr.Dataset) -> list[str]:
    return [str(n) for n, c in data.coords.items() if c.dims == ("model",) and n != "model"]


def _emptied(data: xr.Dataset, names: set[str]) -> dict[str, tuple[str, np.ndarray]]:
    """Return text attributes without their texts; others keep what the first run knows."""
    return {
        name: ("model", np.full(data.sizes["model"], "", dtype=object))
        for name in _of_models(data)
        if name in names and data[name].dtype.kind in "OUT"
    }
