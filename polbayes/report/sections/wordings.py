"""Correlations of text features of the wordings."""

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Paragraph, Picture, grid, level_of
from polbayes.report.figures.features import plot_feature_correlations
from polbayes.report.numbers import interval
from polbayes.report.results import Results


def feature_blocks(results: Results) -> list[Block]:
    """Show the correlations of text features of the wordings, if computed."""
    table = results.table("feature_correlations")
    if table is None:
        return []
    level = level_of(table)
    picture = Picture(
        name="feature_correlations",
        caption="Correlations of text features over the wordings asked; bold where the "
        f"{level:.0%} interval from resampling statements leaves out 0.",
        alt="Heat map of features by features; the numbers are in the table below.",
        figure=plot_feature_correlations(table),
        csv=("feature_correlations", "text_features"),
    )
    layout = grid(
        table,
        [
            show.text("first", "Feature"),
            show.text("second", "Feature"),
            *show.estimate("Correlation", level),
            Column(
                f"{level:.0%} interval by statement",
                lambda row: interval(row["lower_item"], row["upper_item"], 2),
            ),
            show.number("n", "Wordings", 0),
        ],
        caption="Correlations of text features (Pearson). The first interval takes wordings as "
        "independent, the second resamples statements with all their wordings.",
        csv="feature_correlations",
    )
    about = Paragraph(
        "A mixed model can only tell the effects of features apart that do not go together: "
        "where two correlate highly, neither coefficient says much by itself."
    )
    return [Fold("How features of the wordings go together", (about, picture, layout))]
