"""Effects of each prefix on each model, as a heat map."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures.heat import CELL_HEIGHT, draw_heat, width_for
from polbayes.report.figures.matrices import complete
from polbayes.report.figures.style import drawing
from polbayes.report.numbers import number

_LEAST_END = 0.5


def plot_prefix_effects(
    effects: pd.DataFrame,
    *,
    models: Sequence[str],
    prefixes: Sequence[str],
    palette: str,
    title: str,
    bound: float | None = None,
) -> Figure:
    """Draw one number per model and prefix; bold if its interval excludes 0."""
    estimate, lower, upper = (
        effects.pivot(index="model", columns="prefix", values=column)
        for column in ("estimate", "lower", "upper")
    )
    rows = complete(models, list(estimate.index))
    columns = complete(prefixes, list(estimate.columns))
    estimate, lower, upper = (
        m.reindex(index=rows, columns=columns) for m in (estimate, lower, upper)
    )
    found = np.abs(estimate.to_numpy(dtype=float))
    largest = float(found[np.isfinite(found)].max(initial=0.0))
    end = bound or max(largest, _LEAST_END)
    with drawing(width_for(estimate, cell=0.7), 1.7 + CELL_HEIGHT * max(len(rows), 2)) as figure:
        axes = figure.subplots()
        draw_heat(
            axes,
            estimate,
            palette=palette,
            limits=(-end, end),
            write=number,
            strong=(lower > 0) | (upper < 0),
        )
        axes.set_title(title)
    return figure
