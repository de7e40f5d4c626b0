"""Sampling the wanted number of wordings, with ids that name kind and set."""

import re

import numpy as np
import pandas as pd

from polbayes.errors import UserError
from polbayes.measures.resampling import generator

GROUP = ["item", "set", "kind"]


def sampled(
    table: pd.DataFrame, usable: np.ndarray, *, wanted: int | None, seed: int
) -> np.ndarray:
    """Draw usable candidates without replacement, `wanted` from each item, set and kind.

    The draws of a group depend only on the seed and its own candidates.
    """
    out = np.zeros(len(table), dtype=bool)
    places = table.reset_index(drop=True)[usable]
    for label, group in places.groupby(GROUP, sort=False):
        rows = group.index.to_numpy()
        if wanted is not None and len(rows) > wanted:
            rng = generator(seed, "paraphrase", *label)
            rows = rng.choice(rows, size=wanted, replace=False)
        out[rows] = True
    return out


def with_ids(table: pd.DataFrame, taken: np.ndarray) -> pd.DataFrame:
    """Add ids to the drawn wordings."""
    table = table.reset_index(drop=True)
    if "variant" in table:
        return table.assign(variant=table["variant"].where(taken, ""))
    drawn = table[taken]
    if "number" in table:
        numbers = drawn["number"].astype(int)
    else:
        numbers = drawn.groupby(GROUP, sort=False).cumcount() + 1
    width = len(str(int(numbers.max()))) if len(drawn) else 1
    ids = [
        f"{kind}_{safe(name)}_{number:0{width}d}"
        for kind, name, number in zip(drawn["kind"], drawn["set"], numbers, strict=True)
    ]
    out = np.full(len(table), "", dtype=object)
    out[taken] = ids
    return table.assign(variant=out)


def safe(name: str) -> str:
    """Return the name of a set with only the characters allowed in an id."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)


def check_sets(names: list[str]) -> None:
    """Refuse names of sets that would be the same in an id."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(safe(name), name)
        if other != name:
            raise UserError(
                f"the sets '{other}' and '{name}' would have the same ids; give one of them a "
                "name with other letters or digits."
            )
