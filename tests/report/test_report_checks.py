"""The section on model fit, in words."""

from typing import Any

import pandas as pd
import pytest

from polbayes.report.blocks import Bullets, Fold, Grid, Picture
from polbayes.report.sections.checks import checks


def text_of(section: Any) -> str:
    (bullets,) = [block for block in section.blocks if isinstance(block, Bullets)]
    return " ".join(f"{head}{tail}" for head, tail in bullets.entries)


def changed(make_results: Any, **tables: pd.DataFrame | None) -> Any:
    """Make results with other tables; None takes one out."""
    all_tables = {**make_results().tables, **tables}
    return make_results(tables={k: t for k, t in all_tables.items() if t is not None})


def test_a_model_that_fits(make_results: Any) -> None:
    section = checks(make_results())
    assert section is not None
    told = text_of(section)
    assert "The model reproduces the answers." in told
    assert "95.0% lie within the 90% interval" in told
    assert "has a probability of 62.3% on average" in told
    assert "guessing by how often each model gives it would have 41.0%" in told
    assert "This can be relied on" in told


def test_too_wide_intervals_are_no_reproduction(make_results: Any) -> None:
    coverage = make_results().tables["predictive_coverage"].copy()
    whole = coverage["statistic"] == "all"
    coverage.loc[whole, ["groups", "inside_50", "inside"]] = [120, 0.86, 0.99]
    told = text_of(checks(changed(make_results, predictive_coverage=coverage)))
    assert "The model is vaguer than the answers." in told
    assert "reproduces" not in told
    coverage.loc[whole, ["groups"]] = 6  # of so few it may be chance
    told = text_of(checks(changed(make_results, predictive_coverage=coverage)))
    assert "The model reproduces the answers." in told


def test_what_a_model_misses_is_named(make_results: Any) -> None:
    coverage = make_results().tables["predictive_coverage"].copy()
    coverage.loc[coverage["statistic"] == "agreement_by_prefix", "inside"] = 0.5
    section = checks(changed(make_results, predictive_coverage=coverage))
    told = text_of(section)
    assert "does not reproduce everything" in told
    assert "It misses agreement by model and prefix (50.0% inside, none off by more than " in told


@pytest.mark.parametrize(
    ("bad", "very_bad", "says"),
    [(1, 2, "They are few"), (4, 1, "They are many: do not compare")],
)
def test_unreliable_cells_are_said(make_results: Any, bad: int, very_bad: int, says: str) -> None:
    loo = make_results().tables["loo"].assign(k_bad=bad, k_very_bad=very_bad, integrated=7)
    told = text_of(checks(changed(make_results, loo=loo)))
    assert f"In {bad + very_bad} of 90 cells" in told
    assert says in told
    assert "In 7 of 90 cells an effect that no other cell knows of" in told
    assert "can be relied on" not in told


def test_that_cells_were_sampled_is_said(make_results: Any) -> None:
    loo = make_results().tables["loo"]
    assert "cells drawn at random" not in text_of(checks(changed(make_results, loo=loo)))
    told = text_of(checks(changed(make_results, loo=loo.assign(of=5_490_000))))
    assert "estimates from 90 cells drawn at random from 5\u202f490\u202f000; the" in told


def test_densities_of_numbers_are_no_probabilities(make_results: Any) -> None:
    nan = float("nan")
    loo = make_results().tables["loo"].assign(probability=nan, guess=nan)
    told = text_of(checks(changed(make_results, loo=loo)))
    assert "density of the answers" in told
    assert "elpd −123.4, standard error 5.6" in told
    assert "nan" not in told


def test_the_largest_miss_is_the_first_row(make_results: Any) -> None:
    table = make_results().tables["predictive"].copy()
    table.loc[7, ["observed", "lower", "upper"]] = [0.9, 0.1, 0.2]
    table.loc[3, ["observed", "lower", "upper"]] = [0.1, 0.15, 0.2]
    section = checks(changed(make_results, predictive=table))
    grids = [
        b for f in section.blocks if isinstance(f, Fold) for b in f.blocks if isinstance(b, Grid)
    ]
    (shares,) = [g for g in grids if g.csv == "predictive"]
    row = table.loc[7]
    assert shares.rows[0] == (
        "agreement by model and prefix",
        f"{row['model']}, {row['prefix']}",
        "0.90",
        *(shares.rows[0][3:4]),
        "[0.10, 0.20]",
    )
    assert shares.rows[1][2] == "0.10"
    assert shares.rows[1][1] == f"{table.loc[3, 'model']}, right-leaning"


def test_each_half_stands_alone(make_results: Any) -> None:
    section = checks(changed(make_results, loo=None, loo_cells=None))
    assert "probability of" not in text_of(section)
    section = checks(changed(make_results, predictive=None, predictive_coverage=None))
    assert not [b for b in section.blocks if isinstance(b, Picture)]
    assert "were drawn" not in " ".join(section.reading)
    everything = dict.fromkeys(("loo", "loo_cells", "predictive", "predictive_coverage"))
    assert checks(changed(make_results, **everything)) is None


def test_other_models_of_the_same_answers(make_results: Any) -> None:
    specs = pd.DataFrame(
        {
            "spec": ["mine", "<b>ideology</b>"],
            "elpd_loo": [-100.0, -112.5],
            "se": [4.0, 5.0],
            "p_loo": [7.0, 3.0],
            "cells": [90, 90],
            "unreliable": [0, 2],
            "difference": [0.0, -12.5],
            "se_difference": [0.0, 3.0],
            "reading": ["predicts best", "predicts worse than the best"],
            "part": "answers",
            "verdict": ["good", "bad"],
        }
    )
    section = checks(changed(make_results, specs=specs))
    told = text_of(section)
    assert "mine predicts best; <b>ideology</b> predicts worse than the best." in told
    assert "The draws of <b>ideology</b> failed the diagnostics." in told
    (table,) = [b for b in section.blocks if isinstance(b, Grid) and b.csv == "specs"]
    assert table.rows[1][3:6] == ("−12.5", "3.0", "2")
    alone = dict.fromkeys(("loo", "loo_cells", "predictive", "predictive_coverage"))
    assert checks(changed(make_results, specs=specs, **alone)) is not None


def test_options_of_the_spec_are_named_where_they_are_needed(make_results: Any) -> None:
    tables = make_results().tables
    tails = (
        tables["predictive"]
        .iloc[:2]
        .assign(statistic="quirk_tails", model=["alpha", "beta"], p=[0.01, 0.4])
    )
    predictive = pd.concat([tables["predictive"], tails], ignore_index=True)
    coverage = tables["predictive_coverage"].copy()
    extra = coverage.iloc[:1].assign(statistic="neutral_by_item", inside=0.5)
    missed = pd.concat([extra, coverage], ignore_index=True)
    section = checks(changed(make_results, predictive=predictive, predictive_coverage=missed))
    told = text_of(section)
    assert "What alpha thinks of single statements has heavier tails" in told
    assert "gr(model:item, dist = student)" in told
    assert "adding (1 | item) to the part threshold" in told
    section = checks(changed(make_results))
    assert "heavier tails" not in text_of(section)
    assert "threshold" not in text_of(section)
