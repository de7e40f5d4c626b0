"""From a dataset to the rows of a mixed model."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.prose import form, plural
from polbayes.errors import UserError
from polbayes.fit.mixed.columns import RESPONSE, column_frame
from polbayes.fit.mixed.spec import MixedSpec
from polbayes.fit.spec import answers
from polbayes.fit.spec.cells import used_variables

TRIALS = "polbayes_trials"


@dataclass(frozen=True)
class Rows:
    """The data of a mixed model."""

    # One row an answer, or for family binomial one row a distinct combination of predictors: the
    # variables of the formula, that of `MixedSpec.by`, the response (`RESPONSE`), for binomial its
    # number of trials (`TRIALS`), and for the k-th group-specific term the level, as
    # polbayes_group{k}
    frame: pd.DataFrame
    points: tuple[str, ...]  # labels of the points of an ordinal response, from lowest to highest
    notes: tuple[str, ...]  # sentences about what was left out, and how much


def group_column(number: int) -> str:
    """Name the column with the levels of the group-specific term of a given number."""
    return f"polbayes_group{number}"


def gather_rows(data: xr.Dataset, spec: MixedSpec, *, answered: bool = True) -> Rows:
    """Gather the rows of a dataset that a spec is fitted to."""
    notes: list[str] = []
    frame = column_frame(data, spec, notes, answered=answered)
    frame = _usable(frame, spec, notes) if answered else _made_up(frame, spec)
    used = [v for v in frame.columns if v in used_variables(spec)]
    there = frame[used].notna().all(axis=1)
    if not there.all():
        values = ", ".join(v for v in used if frame[v].isna().any())
        lacking = int((~there).sum())
        notes.append(
            f"{plural(lacking, 'answer')} without a value of {values} "
            f"{form(lacking, 'is', 'are')} left out."
        )
        frame = frame[there]
    if frame.empty:
        raise UserError(f"fit: no answer has a value of {', '.join(used)}.")
    for k, group in enumerate(spec.formula.groups):
        levels = frame[group.factors[0]].astype(str)
        for factor in group.factors[1:]:
            levels = levels + "|" + frame[factor].astype(str)
        frame = frame.assign(**{group_column(k): levels})
    if spec.distribution.counted:
        frame = _counted(frame.drop(columns=["status"]), spec)
    if answered and spec.distribution.inside:
        frame = _inside(frame, spec, notes)
    return Rows(_occurring(frame), _points(data, spec), tuple(notes))


def _usable(frame: pd.DataFrame, spec: MixedSpec, notes: list[str]) -> pd.DataFrame:
    """Drop, and count, cells that were not asked or have no response."""
    frame = answers.came_back(frame, notes)
    usable = frame[RESPONSE].notna()
    answers.note_unusable(
        usable, frame["model"], notes, response=spec.response, why=f"no {spec.response}"
    )
    return frame[usable]


def _made_up(frame: pd.DataFrame, spec: MixedSpec) -> pd.DataFrame:
    return frame.assign(**{RESPONSE: np.resize(spec.distribution.made_up, len(frame))})


def _counted(frame: pd.DataFrame, spec: MixedSpec) -> pd.DataFrame:
    """Aggregate answers with the same predictors."""
    keys = [c for c in frame.columns if c in used_variables(spec) or c == spec.by]
    keys += [group_column(k) for k in range(len(spec.formula.groups))]
    if not keys:
        return frame.assign(**{TRIALS: 1}).groupby(lambda _: 0)[[RESPONSE, TRIALS]].sum()
    counted = frame.groupby(keys, sort=True, observed=True)[RESPONSE].agg(["sum", "size"])
    counted.columns = [RESPONSE, TRIALS]
    return counted.reset_index()


def _inside(frame: pd.DataFrame, spec: MixedSpec, notes: list[str]) -> pd.DataFrame:
    """Move answers off 0 and 1, where a beta distribution has no density."""
    values = frame[RESPONSE]
    if not values.between(0, 1).all():
        raise UserError(
            f"analysis.response: {spec.response} is not always between 0 and 1, as family beta "
            "needs; use gaussian."
        )
    ends = int(((values == 0) | (values == 1)).sum())
    if ends:
        are = form(ends, "is", "are")
        notes.append(f"{plural(ends, 'answer')} of exactly 0 or 1 {are} moved inside by 0.0005.")
    return frame.assign(**{RESPONSE: answers.squeezed(values)})


def _points(data: xr.Dataset, spec: MixedSpec) -> tuple[str, ...]:
    if not spec.distribution.ordinal:
        return ()
    if spec.response == "rating" and "rating" in data:
        return answers.rating_points(data)
    return answers.STANCE_POINTS


def strata(rows: Rows, spec: MixedSpec) -> list[tuple[str, Rows]]:
    """Split the rows into those of separate fits."""
    if spec.by is None:
        return [("", rows)]
    if spec.by in used_variables(spec):
        raise UserError(
            f"analysis.by: '{spec.by}' is also in the formula, but within one of its levels it "
            "does not vary."
        )
    if rows.frame[spec.by].isna().any():
        raise UserError(f"analysis.by: '{spec.by}' has no value for some answers.")
    return [
        (str(level), Rows(_occurring(part), rows.points, rows.notes))
        for level, part in rows.frame.groupby(spec.by, sort=False, observed=True)
    ]


def _occurring(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop the levels that do not occur, and number the rows anew."""
    kept = {
        name: frame[name].cat.remove_unused_categories()
        for name in frame.columns
        if frame[name].dtype == "category"
    }
    return frame.assign(**kept).reset_index(drop=True)
