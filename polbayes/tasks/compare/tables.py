"""Tables of a comparison: every run's own estimates, the joint ones, and drift."""

from collections.abc import Mapping, Sequence

import pandas as pd
import xarray as xr

from polbayes.data.dataset import NOT_ASKED
from polbayes.tasks.compare.align import Aligned
from polbayes.tasks.compare.finished import FinishedRun

_NUMBERS = ("estimate", "lower", "upper")


def run_table(runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Say of every run what it is."""
    rows = [
        {
            "run": run.label,
            "folder": str(run.folder),
            "title": run.config.title or run.config.name,
            "instruments": ", ".join(dict.fromkeys(map(str, run.responses["instrument"].values))),
            "models": run.responses.sizes["model"],
            "items": run.responses.sizes["item"],
            "answers": int((run.responses["status"] != NOT_ASKED).sum()),
            "asked": str(run.responses.attrs.get("finished", "")),
            "verdict": str(run.stages["fit"].get("verdict", "")),
        }
        for run in runs
    ]
    return pd.DataFrame(rows)


def comparison_table(
    runs: Sequence[FinishedRun],
    models: Mapping[tuple[str, str], str],
    joint: xr.Dataset | None,
    *,
    level: float,
) -> pd.DataFrame:
    """Put the estimates of every run beside each other, and beside the joint ones."""
    pieces = []
    for run in runs:
        own = _positions(run.posterior, level)
        own.insert(0, "run", run.label)
        respondent = [models[run.label, str(model)] for model in own["model"]]
        own.insert(0, "respondent", respondent)
        pieces.append(own)
    table = pd.concat(pieces, ignore_index=True)
    if joint is not None:
        names = {"model": "respondent"} | {n: f"joint_{n}" for n in _NUMBERS}
        other = _positions(joint, level).rename(columns=names).drop(columns=["level"])
        table = table.merge(other, on=["respondent", "quantity", "dimension"], how="left")
    level_last = [c for c in table.columns if c != "level"] + ["level"]
    return table[level_last]


def _positions(posterior: xr.Dataset, level: float) -> pd.DataFrame:
    from polbayes.fit.posterior.intervals import interval_table

    found = {
        "bias": interval_table(posterior["bias"], level),
        "theta": interval_table(posterior["theta"], level),
    }
    tables = [table.assign(quantity=name) for name, table in found.items()]
    total = interval_table(posterior["bias_total"], level)
    tables.insert(1, total.assign(quantity="bias", dimension="total"))
    columns = ["model", "quantity", "dimension", *_NUMBERS, "level"]
    return pd.concat(tables, ignore_index=True)[columns].dropna(subset="estimate")


def drift_table(aligned: Aligned, posterior: xr.Dataset, *, level: float) -> pd.DataFrame:
    """Return how far each model has moved between two snapshots of it."""
    from polbayes.fit.posterior.intervals import interval_table

    quantities = {"theta": "theta", "bias": "bias", "bias_total": "bias"}
    quantities |= {"acquiescence": "acquiescence"} if "acquiescence" in posterior else {}
    pieces = []
    for before, after in aligned.snapshots:
        for name, quantity in quantities.items():
            values = posterior[name]
            moved = values.sel(model=after, drop=True) - values.sel(model=before, drop=True)
            if "dimension" not in moved.dims:
                label = "total" if name == "bias_total" else ""
                moved = moved.expand_dims(dimension=[label], axis=-1)
            table = interval_table(moved, level, left=True)
            table["p_right"] = 1 - table["p_left"]
            pieces.append(table.assign(before=before, after=after, quantity=quantity))
    columns = ["before", "after", "quantity", "dimension", *_NUMBERS[:1], "sd", *_NUMBERS[1:]]
    columns += ["p_left", "p_right", "level"]
    if not pieces:
        return pd.DataFrame(columns=columns)
    return pd.concat(pieces, ignore_index=True)[columns].dropna(subset="estimate")
