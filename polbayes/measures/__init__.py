"""The literature's classical measures, as tidy tables computed from coded responses.

Every table has one row per group and quantity, with estimate, interval, the number of
answers it rests on and of those left out, and a note where a number is missing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polbayes.coding.levels import STRONG
from polbayes.config.schema import FeatureConfig
from polbayes.features import to_measure
from polbayes.measures.agreement import agreement
from polbayes.measures.bias import bias
from polbayes.measures.compass import compass
from polbayes.measures.consistency import consistency, has_pairs
from polbayes.measures.contrasts import bias_difference, reformulation_robustness
from polbayes.measures.kappa import annotator_agreement
from polbayes.measures.paraphrases import (
    compare_paraphrase_sets,
    distributions,
    divergent_pairs,
    item_instability,
    wordings_of_sets,
)
from polbayes.measures.prefix_shift import prefix_shift
from polbayes.measures.ranks import rank_agreement
from polbayes.measures.stability import stability
from polbayes.measures.text_features import feature_correlations, wording_features
from polbayes.measures.validity import validity

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# Beyond, ids only number the paraphrases of an item, and have nothing in common across items.
MANY_WORDINGS = 50
# Every two wordings are compared up to this number.
MANY_PAIRED = 12

__all__ = [
    "agreement",
    "annotator_agreement",
    "bias",
    "bias_difference",
    "compare_paraphrase_sets",
    "compass",
    "consistency",
    "distributions",
    "divergent_pairs",
    "feature_correlations",
    "item_instability",
    "measure_all",
    "prefix_shift",
    "rank_agreement",
    "reformulation_robustness",
    "stability",
    "validity",
    "wording_features",
]


def measure_all(
    data: "xr.Dataset",
    *,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
    strong: float = STRONG,
    paraphrase_sets: Mapping[str, Sequence[str]] | None = None,
    reformulation_sets: Mapping[str, Sequence[str]] | None = None,
    features: FeatureConfig | None = None,
) -> "dict[str, pd.DataFrame]":
    """Compute every classical measure that the dataset allows.

    Parameters
    ----------
    data
        A coded response dataset.
    draws, level, seed
        Bootstrap resamples, coverage of the intervals in (0, 1), and seed.
    strong
        When an answer is strong, see `polbayes.coding.levels.four_levels`.
    paraphrase_sets
        Two sets of wordings to compare, see
        `polbayes.measures.paraphrases.compare_paraphrase_sets`.
    reformulation_sets
        Two such sets whose bias is compared, see
        `polbayes.measures.contrasts.reformulation_robustness`.
    features
        Which text features of the wordings, and how, see `polbayes.features.to_measure`; by
        default none.

    Returns
    -------
    dict
        Tables by name: ``bias``, ``bias_by_prefix``, ``bias_by_kind``, ``validity``,
        ``validity_by_prefix``, ``agreement``; ``bias_by_variant`` where there are no more
        than `MANY_WORDINGS` ids of wordings; ``bias_by_instrument`` where there are
        several instruments, and ``bias_by_prefix_and_instrument`` where there are several
        prefixes, too; ``reformulation_robustness`` given two sets; ``consistency`` where there
        are wordings beside an original and ``consistency_by_item`` where these are no more than
        `MANY_WORDINGS`; ``compass`` where items have points; ``prefix_shift`` where there are
        several prefixes, ``bias_difference_by_instrument`` where there are several instruments;
        ``rank_agreement_by_prefix``, ``_by_variant`` (``_by_kind`` where there are more than
        `MANY_PAIRED` ids) and ``_by_instrument`` where there are several of these and of
        models; ``stability``, ``stability_by_item``, ``distributions``, ``divergent_pairs``,
        ``item_instability``, ``validity_by_item`` and, given two sets, ``paraphrase_sets``
        where there is `r_plus`; ``text_features`` and ``feature_correlations`` where
        `features` has some.

    Raises
    ------
    UserError
        If the dataset is not coded or a setting is out of range.
    """
    settings: dict[str, Any] = {"draws": draws, "level": level, "seed": seed}
    groupings = {"bias": [], "bias_by_prefix": ["prefix"], "bias_by_kind": ["kind"]}
    if data.sizes["variant"] <= MANY_WORDINGS:
        groupings["bias_by_variant"] = ["variant"]
    if len(set(data["instrument"].values.tolist())) > 1:
        groupings["bias_by_instrument"] = ["instrument"]
    tables = {
        name: bias(data, by=("model", *extra, "dimension"), **settings)
        for name, extra in groupings.items()
    }
    tables["validity"] = validity(data, **settings)
    tables["validity_by_prefix"] = validity(data, by=("model", "prefix"), **settings)
    tables["agreement"] = agreement(data, **settings)
    tables |= _of_wordings(data, {**settings, "strong": strong})
    tables |= _of_ways_of_asking(data, settings)
    if reformulation_sets:
        tables["reformulation_robustness"] = _of_sets(data, reformulation_sets, settings)
    if "r_plus" in data:
        tables["stability"] = stability(data, **settings)
        tables["stability_by_item"] = stability(data, by=("model", "item"), **settings)
        tables |= _of_paraphrases(data, paraphrase_sets, settings)
    if features is not None:
        tables |= _of_texts(data, features, settings)
    return tables


def _of_texts(
    data: "xr.Dataset", features: FeatureConfig, settings: dict[str, Any]
) -> "dict[str, pd.DataFrame]":
    """Describe the wordings themselves."""
    names = to_measure(features, probabilities="r_plus" in data)
    if not names:
        return {}
    table = wording_features(data, names, features)
    tables = {"text_features": table}
    if len(names) > 1:
        tables["feature_correlations"] = feature_correlations(table, **settings)
    return tables


def _of_wordings(data: "xr.Dataset", settings: dict[str, Any]) -> "dict[str, pd.DataFrame]":
    """Compare wordings with the original, as far as there are any."""
    tables = {}
    if has_pairs(data):
        tables["consistency"] = consistency(data, **settings)
        if data.sizes["variant"] <= MANY_WORDINGS:
            by_item = ("consistent_4", "consistent_2", "discrepancy_size")
            tables["consistency_by_item"] = consistency(
                data, by=("model", "item"), measures=by_item, **settings
            )
    if "points" in data.coords:
        tables["compass"] = compass(data, **settings)
    return tables


def _of_ways_of_asking(data: "xr.Dataset", settings: dict[str, Any]) -> "dict[str, pd.DataFrame]":
    """Compare prefixes, wordings and instruments, as far as there are several of them."""
    tables = {}
    several = {name: len(set(data[name].values.tolist())) > 1 for name in ("prefix", "instrument")}
    if several["prefix"]:
        tables["prefix_shift"] = prefix_shift(data, **settings)
    if several["instrument"]:
        tables["bias_difference_by_instrument"] = bias_difference(data, **settings)
    if all(several.values()):
        by = ("model", "instrument", "prefix")
        tables["bias_by_prefix_and_instrument"] = bias(data, by=by, **settings)
    if data.sizes["model"] > 1:
        over = [name for name, there in several.items() if there]
        if data.sizes["variant"] > 1:
            over.append("variant" if data.sizes["variant"] <= MANY_PAIRED else "kind")
        for name in over:
            tables[f"rank_agreement_by_{name}"] = rank_agreement(data, over=name, **settings)
    return tables


def _of_sets(
    data: "xr.Dataset", sets: Mapping[str, Sequence[str]], settings: dict[str, Any]
) -> "pd.DataFrame":
    """Compare bias between two sets of reformulations of one run."""
    found = wordings_of_sets(data, sets, key="measures.reformulation_sets")
    first, second = (data.isel(variant=places) for places in found)
    names = tuple(sets)
    return reformulation_robustness(first, second, names=(names[0], names[1]), **settings)


def _of_paraphrases(
    data: "xr.Dataset", sets: Mapping[str, Sequence[str]] | None, settings: dict[str, Any]
) -> "dict[str, pd.DataFrame]":
    """Describe single items under paraphrasing, where there are answer probabilities."""
    tables = {
        "validity_by_item": validity(data, by=("model", "item"), **settings),
        "distributions": distributions(data, level=settings["level"]),
        "divergent_pairs": divergent_pairs(data),
        "item_instability": item_instability(data, **settings),
    }
    if sets:
        tables["paraphrase_sets"] = compare_paraphrase_sets(data, sets, **settings)
    return tables
