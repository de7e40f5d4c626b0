"""Acquiescence."""

import pandas as pd

from polbayes.instrument.poles import Poles
from polbayes.report import show
from polbayes.report.blocks import Block, Picture, Section, folded_grid, level_of
from polbayes.report.figures.agreement import plot_agreement
from polbayes.report.figures.forests import plot_acquiescence
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.adaptive import warning


def acquiescence(results: Results) -> Section | None:
    """Show acquiescence on the latent scale, and agreement by keying."""
    latent, raw = results.table("acquiescence"), results.table("agreement")
    if latent is None and raw is None:
        return None
    who = results.who
    reading = [
        f"Acquiescence is the tendency to agree whatever is said. It is not a leaning: {who.a} "
        "that agrees with statements of both sides alike says nothing about either, and would "
        "look as if it took a side on a questionnaire keyed to one side only."
    ]
    blocks: list[Block] = []
    if latent is not None:
        reading.append(
            "On the latent scale 0 is no tendency, positive is a tendency to say yes, negative "
            f"to say no; the lines are {results.level:.0%} intervals. Which side {who.a} is on "
            "does not enter."
        )
        blocks += _latent(latent, results)
    if raw is not None:
        reading += warning(results)
        blocks += _raw(raw, results.poles)
    return Section("acquiescence", "Agreeing whatever is said", tuple(reading), tuple(blocks))


def _latent(table: pd.DataFrame, results: Results) -> list[Block]:
    return [
        Picture(
            name="acquiescence",
            caption=f"Acquiescence by {results.who}, the one that agrees most at the top.",
            alt="Forest plot of acquiescence; the numbers are in the table below.",
            figure=plot_acquiescence(table),
        ),
        folded_grid(
            "Acquiescence as a table",
            table,
            [show.text("model"), *show.estimate("Acquiescence", results.level)],
            caption="Acquiescence on the latent scale (positive = says yes).",
            csv="acquiescence",
        ),
    ]


def _raw(table: pd.DataFrame, poles: Poles) -> list[Block]:
    level = level_of(table)
    low, high = poles.negative.leaning, poles.positive.leaning
    measures = {
        "agree_left": f"agrees with {low} statements",
        "agree_right": f"agrees with {high} statements",
        "acquiescence": "mean of the two",
    }
    keyed = table[table["measure"].isin(("agree_left", "agree_right"))]
    picture = Picture(
        name="agreement",
        caption=(
            f"Share of valid answers that agree, with {low} (◀) and with {high} (▶) statements, "
            f"and {level:.0%} bootstrap intervals. Both beyond 50% on the same "
            "side shows acquiescence or its reverse; the two far apart show a leaning."
        ),
        alt="Dot plot of agreement by the side of the statement, numbers in the table below.",
        figure=plot_agreement(keyed, poles),
    )
    numbers = folded_grid(
        "Agreement as a table",
        table,
        [
            show.text("model"),
            show.named("measure", "Measure", measures),
            show.share("estimate", "Share"),
            show.percent_interval(level),
        ],
        caption="Agreement by the side of the statement.",
        csv="agreement",
    )
    return [numbers] if keyed.empty else [picture, numbers]


SECTION = SectionMaker("Acquiescence", acquiescence, joint=True)
