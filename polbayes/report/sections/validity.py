"""Outcomes of the answers asked for."""

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Picture, Section, grid, level_of
from polbayes.report.figures.validity import MARK, OUTCOMES, plot_validity
from polbayes.report.numbers import count, share
from polbayes.report.prose import Noun, listed
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker
from polbayes.report.sections.adaptive import warning

# Below this share of probability on the options the report warns first.
MOSTLY = 0.5


def validity(results: Results) -> Section | None:
    """Show how many answers were usable, and the outcomes of the others."""
    table = results.table("validity")
    if table is None:
        return None
    table = by_outcome(table)
    outcomes = [name for name in OUTCOMES if name in table]
    reading = (
        "Not answering is a result too. The bars show what became of every answer that was "
        "asked for: agreeing, neutral or disagreeing answers can be used (plain colours); the "
        "others (hatched) are unrelated to the statement, refused, not in a usable form, "
        "failed, or not asked yet.",
        f"The share of usable answers has no direction. Where it is low, {results.who.a}'s leaning "
        "rests on the few statements that it did answer, which may not be typical.",
        *warning(results),
    )
    low, blocks = hardly_on_options(results), list[Block]()
    caption = f"Outcomes by {results.who}, as shares of the answers asked for."
    if len(low):
        caption += (
            f" {MARK} Less than half of the probability was on the options with some prefixes: "
            f"{in_words(low)}. There an answer counts as the likelier of two unlikely options."
        )
    if outcomes:
        blocks.append(
            Picture(
                name="validity",
                caption=caption,
                alt=f"Stacked bars of outcomes by {results.who}; the numbers are in the table "
                "below.",
                figure=plot_validity(table, outcomes=outcomes, marked=set(low["model"])),
            )
        )
    numbers = _numbers(table, outcomes, results.who)
    blocks.append(Fold("Outcomes as a table", (numbers,)) if outcomes else numbers)
    modelled = results.table("validity_posterior")
    if modelled is not None:
        blocks.append(_modelled(modelled))
    return Section("validity", "Which answers could be used", reading, tuple(blocks))


def _numbers(table: pd.DataFrame, outcomes: list[str], who: Noun) -> Block:
    def outcome(name: str) -> Column:
        return Column(name.capitalize(), lambda row: count(row[name]))

    columns = [show.text("model")]
    if "n_asked" in table:
        columns.append(show.count("n_asked", "Asked for"))
    columns += [outcome(name) for name in outcomes]
    if "share_usable" in table:
        columns.append(show.share("share_usable", "Usable, of those received"))
    if {"lower", "upper"} <= set(table.columns):
        columns.append(show.percent_interval(level_of(table)))
    if "mass" in table:
        columns.append(show.share("mass", "Probability on the options"))
    return grid(table, columns, caption=f"Outcomes by {who}.", csv="validity")


def _modelled(table: pd.DataFrame) -> Block:
    columns = [
        show.text("model"),
        show.share("estimate", "Probability of a usable answer"),
        show.percent_interval(level_of(table)),
    ]
    return grid(
        table,
        columns,
        caption="Usable answers as the analysis models them, together with the stances.",
        csv="validity_posterior",
    )


def hardly_on_options(results: Results) -> pd.DataFrame:
    """Return model, prefix and mass where little probability is on the options.

    Models of which that is so on the whole are not among them.
    """
    table, whole = (results.table(name) for name in ("validity_by_prefix", "validity"))
    if table is None or whole is None or "measure" not in whole:
        return pd.DataFrame(columns=["model", "prefix", "estimate"])
    mass, rows = (one[one["measure"] == "mass"] for one in (whole, table))
    low = mass.loc[mass["estimate"] < MOSTLY, "model"]
    rows = rows[(rows["estimate"] < MOSTLY) & ~rows["model"].isin(low)]
    return rows[["model", "prefix", "estimate"]]


def in_words(low: pd.DataFrame) -> str:
    """Name prefixes with their models and the mass there: `low` is of `hardly_on_options`."""
    named = []
    for prefix, rows in low.groupby("prefix", sort=False):
        each = zip(rows["model"], rows["estimate"], strict=True)
        named.append(f"{prefix} ({listed([f'{model} {share(mass)}' for model, mass in each])})")
    return listed(named)


def by_outcome(table: pd.DataFrame) -> pd.DataFrame:
    """Turn counts in long form (``measure, estimate, count, n``, ...) into one row per model."""
    if "measure" not in table:
        return table
    wide = table.pivot(index="model", columns="measure", values="count")
    wide = wide.reindex(dict.fromkeys(table["model"]))
    out = wide[[name for name in OUTCOMES if name in wide]]
    measures = {name: rows.set_index("model") for name, rows in table.groupby("measure")}
    if "answered" in measures:
        out.insert(0, "n_asked", measures["answered"]["n"])
    if "usable" in measures:
        usable = measures["usable"]
        out = out.assign(share_usable=usable["estimate"])
        out = out.assign(lower=usable["lower"], upper=usable["upper"], level=usable["level"])
    if "mass" in measures:
        out = out.assign(mass=measures["mass"]["estimate"])
    return out.reset_index()


SECTION = SectionMaker("Usable answers", validity)
