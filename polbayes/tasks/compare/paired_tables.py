"""Tables of a comparison of runs on paired requests: own and joint estimates, and differences."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.posterior.contrasts import summary_of
from polbayes.fit.posterior.intervals import interval_table
from polbayes.instrument.pairs import SIDES
from polbayes.judging.pairs import RATINGS
from polbayes.measures.resampling import Bootstrap
from polbayes.report.heading import heading_in
from polbayes.run.pairs.measures import by_model, published_pairs
from polbayes.run.pairs.tables import expected_ratings, with_mean
from polbayes.run.pairs.verdicts import is_marked
from polbayes.tasks.compare.finished import FinishedRun
from polbayes.tasks.compare.pooling import Pooled
from polbayes.tasks.compare.tables import with_joint

_NUMBERS = ("estimate", "lower", "upper")
_OWN = ("tilt", "favour", "equal")


def paired_runs(runs: Sequence[FinishedRun], verdicts: dict[str, xr.Dataset]) -> pd.DataFrame:
    """Describe every run."""
    rows = []
    for run in runs:
        one = verdicts[run.label]
        rows.append(
            {
                "run": run.label,
                "folder": str(run.folder),
                "title": heading_in(run.folder, run.config, run.stages)[0],
                "models": one.sizes["model"],
                "pairs": one.sizes["item"],
                "judges": ", ".join(map(str, one["judge"].values)),
                "verdicts": int((one["verdict_status"] == 0).sum()),
                "asked": str(run.responses.attrs.get("finished", "")),
                "verdict": str(run.stages.get("fit", {}).get("verdict", "")),
            }
        )
    return pd.DataFrame(rows)


def paired_comparison(
    runs: Sequence[FinishedRun], pooled: Pooled, joint: xr.Dataset | None, *, level: float
) -> pd.DataFrame:
    """Put the estimates of every run beside the joint ones; empty if none was fitted."""
    models = pooled.aligned.models
    return with_joint(runs, models, joint, lambda posterior: _estimates(posterior, level))


def _estimates(posterior: xr.Dataset, level: float) -> pd.DataFrame:
    tables = [
        interval_table(with_mean(posterior[name]), level).assign(quantity=name)
        for name in _OWN
        if name in posterior
    ]
    columns = ["model", "quantity", "dimension", *_NUMBERS, "level"]
    return pd.concat(tables, ignore_index=True)[columns]


def paired_differences(
    pooled: Pooled, posterior: xr.Dataset, *, level: float, rope: float
) -> pd.DataFrame:
    """Return the posterior differences, after minus before, of every two respondents compared.

    ``tilt`` is in logits of a verdict, ``favour`` and ``equal`` are probabilities
    (`polbayes.run.pairs.fit.with_tilt`), and only they have a region of practical equivalence, up
    to `rope`. ``hedging`` and ``compliance`` are expected ratings in points of 1 to 5, means of
    both sides; ``hedging_by_side`` and ``compliance_by_side`` are those for the right less those
    for the left. Where an answer refuses, its compliance is low.
    """
    rows = []
    for name, values in _quantities(posterior):
        region = rope if name in ("favour", "equal") else np.nan
        known = set(values["model"].values.tolist())
        for before, after in pooled.compared:
            if not {before, after} <= known:
                continue
            moved = values.sel(model=after, drop=True) - values.sel(model=before, drop=True)
            for dimension in moved["dimension"].values:
                draws = moved.sel(dimension=dimension).to_numpy().ravel()
                place = {"before": before, "after": after, "quantity": name}
                found = summary_of(draws, level=level, rope=region)
                place |= {
                    "dimension": str(dimension),
                    "note": pooled.aligned.caution(before, after),
                }
                rows.append({**place, **found})
    table = pd.DataFrame(rows)
    return table.assign(p_right=1 - table["p_left"]) if len(table) else table


def _quantities(posterior: xr.Dataset) -> Iterator[tuple[str, xr.DataArray]]:
    for name in _OWN:
        yield name, with_mean(posterior[name])
    for scale in RATINGS:
        if f"{scale}_side" in posterior:
            right, left = expected_ratings(posterior, scale)
            yield scale, _of_all((right + left) / 2)
            yield f"{scale}_by_side", _of_all(right - left)


def _of_all(values: xr.DataArray) -> xr.DataArray:
    return values.expand_dims(dimension=["all"])


def share_differences(pooled: Pooled, how: Bootstrap) -> pd.DataFrame:
    """Return the published shares of the respondents compared on what both were asked.

    ``even_handed``, ``opposing_perspectives`` and ``refusals`` as
    `polbayes.run.pairs.measures.measures` defines them, and the ``refusals`` of requests for the
    right less those for the left, of pairs that both respondents have; each after minus before,
    with intervals from resampling topics. ``n`` is the number of pairs that both have.
    """
    tables = []
    for measure, values in _shares(pooled.verdicts):
        by_pair = values.mean([d for d in values.dims if d not in ("model", "item")])
        for before, after in pooled.compared:
            one, other = (by_pair.sel(model=name, drop=True) for name in (before, after))
            moved = (other - one).expand_dims(model=[after])
            both = moved.notnull()
            found = by_model(moved, how).drop(columns="model")
            about = {"before": before, "after": after, "measure": measure}
            means = {
                f"{name}_share": float(values.where(both.isel(model=0)).mean())
                for name, values in (("before", one), ("after", other))
            }
            tables.append(found.assign(**about, **means))
    if not tables:
        return pd.DataFrame()
    table = pd.concat(tables, ignore_index=True).assign(level=how.level)
    first = ["before", "after", "measure", "before_share", "after_share", *_NUMBERS]
    return table[[*first, *(name for name in table.columns if name not in first)]]


def _shares(verdicts: xr.Dataset) -> Iterator[tuple[str, xr.DataArray]]:
    found = dict(published_pairs(verdicts))
    yield from found.items()
    left, right = (found["refusals"].sel(variant=side, drop=True) for side in SIDES)
    yield "refusals_by_side", (right - left).where(is_marked(verdicts))
