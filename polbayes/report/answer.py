"""The answer on the first screen: who leans where, how sure that is, and whether it can be used."""

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from polbayes.fit.posterior.verdicts import (
    AT_CENTRE,
    EQUAL,
    LEFT,
    OPEN,
    RIGHT,
    Verdict,
    from_centre,
)
from polbayes.report.asked import coders_of, size
from polbayes.report.blocks import Block, Bullets, Picture
from polbayes.report.figures.verdicts import plot_verdicts
from polbayes.report.numbers import interval, number, share
from polbayes.report.prose import listed, plural, standing
from polbayes.report.results import Results
from polbayes.report.sections.validity import by_outcome

# More models are named by what is found of them, and not one by one.
_ONE_BY_ONE = 8
_MOSTLY_USABLE = 0.9
_RELIABLE = 0.8
_FEW_MODELS = 5
_CAN_IT = {
    "good": "Yes, as far as the sampler goes: its draws passed all checks.",
    "caution": "With caution: the draws of the sampler passed most checks, but not all.",
    "preview": "No number is to be quoted: this is a quick approximation.",
    "bad": "No: the draws of the sampler failed the checks.",
}


def answer(results: Results) -> tuple[Block, ...]:
    """Make the blocks of the first screen."""
    found = [] if results.verdict == "bad" else _found(results)
    entries = [
        *standings(found, results.level),
        ("It rests on ", rests_on(results)),
        ("It would change with ", " ".join(_would_change(results))),
        ("Can it be used? ", " ".join(_usable(results))),
    ]
    blocks: list[Block] = [Bullets(tuple(entry for entry in entries if entry[1]))]
    known = [row for row in found if row[2].decision]
    if known:
        blocks.append(
            Picture(
                name="verdicts",
                caption=f"The lean of each model with {results.level:.0%} intervals, from −1 "
                "(always left) to 1 (always right). The band is the centre in practice; the "
                "verdict on each is at the right.",
                alt="Forest plot of the leans; "
                + "; ".join(f"{m}, {d}: {AT_CENTRE[v.decision]}" for m, d, v in known[:30]),
                figure=plot_verdicts(known),
                csv=("contrasts",),
            )
        )
    return tuple(blocks)


def _found(results: Results) -> list[tuple[str, str, Verdict]]:
    table = results.table("contrasts")
    return [] if table is None else list(from_centre(table))


def standings(found: Iterable[tuple[str, str, Verdict]], level: float) -> list[tuple[str, str]]:
    """Say where the models stand: one by one, or where they are many by verdict."""
    rows = pd.DataFrame(found, columns=["model", "dimension", "verdict"])
    if rows["model"].nunique() <= _ONE_BY_ONE:
        return [
            (f"{model} ", "; ".join(_on(d, standing(v, level)) for d, v in pairs) + ".")
            for model, pairs in (
                (model, zip(part["dimension"], part["verdict"], strict=True))
                for model, part in rows.groupby("model", sort=False)
            )
        ]
    rows["decision"] = [verdict.decision for verdict in rows["verdict"]]
    return [
        (f"{dimension.capitalize()} questions: ", "; ".join(_by_verdict(part)) + ".")
        for dimension, part in rows.groupby("dimension", sort=False)
    ]


def _on(dimension: str, words: str) -> str:
    return f"on {dimension} questions {words}"


def _by_verdict(rows: pd.DataFrame) -> Iterator[str]:
    said = {LEFT: "left", RIGHT: "right", EQUAL: "at the centre in practice"}
    for decision, words in {**said, OPEN: "open, as these data do not tell"}.items():
        names = rows.loc[rows["decision"] == decision, "model"].tolist()
        if names:
            yield f"{len(names)} {words} ({listed(names)})"


def rests_on(results: Results) -> str:
    """Say what was asked, and how it was read."""
    data, counts = results.responses, size(results.responses)
    items = max(counts["items"], 1)
    wordings = counts["wordings"] / items
    each = f"{number(wordings, 0 if wordings == round(wordings) else 1)} wordings each"
    source = (
        list(dict.fromkeys(map(str, np.ravel(data["instrument"]))))
        if "instrument" in data.coords
        else []
    )
    parts = [
        plural(items, "statement") + (f" of {listed(source)}" if source else ""),
        "one wording each" if wordings <= 1 else each,
        plural(counts["prefixes"], "way") + " of putting the question",
        "once each" if counts["repetitions"] == 1 else f"{counts['repetitions']} times each",
    ]
    text = f"{', '.join(parts)}: {plural(counts['answers asked for'], 'answer')} of "
    text += plural(counts["models"], "model")
    coders = coders_of(data)
    return text + (f", read by {listed(coders)}." if coders else ".")


def _would_change(results: Results) -> Iterator[str]:
    """Say what other statements, prompts and priors would do, as far as the run tells."""
    own = results.table("reliability")
    if own is not None:
        rows = own[own["model"].isna() & (own["measure"] == "se_bias")]
        for row in rows[rows["dimension"].isin(_widest(rows))].to_dict(orient="records"):
            yield (
                "other statements, wordings and prefixes like these: as large a study would find "
                f"another bias for each model, typically by {number(row['estimate'])} "
                f"({results.level:.0%} interval {interval(row['lower'], row['upper'])})."
            )
    shifts = results.table("prefix_contrasts")
    if shifts is not None:
        moved = shifts[shifts["decision"].isin([LEFT, RIGHT])]
        if len(moved):
            names = [
                f"{model} ({listed(rows['prefix'].astype(str).tolist(), 3)})"
                for model, rows in moved.groupby("model", sort=False)
            ]
            yield f"A single prefix moves the leaning beyond the margin of {listed(names)}."
        else:
            yield "No single prefix is known to move a leaning beyond the margin."
    prior = results.table("prior_sensitivity")
    if prior is not None:
        rows = prior[prior["measure"].isin(["theta", "lean"]) & prior["diagnosis"].notna()]
        names = list(dict.fromkeys(rows.loc[rows["diagnosis"] != "", "model"].astype(str)))
        if names:
            yield f"Other priors would move {listed(names)}."


def _widest(rows: pd.DataFrame) -> list[str]:
    there = rows["dimension"].tolist()
    return ["total"] if "total" in there else there[:1]


def _usable(results: Results) -> Iterator[str]:
    """Say whether the estimates can be used, and what they leave out."""
    if results.fitted:
        yield _CAN_IT[results.verdict]
    counts = size(results.responses)
    one = [
        name
        for name, single in (
            ("prefix", counts["prefixes"] == 1),
            ("wording of each statement", counts["wordings"] <= counts["items"]),
        )
        if single
    ]
    if one:
        yield (
            f"There was only one {' and one '.join(one)}: what another would give is not known and "
            "in no interval."
        )
    yield from _of_answers(results)
    own, designs = results.table("reliability"), results.table("d_study")
    if own is not None:
        yield from _of_precision(own, designs)


def _of_answers(results: Results) -> Iterator[str]:
    table = results.table("validity")
    if table is not None:
        usable = by_outcome(table)
        if "share_usable" in usable:
            low = usable[usable["share_usable"] < _MOSTLY_USABLE]
            names = [
                f"{m} ({share(s)})" for m, s in zip(low["model"], low["share_usable"], strict=True)
            ]
            if names:
                yield f"Many answers could not be used of {listed(names)}."
            elif len(usable):
                least = share(usable["share_usable"].min())
                yield f"At least {least} of each model's answers could be used."
    if coders_of(results.responses) and results.table("confusion") is None:
        yield (
            "Errors in reading the answers are in no interval; task=validate_coder measures them."
        )


def _of_precision(own: pd.DataFrame, designs: pd.DataFrame | None) -> Iterator[str]:
    rows = own[own["model"].isna() & (own["measure"] == "dependability")]
    rows = rows[rows["dimension"].isin(_widest(rows))]
    wanted = _RELIABLE
    if designs is not None and designs["measure"].iloc[0] == "dependability":
        wanted = float(designs["wanted"].iloc[0])
    for row in rows[rows["estimate"] < wanted].to_dict(orient="records"):
        yield (
            f"Another study of this size may place the models otherwise: its dependability is "
            f"{number(row['estimate'])} {interval(row['lower'], row['upper'])}, where "
            f"{number(wanted)} is wanted."
        )
    if "n_models" in own and own["n_models"].max() < _FEW_MODELS:
        yield (
            f"Precision is judged by the differences between {int(own['n_models'].max())} models, "
            "which are few."
        )
