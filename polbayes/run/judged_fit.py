"""Fitting the model of judged texts: what a fit leaves in a run's folder, and in its manifest."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pandas as pd

from polbayes.data.progress import say
from polbayes.errors import UserError
from polbayes.fit.sampling.diagnose import Diagnosis
from polbayes.run.pipeline import write_tables


class JudgedFit(Protocol):
    """A fitted model of judged texts."""

    @property
    def diagnosis(self) -> Diagnosis:
        """The verdict on its draws."""

    @property
    def from_cache(self) -> bool:
        """Whether the draws are those of an earlier fit."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, in sentences."""

    def save(self, path: Path) -> None:
        """Write the posterior."""


F = TypeVar("F", bound=JudgedFit)


def fit_judged(
    folder: Path,
    fit: Callable[[], F],
    tables: Callable[[F], Mapping[str, pd.DataFrame]],
    *,
    model: str,
    say_notes: bool,
) -> tuple[list[str], dict[str, Any]]:
    """Fit, and write posterior and tables; without enough judgements, only say why not.

    Parameters
    ----------
    folder
        The run's.
    fit
        Fits; a `UserError` means that too little was judged, and the rest is still reported.
    tables
        Returns the tables of a fit by name.
    model
        What the model is called.
    say_notes
        Whether to print the fit's notes.

    Returns
    -------
    tuple
        The files written, and content for the manifest.
    """
    try:
        found = fit()
    except UserError as error:
        (folder / "posterior.nc").unlink(missing_ok=True)
        said = f"The {model} is not identified: {error}"
        say(f"fit: {said}")
        return write_tables({}, folder / "estimates"), {"notes": [said]}
    if found.from_cache:
        say("fit: the draws of an earlier fit are reused")
    found.save(folder / "posterior.nc")
    every = {**tables(found), "diagnostics": found.diagnosis.table}
    for sentence in (*(found.notes if say_notes else ()), *found.diagnosis.sentences):
        say(f"fit: {sentence}")
    about = {
        "verdict": found.diagnosis.verdict,
        "sentences": list(found.diagnosis.sentences),
        "notes": list(found.notes),
    }
    return ["posterior.nc", *write_tables(every, folder / "estimates")], about
