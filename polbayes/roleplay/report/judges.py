"""The judges: their differences, and the effect of other ways of asking."""

import pandas as pd

from polbayes.instrument.values import VALUES
from polbayes.report import show
from polbayes.report.blocks import Block, Bullets, Paragraph, Picture, Section, folded_grid
from polbayes.report.figures.forest import Panel, plot_forest
from polbayes.report.figures.judge_shifts import plot_judge_shifts
from polbayes.report.figures.style import SERIES
from polbayes.roleplay.report.results import RatingsResults, worded

_LEANING = (
    "positive: sees texts as more liberal (left) than the panel does; negative: as more "
    "conservative (right)"
)
_SEVERITY = "positive: rates all values lower than the panel does"


def judges(results: RatingsResults) -> Section | None:
    """Show severity and leaning of every judge, order and scale checks, and self-judging."""
    effects, checks = results.table("judge_effects"), results.table("judge_checks")
    reading = (
        "Judges are compared with the mean of their panel, on texts that all of them have rated. "
        f"Severity is in points of the scale from 0 to 20 ({_SEVERITY}). Leaning is in points of "
        f"alignment ({_LEANING}). Comparing judges cannot show whether the whole panel "
        "leans.",
        "A severity that is the same for all values cancels in the alignment, because its weights "
        "add up to 0; a leaning does not, but it cancels between models as long as the same judges "
        "have rated all of them.",
    )
    blocks: list[Block] = []
    if effects is not None:
        blocks += _effects(effects, results.level)
    else:
        blocks.append(Paragraph("There is only one judge, so that nothing can be compared."))
    if checks is not None:
        blocks += _checks(checks, results.level)
    blocks.append(_self(results))
    return Section("judges", "The judges", reading, tuple(blocks))


def _effects(table: pd.DataFrame, level: float) -> list[Block]:
    columns = [
        *show.texts("judge"),
        *worded("measure", "value"),
        *show.estimate("Against the panel", level),
        show.text("positive", "A positive number means"),
    ]
    of_value = table["measure"] == "shift"
    shifts = Picture(
        name="judge_shifts",
        caption=(
            "What each judge adds to each value against the panel, in points of the scale from "
            "0 to 20; positive: rates it higher. L: values of the liberal side; C: of the "
            "conservative side."
        ),
        alt="Heat map of judges by values; the numbers are in the table below.",
        figure=plot_judge_shifts(table[of_value & table["value"].isin(VALUES)]),
        csv=("judge_effects",),
    )
    caption, csv = "Judges against their panel.", "judge_effects"
    title, rest = "Each value, and commitment", table[of_value]
    return [
        *(_picture(table, measure) for measure in _TITLES),
        shifts,
        folded_grid(
            "Severity and leaning, as a table", table[~of_value], columns, caption=caption, csv=csv
        ),
        folded_grid(title, rest, columns, caption=caption, csv=csv),
    ]


_TITLES = {
    "severity": "Severity, points of 0 to 20 (positive = rates lower)",
    "leaning": "Leaning, points of alignment (positive = liberal)",
}


def _picture(table: pd.DataFrame, measure: str) -> Picture:
    rows = table[table["measure"] == measure].assign(model=lambda t: t["judge"])
    colour = SERIES[list(_TITLES).index(measure)]
    panel = Panel(_TITLES[measure], rows, colour=colour, alignment=measure == "leaning")
    return Picture(
        name=f"judge_{measure}",
        caption=f"{measure.capitalize()} of the judges against their panel; "
        f"{_SEVERITY if measure == 'severity' else _LEANING}.",
        alt=f"Dot plot of the judges' {measure}; the numbers are in the table below.",
        figure=plot_forest([panel], centre=0.0),
        csv=("judge_effects",),
    )


def _checks(table: pd.DataFrame, level: float) -> list[Block]:
    columns = [
        *show.texts("judge"),
        show.named("check", "Asked with", _CHECK),
        *worded("measure", "value"),
        *show.estimate("Points of the scale from 0 to 20", level),
        show.text("positive", "A positive number means"),
    ]
    of_value = table["measure"] == "shift"
    caption = (
        "The same texts rated again in another way. 'Place' is what standing first on the list of "
        "values adds; 'number' is what is added to the number that is written down, whichever end "
        "of the scale is the strong one. 0 is right."
    )
    inner = "Shift of each value and of commitment."
    title = "What another way of asking does to each value"
    return [
        folded_grid(
            "What another way of asking does",
            table[~of_value],
            columns,
            caption=caption,
            csv="judge_checks",
        ),
        folded_grid(title, table[of_value], columns, caption=inner, csv="judge_checks"),
    ]


_CHECK = {"order": "values in reversed order", "scale": "the scale reversed"}


def _self(results: RatingsResults) -> Block:
    own = results.ratings["self_judged"]
    pairs = [
        (f"{judge}", f"rates {model}, which is the same model.")
        for model in own["model"].values.tolist()
        for judge in own["judge"].values.tolist()
        if int(own.sel(model=model, judge=judge))
    ]
    if not pairs:
        return Paragraph("No judge rates itself.")
    return Bullets(tuple(pairs))
