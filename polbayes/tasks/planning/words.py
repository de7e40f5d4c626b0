"""What a plan says on the screen."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from polbayes.config.schema import PlanConfig
from polbayes.data.prose import noun, plural
from polbayes.report.numbers import count
from polbayes.report.prose import MODEL
from polbayes.report.sections.precision import few
from polbayes.tasks.planning.basis import ASSUMPTIONS, Basis
from polbayes.tasks.planning.designs import MEASURES, chosen, nearest

WORDS = {"items": "statement", "wordings": "wording", "prefixes": "prefix", "runs": "run"}


def lines_of(found: pd.DataFrame, basis: Basis, wanted: PlanConfig, level: float) -> Iterator[str]:
    """Say what a plan is based on, what is wanted, and which design reaches it."""
    if basis.verdict == "bad":
        yield "Do not use this: the draws of the pilot's sampler failed the checks."
    if basis.kind == ASSUMPTIONS:
        yield from _assumed(basis)
    yield f"Wanted: {_wanted(wanted, level, basis)}."
    yield from _designs(found, wanted)
    yield from cautions(basis)


def cautions(basis: Basis) -> list[str]:
    """Warn about a plan from a pilot of few models."""
    if basis.kind == ASSUMPTIONS:
        return []
    instead = (
        "Models near the centre, or near each other, may take more questions: make a pilot with "
        "models like those of the study."
    )
    models = int(basis.data.sizes["model"])
    return few("These numbers are those of a pilot of", models, MODEL, instead)


def _assumed(basis: Basis) -> Iterator[str]:
    """Say what was assumed in place of a pilot's posterior."""
    table = basis.assumed
    level = float(table["level"].iloc[0])
    yield (
        f"There is no pilot in {basis.folder}: the plan is worth as much as these assumptions, the "
        "priors of the analysis (median and "
        f"{level:.0%} of the draws), which plan.assume changes."
    )
    for row in table.to_dict("records"):
        given = ", as given" if row["given"] else ""
        yield (
            f"  {row['part']}: {row['quantity']} ~ {row['prior']}{given}: {row['estimate']:.2f} "
            f"({row['lower']:.2f} to {row['upper']:.2f})"
        )


def _designs(found: pd.DataFrame, wanted: PlanConfig) -> Iterator[str]:
    best = chosen(found)
    if best is None:
        near = nearest(found, wanted)
        if near is None:
            yield f"The limits allow no design; the smallest is {in_words(found.iloc[0])}."
        else:
            yield (
                "No design that was looked at reaches it; the nearest within the limits: "
                f"{in_words(near)}."
            )
        return
    yield f"The cheapest design: {in_words(best)}."
    if not best["surely"]:
        sure = found[found["surely"] & found["affordable"]]
        safer = f"; to be sure of it: {in_words(sure.iloc[0])}" if len(sure) else ""
        yield f"What is known leaves open whether that suffices{safer}."
    if not best["there"]:
        yield "It needs more statements, wordings or prefixes than there are."
        own = chosen(found, there=True)
        if own is not None:
            yield f"With those that there are: {in_words(own)}."


def _wanted(wanted: PlanConfig, level: float, basis: Basis) -> str:
    parts = []
    if wanted.width is not None:
        parts.append(f"{level:.0%} intervals of positions no wider than {wanted.width:g}")
    if wanted.difference is not None:
        parts.append(
            f"{level:.0%} intervals of differences of two models no wider than "
            f"{wanted.difference:g}"
        )
    if wanted.order is not None:
        parts.append(
            f"two models that are {wanted.apart:g} apart in the right order with a probability of "
            f"{wanted.order:g}"
        )
    if wanted.power is not None:
        beyond = "0"
        if wanted.found == "verdict":
            rope = basis.config.analysis.rope
            beyond = f"[-{rope:g}, {rope:g}]"
        parts.append(
            f"the effect of a prefix that moves a model's leaning by {wanted.effect:g} found "
            f"({level:.0%} interval beyond {beyond}) with a probability of {wanted.power:g}"
        )
    scale = "from −1 to 1" if wanted.scale == "bias" else "in units of θ"
    return f"{', '.join(parts)} ({scale}; on statements, wordings and prefixes like these)"


def in_words(row: pd.Series) -> str:
    """Describe a design, what it costs and what it reaches."""
    numbers = [f"{int(row[name])} {noun(row[name], word)}" for name, word in WORDS.items()]
    cost = "" if np.isnan(row["cost"]) else f", {row['cost']:.4g} in money"
    said = {
        "width": "width {} (at worst {})",
        "difference": "of a difference {} (at worst {})",
        "order": "right order {}",
        "power": "effect of a prefix found {}",
    }
    reached = [
        said[name].format(_with_error(row, name), f"{row[f'{name}_worst']:.2f}")
        for name in MEASURES
        if name in row and not np.isnan(row[name])
    ]
    by = {
        "simulation": f"; simulated {int(row['studies'])} times",
        "corrected": "; corrected by simulations of other designs",
    }
    return (
        f"{numbers[0]} on each dimension, {', '.join(numbers[1:])}: "
        f"{plural(row['questions'], 'question', count)} in all{cost}; {', '.join(reached)}"
        f"{by.get(row['by'], '')}"
    )


def _with_error(row: pd.Series, name: str) -> str:
    error = row[f"{name}_error"]
    return f"{row[name]:.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}")
