"""Diagnostics of the sampler, in numbers and in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

R_HAT_GOOD, R_HAT_BAD = 1.01, 1.05
ESS_GOOD, ESS_BAD = 400.0, 100.0
PARETO_K_GOOD = 0.7
# In the sentence about quantities of single statements.
BEYOND = "beyond these limits"

# Of the few draws of a first answer: with 40 a mean is known to a sixth of a standard deviation.
R_HAT_PREVIEW, ESS_PREVIEW = 1.1, 40.0
# Of importance draws, whose number is itself uncertain.
ESS_LAPLACE = 100.0

# The quantities that conclusions are about, which single wordings and cells are not.
MODEL_LEVEL = (
    "theta",
    "theta_asked",
    "lean",
    "decisiveness",
    "repetition",
    "theta_instrument",
    *(f"theta_{facet}" for facet in ("mode", "language")),
    *(
        f"{facet}_{name}"
        for facet in ("mode", "language")
        for name in ("discrimination", "agreement", "decisiveness")
    ),
    "cor_theta_model",
    "bias",
    "bias_instrument",
    "bias_total",
    "acquiescence",
    "prefix_acquiescence",
    "prefix_steer",
    "prefix_scale",
    "wording_scale",
    "prompt_scale",
    "scale",
    "gap",
    "validity",
    # Of mixed models.
    "coefficient",
    "threshold",
    "group_sd",
    "sigma",
    "phi",
)
POSITIONS = ("theta", "theta_asked", "lean", "theta_instrument", "bias", "bias_total")
ITEM_LEVEL = (
    *("difficulty", "discrimination", "wording", "bias_item", "group_effect"),
    *("dif", "confusion"),
)


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on a posterior."""

    verdict: str  # ``good``, ``caution`` or ``bad``; ``preview`` for an approximation
    sentences: tuple[str, ...]  # the reasons for the verdict
    table: pd.DataFrame  # ``quantity, r_hat, ess_bulk, ess_tail``, worst first


def diagnose(
    posterior: xr.Dataset, sample_stats: xr.Dataset, *, reported: Sequence[str] = MODEL_LEVEL
) -> Diagnosis:
    """Judge a posterior by split R-hat, effective sample sizes and divergences.

    The limits are those of Vehtari et al. (2021): R-hat at most 1.01 and bulk and tail
    effective sample size at least 400 for the `reported` quantities. The statistics have
    ``diverging``, and ``pareto_k`` if the posterior is only an approximation; a first answer also
    has ``transitions`` (`polbayes.fit.sampling.laplace.laplace`). Without any its table is empty.
    """
    if "transitions" in sample_stats and not int(sample_stats["transitions"]):
        table = pd.DataFrame(columns=["quantity", "r_hat", "ess_bulk", "ess_tail"])
        return Diagnosis("preview", _first_answer(table, sample_stats), table)
    table = convergence_table(posterior, (*reported, *ITEM_LEVEL))
    if "transitions" in sample_stats:
        own = table[table["quantity"].str.split("[").str[0].isin(reported)]
        return Diagnosis("preview", _first_answer(own, sample_stats), table)
    if "pareto_k" in sample_stats:
        return Diagnosis("preview", _preview(float(sample_stats["pareto_k"])), table)
    level = table[table["quantity"].str.split("[").str[0].isin(reported)]
    worst, bulk, tail = (
        float(level["r_hat"].max()),
        float(level["ess_bulk"].min()),
        float(level["ess_tail"].min()),
    )
    diverging = int(sample_stats["diverging"].sum())
    draws = int(np.prod([sample_stats.sizes[d] for d in ("chain", "draw")]))
    diagonal = "num_eigenvalues" not in sample_stats  # which a low-rank mass matrix has
    sentences = [
        _chains_agree(worst, str(level.loc[level["r_hat"].idxmax(), "quantity"]), diagonal),
        _enough(min(bulk, tail), bulk, tail),
        _divergences(diverging, draws, diagonal),
    ]
    single = table.drop(level.index)
    below = single[(single["r_hat"] > R_HAT_GOOD) | (_least(single) < ESS_GOOD)]
    if len(below):
        sentences.append(_single(below, len(single)))
    apart = bool((single["r_hat"] > R_HAT_BAD).any())
    broken = bool(level[["r_hat", "ess_bulk", "ess_tail"]].isna().any(axis=None))
    bad = broken or worst > R_HAT_BAD or min(bulk, tail) < ESS_BAD or diverging > 0.01 * draws
    good = worst <= R_HAT_GOOD and min(bulk, tail) >= ESS_GOOD and diverging == 0 and not apart
    return Diagnosis("bad" if bad else "good" if good else "caution", tuple(sentences), table)


def convergence_table(
    posterior: xr.Dataset, names: Sequence[str] = (*MODEL_LEVEL, *ITEM_LEVEL)
) -> pd.DataFrame:
    """Return R-hat and effective sample sizes of every reported quantity, worst first."""
    from arviz_stats.base.array import array_stats

    rows: list[tuple[str, float, float, float]] = []
    for name in names:
        if name not in posterior:
            continue
        values = posterior[name]
        for at in np.ndindex(*values.shape[2:]):
            draws = values.to_numpy()[(slice(None), slice(None), *at)]
            if np.isnan(draws).all() or np.ptp(draws) < 1e-12:
                continue  # a combination that does not occur, or a quantity fixed by a constraint
            where = ", ".join(
                str(values[dim].values[k]) for dim, k in zip(values.dims[2:], at, strict=True)
            )
            rows.append(
                (
                    f"{name}[{where}]" if where else name,
                    float(array_stats.rhat(draws, method="rank")),
                    float(array_stats.ess(draws, method="bulk")),
                    float(array_stats.ess(draws, method="tail", prob=(0.05, 0.95))),
                )
            )
    table = pd.DataFrame(rows, columns=["quantity", "r_hat", "ess_bulk", "ess_tail"])
    return table.sort_values("ess_bulk", ignore_index=True)


def _preview(pareto_k: float) -> tuple[str, ...]:
    judged = (
        f"the importance ratios have a tail of shape k = {pareto_k:.2f}, where at most "
        f"{PARETO_K_GOOD} is wanted"
    )
    return (
        "This is a preview: the posterior is approximated by independent normals (ADVI), whose "
        "intervals are too narrow as a rule. Use sampler=nutpie for numbers to quote.",
        f"The approximation may be near the posterior: {judged}."
        if pareto_k <= PARETO_K_GOOD
        else f"The approximation is far from the posterior: {judged}.",
    )


def settled(positions: xr.Dataset) -> bool:
    """Whether positions ``[chain, draw, ...]`` have settled enough for a first answer."""
    return not _unsettled(convergence_table(positions, POSITIONS)).any()


def pareto_limit(draws: int) -> float:
    """Return the largest Pareto k with which so many weighted draws can be used.

    Equation 13 of Vehtari et al. (2024), and at most 0.7.
    """
    return min(1 - 1 / math.log10(draws), PARETO_K_GOOD)


def _first_answer(table: pd.DataFrame, stats: xr.Dataset) -> tuple[str, ...]:
    """Say how good a first answer is, from the diagnostics of its model-level quantities."""
    k, limit = float(stats["pareto_k"]), float(stats["pareto_limit"])
    transitions = int(stats["transitions"])
    label = "This is a preview: a fast first answer. Use sampler=nutpie for numbers to quote."
    judged = f"The importance ratios of a Laplace approximation have a tail of shape k = {k:.2f}"
    effective = float(stats.get("effective", math.inf))  # missing in fits of earlier versions
    if transitions == 0:
        corrected = f"{judged}, where at most {limit:.2f} is wanted: resampling by these ratios "
        return label, corrected + "corrected it, and it will do."
    wrong = f"Above {limit:.2f} it will not do"
    if k <= limit:
        wrong = f"They leave {effective:.0f} effective draws; with fewer than {ESS_LAPLACE:.0f} "
        wrong += "it will not do"
    short = f"{stats.sizes['chain']} short chains of NUTS, {transitions} transitions each"
    instead = f"{judged}. {wrong}, and the draws are from {short}."
    if math.isinf(k):
        instead = "The posterior is too far from normal for a Laplace approximation, and the draws "
        instead += f"are from {short}."
    kind = table["quantity"].str.split("[").str[0]
    beyond = _unsettled(table)
    main = table[kind.isin(POSITIONS)]
    found = f"the largest R-hat is {main['r_hat'].max():.3f}, the fewest effective draws are "
    found += f"{_least(main).min():.0f}, where at most {R_HAT_PREVIEW} and at least "
    found += f"{ESS_PREVIEW:.0f} are wanted"
    if beyond[main.index].any():
        remedy = "Raise sampler.tune and sampler.draws, or use sampler=nutpie."
        said = f"Positions have not settled, and the first answer will not do: {found}. {remedy}"
        return label, instead, said
    settled = f"Positions have settled: {found}."
    others = ", ".join(dict.fromkeys(kind[beyond]))
    return (
        label,
        instead,
        settled + (f" These have not, and will not do: {others}." if others else ""),
    )


def _unsettled(table: pd.DataFrame) -> "pd.Series[bool]":
    """Tell for each quantity whether it is beyond the limits of a first answer."""
    return (table["r_hat"] > R_HAT_PREVIEW) | (_least(table) < ESS_PREVIEW)


def _least(table: pd.DataFrame) -> "pd.Series[float]":
    """Return the smaller of the two effective sample sizes."""
    return table[["ess_bulk", "ess_tail"]].min(axis=1)


def _single(below: pd.DataFrame, of: int) -> str:
    """Say that some quantities of single statements do not reach the limits."""
    verb, quote = ("is", "do not quote it") if len(below) == 1 else ("are", "quote none of these")
    return (
        f"Of {of} quantities of single statements or levels, {len(below)} {verb} {BEYOND} "
        f"(R-hat up to {below['r_hat'].max():.3f}, effective draws down to "
        f"{_least(below).min():.0f}): {quote} from this run. Where the models stand averages "
        "over them."
    )


def _chains_agree(worst: float, quantity: str, diagonal: bool) -> str:
    if worst <= R_HAT_GOOD:
        return f"The chains agree: the largest R-hat of a model-level quantity is {worst:.3f}."
    if worst <= R_HAT_BAD:
        more = "draw more, or use sampler=low_rank," if diagonal else "draw more"
        return (
            f"The chains nearly agree: R-hat of {quantity} is {worst:.3f} where at most "
            f"{R_HAT_GOOD} is wanted; {more} before relying on the last digits."
        )
    return (
        f"The chains do not agree: R-hat of {quantity} is {worst:.3f}. They have not found the "
        "same posterior, and the estimates must not be used; draw longer or simplify the model."
    )


def _enough(least: float, bulk: float, tail: float) -> str:
    counts = f"at least {bulk:.0f} effective draws for centres and {tail:.0f} for interval ends"
    if least >= ESS_GOOD:
        return f"There are enough independent draws: {counts}."
    return f"There are few independent draws: {counts}, where {ESS_GOOD:.0f} are wanted."


def _divergences(diverging: int, draws: int, diagonal: bool) -> str:
    if diverging == 0:
        return "No transition diverged."
    return (
        f"{diverging} of {draws} transitions diverged: part of the posterior may have been missed; "
        f"{'use sampler=low_rank, ' if diagonal else ''}raise sampler.target_accept or simplify "
        "the model."
    )
