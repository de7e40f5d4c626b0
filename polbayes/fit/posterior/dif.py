"""Tables of the statements that mean something else to a group of respondents."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.density.model import Built
from polbayes.fit.posterior.intervals import flat, interval_table, summary
from polbayes.fit.spec.dif import DIF, baseline, grouping, labels_of

_ABOUT = ("dif_item", "dif_by", "dif_group", "dif_against")


def read_dif(built: Built, drawn: xr.Dataset) -> dict[str, Any]:
    """Name the effects of the part ``dif``, as ``dif[dif_level]``.

    The coordinates are the item (``dif_item``), the variables that the groups are of (``dif_by``),
    the group, and the baseline. Positive effects are on the right: the group answers further right
    than its positions say.
    """
    rows, positions = [], []
    for block in built.layout.blocks:
        if block.part != DIF or block.group is None:
            continue
        term, table = block.group.term, block.group.levels
        by = grouping(term)
        against = " and ".join(baseline(term, built.spec, built.cells))
        for at, (item, group) in enumerate(zip(table["item"], labels_of(table[by]), strict=True)):
            rows.append((str(item), ":".join(by), group, against))
            positions.append(block.start + at)
    if not rows:
        return {}
    coords: dict[str, Any] = {"dif_level": [f"{row[0]} {row[1]} {row[2]}" for row in rows]}
    for name, values in zip(_ABOUT, zip(*rows, strict=True), strict=True):
        coords[name] = ("dif_level", np.array(values, dtype=object))
    draws = drawn["effects"].to_numpy()[..., positions]
    return {DIF: xr.DataArray(draws, dims=("chain", "draw", "dif_level"), coords=coords)}


def dif_table(posterior: xr.Dataset, *, size: float, level: float) -> pd.DataFrame:
    """Summarise the effects of statements on groups.

    Parameters
    ----------
    posterior
        With ``dif[dif_level]`` of `read_dif`.
    size
        Smaller effects do not matter, in units of the predictor.
    level
        Probability of the intervals, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        A row for each effect, those first that most probably differ from 0 by more than `size`
        (``p_differs``); with the ``direction``, in which the effect more probably goes.
    """
    effects = posterior[DIF]
    draws = flat(effects)
    rows = [
        dict(zip(("item", "by", "group", "against"), about, strict=True))
        | summary(draws[:, k], level)
        | {
            "p_differs": float((abs(draws[:, k]) > size).mean()),
            "direction": "right" if (draws[:, k] > 0).mean() >= 0.5 else "left",
            "size": size,
            "level": level,
        }
        for k, about in enumerate(zip(*(effects[name].values for name in _ABOUT), strict=True))
    ]
    table = pd.DataFrame(rows)
    return table.sort_values("p_differs", ascending=False, kind="stable", ignore_index=True)


def dif_positions(posterior: xr.Dataset, without: xr.Dataset, *, level: float) -> pd.DataFrame:
    """Compare theta of a fit with the part ``dif`` and of one without it, by model and dimension.

    ``estimate``, ``lower`` and ``upper`` are with it, ``without``, ``without_lower`` and
    ``without_upper`` without it; ``shift`` is what leaving the part out does to the estimate.
    """
    columns = ["model", "dimension", "estimate", "lower", "upper", "level"]
    table = interval_table(posterior["theta"], level)[columns]
    other = interval_table(without["theta"], level).rename(columns=_WITHOUT)
    keys = ["model", "dimension"]
    whole = table.merge(other[[*keys, *_WITHOUT.values()]], on=keys, how="left", validate="1:1")
    whole["shift"] = whole["without"] - whole["estimate"]
    return whole.dropna(subset="estimate", ignore_index=True)


_WITHOUT: Mapping[str, str] = {
    "estimate": "without",
    "lower": "without_lower",
    "upper": "without_upper",
}
