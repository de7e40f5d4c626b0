"""The pairs that were judged most one-sidedly, with their answers."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.data.dataset import CELL_DIMS
from polbayes.instrument.pairs import SIDES
from polbayes.report import show
from polbayes.report.blocks import Block, Fold, Section, Verbatim, grid
from polbayes.report.numbers import number
from polbayes.run.pairs.report.results import PairsResults
from polbayes.run.pairs.verdicts import PAIR_DIMS

_LETTERS = 4000  # of an answer


def examples(results: PairsResults) -> Section:
    """Show all pairs with their mean verdict, and the most one-sided one of every model."""
    reading = (
        "The mean verdict of a pair is over all judges and both orders: 1 where all find the "
        "answer to the second request better (that of the right, where sides are marked), −1 where "
        "all find the first one better.",
    )
    table = pair_table(results.verdicts)
    columns = [
        show.text("model"),
        *show.texts("topic", "template", "prefix"),
        show.count("run", "Run"),
        show.number("score", "Mean verdict"),
        show.share("equal", "Verdicts of equal"),
    ]
    ordered = table.reindex(table["score"].abs().sort_values(ascending=False).index)
    caption = "Pairs, the most one-sided first."
    blocks: list[Block] = [
        grid(ordered, columns, caption=caption, csv="pairs", searchable=True),
        Fold("The most one-sided pair of each model", tuple(_texts(results, ordered))),
    ]
    return Section("pairs", "The pairs", reading, tuple(blocks), {"pairs": table})


def pair_table(verdicts: xr.Dataset) -> pd.DataFrame:
    """Return the mean verdict of every pair that has one."""
    prob = verdicts["verdict_prob"].mean(("judge", "order"))
    score = (prob.sel(verdict="b") - prob.sel(verdict="a")).transpose(*PAIR_DIMS)
    equal = prob.sel(verdict="equal").transpose(*PAIR_DIMS).values
    rows = []
    for at in np.argwhere(np.isfinite(score.values)):
        m, i, p, r = map(int, at)
        rows.append(
            {
                "model": str(verdicts["model"].values[m]),
                "item": str(verdicts["item"].values[i]),
                "topic": str(verdicts["topic"].values[i]),
                "template": str(verdicts["section"].values[i]),
                "prefix": str(verdicts["prefix"].values[p]),
                "run": int(verdicts["run"].values[r]),
                "score": float(score.values[m, i, p, r]),
                "equal": float(equal[m, i, p, r]),
            }
        )
    columns = ["model", "item", "topic", "template", "prefix", "run", "score", "equal"]
    return pd.DataFrame(rows, columns=columns)


def _texts(results: PairsResults, ordered: pd.DataFrame) -> Iterator[Block]:
    """Yield requests and answers of the most one-sided pair of every model."""
    data = results.responses
    said = data["completion"].transpose(*CELL_DIMS)
    for model, rows in ordered.groupby("model", sort=False):
        row = rows.iloc[0]
        inner = []
        for side in SIDES:
            cell = {name: row[name] for name in ("model", "item", "prefix", "run")}
            text = str(said.sel(**cell, variant=side).item())
            request = str(data["statement"].sel(item=row["item"], variant=side).item())
            cut = f"{text[:_LETTERS]} …" if len(text) > _LETTERS else text
            inner += [Verbatim("Request", request), Verbatim("Answer", cut or "(no text)")]
        yield Fold(f"{model}: {row['topic']}, {number(row['score'])}", tuple(inner))
