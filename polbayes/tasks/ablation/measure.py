"""Measures of every setting of an ablation, and their differences from the run's own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import MeasureConfig
from polbayes.instrument.prompts import Lexicon
from polbayes.measures.compass import compass
from polbayes.measures.consistency import consistency
from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import Bootstrap, item_weights, percentile_interval

# Proportions of pairs, whose differences between settings have intervals.
SHARES = ("consistent_4", "consistent_2")


def with_lexicon(data: xr.Dataset, lexicon: Lexicon) -> xr.Dataset:
    """Read stored masses with a subset of the options."""
    from polbayes.probing.consolidation import with_masses

    place = {str(option): n for n, option in enumerate(data["option"].values)}
    dims = [d for d in data["option_prob"].dims if d != "option"]
    mass = data["option_prob"].transpose(*dims, "option").values
    kept = mass[..., [place[option] for option in lexicon.options]]
    bare = data.drop_vars(["option_prob", "option_stance", "option", "p_agree", "p_disagree"])
    return with_masses(bare, kept, lexicon)


def measured(data: xr.Dataset, settings: MeasureConfig, seed: int) -> pd.DataFrame:
    """Measure consistency and positions of a coded dataset."""
    how: dict[str, Any] = {
        "strong": settings.strong,
        "draws": settings.bootstrap,
        "level": settings.level,
        "seed": seed,
    }
    columns = ["model", "kind", "measure", *INTERVAL]
    columns += ["n", "n_excluded", "n_items", "level", "note"]
    tables = [consistency(data, measures=(*SHARES, "discrepancy_size"), **how)[columns]]
    if "points" in data.coords:
        places = compass(data, **how)
        own = (places["answers"] == "original") & places["measure"].isin(("economic", "social"))
        alone = places["answers"].astype(str).str.startswith("all ")
        apart = alone & (places["measure"] == "distance") & (places["kind"] != "original")
        tables.append(places.loc[own | apart, columns])
    return pd.concat(tables, ignore_index=True)


def by_item(data: xr.Dataset, strong: float) -> pd.DataFrame:
    """Count, for each model and item, the pairs compared and those that are as expected."""
    table = consistency(data, by=("model", "item"), measures=SHARES, strong=strong, draws=1)
    return table[["model", "item", "kind", "measure", "count", "n"]]


def differences(first: pd.DataFrame, second: pd.DataFrame, bootstrap: Bootstrap) -> pd.DataFrame:
    """Compare the proportions of two settings over shared items, resampled in pairs."""
    keys = ["model", "kind", "measure"]
    both = first.merge(second, on=[*keys, "item"], suffixes=("_a", "_b"))
    both = both[(both["n_a"] > 0) & (both["n_b"] > 0)]
    rows = []
    for label, group in both.groupby(keys, sort=False):
        rows.append({**dict(zip(keys, label, strict=True)), **_apart(group, bootstrap)})
    columns = [*keys, *INTERVAL, "n_items", "level", "note"]
    return pd.DataFrame(rows, columns=columns)


def _apart(group: pd.DataFrame, bootstrap: Bootstrap) -> Mapping[str, Any]:
    ordered = group.sort_values("item")
    items: Sequence[str] = ordered["item"].astype(str).tolist()
    names = ("count_a", "n_a", "count_b", "n_b")
    count_a, n_a, count_b, n_b = (ordered[name].to_numpy(dtype=float) for name in names)
    lower = upper = np.nan
    if len(items) > 1:
        w = item_weights(items, bootstrap.draws, bootstrap.seed)
        drawn = (w @ count_a) / (w @ n_a) - (w @ count_b) / (w @ n_b)
        lower, upper, _ = percentile_interval(drawn, bootstrap.level)
    return {
        "estimate": count_a.sum() / n_a.sum() - count_b.sum() / n_b.sum(),
        "lower": lower,
        "upper": upper,
        "n_items": len(items),
        "level": bootstrap.level,
        "note": "" if len(items) > 1 else "only one item: no interval",
    }
