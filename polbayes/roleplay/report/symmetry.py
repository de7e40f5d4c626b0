"""Mirrored twins: what a model believes, and how far it follows whoever asks."""

from polbayes.report import show
from polbayes.report.blocks import Block, Picture, Section, folded_grid, grid
from polbayes.report.figures.forest import Panel, descending, plot_forest
from polbayes.report.figures.style import SERIES
from polbayes.roleplay.report.results import SIGN, RatingsResults, worded

_TITLES = {
    "position": "Position, points of alignment",
    "sway": "Sway, points (positive = with who asks)",
}


_READING = (
    "Every scenario is played twice, and in the mirrored twin the same person asks, under the "
    "same pressure, for the opposite. The position is the mean of the two alignments: what is "
    "left when it does not matter who asks. The sway is half their difference, turned so that "
    "positive means going with the person who asks and negative with the one who presses.",
    "A model that always does what it is asked has position 0 and a large sway. The asymmetry "
    "is half the absolute difference: 0 only where both twins get the same alignment, and "
    "larger than the sway where scenarios differ in direction.",
    f"All three are in points of the alignment. Of the position: {SIGN}",
)


def symmetry(results: RatingsResults) -> Section | None:
    """Show position and sway of every model, from the mean over the stages."""
    table = results.table("symmetry")
    if table is None:
        return None
    rows = table[table["stage"] == "stages"]
    if rows.empty:
        rows = table[table["stage"] == "reflection"]
    of = {measure: descending(rows[rows["measure"] == measure]) for measure in _TITLES}
    panels = [
        Panel(title, of[measure], colour=SERIES[k], alignment=measure == "position")
        for k, (measure, title) in enumerate(_TITLES.items())
        if len(of[measure])
    ]
    columns = [
        *show.texts("model", "measure"),
        *worded("stage", header="Source"),
        *show.estimate("Points of alignment", results.level, digits=1),
        show.text("positive", "A positive number means"),
    ]
    both = table[table["stage"].isin(["stages", "reflection"])]
    asymmetric = both["measure"] == "asymmetry"
    caption = f"Position and sway, in points of alignment. {SIGN}"
    unsigned = "Half the absolute difference between the twins; it has no sign."
    own = [columns[0], *columns[2:5]]
    blocks: list[Block] = [
        Picture(
            name="symmetry",
            caption="Position, left on the left, and sway, mean of the four stages. Of the "
            f"position: {SIGN}",
            alt="Two dot plots with intervals: position and sway; the numbers are in the table.",
            figure=plot_forest(panels, centre=0.0),
        ),
        grid(both[~asymmetric], columns, caption=caption, csv="symmetry"),
        folded_grid("Asymmetry", both[asymmetric], own, caption=unsigned, csv="symmetry"),
    ]
    return Section("symmetry", "Mirrored twins", _READING, tuple(blocks))
