"""The precision of the run, and how many questions another would need."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from polbayes.report import show
from polbayes.report.asked import size
from polbayes.report.blocks import Block, Bullets, Fold, Paragraph, Picture, Section, grid
from polbayes.report.figures.d_study import NUMBERS, one_at_a_time, plot_d_study
from polbayes.report.numbers import count, number, share
from polbayes.report.prose import Noun, listed, plural
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_MEASURES: Mapping[str, str] = {
    "dependability": "dependability",
    "generalizability": "generalizability",
    "se_bias": "standard error of {who.a}'s bias",
    "se_theta": "standard error of {who.a}'s latent leaning",
    "se_bias_relative": "standard error of a comparison of {who.many}, bias",
    "se_theta_relative": "standard error of a comparison of {who.many}, latent leaning",
}
ONE = {"items": "statement", "wordings": "wording", "prefixes": "prefix", "runs": "repetition"}
MANY = {
    "items": "statements",
    "wordings": "wordings",
    "prefixes": "prefixes",
    "runs": "repetitions",
}
_LITTLE = 0.05
# With fewer respondents the variance between them is poorly known.
FEW_MODELS = 5


def precision(results: Results) -> Section | None:
    """Show the reliability of the run, and the precision and cost of other designs."""
    own, designs = results.table("reliability"), results.table("d_study")
    if own is None or designs is None:
        return None
    return Section(
        "precision",
        "How many questions are enough",
        (*_reading(designs, results.who), *_unbalanced(own, results.who)),
        (
            *_sentences(own, designs, results),
            *_figure(designs, results),
            *_tables(own, designs, results),
        ),
    )


def _reading(designs: pd.DataFrame, who: Noun) -> tuple[str, ...]:
    prefixes = (
        "the prefixes are taken to be all that matter"
        if designs["prefixes_are"].iloc[0] == "fixed"
        else "so are the prefixes"
    )
    return (
        "Would other statements, other wordings and other prefixes have shown the same? Two "
        "coefficients answer that, from 0 (not at all) to 1 (exactly). Generalizability is about "
        f"the differences between {who.many}: it is the correlation that one may expect with a "
        "study of the same size that asks other statements like these. Dependability is about "
        f"where each {who} stands, and also counts what moves all {who.many} together. The "
        "standard error says the same in units of the leaning.",
        f"The statements and wordings are taken for a sample of those that might be asked; "
        f"{prefixes}. From how much they differ follows what asking more of "
        "each would bring. Planned studies have as many statements of one side as of the other.",
    )


def _unbalanced(own: pd.DataFrame, who: Noun) -> tuple[str, ...]:
    if own["balanced"].all():
        return ()
    return (
        f"On at least one dimension some {who} was asked statements of one side alone. Agreeing "
        "with anything does not cancel there, and counts as error of this run.",
    )


def _measures(who: Noun) -> Mapping[str, str]:
    """Return what the measures of precision are called."""
    return {name: text.format(who=who) for name, text in _MEASURES.items()}


def _shown(table: pd.DataFrame) -> str:
    """Return the broadest dimension."""
    there = table["dimension"].tolist()
    return "total" if "total" in there else str(there[0])


def _sentences(own: pd.DataFrame, designs: pd.DataFrame, results: Results) -> list[Block]:
    if results.verdict == "bad":
        return [Paragraph("No advice is given here, because the estimates are not to be used.")]
    entries = []
    for dimension in dict.fromkeys(designs["dimension"]):
        rows = designs[designs["dimension"] == dimension]
        name = (
            "All questions:"
            if dimension == "total"
            else f"{results.about(dimension).capitalize()} questions:"
        )
        entries.append((name, f"{_now(own, rows, results)} {_cheapest(rows, results.who)}"))
    widest = designs[designs["dimension"] == _shown(designs)]
    return [
        Bullets(tuple(entries)),
        *(Paragraph(text) for text in _few(own, results.who)),
        Paragraph(f"{_worth(widest, results)} {_buys(widest)}".strip()),
    ]


def few(rest_on: str, models: int, who: Noun, instead: str, why: str = "") -> list[str]:
    """Warn about numbers that rest on few respondents, and say what to do; nothing if not few.

    `why` they depend on which respondents these are is by default their distance.
    """
    if models >= FEW_MODELS:
        return []
    why = why or f"{who.many} that are far apart make any study look precise"
    return [
        f"{rest_on} {plural(models, str(who))}. With so few they depend on which {who.many} these "
        f"are: {why}. {instead}"
    ]


def _few(own: pd.DataFrame, who: Noun) -> list[str]:
    rest_on = "The coefficients are shares of the differences between"
    instead = f"Plan a study of other {who.many} by the standard errors."
    return few(rest_on, own["model"].dropna().nunique(), who, instead)


def _worth(rows: pd.DataFrame, results: Results) -> str:
    """Say which design the run is equivalent to, if not the one that was asked."""
    (own,) = rows[rows["own"]].to_dict(orient="records")
    counts = size(results.responses)
    asked = {
        "items": counts["items"],
        "wordings": max(1, round(counts["wordings"] / max(1, counts["items"]))),
        "prefixes": counts["prefixes"],
        "runs": counts["repetitions"],
    }
    if all(own[name] == number for name, number in asked.items()):
        return ""
    return (
        f"For planning, this run counts as {_asking(own)}: statements that are divided unequally "
        "between dimensions or in unequal numbers of wordings, and answers that could not be used, "
        f"make it worth less than what was asked ({_asking(asked)})."
    )


def _now(own: pd.DataFrame, rows: pd.DataFrame, results: Results) -> str:
    measure = str(rows["measure"].iloc[0])
    here = own[(own["dimension"] == rows["dimension"].iloc[0]) & (own["measure"] == measure)]
    (row,) = here[here["model"].isna()].to_dict(orient="records")
    most = math.inf if measure.startswith("se_") else 0.99
    estimate, lower, upper = (_below(row[name], most) for name in ("estimate", "lower", "upper"))
    named = _measures(results.who)[measure]
    return f"the {named} is {estimate} ({results.level:.0%} interval {lower} to {upper})."


def _below(value: float, most: float) -> str:
    """Format a number; one that rounds to certainty as more than `most`."""
    return f"more than {number(most)}" if value > most else number(value)


def _cheapest(rows: pd.DataFrame, who: Noun) -> str:
    first = rows.iloc[0]
    measure, wanted = str(first["measure"]), number(first["wanted"])
    most = measure.startswith("se_")
    limit = f"{'at most' if most else 'at least'} {wanted}"
    aim = f"{limit} with a probability of {first['probability']:.0%}"
    best = rows[rows["cheapest"]]
    if best.empty:
        top = rows.loc[rows["p_reached"].idxmax()]
        return (
            f"None of the {len(rows)} designs compared brings it to {aim}; "
            f"{_asking(top)} comes closest, with {top['p_reached']:.0%}."
        )
    row = best.iloc[0]
    cost = "" if row["cost"] == row["questions"] else f", at a cost of {number(row['cost'])} each"
    return (
        f"The cheapest of {len(rows)} designs that brings it to {aim} asks {_asking(row)}: "
        f"{count(row['questions'])} questions of each {who}{cost}."
    )


def _asking(row: Mapping[str, Any]) -> str:
    parts = [
        f"{count(row[name])} {(ONE if row[name] == 1 else MANY)[name]}"
        for name in ("items", "wordings", "prefixes")
    ]
    times = "once" if row["runs"] == 1 else f"{count(row['runs'])} times"
    return f"{parts[0]} in {parts[1]} with {parts[2]}, {times}"


def _buys(rows: pd.DataFrame) -> str:
    """Say what twice as many of each would gain, and what is unknown."""
    (own,) = rows[rows["own"]].to_dict(orient="records")
    gains, little, unknown = [], [], []
    for name in NUMBERS:
        double = one_at_a_time(rows, name).query(f"{name} == {2 * own[name]}")
        if double.empty:
            unknown.append(MANY[name])
            continue
        gain = 1 - float(double["se_theta"].iloc[0]) / own["se_theta"]
        if gain < _LITTLE:
            little.append(MANY[name])
        gains.append(f"twice as many {MANY[name]} by {share(gain)}")
    text = f"Starting from {_asking(own)}, the standard error would fall "
    text = text + f"with {listed(gains)}." if gains else ""
    if little:
        text += f" Asking more {listed(little)} buys little."
    if unknown:
        text += (
            f" About other numbers of {listed(unknown)} nothing can be said, because this run or "
            "its analysis did not vary them."
        )
    return text.strip()


def _figure(designs: pd.DataFrame, results: Results) -> list[Block]:
    who = results.who
    rows = designs[designs["dimension"] == _shown(designs)]
    if all(len(one_at_a_time(rows, name)) < 2 for name in NUMBERS):
        return []
    what = _measures(who)[str(rows["measure"].iloc[0])]
    own = "what this run counts as" if _worth(rows, results) else "this run"
    return [
        Picture(
            name="d_study",
            caption=f"How the {what} changes with the number of questions, when one of the numbers "
            f"of {own} is changed and the others stay. Flat lines buy little. Bands are "
            "posterior intervals.",
            alt=f"Lines of the {what} by number of questions; the numbers are in the table below.",
            figure=plot_d_study(rows, title=what, who=str(who), own=own),
        )
    ]


def _tables(own: pd.DataFrame, designs: pd.DataFrame, results: Results) -> list[Block]:
    measures = _measures(results.who)
    here = grid(
        own,
        [
            show.text("dimension"),
            show.named("measure", "Measure", measures),
            show.text("model"),
            *show.estimate("Estimate", results.level, digits=3),
        ],
        caption="How precise this run is.",
        csv="reliability",
    )
    measure = str(designs["measure"].iloc[0])
    best = designs[_on_frontier(designs)]
    priced = (designs["cost"] != designs["questions"]).any()
    others = grid(
        best,
        [
            show.text("dimension"),
            *(show.number(name, MANY[name].capitalize(), 0) for name in NUMBERS),
            show.number("questions", f"Questions of each {results.who}", 0),
            *([show.number("cost", "Cost")] if priced else []),
            *show.estimate(measures[measure].capitalize(), results.level, prefix=measure, digits=3),
            show.number("se_bias", "Standard error of the bias"),
            show.chance("p_reached", "Probability that it is as wanted"),
        ],
        caption="Designs that none with as many or fewer questions betters.",
        csv="d_study",
    )
    return [
        Fold("The precision of this run, as a table", (here,)),
        Fold("Other designs", (others,)),
    ]


def _on_frontier(designs: pd.DataFrame) -> pd.Series:
    """Return which designs are better than all with as many or fewer questions."""
    measure = str(designs["measure"].iloc[0])
    good = -designs[measure] if measure.startswith("se_") else designs[measure]
    kept = good == good.groupby([designs["dimension"], designs["questions"]]).transform("max")
    before = good.where(kept).groupby(designs["dimension"]).cummax()
    above = before.groupby(designs["dimension"]).shift().fillna(float("-inf"))
    return kept & (good > above)


SECTION = SectionMaker("How many questions are enough", precision, analysis="ideology")
