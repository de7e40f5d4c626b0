"""Tables of a comparison: the runs' own estimates, the joint ones, and drift."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import xarray as xr

from polbayes.data.dataset import ASKED
from polbayes.report.heading import heading_in
from polbayes.tasks.compare.align import Aligned
from polbayes.tasks.compare.finished import FinishedRun

_NUMBERS = ("estimate", "lower", "upper")
_DRIFT = (
    *("before", "after", "quantity", "dimension", "estimate", "sd", "lower", "upper", "p_left"),
    *("p_right", "rope", "p_inside", "p_left_of_rope", "p_right_of_rope", "decision", "level"),
    "note",
)


def run_table(runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Describe every run."""
    rows = [
        {
            "run": run.label,
            "folder": str(run.folder),
            "title": heading_in(run.folder, run.config, run.stages)[0],
            "instruments": ", ".join(dict.fromkeys(map(str, run.responses["instrument"].values))),
            "models": run.responses.sizes["model"],
            "items": run.responses.sizes["item"],
            "answers": int((run.responses["status"] >= ASKED).sum()),
            "asked": str(run.responses.attrs.get("finished", "")),
            "verdict": str(run.stages.get("fit", {}).get("verdict", "")),
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
    """Put the positions of every run beside each other and the joint ones."""
    return with_joint(runs, models, joint, lambda posterior: _positions(posterior, level))


def with_joint(
    runs: Sequence[FinishedRun],
    models: Mapping[tuple[str, str], str],
    joint: xr.Dataset | None,
    estimates: Callable[[xr.Dataset], pd.DataFrame],
) -> pd.DataFrame:
    """Put estimates from every run's posterior beside the joint ones; empty if no run has one."""
    pieces = []
    for run in runs:
        if run.posterior is None:
            continue
        own = estimates(run.posterior)
        own.insert(0, "run", run.label)
        respondent = [models[run.label, str(model)] for model in own["model"]]
        own.insert(0, "respondent", respondent)
        pieces.append(own)
    if not pieces:
        return pd.DataFrame()
    table = pd.concat(pieces, ignore_index=True)
    if joint is not None:
        names = {"model": "respondent"} | {n: f"joint_{n}" for n in _NUMBERS}
        other = estimates(joint).rename(columns=names).drop(columns=["level"])
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


def drift_table(
    aligned: Aligned, posterior: xr.Dataset, *, level: float, rope: float
) -> pd.DataFrame:
    """Return how far each model moved between two snapshots, with verdicts on lean and bias.

    Lean and bias have a region of practical equivalence, up to `rope`; theta and acquiescence,
    which are on other scales, do not. ``note`` is what besides time may make the two answer
    differently.
    """
    from polbayes.fit.posterior.contrasts import summary_of

    sources = {"lean": "lean", "theta": "theta", "bias": "bias", "bias_total": "bias"}
    rows = []
    for before, after in aligned.snapshots:
        for name, quantity in (sources | {"acquiescence": "acquiescence"}).items():
            if name not in posterior:
                continue
            values = posterior[name]
            moved = values.sel(model=after, drop=True) - values.sel(model=before, drop=True)
            if "dimension" not in moved.dims:
                moved = moved.expand_dims(dimension=["total" if name == "bias_total" else ""])
            region = rope if quantity in ("lean", "bias") else float("nan")
            for dimension in moved["dimension"].values:
                draws = moved.sel(dimension=dimension).to_numpy().ravel()
                place = {"before": before, "after": after, "quantity": quantity}
                found = summary_of(draws, level=level, rope=region)
                place |= {"dimension": str(dimension), "note": aligned.caution(before, after)}
                rows.append({**place, **found})
    table = pd.DataFrame(rows, columns=list(_DRIFT))
    table["p_right"] = 1 - table["p_left"]
    return table.dropna(subset="estimate")
