"""Positions of who was asked at several times, and what changed from one time to the next."""

from itertools import pairwise

import pandas as pd
import xarray as xr

from polbayes.fit.posterior.contrasts import summary_of
from polbayes.fit.posterior.intervals import interval_table
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.spec import Spec

NEXT, WHOLE = "next", "first to last"


def over_time_tables(
    posterior: xr.Dataset, spec: Spec, cells: Cells, *, level: float, rope: float
) -> dict[str, pd.DataFrame]:
    """Summarise random walks over snapshots: models that are somebody at one time.

    Parameters
    ----------
    posterior
        With ``theta[model, dimension]`` and ``lean[model, dimension]``.
    spec, cells
        The analysis and the answers. There are no tables unless theta has a random walk
        ``(1 | rw(a:b))`` whose factors are attributes of models.
    level
        Probability of the intervals, in (0, 1).
    rope
        Half the width of the region of practical equivalence, in units of the lean.

    Returns
    -------
    dict
        ``over_time``: theta by ``who``, ``time`` and dimension.
        ``changes``: the later lean minus the earlier (``before``, ``after``), with the decision of
        `polbayes.fit.posterior.verdicts.decide`, for all times that follow each other (``next``)
        and, of more than two, from the first to the last (``first to last``).
    """
    asked = snapshots(spec, cells)
    if asked is None:
        return {}
    theta = interval_table(posterior["theta"], level).dropna(subset="estimate")
    places = asked.merge(theta, on="model", how="inner")
    lean = posterior["lean"].transpose("chain", "draw", "model", "dimension")
    at = {str(name): k for k, name in enumerate(lean["model"].values)}
    rows = []
    for who, own in asked.groupby("who", sort=False):
        times = list(zip(own["time"], own["model"], strict=True))
        spans = [(NEXT, one, other) for one, other in pairwise(times)]
        if len(times) > 2:
            spans.append((WHOLE, times[0], times[-1]))
        for d, dimension in enumerate(lean["dimension"].values):
            draws = lean.to_numpy()[..., d]
            for span, (before, first), (after, last) in spans:
                moved = (draws[..., at[last]] - draws[..., at[first]]).ravel()
                about = {"who": who, "dimension": str(dimension), "span": span}
                about |= {"before": before, "after": after}
                rows.append(about | summary_of(moved, level=level, rope=rope))
    tables = {"over_time": places}
    if rows:
        tables["changes"] = pd.DataFrame(rows)
    return tables


def snapshots(spec: Spec, cells: Cells) -> pd.DataFrame | None:
    """Return ``who, time, model`` in the order of times; None unless models are snapshots.

    Who a model is are the factors of the first random walk of theta before the last, which is the
    time. Of several models that are the same one at the same time the first is taken.
    """
    walk = next((term for term in spec.parts["theta"].groups if term.walk), None)
    if walk is None:
        return None
    *owners, time = (name for name in walk.factors if name != "dimension")
    table = cells.frame[["model", *owners, time]].drop_duplicates()
    if table["model"].duplicated().any():
        return None
    of = table[owners].astype(str)
    who = of.agg(" / ".join, axis=1) if owners else pd.Series("", index=table.index)
    found = pd.DataFrame({"who": who, "time": table[time], "model": table["model"].astype(str)})
    order = {value: k for k, value in enumerate(sorted(found["time"].unique()))}
    found = found.sort_values("time", key=lambda t: t.map(order), kind="stable")
    found = found.drop_duplicates(["who", "time"]).astype({"time": str})
    first = {name: k for k, name in enumerate(dict.fromkeys(who))}
    return found.sort_values("who", key=lambda w: w.map(first), kind="stable", ignore_index=True)
