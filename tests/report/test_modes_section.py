"""The section on modes."""

import pandas as pd

from polbayes.report.sections.modes import modes

NUMBERS = {"estimate": 0.5, "lower": 0.1, "upper": 0.9, "level": 0.9}


def test_pairs_come_first(make_results):
    pair = {"dimension": "economic", "first": "choice", "second": "open", **NUMBERS}
    tables = {
        "mode_pairs": pd.DataFrame([pair | {"quantity": q} for q in ("correlation", "difference")]),
        "modes": pd.DataFrame(
            [
                {"mode": "choice", "dimension": d, "quantity": q, **NUMBERS}
                for q, d in (("leaning", "economic"), ("agreement", None))
            ]
        ),
        "mode_positions": pd.DataFrame(
            [{"model": "a", "dimension": "economic", "mode": "open", "p_left": 0.1, **NUMBERS}]
        ),
    }
    section = modes(make_results(tables={**make_results().tables, **tables}))
    pairs, effects, fold = section.blocks
    assert pairs.rows[0][3] == "Correlation of positions over models"
    assert [row[1] for row in effects.rows] == ["economic", "–"]
    assert fold.blocks[0].rows[0][:3] == ("a", "economic", "open")
    assert modes(make_results()) is None
