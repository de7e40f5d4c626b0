"""The columns of a mixed model: coordinates, measured values, a table's, text features."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import ASKED, CELL_DIMS, MISSING, STANCE, to_frame
from polbayes.data.tables import read_table
from polbayes.errors import UserError, unknown
from polbayes.fit.mixed.spec import MixedSpec
from polbayes.fit.spec.answers import selected
from polbayes.fit.spec.cells import used_variables

RESPONSE = "polbayes_response"
# Response -> the variables of the dataset that it is computed from.
_SOURCES = {
    "stance": ("stance",),
    "agree": ("stance",),
    "usable": ("stance",),
    "rating": ("rating",),
    "r_plus": ("r_plus",),
    "validity": ("p_agree", "p_disagree"),
}
_KEYS = (*CELL_DIMS, "statement")
# Variables with a natural reference level; for others it is the first one.
_REFERENCE = {"kind": "original", "prefix": "baseline"}


def needed(spec: MixedSpec) -> set[str]:
    """Return the names of the variables that a spec uses, the response aside."""
    return used_variables(spec) | set(spec.select) | ({spec.by} if spec.by else set())


def column_frame(
    data: xr.Dataset, spec: MixedSpec, notes: list[str], *, answered: bool
) -> pd.DataFrame:
    """Return one row per asked cell of a dataset, with the columns that a spec uses."""
    from polbayes.features import FEATURES

    sources = set(_SOURCES.get(spec.response, (spec.response,)))
    numeric = {str(n) for n, v in data.data_vars.items() if v.dtype.kind in "iuf"} - {"status"}
    frame = to_frame(data, sorted(({*needed(spec), *sources} & numeric) | {"status"}))
    frame = frame[frame["status"] >= ASKED]
    if spec.table is not None:
        frame = _join_table(frame, Path(spec.table).expanduser())
    frame = _with_features(frame, {*needed(spec), *sources}, spec)
    for name in sorted(needed(spec)):
        if name not in frame:
            known = (set(map(str, frame.columns)) | numeric | set(FEATURES)) - {"status"}
            raise unknown("variable", name, known, where="analysis")
    frame = selected(frame, _selection(frame, spec, notes))
    if answered:
        frame = frame.assign(**{RESPONSE: _response(frame, spec, numeric)})
    elif spec.response not in _SOURCES and not _is_number(frame, spec.response):
        raise _unknown_response(frame, spec, {s for made in _SOURCES.values() for s in made})
    cell = [name for name in CELL_DIMS if name in frame]
    kept = [*dict.fromkeys((*cell, "status", *sorted(needed(spec))))]
    kept += [RESPONSE] if answered else []
    return _with_reference(_with_missing(frame[kept].reset_index(drop=True)))


def _selection(frame: pd.DataFrame, spec: MixedSpec, notes: list[str]) -> dict[str, Any]:
    """Return what to select by; where there is one value, a spec may select another in vain."""
    kept = {}
    for name, values in spec.select.items():
        there = frame[name].unique().tolist()
        if spec.drops and len(there) == 1 and there[0] not in values:
            notes.append(
                f"analysis.select is without {name}: there is only one {name}, {there[0]}."
            )
        else:
            kept[name] = values
    return kept


def _with_features(frame: pd.DataFrame, names: set[str], spec: MixedSpec) -> pd.DataFrame:
    """Compute the text features that a spec uses and the data lack."""
    from polbayes.features import FEATURES, check_features, text_features

    wanted = [name for name in FEATURES if name in names and name not in frame]
    if not wanted or "statement" not in frame:
        return frame
    study = spec.response == "r_plus" and len(wanted) == len(FEATURES) and not spec.features.names
    unparsed = ("analysis=text_features_unparsed",) if study else ()
    check_features(wanted, spec.features, unparsed=unparsed)
    table = text_features(frame["statement"], wanted, spec.features)
    return frame.join(table.set_index("statement"), on="statement")


def _with_missing(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn the code for a missing small integer into NaN."""
    small = [n for n in frame.columns if frame[n].dtype == np.int8 and n != "status"]
    return frame.assign(**{n: frame[n].astype(float).where(frame[n] != MISSING) for n in small})


def _with_reference(frame: pd.DataFrame) -> pd.DataFrame:
    """Make the natural reference the first level of the variables that have one."""
    made = {}
    for name, first in _REFERENCE.items():
        if name in frame and first in set(frame[name]):
            levels = [first, *sorted(set(frame[name]) - {first})]
            # formulae sorts the levels of unordered categories.
            made[name] = pd.Categorical(frame[name], categories=levels, ordered=True)
    return frame.assign(**made)


def _response(frame: pd.DataFrame, spec: MixedSpec, numeric: set[str]) -> pd.Series:
    """Return the response of every cell as a number, NaN if it has none."""
    sources = _SOURCES.get(spec.response, (spec.response,))
    if any(name not in frame for name in sources) or not _is_number(frame, sources[0]):
        raise _unknown_response(frame, spec, numeric)
    values = frame[sources[0]].astype(float)
    if spec.response in ("stance", "agree", "usable"):
        usable = values.between(STANCE["disagree"], STANCE["agree"])
        if spec.response == "usable":
            return usable.astype(float)
        values = values.where(usable)
        return values if spec.response == "stance" else (values.where(values != 0) + 1) / 2
    if spec.response == "rating":
        return values.where(values >= 0)
    if spec.response == "validity":
        return values + frame["p_disagree"].astype(float)
    return values


def _is_number(frame: pd.DataFrame, name: str) -> bool:
    return name in frame and frame[name].dtype.kind in "iufb"


def _unknown_response(frame: pd.DataFrame, spec: MixedSpec, numeric: set[str]) -> UserError:
    known = {name for name, sources in _SOURCES.items() if set(sources) <= numeric}
    allowed = spec.distribution.responses
    if allowed is None:
        known |= {str(n) for n in frame.columns if _is_number(frame, n)} - {"status", "run"}
    else:
        known &= set(allowed)
    return unknown("response", spec.response, known, where="analysis.response")


def _join_table(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Join the columns of a user's table to the cells."""
    if not path.is_file():
        raise UserError(f"analysis.table: {path}: no such file.")
    table = read_table(path)
    keys = [name for name in _KEYS if name in table.columns and name in frame.columns]
    if not keys:
        raise UserError(
            f"analysis.table: {path} has none of the columns {', '.join(_KEYS)}, by which it "
            "could be joined to the answers."
        )
    for name in table.columns:
        if name in frame.columns and name not in keys:
            raise UserError(
                f"analysis.table: {path} has a column '{name}', which the answers have already; "
                "rename it."
            )
    if table.duplicated(keys).any():
        twice = table.loc[table.duplicated(keys), keys].iloc[0].to_dict()
        raise UserError(f"analysis.table: {path} has more than one row for {twice}.")
    table = table.assign(**{n: _typed(table[n]) for n in table.columns if n not in keys})
    # The keys of a table are text; those of the cells may be numbers.
    left = frame[keys].astype(str)
    right = table.assign(**{key: table[key].astype(str) for key in keys})
    joined = left.merge(right, on=keys, how="left", indicator="polbayes_found")
    if not (joined["polbayes_found"] == "both").any():
        raise UserError(
            f"analysis.table: no row of {path} belongs to an answer; its {keys[0]} are "
            f"{', '.join(right[keys[0]].unique()[:3])}, …, those of the answers "
            f"{', '.join(left[keys[0]].unique()[:3])}, …"
        )
    added = joined.drop(columns=[*keys, "polbayes_found"]).set_index(frame.index)
    return pd.concat([frame, added], axis=1)


def _typed(column: pd.Series) -> pd.Series:
    """Turn a column of text into numbers if all values are numeric."""
    numbers = pd.to_numeric(column, errors="coerce")
    return numbers.astype(float) if (numbers.notna() == column.notna()).all() else column
