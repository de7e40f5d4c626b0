"""Prior predictive checks."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.density.model import Built
from polbayes.fit.posterior.intervals import two_intervals
from polbayes.fit.posterior.naming import bias_measure
from polbayes.fit.posterior.pointwise import draws_of
from polbayes.fit.posterior.predictive import REPLICATES, replicated, statistics
from polbayes.instrument.poles import POLITICAL, Poles

# Labels of the statistics in the table.
_WORDS = {
    "agreement_by_keying": "share of {keying} statements that a model agrees with",
    "agreement_by_prefix": "share of statements that a model agrees with under one prefix",
    "agreement_by_item": "share of models' answers that agree with a {keying} statement",
    "neutral": "share of a model's answers that are neutral",
    "neutral_by_item": "neutral answers to a statement",
    "repeated": "share of pairs of a model's answers to one question that are the same",
    "extreme": "share of a model's answers with a probability below 0.05 or above 0.95",
    "usable": "share of a model's answers that are usable",
    "usable_by_item": "share of the answers to an item that are usable",
    "between_wordings": "standard deviation between the wordings of an item, on [−1, 1]",
}


def prior_draws(built: Built, *, draws: int, seed: int) -> xr.Dataset:
    """Draw from the prior of a model's effects, coefficients, scales and so on.

    The likelihood enters the model as potentials, which prior sampling ignores, as it does
    starting points.
    """
    import pymc as pm

    wanted = ("effects", "sd", "gap", "b", "nu")
    names = [name for name in built.model.named_vars if name in wanted or _correlates(name)]
    # Compiling would take longer than some thousand draws.
    drawn = pm.draw(
        [built.model[name] for name in names], draws=draws, random_seed=seed, mode="FAST_COMPILE"
    )
    variables = {}
    for name, values in zip(names, drawn, strict=True):
        dims = ("chain", "draw", *(f"{name}_dim_{k}" for k in range(values.ndim - 1)))
        variables[name] = (dims, values[None])
    return xr.Dataset(variables, coords={"chain": [0], "draw": np.arange(draws)})


def _correlates(name: str) -> bool:
    """Tell whether a variable is the correlations of a term, not what they are made of."""
    return name.startswith("cor_") and "_raw" not in name


def prior_predictive(
    built: Built,
    *,
    level: float = 0.9,
    seed: int,
    draws: int = REPLICATES,
    poles: Poles = POLITICAL,
) -> pd.DataFrame:
    """Compute what the priors imply for the statistics that check a fit."""
    drawn = prior_draws(built, draws=draws, seed=seed)
    bias, low, high = bias_measure(built, drawn), poles.negative, poles.positive
    values = {
        f"bias of a model (−1 {low.word}, 1 {high.word}), all dimensions": bias[
            "bias_total"
        ].to_numpy(),
        "bias of a model, one dimension": bias["bias"].to_numpy(),
    }
    wanted = statistics(built)
    found = replicated(built, draws_of(drawn), wanted, seed=seed)
    for statistic, rows in zip(wanted, found, strict=True):
        if "keying" not in statistic.labels:
            values[_WORDS[statistic.name]] = rows
            continue
        keying = statistic.labels["keying"].to_numpy()
        for side, word in ((-1, low.leaning), (1, high.leaning)):
            values[_WORDS[statistic.name].format(keying=word)] = rows[:, keying == side]
    return _summary(values, level)


def _summary(values: Mapping[str, np.ndarray], level: float) -> pd.DataFrame:
    wanted = two_intervals(level)
    summaries = []
    for quantity, drawn in values.items():
        there = drawn[np.isfinite(drawn)]
        if len(there):  # a dimension without items on one side has no bias
            found = np.quantile(there, list(wanted.values()))
            quantiles = dict(zip(wanted, found, strict=True))
            summaries.append({"quantity": quantity, **quantiles})
    return pd.DataFrame(summaries).assign(level=level)


def prior_text(table: pd.DataFrame) -> str:
    """Write the table of `prior_predictive` for a terminal."""
    level = float(table["level"].iloc[0])
    width = max(len(name) for name in table["quantity"])
    head = f"{'':<{width}}  median  50% of draws    {level:.0%} of draws"
    lines = [
        f"{row['quantity']:<{width}}  {row['estimate']:6.2f}  "
        f"{row['lower_50']:5.2f} to {row['upper_50']:5.2f}  "
        f"{row['lower']:5.2f} to {row['upper']:5.2f}"
        for row in table.to_dict("records")
    ]
    return "\n".join(
        [
            "What the priors expect before any answer is seen, for models, statements and prefixes",
            "that nothing is known about:",
            "",
            head,
            *lines,
        ]
    )
