"""Single items under paraphrasing: Haller et al. (2024), sections 4.2.2 and 4.2.3, Appendix G.

All measures use R+ = p_agree / (p_agree + p_disagree) of the wordings with one meaning, the
original and its paraphrases. If a wording was asked with several prefixes or runs, its R+ is
the mean over them.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import ASKED
from polbayes.errors import UserError
from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.resampling import Bootstrap, mean_by_item
from polbayes.measures.stability import SAME_MEANING, stability
from polbayes.measures.validity import validity

# Tukey's box plot: whiskers extend to the last value within so many interquartile ranges.
_WHISKER = 1.5
_QUARTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75}
_FLAGS = ("always_agree", "always_disagree")


def distributions(data: xr.Dataset, *, level: float = 0.95) -> pd.DataFrame:
    """Describe the distribution of R+ over the wordings of each item (Figures 2, 4, 5).

    Parameters
    ----------
    data
        A response dataset with `r_plus`.
    level
        Coverage of the intervals, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        One row per ``model``, ``item`` and ``measure``: ``q25``, ``median``, ``q75``, each with the
        interval between two order statistics that covers it with at least `level` for any
        distribution (NaN with too few wordings); ``whisker_low``, ``whisker_high``, the
        furthest values within 1.5 interquartile ranges of the quartiles; ``outliers``, the number
        beyond. ``n`` wordings with R+, ``n_excluded`` without.
    """
    Bootstrap(1, level, 0)
    r_plus, asked = r_plus_by_wording(data)
    rows: list[dict[str, Any]] = []
    for m, i in np.argwhere(asked.any(axis=2)):
        values = np.sort(r_plus[m, i][~np.isnan(r_plus[m, i])])
        common = {
            "model": data["model"].values[m],
            "item": data["item"].values[i],
            "n": values.size,
            "n_excluded": int(asked[m, i].sum()) - values.size,
            "level": level,
        }
        rows += [{**common, **row} for row in _box(values, level)]
    columns = ("model", "item", "measure", "estimate", "lower", "upper")
    return pd.DataFrame(rows, columns=[*columns, "n", "n_excluded", "level", "note"])


def divergent_pairs(data: xr.Dataset) -> pd.DataFrame:
    """Find the two wordings of each item with the largest difference in R+ (Table 2).

    Parameters
    ----------
    data
        A response dataset with `r_plus`.

    Returns
    -------
    pandas.DataFrame
        One row per model and item with at least two wordings, largest difference first:
        ``difference``; ``variant_low``, ``r_plus_low``, ``statement_low`` and the same with
        ``high``; ``flips``, whether only one of the two has R+ >= 0.5; ``n_wordings``. There is no
        interval: these are extremes, which grow with the number of wordings.
    """
    r_plus, _ = r_plus_by_wording(data)
    statements = data["statement"].transpose("item", "variant").values
    variants = data["variant"].values
    rows = []
    for m, i in np.argwhere((~np.isnan(r_plus)).sum(axis=2) >= 2):
        values = r_plus[m, i]
        low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
        row: dict[str, Any] = {
            "model": data["model"].values[m],
            "item": data["item"].values[i],
            "difference": values[high] - values[low],
        }
        for side, at in (("low", low), ("high", high)):
            row |= {
                f"variant_{side}": variants[at],
                f"r_plus_{side}": values[at],
                f"statement_{side}": statements[i, at],
            }
        row |= {"flips": bool((values[low] >= 0.5) != (values[high] >= 0.5))}
        rows.append({**row, "n_wordings": int((~np.isnan(values)).sum())})
    columns = ["model", "item", "difference", "variant_low", "r_plus_low", "statement_low"]
    columns += ["variant_high", "r_plus_high", "statement_high", "flips", "n_wordings"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("difference", ascending=False, kind="stable", ignore_index=True)


def item_instability(
    data: xr.Dataset, *, draws: int = 10_000, level: float = 0.95, seed: int = 1
) -> pd.DataFrame:
    """Average each item's standard deviation of R+ over models, on a common scale (Figure 3).

    Within every model the standard deviations of the items are rescaled to [0, 1], from its most
    stable item to its least stable.

    Parameters
    ----------
    data
        A response dataset with `r_plus`.
    draws, level, seed
        Bootstrap resamples of models, coverage in (0, 1), and seed.

    Returns
    -------
    pandas.DataFrame
        One row per ``item``: ``estimate``; ``se``, standard deviation over models divided by the
        root of their number; ``lower``, ``upper``, too narrow for few models; ``n_models``;
        ``n_excluded`` models with no standard deviation for the item, or equal ones for all items.
    """
    bootstrap = Bootstrap(draws, level, seed)
    table = stability(data, by=("model", "item"), draws=1, level=level, seed=seed)
    sd = table[table["measure"] == "sd"].pivot_table(
        index="item", columns="model", values="estimate", dropna=False, sort=False
    )
    sd = sd[sorted(sd.columns, key=str)]
    span = sd.max() - sd.min()
    # Ignore differences due to rounding.
    scaled = ((sd - sd.min()) / span.where(span > 1e-12)).to_numpy(dtype=float)
    there = ~np.isnan(scaled)
    names = [str(c) for c in sd.columns]
    means = mean_by_item(np.where(there, scaled, 0.0), there.astype(float), names, bootstrap)
    rows = []
    for i, item in enumerate(sd.index):
        values, n = scaled[i][there[i]], int(there[i].sum())
        estimate, lower, upper = means[i].tolist()
        note = "" if n > 1 else ("only one model: no interval" if n else "no model's items differ")
        rows.append(
            {
                "item": item,
                "measure": "normalised_sd",
                "estimate": estimate,
                "se": values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan,
                "lower": lower,
                "upper": upper,
                "n_models": n,
                "n_excluded": len(names) - n,
                "level": level,
                "note": note,
            }
        )
    return pd.DataFrame(rows)


def compare_paraphrase_sets(
    data: xr.Dataset,
    sets: Mapping[str, Sequence[str]],
    *,
    by: Sequence[str] = ("model",),
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compare validity and stability between two sets of paraphrases (Table 7).

    Parameters
    ----------
    data
        A coded response dataset with `r_plus`.
    sets
        Two names, each with ids of wordings or patterns of ids (``"paraphrase_*"``).
    by
        Coordinates that define the groups, neither ``item`` nor along ``variant``.
    draws, level, seed
        Bootstrap resamples of items, coverage in (0, 1), and seed.

    Returns
    -------
    pandas.DataFrame
        For each ``set`` the measures of `polbayes.measures.stability.stability` and ``mass`` of
        `polbayes.measures.validity.validity`; for the set ``FIRST - SECOND`` their differences over
        the items in both sets, resampled in pairs.
    """
    places = wordings_of_sets(data, sets, key="measures.paraphrase_sets")
    settings: dict[str, Any] = {"level": level, "seed": seed}
    columns = [*by, "set", "measure", "estimate", "lower", "upper", "n_items", "level", "note"]
    tables, per_item = [], []
    for name, found_at in zip(sets, places, strict=True):
        chosen = data.isel(variant=found_at)
        found = _both(chosen, by, draws=draws, **settings)
        tables.append(found.assign(set=name))
        per_item.append(_both(chosen, [*by, "item"], draws=1, **settings))
    difference = _difference(per_item, by, Bootstrap(draws, level, seed))
    tables.append(difference.assign(set=" - ".join(sets)))
    return pd.concat([t[columns] for t in tables if len(t)], ignore_index=True)


def wordings_of_sets(
    data: xr.Dataset, sets: Mapping[str, Sequence[str]], *, key: str
) -> list[list[int]]:
    """Find the wordings of two sets of ids or patterns along ``variant``.

    `key` is the config's, named in errors.
    """
    if len(sets) != 2:
        raise UserError(f"{key}: two sets are compared; give two, not {len(sets)}.")
    return [_matching(data, name, patterns, key) for name, patterns in sets.items()]


def _both(data: xr.Dataset, by: Sequence[str], **settings: Any) -> pd.DataFrame:
    """Append the mass of usable options to the measures of stability."""
    stable = stability(data, by=by, **settings)
    mass = validity(data, by=by, **settings)
    mass = mass[mass["measure"] == "mass"]
    if mass.empty:
        return stable
    n_items = stable.groupby(list(by), sort=False)["n_items"].max().rename("n_items")
    return pd.concat([stable, mass.join(n_items, on=list(by))], ignore_index=True)


def _difference(
    per_item: list[pd.DataFrame], by: Sequence[str], bootstrap: Bootstrap
) -> pd.DataFrame:
    keys = [*by, "measure", "item"]
    first, second = (t[~t["measure"].isin(_FLAGS)].set_index(keys)["estimate"] for t in per_item)
    apart = (first - second).dropna().rename("estimate")
    wide = apart.unstack("item").sort_index(axis=1)
    there = wide.notna().to_numpy()
    items = [str(c) for c in wide.columns]
    means = mean_by_item(wide.fillna(0.0).to_numpy(), there.astype(float), items, bootstrap)
    table = wide.index.to_frame(index=False)
    table[["estimate", "lower", "upper"]] = means
    n_items = there.sum(axis=1)
    note = np.where(n_items > 1, "", "only one item: no interval by item")
    return pd.DataFrame(table.assign(n_items=n_items, level=bootstrap.level, note=note))


def _matching(data: xr.Dataset, name: str, patterns: Sequence[str], key: str) -> list[int]:
    ids = [str(v) for v in data["variant"].values]
    found = [k for k, v in enumerate(ids) if any(fnmatchcase(v, p) for p in patterns)]
    if not found:
        raise UserError(
            f"{key}: '{name}' matches none of the wordings, which are "
            f"{', '.join(ids[:8])}{' ...' if len(ids) > 8 else ''}."
        )
    return found


def r_plus_by_wording(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return mean R+ over ``model, item, variant`` (NaN if missing), and which were asked."""
    if "r_plus" not in data:
        raise UserError("the dataset has no 'r_plus'; it takes answers with probabilities.")
    dims = ("model", "item", "variant")
    same = data["kind"].isin(SAME_MEANING)
    rest = [d for d in data["status"].dims if d not in dims]
    asked = ((data["status"] >= ASKED) & same).any(rest)
    r_plus = data["r_plus"].astype(np.float64).where(same)
    mean = r_plus.mean([d for d in r_plus.dims if d not in dims], skipna=True).where(asked)
    return mean.transpose(*dims).values, asked.transpose(*dims).values


def _box(values: np.ndarray, level: float) -> list[dict[str, Any]]:
    if not values.size:
        nothing = {"estimate": np.nan, "lower": np.nan, "upper": np.nan, "note": "no r_plus"}
        names = (*_QUARTILES, "whisker_low", "whisker_high", "outliers")
        return [{"measure": name, **nothing} for name in names]
    quartiles = {name: float(np.quantile(values, q)) for name, q in _QUARTILES.items()}
    reach = _WHISKER * (quartiles["q75"] - quartiles["q25"])
    inside = values[(values >= quartiles["q25"] - reach) & (values <= quartiles["q75"] + reach)]
    rows = [
        {"measure": name, "estimate": x, **_order_interval(values, _QUARTILES[name], level)}
        for name, x in quartiles.items()
    ]
    further = {
        "whisker_low": inside.min(),
        "whisker_high": inside.max(),
        "outliers": values.size - inside.size,
    }
    about = {"lower": np.nan, "upper": np.nan, "note": "a description of these wordings"}
    return [*rows, *({"measure": k, "estimate": float(x), **about} for k, x in further.items())]


def _order_interval(values: np.ndarray, q: float, level: float) -> dict[str, Any]:
    """Bound a quantile by two order statistics of sorted values."""
    below, above = _ranks(values.size, q, level)
    if below < 0 or above >= values.size:
        note = "too few wordings for an interval"
        return {"lower": np.nan, "upper": np.nan, "note": note}
    return {"lower": float(values[below]), "upper": float(values[above]), "note": ""}


@cache
def _ranks(n: int, q: float, level: float) -> tuple[int, int]:
    """Return positions in sorted values, from 0; outside their range if there is none.

    Of n values, the number below the quantile is binomial. The value at position k is
    above the quantile if at most k values are below it, and similarly for the other end.
    """
    from scipy.stats import binom

    # Both ends use isf, which includes a tail of exactly this size; ppf would go one further.
    tail = (1 - level) / 2
    return n - 1 - int(binom.isf(tail, n, 1 - q)), int(binom.isf(tail, n, q))


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    if not job.probabilities:
        return {}
    tables = {
        "distributions": distributions(job.data, level=job.level),
        "divergent_pairs": divergent_pairs(job.data),
    }
    if job.paraphrase_sets:
        tables["paraphrase_sets"] = compare_paraphrase_sets(
            job.data, job.paraphrase_sets, **job.bootstrap
        )
    return tables


MEASURE = Measure(
    _tables,
    {
        "distributions": ("model", "item", "measure", *INTERVAL),
        "divergent_pairs": ("model", "item", "difference"),
        "paraphrase_sets": ("model", "set", "measure", *INTERVAL),
    },
    by_model=True,
)


def _over_models(job: Job) -> dict[str, pd.DataFrame]:
    if not job.probabilities:
        return {}
    return {"item_instability": item_instability(job.data, **job.bootstrap)}


OVER_MODELS = Measure(_over_models, {"item_instability": ("item", *INTERVAL)})
