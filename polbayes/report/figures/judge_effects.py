"""Effects of judges on ratings, one panel per effect."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from polbayes.report.figures.forest import Panel, draw_rows
from polbayes.report.figures.style import WIDTH, abreast, drawing, rule

TITLES: Mapping[str, str] = {
    "severity": "Severity, points",
    "tilt": "Leaning, points of alignment",
    "consistency": "Consistency, 1 = panel",
    "range_use": "Use of the range, 1 = panel",
    "self_level": "Of itself: all values, points",
    "self_tilt": "Of itself: points of alignment",
}
_ALIGNMENTS = ("tilt", "self_tilt")


def plot_judge_effects(effects: pd.DataFrame) -> Figure:
    """Draw the effects of judges with intervals."""
    there = [effect for effect in TITLES if (effects["effect"] == effect).any()]
    down = -(-len(there) // 2)
    most = effects.groupby("effect")["judge"].nunique().max()
    with drawing(WIDTH, down * (1.0 + 0.3 * max(most, 2))) as figure:
        every = abreast(figure, len(there), across=2)
        for axes, effect in zip(every, there, strict=True):
            rows = effects[effects["effect"] == effect]
            rule(axes, float(rows["neutral"].iloc[0]))
            named = rows.rename(columns={"judge": "model"})
            draw_rows(axes, Panel(TITLES[effect], named, alignment=effect in _ALIGNMENTS))
    return figure
