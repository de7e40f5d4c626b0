"""The section on populations."""

import pandas as pd

from polbayes.report.sections.populations import populations

NUMBERS = {"estimate": 0.25, "lower": 0.1, "upper": 0.5, "level": 0.9}


def test_shares_and_moments_are_shown(make_results):
    of = {"population": "voters", "dimension": "economic", **NUMBERS}
    tables = {
        "populations": pd.DataFrame([of | {"quantity": q} for q in ("mean", "spread")]),
        "population_shares": pd.DataFrame([{"model": "bot", **of}]),
    }
    section = populations(make_results(tables={**make_results().tables, **tables}))
    shares, moments = section.blocks
    assert shares.rows[0] == ("bot", "voters", "economic", "25.0%", "10.0% to 50.0%")
    assert moments.rows[1][2] == "Standard deviation of persons"
    assert populations(make_results()) is None
