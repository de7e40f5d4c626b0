"""How much the answers of each model depend on how it is asked."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polbayes.report.figures.forest import Panel, descending, plot_forest
from polbayes.report.figures.style import SERIES, label

EFFECTS = {
    "wording": "Wording of the statement",
    "prompt": "Single prompt (wording and prefix)",
    "prefix_acquiescence": "Prefix, effect on agreeing",
    "prefix_steer": "Prefix, effect on leaning",
}


def plot_sensitivity(sensitivity: pd.DataFrame) -> Figure:
    """Draw the scales of the effects of asking, the most sensitive model at the top."""
    present = list(dict.fromkeys(sensitivity["effect"]))
    effects = [e for e in EFFECTS if e in present] + [e for e in present if e not in EFFECTS]
    panels = [
        Panel(
            EFFECTS.get(effect, label(str(effect), 40)),
            descending(sensitivity[sensitivity["effect"] == effect]),
            SERIES[k % len(SERIES)],
            "osD"[k % 3],
        )
        for k, effect in enumerate(effects)
    ]
    reach = sensitivity[["estimate", "upper"]].max(axis=None)
    return plot_forest(panels, centre=None, dress=lambda axes: _from_zero(axes, reach))


def _from_zero(axes: Axes, reach: float) -> None:
    axes.set_xlim(0, 1.05 * reach if reach > 0 else 1.0)
    axes.set_xlabel("standard deviation (0 = no effect)")
