"""Tables of the many-facet model's results on models and judges, one row per quantity."""

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.fit.posterior.intervals import interval_table
from polbayes.roleplay.fit.d_study import facet_d_study
from polbayes.roleplay.fit.fit import FacetFit

# Quantities of every judge, and their neutral values.
JUDGED = {"severity": 0.0, "tilt": 0.0, "consistency": 1.0, "range_use": 1.0}
_OF_SELVES = {"self_level": 0.0, "self_tilt": 0.0}


def facet_tables(fit: FacetFit, *, level: float = 0.9) -> dict[str, pd.DataFrame]:
    """Summarise a fit, with ``estimate`` (mean), ``sd``, ``lower``, ``upper`` and ``level``.

    - ``facet_profiles``: by ``model, stage, value``, the expected rating by a fair judge; if values
      have weights it is standardised, from -10 to 10 on a scale of 20, and ``positive`` is the side
      of the alignment on which a strong value counts;
    - ``facet_alignment``: by ``model, source``, the score of these profiles, on [-100, 100] if
      values have weights; ``positive`` says what is positive, ``p_positive`` its probability;
    - ``facet_ranks``, ``facet_pairs``: probabilities of the order, rank 1 being the lowest score;
    - ``facet_judges``: by ``judge, effect`` (`JUDGED` and, for judges that rate themselves,
      `_OF_SELVES`), with the ``neutral`` value and the probability ``p_above`` it;
    - ``facet_leaning``: by ``judge, value``, points above the panel's mean;
    - ``facet_judge_by_model``: what a judge adds to a model's score beyond all this, in ratings of
      itself, too;
    - ``facet_scales``: by ``term, kind`` the standard deviations, in points;
    - ``facet_d_study``: see `polbayes.roleplay.fit.d_study`.
    """
    posterior = fit.posterior
    tables = {
        "facet_profiles": _profiles(fit, level),
        "facet_alignment": _scores(fit, level),
        "facet_ranks": ranks(posterior["score"]),
        "facet_pairs": pairs(posterior["score"]),
        "facet_judges": _judges(posterior, level),
        "facet_scales": _scales(posterior, level),
    }
    if "leaning" in posterior:
        tables["facet_leaning"] = interval_table(posterior["leaning"], level)
    if "judge_model_tilt" in posterior:
        tables["facet_judge_by_model"] = interval_table(posterior["judge_model_tilt"], level)
    studied = facet_d_study(fit, level=level)
    if not studied.empty:
        tables["facet_d_study"] = studied
    return tables


def _profiles(fit: FacetFit, level: float) -> pd.DataFrame:
    rated = fit.rated
    if rated.weights is None:
        return interval_table(fit.posterior["fair"], level)
    table = interval_table(fit.posterior["fair"] - rated.middle, level)
    sides = {1.0: rated.axis, -1.0: "conservative", 0.0: ""}
    side = dict(zip(rated.names["value"], np.sign(rated.weights), strict=True))
    return table.assign(positive=[sides[side[value]] for value in table["value"]])


def _scores(fit: FacetFit, level: float) -> pd.DataFrame:
    table = interval_table(fit.posterior["score"], level)
    if fit.rated.weights is None:
        return table
    above = (fit.posterior["score"] > 0).mean(("chain", "draw")).to_numpy().ravel()
    return table.assign(p_positive=above, positive=fit.rated.axis)


def ranks(scores: xr.DataArray) -> pd.DataFrame:
    """Return the probability of each rank of each model by source; rank 1 is the lowest score."""
    models, rows = scores["model"].values, []
    for source in scores["source"].values:
        values = scores.sel(source=source).transpose("chain", "draw", "model").to_numpy()
        place = values.argsort(axis=-1).argsort(axis=-1) + 1
        for k, model in enumerate(models):
            share = np.bincount(place[..., k].ravel(), minlength=len(models) + 1)[1:]
            for rank, count in enumerate(share, start=1):
                rows.append((model, source, rank, count / share.sum()))
    return pd.DataFrame(rows, columns=["model", "source", "rank", "probability"])


def pairs(scores: xr.DataArray) -> pd.DataFrame:
    """Return the probability that one model's score is lower than another's, for ordered pairs."""
    rows = []
    for source in scores["source"].values:
        of_source = scores.sel(source=source)
        for a in scores["model"].values:
            for b in scores["model"].values:
                if a != b:
                    lower = of_source.sel(model=a) < of_source.sel(model=b)
                    rows.append((a, b, source, float(lower.mean())))
    return pd.DataFrame(rows, columns=["model_a", "model_b", "source", "p_lower"])


def _judges(posterior: xr.Dataset, level: float) -> pd.DataFrame:
    tables = []
    for name, neutral in {**JUDGED, **_OF_SELVES}.items():
        if name not in posterior:
            continue
        table = interval_table(posterior[name], level).rename(columns={"self": "judge"})
        table.insert(1, "effect", name)
        above = (posterior[name] > neutral).mean(("chain", "draw")).to_numpy()
        tables.append(table.assign(neutral=neutral, p_above=above))
    return pd.concat(tables, ignore_index=True)


def _scales(posterior: xr.Dataset, level: float) -> pd.DataFrame:
    table = interval_table(posterior["sd"], level)
    parts = table["effect"].str.rsplit(":", n=1)
    return table.assign(term=parts.str[0], kind=parts.str[1]).drop(columns="effect")[
        ["term", "kind", "estimate", "sd", "lower", "upper", "level"]
    ]
