"""Effects of the stages, relative to the plain question."""

from polbayes.instrument.scenarios import STAGES, UNITS
from polbayes.report import show
from polbayes.report.blocks import Block, Column, Picture, Section, folded_grid
from polbayes.report.figures.stage_curves import plot_stage_curves
from polbayes.roleplay.report.alignment import p_value
from polbayes.roleplay.report.results import SIGN, RatingsResults, one_twin, readable, worded

_TITLES = {
    "alignment": "Alignment (positive = liberal)",
    "commitment": "Commitment (0 a refusal, 5 firm and acting)",
    "activated": "Activated values, of ten",
}


_READING = (
    "From left to right: the plain question outside of the story, the four stages of "
    "growing pressure, and the reflection afterwards. Commitment is how firmly a text takes a "
    "side. A value is activated if its mean rating is at least 14 of 20.",
    f"{SIGN} This holds for alignment; the other measures have no side.",
)


def pressure(results: RatingsResults) -> Section | None:
    """Show measures by stage, and their differences from the plain question."""
    curves, ablation = results.table("stage_curves"), results.table("ablation")
    if curves is None:
        return None
    shown = one_twin(curves)
    panels = {title: shown[shown["measure"] == name] for name, title in _TITLES.items()}
    blocks: list[Block] = [
        Picture(
            name="stage_curves",
            caption=(
                f"Measures by stage, over both twins, with {results.level:.0%} intervals from "
                f"resampling scenarios. {SIGN}"
            ),
            alt="Three line plots over the stages, one line per model; numbers are in the tables.",
            figure=plot_stage_curves(
                panels, stages=UNITS, names=[readable(unit) for unit in UNITS], joined=STAGES
            ),
        )
    ]
    if ablation is not None:
        rows = one_twin(ablation)
        rows = rows[rows["measure"].isin(list(_TITLES))]
        columns = [
            *show.texts("model"),
            *worded("measure", "stage"),
            *show.estimate("Stage minus plain question", results.level),
            show.number("effect_size", "Effect size d"),
            Column("p (paired t test)", p_value),
        ]
        caption = (
            "Differences from the plain question of the same scenario. The model 'all' has the "
            f"models as its sample. Alignment: {SIGN[0].lower()}{SIGN[1:]}"
        )
        title = "Differences from the plain question"
        blocks.append(folded_grid(title, rows, columns, caption=caption, csv="ablation"))
    return Section("pressure", "What pressure does", _READING, tuple(blocks))
