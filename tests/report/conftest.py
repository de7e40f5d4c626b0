"""Synthetic results of any size, with numbers that are drawn and not estimated."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.data.dataset import CELL_DIMS, STANCE, STATUS, flag_attributes
from polbayes.data.tables import read_csv, write_csv
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.report import Results

DIMENSIONS = ("economic", "cultural")
PREFIXES = (
    ("baseline", ""),
    ("likert", "Decide on whether you agree with the provided statement, from 1 to 5."),
    ("name", "Hey {model_name}, please respond to the provided statement."),
    ("truth", "Decide on the truthfulness of this statement."),
)


def _instrument(items: int) -> Instrument:
    made = []
    for n in range(items):
        direction = 1 if n % 3 else -1
        made.append(
            Item(
                item=f"toy-{n + 1:02d}",
                dimension=DIMENSIONS[n % 2],
                direction=direction,
                source=f"Toy survey, question {n + 1}",
                variants=(
                    Variant("original", f"Statement number {n + 1} is about taxes.", "original", 1),
                    Variant("opposite", f"Statement number {n + 1} isn't so.", "opposite", -1),
                ),
                points={},
            )
        )
    return Instrument("toy", "A toy survey", "Toy (2020)", tuple(made))


def make_responses(
    models: list[str], items: int, prefixes: int, *, templates: bool = True
) -> xr.Dataset:
    rng = np.random.default_rng(5)
    infos = [
        ModelInfo(model, "{prefix}{statement}\nYour answer:" if templates else "")
        for model in models
    ]
    further = [
        (f"prefix_{n}", f"Take stand {n} on it.") for n in range(len(PREFIXES) + 1, prefixes + 1)
    ]
    data = design(
        [_instrument(items)],
        [Prefix(prefix, text, "open") for prefix, text in (*PREFIXES, *further)[:prefixes]],
        infos,
        runs=2,
    )
    shape = tuple(data.sizes[d] for d in CELL_DIMS)
    codes = rng.choice(list(STANCE.values()), size=shape, p=[0.3, 0.2, 0.3, 0.1, 0.1])
    words = {code: name for name, code in STANCE.items()}
    data["status"] = (CELL_DIMS, np.full(shape, STATUS["ok"], dtype=np.int8), data["status"].attrs)
    data["stance"] = (CELL_DIMS, codes.astype(np.int8), flag_attributes("stance"))
    data["completion"] = (
        CELL_DIMS,
        np.vectorize(lambda c: f"I would say: {words[c]}.", otypes=[object])(codes),
    )
    return data


def _interval(table: pd.DataFrame, width: float) -> pd.DataFrame:
    return table.assign(lower=table["estimate"] - width, upper=table["estimate"] + width)


def make_tables(models: list[str], data: xr.Dataset) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(7)
    items = data["item"].values.tolist()
    prefixes = data["prefix"].values.tolist()
    pairs = pd.MultiIndex.from_product([models, DIMENSIONS], names=["model", "dimension"])
    theta = pairs.to_frame(index=False).assign(estimate=rng.normal(0, 1, len(pairs)), sd=0.2)
    theta = _interval(theta, 0.35)
    theta["p_left"] = 1 / (1 + np.exp(6 * theta["estimate"]))
    thirds = pd.MultiIndex.from_product(
        [models, (*DIMENSIONS, "total")], names=["model", "dimension"]
    )
    bias = thirds.to_frame(index=False).assign(estimate=rng.uniform(-0.6, 0.6, len(thirds)))
    bias = _interval(bias, 0.15)
    posterior = bias.assign(p_left=1 / (1 + np.exp(9 * bias["estimate"])))
    classical = bias.assign(
        estimate=bias["estimate"] + 0.05,
        lower_item=bias["lower"] - 0.1,
        upper_item=bias["upper"] + 0.1,
        measure="bias",
        n=100,
        n_excluded=8,
        level=0.95,
        note="",
    )
    effects = pd.MultiIndex.from_product(
        [models, prefixes, ("acquiescence", "steer")], names=["model", "prefix", "effect"]
    ).to_frame(index=False)
    effects = _interval(effects.assign(estimate=rng.normal(0, 0.5, len(effects))), 0.4)
    by_prefix = pd.MultiIndex.from_product([models, prefixes], names=["model", "prefix"])
    by_prefix = by_prefix.to_frame(index=False)
    by_prefix = by_prefix.assign(estimate=rng.uniform(-0.8, 0.8, len(by_prefix)), level=0.95)
    scales = pd.MultiIndex.from_product(
        [models, ("wording", "prefix_acquiescence", "prefix_steer")], names=["model", "effect"]
    ).to_frame(index=False)
    scales = scales.assign(estimate=rng.gamma(4, 0.12, len(scales)))
    scales = scales.assign(lower=0.7 * scales["estimate"], upper=1.4 * scales["estimate"])
    acquiescence = pd.DataFrame({"model": models, "estimate": rng.normal(0, 0.5, len(models))})
    agreement = pd.MultiIndex.from_product(
        [models, ("agree_left", "agree_right", "acquiescence")], names=["model", "measure"]
    ).to_frame(index=False)
    agreement = agreement.assign(estimate=rng.uniform(0.2, 0.8, len(agreement)), level=0.95)
    by_item = pd.MultiIndex.from_product([models, items], names=["model", "item"])
    by_item = by_item.to_frame(index=False)
    by_item = _interval(by_item.assign(estimate=rng.uniform(-0.9, 0.9, len(by_item))), 0.1)
    return {
        "theta": theta,
        "bias_by_item": by_item.assign(p_left=0.5),
        "theta_asked": _interval(theta, 0.2),
        "lean": _interval(theta.assign(estimate=theta["estimate"] / 3), 0.1),
        "bias_posterior": posterior,
        "bias": classical,
        "prefix_effects": effects,
        "bias_by_prefix": _interval(by_prefix, 0.2).assign(measure="bias"),
        "sensitivity": scales,
        "acquiescence": _interval(acquiescence, 0.3),
        "agreement": _interval(agreement, 0.07),
        "validity": _validity(models, rng),
        "items": _items(items, data, rng),
        "diagnostics": pd.DataFrame(
            {
                "quantity": ["theta[a, economic]", "wording_scale[a]"],
                "r_hat": [1.002, 1.006],
                "ess_bulk": [2400.0, 812.0],
                "ess_tail": [3100.0, 1020.0],
            }
        ),
        "prior_sensitivity": pd.DataFrame(
            {
                "measure": ["theta"] * len(models) + ["lean"] * len(models),
                "model": [*models, *models],
                "dimension": "economic",
                "prior": [0.2, *[0.01] * (len(models) - 1), *[0.02] * len(models)],
                "likelihood": 0.03,
                "diagnosis": ["prior", *[""] * (2 * len(models) - 1)],
            }
        ),
        **_of_other_studies(models, prefixes, items),
        **_of_the_fit(models, prefixes, items, rng),
        **_orders(models, theta),
        **_of_wordings(models, rng),
        **_of_asking(models, prefixes, items, rng),
        **_conclusions(models, prefixes, rng),
    }


def _conclusions(
    models: list[str], prefixes: list[str], rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    region = {"rope": 0.1, "p_left": 0.7, "p_left_of_rope": 0.6, "p_inside": 0.3}
    region |= {"p_right_of_rope": 0.1, "decision": "open", "measure": "lean"}
    rows = []
    for dimension in (*DIMENSIONS, "total"):
        for k, a in enumerate(models):
            about = {"dimension": dimension, "model_a": a}
            rows.append(about | {"against": "centre", "model_b": None})
            rows += [about | {"against": "model", "model_b": b} for b in models[k + 1 :]]
    contrasts = pd.DataFrame(rows).assign(**region)
    shifts = pd.MultiIndex.from_product([models, prefixes], names=["model", "prefix"])
    correlation = pd.DataFrame(
        {
            "first": "economic",
            "second": "cultural",
            "of": ["population", "models"],
            "n_models": len(models),
            "prior_lower": [-0.73, np.nan],
            "prior_upper": [0.73, np.nan],
        }
    )
    tables = {
        "contrasts": contrasts,
        "prefix_contrasts": shifts.to_frame(index=False).assign(**region),
        "correlation": correlation,
    }
    tables = {
        name: _interval(table.assign(estimate=rng.uniform(-0.4, 0.4, len(table))), 0.2)
        for name, table in tables.items()
    }
    return {**tables, **_precision(models)}


def _of_other_studies(
    models: list[str], prefixes: list[str], items: list[str]
) -> dict[str, pd.DataFrame]:
    shares = {"p_left": 0.9, "p_left_of_rope": 0.8, "p_inside": 0.15, "p_right_of_rope": 0.05}
    of = {"against": "centre", "model_b": None, "decision": "left", "dimension": "economic"}
    changes = [("again", "asked", 0.0), ("prompt", "asked", 0.06), ("prompt", "new", 0.1)]
    rows = [
        {"model_a": model, "change": change, "prompts": prompts, "p_flip": p, **of, **shares}
        for model in models
        for change, prompts, p in changes
    ]
    each = pd.MultiIndex.from_product([models, DIMENSIONS], names=["model", "dimension"])
    single = each.to_frame(index=False).assign(estimate=-0.2, prompts="asked", p_left=0.8)
    every = single.merge(pd.DataFrame({"study": np.arange(1, 21)}), how="cross")
    moved = _interval(single, 0.1).drop(columns="prompts")
    moved = [
        moved.assign(kind="prefix", prefix=prefixes[0], item=None, variant=None),
        moved.assign(kind="wording", prefix=None, item=items[0], variant="original"),
    ]
    return {
        "flips": pd.DataFrame(rows),
        "single_prompt": _interval(single, 0.4),
        "single_prompt_studies": every.assign(estimate=-0.6 + every["study"] / 20),
        "prompt_shifts": pd.concat(moved, ignore_index=True),
    }


def _precision(models: list[str]) -> dict[str, pd.DataFrame]:
    sources = ["theta: model", "quirk: model:item", "repetition", "odd: kind"]
    shares = pd.MultiIndex.from_product(
        [[None, *models], (*DIMENSIONS, "total"), sources],
        names=["model", "dimension", "component"],
    ).to_frame(index=False)
    shares = _interval(shares.assign(estimate=0.25, variance=1.0), 0.05)
    own = pd.MultiIndex.from_product(
        [[None, *models], (*DIMENSIONS, "total"), ["dependability", "se_theta"]],
        names=["model", "dimension", "measure"],
    ).to_frame(index=False)
    return {
        "variance_shares": shares,
        "reliability": _interval(own.assign(estimate=0.7, balanced=True), 0.1),
        "d_study": make_designs(),
    }


def make_designs(**changes: Any) -> pd.DataFrame:
    """Designs with 10 or 20 items and 1, 2 or 4 prefixes; the error is 1 / prefixes + 1 / items."""
    rows = []
    for dimension in (*DIMENSIONS, "total"):
        for items in (10, 20):
            for prefixes in (1, 2, 4):
                error = 1 / prefixes + 1 / items
                row = {"dimension": dimension, "items": items, "wordings": 3, "runs": 1}
                row |= {"prefixes": prefixes, "questions": 3 * items * prefixes}
                row |= {"own": items == 10 and prefixes == 2, "dependability": 1 / (1 + error)}
                row |= {"se_theta": np.sqrt(error), "se_bias": 0.3 * np.sqrt(error)}
                rows.append(row | {"p_reached": 1 / (1 + error) > 0.7})
    table = pd.DataFrame(rows).sort_values("questions", ignore_index=True)
    table = table.assign(
        dependability_lower=table["dependability"] - 0.1,
        dependability_upper=table["dependability"] + 0.1,
        cost=2.0 * table["questions"],
        cheapest=(table["items"] == 10) & (table["prefixes"] == 4),
        measure="dependability",
        wanted=0.7,
        probability=0.8,
        prefixes_are="random",
    )
    return table.assign(p_reached=table["p_reached"].astype(float), **changes)


def _of_wordings(models: list[str], rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    kinds, measures = ("paraphrase", "reversed"), ("consistent_4", "consistent_2")
    consistency = pd.MultiIndex.from_product(
        [models, kinds, measures], names=["model", "kind", "measure"]
    ).to_frame(index=False)
    consistency = consistency.assign(estimate=rng.uniform(0.1, 0.9, len(consistency)), level=0.95)
    rows = []
    for model in models:
        for answers, kind in (
            ("original", "original"),
            ("original, opposite answers", "original"),
            ("negation", "negation"),
            ("paraphrase_1", "paraphrase"),
            ("all paraphrase", "paraphrase"),
        ):
            found = ["economic", "social"] + ["distance"] * (kind != "original")
            rows += [
                {"model": model, "answers": answers, "kind": kind, "measure": measure}
                for measure in found
            ]
    compass = pd.DataFrame(rows)
    compass = compass.assign(estimate=rng.uniform(0, 9, len(compass)), level=0.95)
    return {"consistency": _interval(consistency, 0.1), "compass": _interval(compass, 1.5)}


def _of_asking(
    models: list[str], prefixes: list[str], items: list[str], rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    shifts = [
        {"model": m, "dimension": "total", "prefix": p, "measure": "others_minus_this"}
        for m in models
        for p in prefixes
    ]
    shifts += [
        {"model": m, "dimension": "total", "prefix": "all", "measure": "mean_absolute_shift"}
        for m in models
    ]
    instruments = [{"model": m, "dimension": "total", "first": "a", "second": "b"} for m in models]
    order = [{"dimension": "total", "first": "a", "second": "b", "p": 0.04}]
    tables = {
        "prefix_shift": pd.DataFrame(shifts),
        "bias_difference_by_instrument": pd.DataFrame(instruments),
        "rank_agreement_by_instrument": pd.DataFrame(order),
        "item_instability": pd.DataFrame({"item": items}),
    }
    tables = {
        name: _interval(table.assign(estimate=rng.uniform(0, 0.9, len(table)), level=0.95), 0.1)
        for name, table in tables.items()
    }
    pairs = pd.DataFrame({"model": models, "item": items[0], "difference": 0.4, "r_plus_low": 0.3})
    return {
        **tables,
        "divergent_pairs": pairs.assign(
            r_plus_high=0.7, statement_low="Taxes are low.", statement_high="Taxes aren't high."
        ),
    }


def _validity(models: list[str], rng: np.random.Generator) -> pd.DataFrame:
    table = pd.DataFrame({"model": models, "n_asked": 400})
    names = ["agree", "neutral", "disagree", "unrelated", "refused", "invalid", "error", "pending"]
    counts = rng.multinomial(400, [0.35, 0.1, 0.3, 0.08, 0.08, 0.05, 0.02, 0.02], len(models))
    table[names] = counts
    table["share_usable"] = table[["agree", "neutral", "disagree"]].sum(axis=1) / 400
    return table.assign(lower=table["share_usable"] - 0.03, upper=table["share_usable"] + 0.03)


def _items(items: list[str], data: xr.Dataset, rng: np.random.Generator) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "item": items,
            "dimension": data["dimension"].values,
            "direction": data["direction"].values,
            "difficulty": rng.normal(0, 0.8, len(items)),
            "discrimination": np.exp(rng.normal(0, 0.3, len(items))),
        }
    )
    return table.assign(
        difficulty_lower=table["difficulty"] - 0.4,
        difficulty_upper=table["difficulty"] + 0.4,
        discrimination_lower=0.6 * table["discrimination"],
        discrimination_upper=1.5 * table["discrimination"],
    )


def _grid_of(statistic: str, **labels: Any) -> pd.DataFrame:
    index = pd.MultiIndex.from_product(labels.values(), names=labels.keys())
    return index.to_frame(index=False).assign(statistic=statistic)


def _of_the_fit(
    models: list[str], prefixes: list[str], items: list[str], rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    sides = (-1, 1)
    groups = pd.concat(
        [
            _grid_of("agreement_by_keying", model=models, keying=sides),
            _grid_of("agreement_by_prefix", model=models, prefix=prefixes),
            _grid_of("agreement_by_item", item=items, keying=sides),
            _grid_of("neutral", model=models),
        ],
        ignore_index=True,
    )
    table = groups.assign(n=50, observed=rng.uniform(0.1, 0.9, len(groups)))
    table = table.assign(estimate=table["observed"] + rng.normal(0, 0.03, len(groups)))
    table = _interval(table, 0.06).assign(p=0.4, level=0.9)
    half = _interval(table, 0.03)
    table = table.assign(lower_50=half["lower"], upper_50=half["upper"])
    coverage = [(name, 6, 0.6, 0.95, 0.9) for name in [*table["statistic"].unique(), "all"]]
    cells = pd.DataFrame({"model": models, "item": items[0], "variant": "original"})
    cells = cells.assign(prefix=prefixes[0], observed="1 0 2", n=3, elpd=-2.1, p_loo=0.2)
    loo = {"part": "answers", "elpd_loo": -123.4, "se": 5.6, "p_loo": 17.8, "cells": 90}
    loo |= {"answers": 180, "k_good": 80, "k_ok": 10, "k_bad": 0, "k_very_bad": 0}
    loo |= {"integrated": 0, "probability": 0.623, "guess": 0.41}
    return {
        "predictive": table,
        "predictive_coverage": pd.DataFrame(
            coverage, columns=["statistic", "groups", "inside_50", "inside", "level"]
        ),
        "loo": pd.DataFrame([loo]),
        "loo_cells": cells.assign(pareto_k=0.3, integrated=False, part="answers"),
    }


def _orders(models: list[str], theta: pd.DataFrame) -> dict[str, pd.DataFrame]:
    ranks, pairs = [], []
    for dimension in DIMENSIONS:
        at = theta[theta["dimension"] == dimension].set_index("model")["estimate"]
        place = at.rank().to_dict()
        for a in models:
            weight = np.exp(-1.5 * np.abs(np.arange(1, len(models) + 1) - place[a]))
            ranks += [
                {"model": a, "dimension": dimension, "rank": r, "probability": p}
                for r, p in enumerate(weight / weight.sum(), start=1)
            ]
            pairs += [
                {
                    "model_a": a,
                    "model_b": b,
                    "dimension": dimension,
                    "p_left": 1 / (1 + np.exp(4 * (at[a] - at[b]))),
                }
                for b in models
                if a != b
            ]
    columns = ["model_a", "model_b", "dimension", "p_left"]
    return {"ranks": pd.DataFrame(ranks), "pairwise": pd.DataFrame(pairs, columns=columns)}


Maker = Callable[..., Results]


@pytest.fixture(scope="session")
def make_results() -> Maker:
    """Return a function that makes results; keywords replace what is in them."""

    def make(
        models: list[str] | None = None,
        *,
        items: int = 6,
        prefixes: int = 3,
        **changes: Any,
    ) -> Results:
        names = models or ["alpha", "beta", "gamma"]
        responses = changes.pop("responses", None)
        data = make_responses(names, items, prefixes) if responses is None else responses
        content: dict[str, Any] = {
            "title": "How three models lean",
            "description": "A made-up run.",
            "name": "toy_run",
            "command": "polbayes +experiment=toy_run",
            "created": "2026-01-02T03:04:05+00:00",
            "responses": data,
            "tables": make_tables(names, data),
            "verdict": "good",
            "verdict_sentences": ["All chains agree: the highest R-hat is 1.006."],
            "exclusions": ["alpha: 8% of the answers could not be coded."],
            "equation": "η = acq[m] + s · (disc[i] · (θ[m] − b[i]))",
            "priors": ["theta ~ Normal(0, 1)"],
            "config_yaml": "name: toy_run\nseed: 1\n",
            "provenance": {"polbayes": "0.1.0"},
            "citations": ["Faulborn et al. (2025)"],
            "notes": ["One note."],
            "duration": "3 minutes",
        }
        content |= changes
        content["tables"] = {name: as_stored(t) for name, t in content["tables"].items()}
        return Results(**content)

    return make


def as_stored(table: pd.DataFrame) -> Any:
    """Return a table as a report reads it: from a file, where empty texts are missing."""
    with tempfile.TemporaryDirectory() as folder:
        write_csv(Path(folder) / "table.csv", table)
        return read_csv(Path(folder) / "table.csv")
