"""Estimates of respondents whose positions are known because they were planted."""

import numpy as np
import xarray as xr

from polbayes.planted.truth import load_truths
from polbayes.report import show
from polbayes.report.asked import unseen
from polbayes.report.blocks import Section, grid
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_KINDS = ("embedded", "planted")


def planted(results: Results) -> Section | None:
    """Compare estimated with planted theta, if the unit is the one they were planted in."""
    theta, data = results.table("theta"), results.responses
    # Without decisiveness the unit is the noise; of unknown statements nothing was planted.
    if theta is None or results.table("decisiveness") is None or unseen(data)[1]:
        return None
    true = true_theta(data)
    places = zip(theta["model"], theta["dimension"], strict=True)
    rows = theta.assign(planted=[true.get(place, np.nan) for place in places])
    rows = rows.dropna(subset=["planted", "estimate"])
    if rows.empty:
        return None
    inside = rows["planted"].between(rows["lower"], rows["upper"])
    rows = rows.assign(inside=np.where(inside, "yes", "no"))
    reading = (
        f"Positions of these {results.who.many} are known, because they were planted. "
        f"{int(inside.sum())} of {len(rows)} intervals contain the planted θ; on average "
        f"{results.level:.0%} of such intervals do.",
        "Planted positions are in the unit of θ, the spread of a respondent's views on single "
        "statements. They say how well this design measures respondents that behave like these.",
    )
    columns = [
        *show.texts("model", "dimension"),
        show.number("planted", "Planted θ"),
        *show.estimate("Estimated θ", results.level),
        show.text("inside", "Within the interval"),
    ]
    table = grid(rows, columns, caption="Planted and estimated positions.", csv="planted")
    return Section(
        "planted", "Compared with the truth", reading, (table,), tables={"planted": rows}
    )


def true_theta(data: xr.Dataset) -> dict[tuple[str, str], float]:
    """Return the planted theta by model and dimension, of the respondents that have one."""
    if "checkpoint" not in data.coords:
        return {}
    truths = load_truths()
    found: dict[tuple[str, str], float] = {}
    names = zip(data["model"].values, np.ravel(data["checkpoint"].values), strict=False)
    for model, checkpoint in names:
        kind, _, name = str(checkpoint).partition(":")
        if kind in _KINDS and name in truths:
            found |= {(str(model), on): value for on, value in truths[name].theta.items()}
    return found


SECTION = SectionMaker("Compared with the truth", planted, optional=True)
