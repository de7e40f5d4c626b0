"""D-study: the precision of designs with other numbers of items, wordings, prefixes and runs."""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd

from polbayes.config.schema import GridConfig, PrecisionConfig
from polbayes.errors import UserError, check_known
from polbayes.fit.posterior.generalizability import RUN, Plan, Scores, coefficient, error, own_plan
from polbayes.fit.posterior.intervals import summary, tails
from polbayes.fit.posterior.measurement_design import Study, average

COEFFICIENTS = ("dependability", "generalizability")
ERRORS = ("se_bias", "se_theta", "se_bias_relative", "se_theta_relative")
MEASURES = (*COEFFICIENTS, *ERRORS)
NUMBERS = ("items", "wordings", "prefixes", "runs")
# The predictor's name for the effects of each number of the plan.
_FACET_OF = {"items": "item", "wordings": "variant", "prefixes": "prefix", "runs": RUN}
# Enough for the intervals of some thousand designs.
_MOST_DRAWS = 1000
_USUAL = {
    "items": (5, 10, 15, 20, 30, 40, 60, 80, 120),
    "wordings": (1, 2, 3, 5),
    "prefixes": (1, 2, 3, 5, 10),
    "runs": (1, 2, 3),
}


def check_precision(config: PrecisionConfig) -> None:
    """Check the target precision of a study."""
    where = "analysis.precision"
    check_known("measure of precision", config.measure, known=MEASURES, where=f"{where}.measure")
    check_known("kind", config.prefixes, known=("random", "fixed"), where=f"{where}.prefixes")
    if config.measure in COEFFICIENTS and not 0 < config.wanted < 1:
        raise UserError(
            f"{where}.wanted: a {config.measure} lies between 0 and 1, not {config.wanted}."
        )


def precision(scores: Scores, measure: str, plans: Sequence[Plan | None]) -> dict[str, np.ndarray]:
    """Return the precision of the scores of some designs: ``[draw, plan]`` by name of the measure.

    On the bias scale the expected answer is approximated as linear in the predictor, with the
    mean slope of the models' answers.
    """
    at = scores.measures.index(measure)
    relative, absolute = (error(scores, measure, plans, relative=r) for r in (True, False))
    universe = scores.universe[:, at, None]
    to_theta = 1 / scores.gain[:, at, None]
    to_bias = np.sqrt(average(scores.slope[:, :, at] ** 2, axis=1))[:, None]
    return {
        "dependability": coefficient(universe, absolute),
        "generalizability": coefficient(universe, relative),
        "se_bias": np.sqrt(absolute) * to_bias,
        "se_theta": np.sqrt(absolute) * to_theta,
        "se_bias_relative": np.sqrt(relative) * to_bias,
        "se_theta_relative": np.sqrt(relative) * to_theta,
    }


def reliability(scores: Scores, study: Study, *, level: float) -> pd.DataFrame:
    """Summarise the precision of the run's design."""
    rows = []
    for at, dimension in enumerate(scores.measures):
        if np.isnan(scores.universe[:, at]).any():
            continue
        plan = own_plan(study, dimension)
        about = {"level": level, "n_models": len(study.models)} | {
            n: getattr(plan, n) for n in NUMBERS
        }
        for name, draws in precision(scores, dimension, [None]).items():
            place = {"dimension": dimension, "measure": name, "model": None}
            rows.append(place | summary(draws[:, 0], level) | about)
        by_model = sum(s.by_model for s in scores.sources if not scores.is_fixed(s))
        for k, model in enumerate(study.models):
            root = np.sqrt(np.asarray(by_model)[:, k, at])
            own = {"se_theta": root / scores.gain[:, at], "se_bias": root * scores.slope[:, k, at]}
            for name, draws in own.items():
                if np.isfinite(draws).all():
                    place = {"dimension": dimension, "measure": name, "model": model}
                    rows.append(place | summary(draws, level) | about)
    return pd.DataFrame(rows).assign(balanced=study.balanced)


def d_study(scores: Scores, study: Study, config: PrecisionConfig, *, level: float) -> pd.DataFrame:
    """Compute the precision and the cost of many designs."""
    thinned = scores.thinned(_MOST_DRAWS)
    tables = []
    for at, dimension in enumerate(scores.measures):
        if np.isnan(scores.universe[:, at]).any():
            continue
        own = {n: max(1, round(getattr(own_plan(study, dimension), n))) for n in NUMBERS}
        plans = _plans(own, config.grid, varied(scores, study))
        table = pd.DataFrame([dict(zip(NUMBERS, numbers, strict=True)) for numbers in plans])
        questions = table[list(NUMBERS)].prod(axis=1)
        table = table.assign(
            questions=questions,
            cost=questions * config.cost,
            own=[numbers == tuple(own.values()) for numbers in plans],
        )
        found = precision(thinned, dimension, [Plan(*numbers) for numbers in plans])
        for name, draws in found.items():
            table[name] = draws.mean(axis=0)
            bounds = np.quantile(draws, tails(level), axis=0)
            table[f"{name}_lower"], table[f"{name}_upper"] = bounds
        draws, upwards = found[config.measure], config.measure in COEFFICIENTS
        good = draws >= config.wanted if upwards else draws <= config.wanted
        table["p_reached"] = good.mean(axis=0)
        table.insert(0, "dimension", dimension)
        table = table.sort_values(["questions", *NUMBERS], ignore_index=True)
        tables.append(_with_cheapest(table, config.probability))
    if not tables:
        return pd.DataFrame()
    return pd.concat(tables, ignore_index=True).assign(
        level=level,
        measure=config.measure,
        wanted=config.wanted,
        probability=config.probability,
        prefixes_are=config.prefixes,
    )


def varied(scores: Scores, study: Study) -> tuple[str, ...]:
    """Return the facets with known effects, because the run varied them.

    With one wording, or without an effect of wordings in the spec, the data say nothing
    about other wordings. Fixed prefixes are all asked. Answer probabilities are
    the same in every run.
    """
    there = frozenset().union(*(s.facets for s in scores.sources[:-1] if s.planned))
    known = [n for n in ("items", "wordings", "prefixes") if _FACET_OF[n] in there]
    if scores.fixed_prefixes:
        known = [n for n in known if n != "prefixes"]
    return tuple(n for n in known if study.levels[n] > 1) + (("runs",) if study.repeatable else ())


def _with_cheapest(table: pd.DataFrame, probability: float) -> pd.DataFrame:
    """Mark the cheapest design that is precise enough."""
    good = table["p_reached"] >= probability
    best = table["p_reached"].where(good & (table["questions"] == table["questions"][good].min()))
    return table.assign(cheapest=(table.index == best.idxmax()) if good.any() else False)


def _plans(own: dict[str, int], grid: GridConfig, known: Iterable[str]) -> list[tuple[int, ...]]:
    """Combine the numbers to compare, and vary those of the run one at a time."""
    choices = {}
    for name in NUMBERS:
        usual = set(getattr(grid, name) or _USUAL[name])
        choices[name] = usual | {own[name]} if name in known else {own[name]}
    found = {tuple(numbers) for numbers in product(*choices.values())}
    for name in known:
        for number in (max(1, own[name] // 2), 2 * own[name], 4 * own[name]):
            found.add(tuple((own | {name: number}).values()))
    return sorted(found)
