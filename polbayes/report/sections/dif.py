"""Statements that mean something else to a group of respondents."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from polbayes.fit.posterior.verdicts import side_of
from polbayes.instrument.poles import Poles
from polbayes.report import show
from polbayes.report.blocks import Block, Column, Section, folded_grid, grid
from polbayes.report.numbers import chance, number
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

# Statements listed before the fold: those that differ more probably than not.
_LISTED = 0.5


def dif(results: Results) -> Section | None:
    """List the statements with different meanings, and positions with and without them."""
    table = results.table("dif")
    if table is None:
        return None
    listed = table[table["p_differs"] > _LISTED]
    data = results.responses
    on = dict(zip(*(data[n].values.astype(str) for n in ("item", "dimension")), strict=True))
    columns = [
        *show.texts("item", "group", "against"),
        *show.estimate("Effect", results.level),
        show.chance("p_differs", "Probability that it matters"),
        Column("The group answers further", partial(_further, on=on, poles=results.poles), False),
    ]
    blocks: list[Block] = []
    if len(listed):
        caption = "Statements that more probably than not mean something else to the group."
        blocks.append(grid(listed, columns, caption=caption, csv="dif"))
    caption = "All statements, by the probability that the effect matters."
    blocks.append(folded_grid("All statements", table, columns, caption=caption, csv="dif"))
    blocks += _positions(results)
    return Section("dif", "Statements that mean something else", _prose(table), tuple(blocks))


def _further(row: Mapping[str, Any], *, on: Mapping[str, str], poles: Poles) -> str:
    """Say to which side of its statement's dimension a group answers."""
    return side_of(str(row["direction"]), poles.on(on.get(str(row["item"]), ""))).towards


def _positions(results: Results) -> list[Block]:
    table = results.table("dif_positions")
    if table is None:
        return []
    columns = [
        *show.texts("model", "dimension"),
        *show.estimate("Position", results.level),
        *show.estimate("Without the effects", results.level, prefix="without"),
        show.number("shift", "Shift"),
    ]
    caption = (
        "θ with effects of statements on groups, and of a second fit without them; the shift is "
        "what leaving them out does."
    )
    return [
        folded_grid(
            "Positions with and without", table, columns, caption=caption, csv="dif_positions"
        )
    ]


def _prose(table: pd.DataFrame) -> tuple[str, ...]:
    size, expected = float(table["size"].iloc[0]), table["p_differs"].sum()
    by, against = (" and ".join(table[name].unique()) for name in ("by", "against"))
    first = (
        f"Some statements may mean something else to one group of respondents ({by}) than to "
        f"another ({against}), so that equal positions lead to different answers (differential "
        "item functioning). The model allows each statement such an effect and expects most of "
        f"them to be nearly 0. An effect matters if it is larger than {number(size)} in units of "
        "the predictor."
    )
    if "language" in set(table["by"]):
        first += (
            " Between languages this is measurement invariance: statements without an effect mean "
            "the same in both, so that positions in them can be compared; those with one are "
            "translations that do not measure alike, whatever the reason."
        )
    found = table[table["p_differs"] > _LISTED]
    if not len(found):
        most = table["p_differs"].max()
        return first, (
            f"No statement more probably than not does; the highest probability is {chance(most)}."
        )
    wrong = (1 - found["p_differs"]).mean()
    return first, (
        f"{len(found)} of {len(table)} do more probably than not (expected number of all: "
        f"{number(expected, 1)}); of those listed, the expected share of false discoveries is "
        f"{chance(wrong)}."
    )


SECTION = SectionMaker("Statements that mean something else", dif, optional=True)
