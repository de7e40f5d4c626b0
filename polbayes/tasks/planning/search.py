"""Simulations of the designs that matter, and what they say of the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from polbayes.config.schema import PlanConfig
from polbayes.tasks.planning.designs import MEASURES, chosen, judged, nearest
from polbayes.tasks.planning.simulation import Outcome

# Studies of a design at least, and the errors that are small enough: relative ones of widths, and
# others of probabilities.
FEWEST, _OF_WIDTHS, _OF_CHANCES = 10, 0.02, 0.03
# Simulated designs at most: after so many, what they say of the others has to do.
_MOST = 5
# Questions of the largest design that is simulated: a study of it takes ten seconds to fit.
_LARGEST = 30_000
# Probabilities are compared on the probit scale, where these are their ends.
_LEAST = 1e-4


@dataclass(frozen=True)
class Reach:
    """What simulated studies of a design reach."""

    value: Mapping[str, float]  # by measure, as in the table of designs
    error: Mapping[str, float]  # Monte Carlo standard errors
    coverage: float  # share of intervals of positions that have the true one
    studies: int


def reach(outcomes: Sequence[Outcome], wanted: PlanConfig, found: Sequence[Outcome]) -> Reach:
    """Summarise simulated studies.

    Parameters
    ----------
    outcomes
        Of studies.
    wanted
        How far apart two models are whose order is to be right.
    found
        Of studies with planted effects of prefixes, if any.
    """
    value, error = {}, {}
    widths = {
        "width": np.array([(one.upper - one.lower).mean(axis=0) for one in outcomes]),
        "difference": np.array([one.between.mean(axis=0) for one in outcomes if one.between.size]),
    }
    for name, by_study in widths.items():
        if len(by_study):
            means = by_study.mean(axis=0)
            worst = int(np.argmax(means))
            value[name] = float(means[worst])
            error[name] = float(by_study[:, worst].std(ddof=1) / np.sqrt(len(by_study)))
    if len(widths["difference"]):
        value["order"], error["order"] = _order(outcomes, wanted.apart)
    if found:
        shares = np.array([one.found.mean() for one in found])
        # Where all or none were found, at least as uncertain as with one more of either kind.
        mean = (shares.sum() + 1) / (len(shares) + 2)
        least = np.sqrt(mean * (1 - mean) / (len(shares) * len(found[0].found)))
        value["power"] = float(shares.mean())
        error["power"] = float(max(shares.std(ddof=1) / np.sqrt(len(shares)), least))
    inside = [((one.lower <= one.true) & (one.true <= one.upper)).mean() for one in outcomes]
    return Reach(value, error, float(np.mean(inside)), len(outcomes))


def _order(outcomes: Sequence[Outcome], apart: float) -> tuple[float, float]:
    """Return the probability of a right order, and its error by the jackknife over studies.

    Estimated differences are regressed on true ones, through the origin, as every pair has two
    orders; their errors around the line are normal.
    """
    sums = np.array([_sums(one) for one in outcomes])

    def of(total: np.ndarray) -> float:
        products, squares, estimated, count = total
        slope = products / squares
        variance = (estimated - slope * products) / count
        return float(norm.cdf(slope * apart / np.sqrt(max(variance, 1e-12))))

    total, number = sums.sum(axis=0), len(sums)
    without = np.array([of(total - one) for one in sums])
    return of(total), float(np.sqrt((number - 1) * without.var()))


def _sums(one: Outcome) -> tuple[float, float, float, int]:
    """Return the sums over pairs of models that a regression through the origin takes."""
    a, b = np.triu_indices(len(one.true), 1)
    true, estimated = one.true[a] - one.true[b], one.estimate[a] - one.estimate[b]
    products, squares = float((true * estimated).sum()), float((true**2).sum())
    return products, squares, float((estimated**2).sum()), true.size


def settled(found: Reach, wanted: PlanConfig) -> bool:
    """Tell whether all that is wanted is known well enough."""
    for name, error in found.error.items():
        if getattr(wanted, name) is None:
            continue
        small = _OF_WIDTHS * found.value[name] if name in ("width", "difference") else _OF_CHANCES
        if error > small:
            return False
    return True


def searched(
    found: pd.DataFrame,
    wanted: PlanConfig,
    simulate: Callable[[pd.Series], Reach] | None,
) -> pd.DataFrame:
    """Simulate the cheapest design that seems to reach what is wanted, until it does.

    What simulations say of a design corrects the D-study's numbers of the others: widths by the
    ratio, probabilities by the difference on the probit scale, of the simulated design whose number
    of questions is closest. The cheapest of the corrected designs is simulated next.

    Parameters
    ----------
    found
        Designs, from `polbayes.tasks.planning.designs.designs`.
    wanted
        What is wanted.
    simulate
        Simulates a design; None if the D-study alone decides.

    Returns
    -------
    pandas.DataFrame
        `found` with ``by`` (``d_study``, ``simulation``, or ``corrected``), what the D-study said
        (``d_study_width`` and so on), the number of ``studies``, ``coverage``, and Monte Carlo
        errors (``width_error`` and so on) of the simulated designs.
    """
    known: dict[int, Reach] = {}
    table = _corrected(found, wanted, known)
    if simulate is None:
        return table
    for there in (False, True):
        for _ in range(_MOST):
            best = chosen(table, there=there)
            if best is None and not known:
                cheap = table[table["questions"] <= table["questions"].median()]
                best = nearest(cheap, wanted, there=there)
            if best is None or best.name in known or best["questions"] > _LARGEST:
                break
            known[int(best.name)] = simulate(best)
            table = _corrected(found, wanted, known)
        if wanted.write is None:
            break
    return table


def _corrected(found: pd.DataFrame, wanted: PlanConfig, known: Mapping[int, Reach]) -> pd.DataFrame:
    """Return designs with what simulations say of them, or of the one most like them."""
    table = found.assign(by="d_study", studies=0, coverage=np.nan)
    measures = [name for name in MEASURES if name in found]
    for name in measures:
        table[f"d_study_{name}"] = found[name]
        table[f"{name}_error"] = np.nan
    if not known:
        return table
    size = np.log(found["questions"].to_numpy(dtype=float))
    at = np.array([*known])
    like = at[np.argmin(np.abs(size[:, None] - size[at]), axis=1)]
    table["by"] = "corrected"
    for name in measures:
        if all(name in one.value for one in known.values()):
            _correct(table, found, name, like, {n: one.value[name] for n, one in known.items()})
    for n, one in known.items():
        table.loc[n, ["by", "studies", "coverage"]] = "simulation", one.studies, one.coverage
        for name, error in one.error.items():
            if name in measures:
                table.loc[n, f"{name}_error"] = error
    return judged(table, wanted)


def _correct(
    table: pd.DataFrame,
    found: pd.DataFrame,
    name: str,
    like: np.ndarray,
    simulated: Mapping[int, float],
) -> None:
    """Correct a measure, and its worst end, by that of the simulated designs most like these."""
    got = np.array([simulated[int(n)] for n in like])
    said = found[name].to_numpy()[like]
    for column in (name, f"{name}_worst"):
        values = found[column].to_numpy(dtype=float)
        if name in ("width", "difference"):
            table[column] = values * got / said
        else:
            table[column] = norm.cdf(_probit(values) + _probit(got) - _probit(said))
    for n, value in simulated.items():
        table.loc[n, name] = value


def _probit(chance: np.ndarray) -> np.ndarray:
    return np.asarray(norm.ppf(np.clip(chance, _LEAST, 1 - _LEAST)))
