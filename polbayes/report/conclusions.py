"""The conclusions of a run in sentences, and what would change them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from polbayes.fit.posterior.verdicts import EQUAL, OPEN, side_of
from polbayes.fit.posterior.verdicts import in_words as decided
from polbayes.instrument.dimensions import ECONOMIC_AND_CULTURAL, Dimension, named
from polbayes.instrument.poles import poles_of
from polbayes.report.numbers import chance
from polbayes.report.prose import listed, plural

KEYS = ["against", "dimension", "model_a", "model_b", "decision"]
# What is different, as a header and as the subject of a sentence.
CHANGES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("posterior", "as fitted"): ("This posterior", "this posterior"),
    ("again", "asked"): ("Same study again", "the same study again"),
    ("run", "asked"): ("One run", "one run"),
    ("wording", "asked"): ("One wording", "one of these wordings"),
    ("wording", "new"): ("One new wording", "a new wording"),
    ("prefix", "asked"): ("One prefix", "one of these prefixes"),
    ("prefix", "new"): ("One new prefix", "a new prefix"),
    ("prompt", "asked"): ("One prompt", "one of these prompts"),
    ("prompt", "new"): ("One new prompt", "a new prompt"),
    ("prior", "half"): ("Prior half as strong", "a prior half as strong"),
    ("prior", "double"): ("Prior twice as strong", "a prior twice as strong"),
}
# From this probability of the contrary on, a conclusion is said to be at risk.
AT_RISK = 0.05
_MOST = 12


def change_words(change: str, prompts: str) -> tuple[str, str]:
    """Return what is different, as a header and as the subject of a sentence."""
    coder = (f"Read by {prompts}", f"{prompts} as the only coder")
    return CHANGES.get((change, prompts), coder)


def in_words(row: Mapping[str, Any], dimensions: Sequence[Dimension]) -> str:
    """Say what is concluded."""
    dimension, decision = str(row["dimension"]), str(row["decision"])
    poles = poles_of(dimensions).on(dimension)
    if row["against"] == "rank":
        said = f"is furthest {side_of(decision, poles).towards} of all"
    elif row["against"] == "model" and decision == EQUAL:
        said = f"is equal in practice to {row['model_b']}"
    elif row["against"] == "model":
        said = f"is {side_of(decision, poles).of} {row['model_b']}"
    else:
        said = decided(decision, poles=poles)
    return f"{row['model_a']} {said} on {named(dimensions, dimension).label.lower()} questions"


def by_conclusion(flips: pd.DataFrame) -> pd.DataFrame:
    """Return one row a conclusion, with its probability of flipping by what is different.

    The columns are those of `KEYS` and pairs of change and prompts, in the order of `CHANGES`; the
    conclusions that one prompt would change most often come first.
    """
    known = flips[flips["decision"].notna() & (flips["decision"] != OPEN)].copy()
    known["model_b"] = known["model_b"].astype(object).fillna("")  # numbers if there are no pairs
    known["by"] = list(zip(known["change"], known["prompts"], strict=True))
    there = list(dict.fromkeys(known["by"]))
    order = [by for by in CHANGES if by in there] + [by for by in there if by not in CHANGES]
    wide = known.drop_duplicates([*KEYS, "by"]).set_index([*KEYS, "by"])["p_flip"].unstack("by")
    wide = wide.reindex(columns=pd.Index(order, tupleize_cols=False))
    first = [
        by for by in (("prompt", "new"), ("prompt", "asked"), ("again", "asked")) if by in order
    ]
    if first:
        wide = wide.sort_values(first, ascending=False, kind="stable")
    return wide.reset_index()


def at_risk(flips: pd.DataFrame, dimensions: Sequence[Dimension]) -> Iterator[tuple[str, str]]:
    """Yield each conclusion that something would often change, and what that is."""
    for row in by_conclusion(flips).to_dict("records"):
        found = [
            (probability, change_words(*by)[1])
            for by, probability in row.items()
            if isinstance(by, tuple) and probability >= AT_RISK
        ]
        if found:
            why = [f"{words} ({chance(p)})" for p, words in sorted(found, key=lambda x: -x[0])]
            yield in_words(row, dimensions), listed(why, 4)


def answer_of(
    flips: pd.DataFrame, dimensions: Sequence[Dimension] = ECONOMIC_AND_CULTURAL
) -> list[str]:
    """Return, as lines for a terminal, what would change the conclusions of a run."""
    concluded = by_conclusion(flips)
    if concluded.empty:
        return ["Nothing is concluded, so that nothing can flip: all verdicts are open."]
    risky = list(at_risk(flips, dimensions))
    whole = plural(len(concluded), "conclusion")
    if not risky:
        return [
            f"{whole}: none would be contradicted with a probability of {AT_RISK:.0%} or more by "
            "another prompt, coder or prior of those tried."
        ]
    lines = [f"{whole}; {len(risky)} would be contradicted with a probability of 5% or more:"]
    lines += [f"- {said}: not so with {why}" for said, why in risky[:_MOST]]
    return lines + ([f"- and {len(risky) - _MOST} more"] if len(risky) > _MOST else [])
