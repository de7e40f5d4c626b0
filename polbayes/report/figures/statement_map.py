"""How each model leans on each statement, as a heat map of each dimension."""

import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures.heat import draw_heat
from polbayes.report.figures.style import LEFT_LOW, drawing, in_full, item_label, labels
from polbayes.report.numbers import number

# More cells than this say their number on the page and in the table alone.
_MOST_WRITTEN = 400


def plot_statement_map(leanings: pd.DataFrame, statements: pd.DataFrame) -> Figure:
    """Draw ``estimate`` by model and item; `statements` has ``item, dimension, statement``."""
    values = leanings.pivot(index="item", columns="model", values="estimate")
    values = values[list(dict.fromkeys(leanings["model"]))]
    means = values.mean(axis=1).sort_values(kind="stable")
    texts = {
        row["item"]: item_label(row["item"], row["statement"], width=60, lines=1)
        for row in statements.to_dict(orient="records")
    }
    groups = {
        dimension: values.reindex([i for i in means.index if i in set(rows["item"])])
        for dimension, rows in statements.groupby("dimension", sort=False)
    }
    groups = {name: rows for name, rows in groups.items() if len(rows)}
    heights = [max(len(rows), 2) for rows in groups.values()]
    width = 4.6 + max(2.5, 0.52 * values.shape[1])
    written = values.size <= _MOST_WRITTEN
    slanted = 0.055 * max(map(len, labels([str(name) for name in values.columns])))
    with drawing(width, 0.25 * sum(heights) + (0.9 + slanted) * len(groups)) as figure:
        every = figure.subplots(
            len(groups), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axes, (dimension, rows) in zip(every[:, 0], groups.items(), strict=True):
            draw_heat(
                axes,
                rows,
                palette=LEFT_LOW,
                limits=(-1, 1),
                write=number if written else None,
            )
            axes.set_yticks(range(len(rows)), [texts[i] for i in rows.index], fontsize=8)
            axes.set_title(in_full(str(dimension)))
    return figure
