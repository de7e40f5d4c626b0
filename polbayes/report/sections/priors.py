"""The sensitivity of conclusions to the priors."""

import pandas as pd

from polbayes.fit.posterior.power_scaling import CONFLICT, WEAK
from polbayes.report import show
from polbayes.report.blocks import Bullets, Column, Fold, Section, grid
from polbayes.report.prose import Noun, listed
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_MEASURES = {
    "theta": "position on statements like these",
    "theta_asked": "position on these statements",
    "lean": "lean",
    "decisiveness": "decisiveness",
    "acquiescence": "acquiescence",
}
_WORDS = {
    WEAK: "moves with the prior, hardly with the answers",
    CONFLICT: "moves with the prior and with the answers",
}


def priors(results: Results) -> Section | None:
    """Say which estimates would change under another prior."""
    table = results.table("prior_sensitivity")
    if table is None or table.empty:
        return None
    reading = (
        "Every estimate combines the answers with a prior. Here the prior is made a little "
        "stronger and a little weaker, and then the answers are, to see how far the estimates "
        "move (power-scaling, Kallioinen et al. 2024). A sensitivity below 0.05 is none to "
        "speak of. Where the prior alone moves an estimate, the answers say little about it; "
        "where both do, they may pull in different directions.",
    )
    layout = grid(
        table.sort_values("prior", ascending=False, kind="stable"),
        [
            show.named("measure", "Estimate", _MEASURES),
            *show.texts("model", "dimension"),
            show.number("prior", "Sensitivity to the prior", 2),
            show.number("likelihood", "to the answers", 2),
            Column("In words", lambda row: _WORDS.get(row["diagnosis"], ""), False),
        ],
        caption="Sensitivity of the estimates to prior and answers, the most sensitive first.",
        csv="prior_sensitivity",
    )
    blocks = (
        Bullets(tuple(_sentences(table, results.who))),
        Fold("Sensitivities as a table", (layout,)),
    )
    return Section("priors", "Do the conclusions depend on the priors?", reading, blocks)


def _sentences(table: pd.DataFrame, who: Noun) -> list[tuple[str, str]]:
    found = []
    for measure, rows in table.groupby("measure", sort=False):
        name = _MEASURES.get(str(measure), str(measure))
        moved = rows[rows["diagnosis"].isin((WEAK, CONFLICT))]
        if moved.empty:
            continue
        whose = list(dict.fromkeys(moved["model"].astype(str)))
        all_of_them = set(whose) == set(rows["model"].astype(str))
        told = f"every {who}" if all_of_them and len(whose) > 1 else listed(whose)
        weak = moved["diagnosis"] == WEAK
        if weak.all():
            why = "The answers say little about it, so that the prior decides."
        elif weak.any():
            why = "For some the answers say little about it; for others they pull elsewhere."
        else:
            why = "The answers count as well, but another prior would give another estimate."
        found.append((f"The {name} of {told} depends on the prior. ", why))
    if not found:
        return [("No estimate depends on the priors. ", "All sensitivities are below 0.05.")]
    return found


SECTION = SectionMaker("Prior sensitivity", priors, analysis="ideology")
