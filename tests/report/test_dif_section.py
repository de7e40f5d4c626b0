"""The section on statements that mean something else."""

import pandas as pd

from polbayes.report.sections.dif import dif


def tables(chances):
    effects = [
        {"item": f"e{k}", "by": "who", "group": "model", "against": "party", "estimate": 1.0}
        | {"lower": 0.2, "upper": 1.8, "p_differs": p, "direction": "right", "size": 0.5}
        for k, p in enumerate(chances)
    ]
    place = {"model": "bot", "dimension": "economic", "estimate": 0.5, "lower": 0.1, "upper": 0.9}
    place |= {"without": 0.8, "without_lower": 0.4, "without_upper": 1.2, "shift": 0.3}
    return {"dif": pd.DataFrame(effects), "dif_positions": pd.DataFrame([place])}


def test_statements_that_probably_differ_come_first(make_results):
    section = dif(make_results(tables={**make_results().tables, **tables([0.9, 0.7, 0.2])}))
    first, every, positions = section.blocks
    assert [row[0] for row in first.rows] == ["e0", "e1"]
    assert [row[0] for row in every.blocks[0].rows] == ["e0", "e1", "e2"]
    assert positions.blocks[0].rows[0][-1] == "0.30"
    # Expected number 0.9 + 0.7 + 0.2; of the two listed, (0.1 + 0.3) / 2 are false.
    assert "2 of 3 do more probably than not (expected number of all: 1.8)" in section.reading[1]
    assert "20%" in section.reading[1]


def test_none_is_found(make_results):
    section = dif(make_results(tables={**make_results().tables, **tables([0.2])}))
    assert "the highest probability is 20%" in section.reading[1]
    assert len(section.blocks) == 2
    assert dif(make_results()) is None
