"""The precision and the cost of designs, from a pilot's D-study."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from polbayes.config.schema import PlanConfig
from polbayes.fit.posterior.d_study import NUMBERS
from polbayes.fit.posterior.generalizability import Plan

# What can be wanted of a design: two widths, and two probabilities.
MEASURES = ("width", "difference", "order", "power")


@dataclass(frozen=True)
class Price:
    """What one question costs a model: tokens of it and of its answer, and money."""

    tokens: float = np.nan
    money: float = np.nan


def designs(
    d_study: pd.DataFrame,
    wanted: PlanConfig,
    *,
    available: Mapping[str, int],
    prices: Sequence[Price],
    power: Callable[[Plan], np.ndarray] | None = None,
) -> pd.DataFrame:
    """Compute what every design of a D-study reaches, and what it costs.

    Parameters
    ----------
    d_study
        The table of a run (`polbayes.fit.posterior.d_study.d_study`), whose intervals have the
        probability of those that are planned.
    wanted
        What is wanted; at least one of `MEASURES`.
    available
        By ``items, wordings, prefixes`` how many the questionnaire of the pilot has; of items, on
        the dimension with the fewest.
    prices
        One for each model to be asked.
    power
        Returns ``[draw]`` the chance of finding the effect of a prefix, for numbers of questions of
        which the items are those of all dimensions; None if that is not wanted.

    Returns
    -------
    pandas.DataFrame
        One row a design, the cheapest first: ``items, wordings, prefixes, runs``, the number of
        ``questions`` to all models on all dimensions, ``tokens``, ``cost``; ``width`` of the
        interval of a position and of a ``difference`` of two models, on the dimension where it is
        widest; ``order``, the probability that two models ``wanted.apart`` come out in the right
        order; ``power``, the chance that the effect of a prefix is found; each with its end
        ``_worst`` of the D-study's interval; whether it is ``reached`` with the mean and ``surely``
        with the worst, ``affordable``, and ``there``, made of what the pilot's questionnaire has.
    """
    from scipy.stats import norm

    level = float(d_study["level"].iloc[0])
    z = float(norm.ppf((1 + level) / 2))
    rows = []
    for numbers, table in d_study.groupby(list(NUMBERS), sort=False):
        if table["dimension"].nunique() < d_study["dimension"].nunique():
            continue
        row: dict[str, float] = dict(zip(NUMBERS, map(int, numbers), strict=True))
        row["questions"] = int(table["questions"].sum()) * len(prices)
        for end, column in (("", ""), ("_worst", "_upper")):
            own = float(table[f"se_{wanted.scale}{column}"].max())
            between = np.sqrt(2) * float(table[f"se_{wanted.scale}_relative{column}"].max())
            row[f"width{end}"] = 2 * z * own
            row[f"difference{end}"] = 2 * z * between
            row[f"order{end}"] = float(norm.cdf(wanted.apart / between))
        if power is not None:
            sizes = {name: float(row[name]) for name in NUMBERS}
            sizes["items"] *= table["dimension"].nunique()
            chances = power(Plan(**sizes))
            row["power"] = float(chances.mean())
            row["power_worst"] = float(np.quantile(chances, (1 - level) / 2))
        rows.append(row)
    found = pd.DataFrame(rows)
    each = found["questions"] / len(prices)
    for name, value in (("tokens", "tokens"), ("cost", "money")):
        found[name] = each * sum(getattr(price, value) for price in prices)
    found = judged(found, wanted)
    found["affordable"] = _within(found["questions"], wanted.questions) & _within(
        found["cost"], wanted.budget
    )
    found["there"] = np.all([found[n] <= available[n] for n in available], axis=0)
    return found.sort_values(["questions", *NUMBERS], ignore_index=True)


def judged(found: pd.DataFrame, wanted: PlanConfig) -> pd.DataFrame:
    """Say which designs reach what is wanted, and which do surely.

    The worst probability is at most the probable one: a few draws with hardly a chance pull their
    mean below the end of the interval, and a simulated probability of 0 has no probit.
    """
    for name in ("order", "power"):
        if name in found:
            worst = np.minimum(found[f"{name}_worst"], found[name])
            found = found.assign(**{f"{name}_worst": worst})
    return found.assign(
        reached=_reaches(found, wanted, ""), surely=_reaches(found, wanted, "_worst")
    )


def _reaches(found: pd.DataFrame, wanted: PlanConfig, end: str) -> pd.Series:
    reached = pd.Series(True, index=found.index)
    for name in ("width", "difference"):
        if (most := getattr(wanted, name)) is not None:
            reached &= found[f"{name}{end}"] <= most
    for name in ("order", "power"):
        if (least := getattr(wanted, name)) is not None:
            reached &= found[f"{name}{end}"] >= least
    return reached


def _within(values: pd.Series, most: float | None) -> pd.Series:
    return pd.Series(True, index=values.index) if most is None else values <= most


def chosen(found: pd.DataFrame, *, there: bool = False) -> pd.Series | None:
    """Return the cheapest design that reaches what is wanted, within the limits.

    With `there`, it is made of what the pilot's questionnaire has.
    """
    good = found[found["reached"] & found["affordable"] & (found["there"] | (not there))]
    return None if good.empty else good.iloc[0]


def nearest(found: pd.DataFrame, wanted: PlanConfig, *, there: bool = False) -> pd.Series | None:
    """Return the affordable design that comes nearest to what is wanted; None if there is none.

    With `there`, it is made of what the pilot's questionnaire has.
    """
    left = found[found["affordable"] & (found["there"] | (not there))]
    if left.empty:
        return None
    gaps = [
        left[name] / most
        for name in ("width", "difference")
        if (most := getattr(wanted, name)) is not None
    ]
    gaps += [
        (1 - left[name]) / (1 - least)
        for name in ("order", "power")
        if (least := getattr(wanted, name)) is not None
    ]
    return left.iloc[int(np.argmin(np.max(gaps, axis=0)))]
