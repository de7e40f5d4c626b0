"""The tables of the stage `measure`: measures of ratings, and counts of what is usable."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import MeasureConfig
from polbayes.instrument.scenarios import TWINS
from polbayes.roleplay import measures as measures
from polbayes.roleplay.measures.data import UNIT_DIMS
from polbayes.roleplay.parts import PARTS
from polbayes.roleplay.rated import RATING_STATUS
from polbayes.roleplay.transcripts import STATUS

# Random sets of weights, as published.
_WEIGHTS = 1_000


def tables(
    transcripts: xr.Dataset,
    ratings: xr.Dataset,
    checks: xr.Dataset | None,
    settings: MeasureConfig,
    *,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Compute every measure that the ratings allow, and counts of turns and replies by outcome.

    ``symmetry`` needs both twins, ``judge_effects``, ``judge_agreement`` and ``judge_icc`` several
    judges, ``alignment_without_self`` one that rated itself.
    """
    how: dict[str, Any] = {"draws": settings.bootstrap, "level": settings.level, "seed": seed}
    found = {
        "alignment": measures.alignment(ratings, **how),
        "profiles": measures.profiles(ratings, **how),
        "stage_curves": measures.stage_curves(ratings, **how),
        "ablation": measures.ablation(ratings, **how),
        "wording_spread": measures.wording_spread(ratings, **how),
        "weight_sensitivity": _by_source(ratings, settings, seed),
        "turns": turns(transcripts),
        "judge_replies": replies(ratings),
        "unusable_ratings": unusable(ratings),
    }
    if set(TWINS) <= set(ratings["twin"].values.tolist()):
        found["symmetry"] = measures.twin_symmetry(ratings, **how)
    if ratings.sizes["judge"] > 1:
        found["judge_effects"] = measures.judge_effects(ratings, **how)
        found["judge_icc"] = measures.judge_icc(ratings, level=settings.level)
        found["judge_agreement"] = _agreement(ratings, {**how, "draws": min(how["draws"], 2000)})
    if checks is not None:
        found["judge_checks"] = measures.judge_checks(checks, **how)
    own = ratings["self_judged"]
    if bool(own.any()):
        weights = (1 - own).astype(np.float64)
        found["alignment_without_self"] = measures.alignment(ratings, judge_weights=weights, **how)
    return found


def _by_source(ratings: xr.Dataset, settings: MeasureConfig, seed: int) -> pd.DataFrame:
    draws = min(settings.bootstrap, _WEIGHTS)
    how: dict[str, Any] = {"draws": draws, "level": settings.level, "seed": seed}
    parts = [
        measures.weight_sensitivity(ratings, source=source, **how).assign(source=source)
        for source in ("reflection", "stages")
    ]
    return pd.concat(parts, ignore_index=True)


def _agreement(ratings: xr.Dataset, how: dict[str, Any]) -> pd.DataFrame:
    parts = [measures.judge_agreement(ratings, **how).assign(wordings="all")]
    original = ("original",)
    if set(original) < set(ratings["wording"].values.tolist()):
        published = measures.judge_agreement(ratings, wordings=original, **how)
        parts.append(published.assign(wordings="original"))
    return pd.concat(parts, ignore_index=True)


def turns(transcripts: xr.Dataset) -> pd.DataFrame:
    """Count the turns by outcome."""
    rows = []
    status = transcripts["status"]
    texts = status.isin([STATUS[s] for s in ("ok", "refused", "declined", "invalid")])
    which = {name: status == code for name, code in STATUS.items()}
    which["truncated"] = transcripts["truncated"] == 1
    which |= {
        name: texts & (transcripts["parts"] == code)
        for name, code in PARTS.items()
        if name != "both"
    }
    others = tuple(dim for dim in UNIT_DIMS if dim not in ("model", "stage"))
    of = int(np.prod([transcripts.sizes[dim] for dim in others]))
    for name, there in which.items():
        counts = there.sum(others).transpose("model", "stage")
        for m, model in enumerate(counts["model"].values.tolist()):
            for u, unit in enumerate(counts["stage"].values.tolist()):
                n = int(counts.values[m, u])
                rows.append({"model": model, "stage": unit, "what": name, "n": n, "of": of})
    return pd.DataFrame(rows)


def replies(ratings: xr.Dataset) -> pd.DataFrame:
    """Count the judges' replies, including checks, by ``judge``, ``attempt`` and ``outcome``."""
    table = ratings["outcomes"].to_series().rename("n").reset_index()
    return table[(table["n"] > 0)].reset_index(drop=True)


def unusable(ratings: xr.Dataset) -> pd.DataFrame:
    """Count the ratings unusable after all attempts, by judge, value and reason."""
    rows = []
    sources: list[tuple[str, xr.DataArray]] = [
        (str(v), ratings["rating_status"].sel(value=v)) for v in ratings["value"].values
    ]
    sources.append(("commitment", ratings["commitment_status"]))
    for value, codes in sources:
        asked = (codes != RATING_STATUS["nothing_to_rate"]).sum(UNIT_DIMS)
        for status, code in RATING_STATUS.items():
            if status in ("ok", "nothing_to_rate"):
                continue
            counts = (codes == code).sum(UNIT_DIMS)
            for j, judge in enumerate(counts["judge"].values.tolist()):
                if n := int(counts.values[j]):
                    of = int(asked.values[j])
                    rows.append(
                        {"judge": judge, "value": value, "status": status, "n": n, "of": of}
                    )
    return pd.DataFrame(rows, columns=["judge", "value", "status", "n", "of"])
