"""Who of the reference, such as parties, a model is nearest to."""

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Section, folded_grid, grid
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

# So many neighbours of a model are listed before the fold.
_LISTED = 3


def reference(results: Results) -> Section | None:
    """Show positions among the reference, and its members nearest to each model."""
    nearest, scale = results.table("nearest"), results.table("reference_scale")
    if nearest is None or scale is None:
        return None
    of_reference = set(scale.loc[scale["reference"], "model"])
    others = ~nearest["model"].isin(of_reference)
    # If all belong to the reference, each is compared with the rest of it.
    rows = nearest[others] if others.any() else nearest
    first = rows.sort_values("p_nearest", ascending=False, kind="stable")
    first = first.groupby("model", sort=False).head(_LISTED)
    order = {model: k for k, model in enumerate(rows["model"].unique())}
    first = first.sort_values("model", key=lambda m: m.map(order), kind="stable")
    columns = [
        show.text("model"),
        show.text("reference", "Of the reference"),
        show.chance("p_nearest", "Probability of being the nearest"),
        *show.estimate("Distance of θ", results.level),
        show.share("agreement", "Agreement of answers"),
        show.number("n_items", "Statements in common", 0),
    ]
    blocks: list[Block] = [
        grid(
            first,
            columns,
            caption=f"The {_LISTED} of the reference most likely to be the nearest to each "
            f"{results.who}.",
            csv="nearest",
        ),
        folded_grid(
            "Positions on the scale of the reference",
            _placed(scale, others.any()),
            [
                *show.texts("model", "dimension"),
                *show.estimate("Position (standard deviations from its mean)", results.level),
            ],
            caption="0 is the mean of the reference, 1 its standard deviation; negative is "
            f"{results.poles.negative.towards}.",
            csv="reference_scale",
        ),
    ]
    return Section("reference", "Compared with whom", _READING, tuple(blocks))


def _placed(scale: pd.DataFrame, others: bool) -> pd.DataFrame:
    return scale[~scale["reference"]] if others else scale


_READING = (
    "Positions mean most beside those of respondents that readers know. The nearest is the one "
    "with the smallest distance of θ over all dimensions; the probability counts the draws in "
    "which that is so, so that several near ones share it.",
    "Agreement of answers is what voting advice applications show: 100% for the same answer to "
    "every statement, 0% for opposite ones. It depends on the statements that were asked; the "
    "distance of θ is about statements like these.",
)

SECTION = SectionMaker("Compared with whom", reference, optional=True)
