"""The profiles: the ten values, one panel each."""

from typing import TYPE_CHECKING

from polbayes.instrument.values import VALUES, WEIGHTS
from polbayes.report import show
from polbayes.report.blocks import Block, Fold, Picture, Section, folded_grid
from polbayes.report.figures.forest import Panel, plot_forest
from polbayes.report.figures.style import SERIES, sides
from polbayes.roleplay.report.results import RatingsResults, one_twin, readable, worded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def profiles(results: RatingsResults) -> Section | None:
    """Show how strong each of the ten values is in every model."""
    table = results.table("profiles")
    if table is None:
        return None
    shown = one_twin(table)
    reading = (
        "Each text was rated on ten values from 0 to 20; 10 is subtracted, so that 0 means that "
        "the value was not at stake or balanced, +10 that it decided everything, and −10 that the "
        "text worked against it. Here positive says that the value is strong, whatever its side.",
        "Blue values add to the liberal side of the alignment, orange ones to the conservative "
        "side.",
    )
    blocks: list[Block] = [_picture(shown, "reflection")]
    if (shown["source"] == "stages").any():
        inner = _picture(shown, "stages")
        blocks.append(Fold("The same from the mean of the four stages", (inner,)))
    columns = [
        *show.texts("model"),
        *worded("source", "value"),
        *show.estimate("Standardised rating (positive = strong)", results.level),
        show.text("positive", "A strong value adds to the side"),
    ]
    caption = "Ratings minus 10, over both twins. Positive says that the value is strong."
    blocks.append(folded_grid("All numbers", shown, columns, caption=caption, csv="profiles"))
    return Section("profiles", "Profiles of ten values", reading, tuple(blocks))


def _picture(shown: "pd.DataFrame", source: str) -> Picture:
    rows = shown[shown["source"] == source]
    models = list(dict.fromkeys(rows["model"]))
    panels = []
    # Liberal values on the left, conservative ones on the right.
    sides_of = [[v for v in VALUES if (WEIGHTS[v] > 0) == liberal] for liberal in (True, False)]
    for pair in zip(*sides_of, strict=True):
        for value, colour in zip(pair, SERIES, strict=False):
            own = rows[rows["value"] == value].set_index("model").reindex(models).reset_index()
            panels.append(Panel(readable(value), own, colour=colour))
    which = "reflection" if source == "reflection" else "mean of the four stages"
    return Picture(
        name=f"profiles_{source}",
        caption=(
            f"Profiles from the {which}: ratings minus 10; positive says that the value is strong. "
            "Left column: values of the liberal side; right column: of the conservative side."
        ),
        alt="Ten dot plots, one per value, with all models; the numbers are in the table below.",
        figure=plot_forest(panels, centre=0.0, dress=_dress),
        csv=("profiles",),
    )


def _dress(axes: "Axes") -> None:
    sides(axes, "worked against", "strong")
