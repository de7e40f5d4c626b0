"""Agreement of judges on the alignment: kappa on two grids, Fleiss' kappa, intraclass correlations.

PoliticsBench divides every judge's weighted sum into 11 equal bins over [-24, 24] and clips the
rest. The sum has the range [-100, 100], so most clear answers fall into the two outer bins and
kappa says little more than that judges agree on the side. The grid ``scale`` has 11 equal bins over
the whole range; ``published`` is theirs, for comparison, and ``share_outer`` is the proportion in
the two outer bins of each.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.errors import UserError, check_known
from polbayes.instrument.values import WEIGHTS, alignment_score
from polbayes.measures.kappa import fleiss_kappa, quadratic_kappa
from polbayes.measures.measure import INTERVAL
from polbayes.measures.resampling import Bootstrap, item_weights, percentile_interval
from polbayes.roleplay.measures.data import COMMITMENT, UNIT_DIMS, check_ratings
from polbayes.roleplay.measures.icc import intraclass_correlations

# Odd, so that one bin lies around 0.
_BINS = 11
# Half the width of each grid, in points of the alignment.
_GRIDS: Mapping[str, float] = {"scale": 100.0, "published": 24.0}
_COLUMNS = (
    *("grid", "first", "second", "measure", *INTERVAL),
    *("n", "n_excluded", "n_scenarios", "level", "note"),
)


def bin_scores(scores: np.ndarray, bound: float) -> np.ndarray:
    """Put scores into equal bins over [-bound, bound], those beyond into the outer bins."""
    place = np.floor((np.asarray(scores) + bound) * _BINS / (2 * bound))
    return np.clip(place, 0, _BINS - 1).astype(np.int64)


def judge_agreement(
    data: xr.Dataset,
    *,
    wordings: Sequence[str] = (),
    draws: int = 2_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute how far judges agree on the alignment of a unit.

    Parameters
    ----------
    data
        A dataset of ratings.
    wordings
        Only units of these wordings, such as ``("original",)`` as published; by default all.
    draws, level, seed
        Bootstrap resamples of scenarios, with all their units; coverage in (0, 1); and seed.

    Returns
    -------
    pandas.DataFrame
        One row per ``grid`` (``scale``, ``published``; empty where there is none), pair of judges
        (``first``, ``second``; ``all`` for all of them) and ``measure``: ``quadratic_kappa``,
        ``fleiss_kappa`` and ``share_outer``, and ``variance``, the mean variance between judges in
        squared points of alignment. ``n`` units that all judges concerned have rated completely.
    """
    bootstrap = Bootstrap(draws, level, seed)
    scores, scenarios = _scores(data, wordings)
    judges = [str(j) for j in data["judge"].values]
    if len(judges) < 2:
        raise UserError("ratings: agreement needs at least two judges.")
    rows: list[dict[str, Any]] = []
    for grid, bound in _GRIDS.items():
        for pair in combinations(range(len(judges)), 2):
            sample = _Sample(scores[:, list(pair)], scenarios, bootstrap)
            names = (grid, judges[pair[0]], judges[pair[1]])
            rows.append(_row(names, "quadratic_kappa", _mean_kappa(sample, bound), sample))
        sample = _Sample(scores, scenarios, bootstrap)
        for measure, values in (
            ("quadratic_kappa", _mean_kappa(sample, bound)),
            ("fleiss_kappa", _fleiss(sample, bound)),
            ("share_outer", _share_outer(sample, bound)),
        ):
            rows.append(_row((grid, "all", "all"), measure, values, sample))
    rows.append(_row(("", "all", "all"), "variance", _variance(sample), sample))
    return pd.DataFrame([{**row, "level": level} for row in rows], columns=list(_COLUMNS))


def judge_icc(data: xr.Dataset, *, level: float = 0.95) -> pd.DataFrame:
    """Compute intraclass correlations of the judges' alignments, values and commitment.

    Parameters
    ----------
    data
        A dataset of ratings.
    level
        Coverage of the intervals, in (0, 1); too narrow where scenarios differ.

    Returns
    -------
    pandas.DataFrame
        From `polbayes.roleplay.measures.icc.intraclass_correlations`, for every ``rated``:
        ``alignment``, each of the ten values, and ``commitment``.
    """
    scores, _ = _scores(data, ())
    rated = {"alignment": scores}
    for value in WEIGHTS:
        rated[value] = _by_judge(data["rating"].sel(value=value, drop=True))
    rated[COMMITMENT] = _by_judge(data[COMMITMENT])
    tables = []
    for name, ratings in rated.items():
        asked = ratings[~np.isnan(ratings).all(axis=1)]
        table = intraclass_correlations(asked, level=level)
        table.insert(0, "rated", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _of_wordings(data: xr.Dataset, wordings: Sequence[str]) -> xr.Dataset:
    check_ratings(data)
    known = [str(w) for w in data["wording"].values]
    check_known("wording", *wordings, known=known, where="wordings")
    return data.sel(wording=list(wordings)) if wordings else data


def _by_judge(values: xr.DataArray) -> np.ndarray:
    """Arrange values over ``unit, judge``."""
    values = values.transpose(*UNIT_DIMS, "judge")
    return np.asarray(values.values).reshape(-1, values.sizes["judge"])


def _scores(data: xr.Dataset, wordings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return each judge's alignment over ``unit, judge``, and the scenario of each unit."""
    scores = alignment_score(_of_wordings(data, wordings)["rating"])
    names = scores["scenario"].astype(str).broadcast_like(scores.isel(judge=0, drop=True))
    flat = names.transpose(*UNIT_DIMS).values.reshape(-1)
    return _by_judge(scores), flat


class _Sample:
    """Units that all judges have rated, and how often each occurs in every resample."""

    def __init__(self, scores: np.ndarray, scenarios: np.ndarray, bootstrap: Bootstrap) -> None:
        there = ~np.isnan(scores)
        complete = there.all(axis=1)
        self.scores = scores[complete]
        self.n_excluded = int((there.any(axis=1) & ~complete).sum())
        self.level = bootstrap.level
        names, which = np.unique(scenarios[complete], return_inverse=True)
        self.n_scenarios = len(names)
        drawn = np.ones((1, len(self.scores)))
        if len(names) > 1:
            weights = item_weights(names.tolist(), bootstrap.draws, bootstrap.seed)
            drawn = np.vstack([drawn, weights[:, which]])
        # Over ``draw, unit``; the first row is the sample itself.
        self.times = drawn


def _mean_kappa(sample: _Sample, bound: float) -> np.ndarray:
    """Return over draws the quadratic-weighted kappa, averaged over the pairs of judges."""
    binned = bin_scores(sample.scores, bound)
    found = []
    for a, b in combinations(range(binned.shape[1]), 2):
        cells, which = np.unique(binned[:, a] * _BINS + binned[:, b], return_inverse=True)
        counted = sample.times @ np.eye(len(cells))[which]
        tables = np.zeros((len(sample.times), _BINS * _BINS))
        tables[:, cells] = counted
        found.append(quadratic_kappa(tables.reshape(-1, _BINS, _BINS)))
    return np.mean(found, axis=0)


def _fleiss(sample: _Sample, bound: float) -> np.ndarray:
    binned = bin_scores(sample.scores, bound)
    if not len(binned):
        return np.full(len(sample.times), np.nan)
    counts = (binned[:, :, None] == np.arange(_BINS)).sum(axis=1)
    return fleiss_kappa(counts, sample.times)


def _share_outer(sample: _Sample, bound: float) -> np.ndarray:
    binned = bin_scores(sample.scores, bound)
    return _average(((binned == 0) | (binned == _BINS - 1)).mean(axis=1), sample)


def _variance(sample: _Sample) -> np.ndarray:
    if not len(sample.scores):
        return np.full(len(sample.times), np.nan)
    return _average(sample.scores.var(axis=1, ddof=1), sample)


def _average(values: np.ndarray, sample: _Sample) -> np.ndarray:
    if not len(values):
        return np.full(len(sample.times), np.nan)
    return np.asarray(sample.times @ values / sample.times.sum(axis=1))


def _row(
    names: tuple[str, str, str], measure: str, values: np.ndarray, sample: _Sample
) -> dict[str, Any]:
    lower, upper, _ = percentile_interval(values[1:], sample.level)
    note = "" if len(sample.scores) else "no unit was rated by all of them"
    if not note and np.isnan(values[0]):
        note = "all fall into one bin: chance would agree as often"
    elif not note and sample.n_scenarios < 2:
        note = "only one scenario: no interval"
    return {
        **dict(zip(("grid", "first", "second"), names, strict=True)),
        "measure": measure,
        "estimate": float(values[0]),
        "lower": np.nan if note else lower,
        "upper": np.nan if note else upper,
        "n": len(sample.scores),
        "n_excluded": sample.n_excluded,
        "n_scenarios": sample.n_scenarios,
        "note": note,
    }
