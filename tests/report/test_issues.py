"""How each model leans on each statement."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polbayes.data.dataset import CELL_DIMS, STANCE, opened_responses, write_dataset
from polbayes.report.asked import example_answers, example_masses, sampled_answers
from polbayes.report.sections.issues import ESTIMATED, OBSERVED, issues, leanings, slices_of


@pytest.fixture
def data(make_results: Any) -> Any:
    """All agree with all originals and opposites; toy-01 is of the left, toy-02 of the right."""
    found = make_results(["a", "b"], items=2, prefixes=2).responses.copy(deep=True)
    shape = tuple(found.sizes[d] for d in CELL_DIMS)
    stance = np.full(shape, STANCE["agree"], dtype=np.int8)
    stance[:, :, 1] = STANCE["disagree"]  # opposites
    stance[1, :, :, 1] = STANCE["refused"]
    stance[1, 0, 0, 0, 0] = STANCE["neutral"]
    found["stance"] = (CELL_DIMS, stance, found["stance"].attrs)
    return found


def test_agreeing_with_the_left_is_left_and_opposites_count_the_other_way(data: Any) -> None:
    table = leanings(data).set_index(["model", "item"])
    assert table.loc[("a", "toy-01"), "estimate"] == -1
    assert table.loc[("a", "toy-02"), "estimate"] == 1
    # Of four valid answers (two wordings, two runs, one prefix) one is neutral.
    assert table.loc[("b", "toy-01"), "estimate"] == -0.75
    assert table.loc[("b", "toy-01"), ["n", "n_excluded"]].tolist() == [4, 4]


def test_prefixes_are_told_apart(data: Any) -> None:
    table = leanings(data, "prefix")
    assert set(table.loc[table["model"] == "b", "prefix"]) == {"baseline"}


def test_estimates_come_first_and_prefixes_lead_to_their_answers(make_results: Any) -> None:
    slices, prefixes = slices_of(make_results(items=2, prefixes=2))
    assert list(slices)[:2] == [ESTIMATED, OBSERVED]
    assert prefixes == {"prefix: baseline": "baseline", "prefix: likert": "likert"}
    assert {"wording: original", "wording: opposite"} <= set(slices)


def test_the_side_of_a_statement_is_what_its_discrimination_says(make_results: Any) -> None:
    """Agreeing counts the other way where it is negative, and not where it may be either."""
    keyed = make_results(["a", "b"], items=3, prefixes=2)
    chances = {"toy-01": 0.0, "toy-02": 0.5, "toy-03": 0.75}
    items = keyed.tables["items"].assign(
        discrimination_p_positive=keyed.tables["items"]["item"].map(chances)
    )
    found = replace(keyed, tables={**keyed.tables, "items": items})
    plain, sided = slices_of(keyed)[0], slices_of(found)[0]
    assert set(plain) == set(sided)
    assert sided[ESTIMATED].equals(plain[ESTIMATED])  # has the side of each draw
    for name in set(plain) - {ESTIMATED}:
        factor = plain[name]["item"].map({"toy-01": -1.0, "toy-02": 0.0, "toy-03": 0.5})
        np.testing.assert_allclose(sided[name]["estimate"], plain[name]["estimate"] * factor)
    data = keyed.responses
    unkeyed = data.assign_coords(direction=0 * data["direction"], keying=0 * data["keying"])
    assert OBSERVED not in slices_of(replace(keyed, responses=unkeyed))[0]
    table = slices_of(replace(found, responses=unkeyed))[0][OBSERVED]
    side = plain[OBSERVED]["item"].map({"toy-01": -1.0, "toy-02": 1.0, "toy-03": 1.0})
    factor = side * plain[OBSERVED]["item"].map({"toy-01": -1.0, "toy-02": 0.0, "toy-03": 0.5})
    np.testing.assert_allclose(table["estimate"], plain[OBSERVED]["estimate"] * factor)
    section = issues(found)
    assert section is not None
    reading = " ".join(map(str, section.reading))
    assert "sign of its discrimination" in reading
    assert "disagreeing with one of" not in reading


def test_a_sample_of_answers_is_spread_over_models_and_items(make_results: Any) -> None:
    data = make_results(["a", "b"], items=3, prefixes=3).responses
    table, total = sampled_answers(data, most=13, room=10_000)
    assert total == 2 * 3 * 2 * 3 * 2
    assert sorted(table.groupby(["model", "item"]).size()) == [2, 2, 2, 2, 2, 3]
    again, _ = sampled_answers(data, most=13, room=10_000)
    assert table.equals(again)
    few, _ = sampled_answers(data, most=13, room=500)
    assert 0 < len(few) < 13
    row = table.iloc[0]
    assert row["statement"] in row["prompt"]
    assert row["counted"] in row["answer"]


def test_an_opened_file_tells_the_same_as_answers_in_memory(
    make_results: Any, tmp_path: Path
) -> None:
    data = make_results(["a", "b", "c"], items=3, prefixes=2).responses
    write_dataset(data, tmp_path / "responses.nc")
    with opened_responses(tmp_path) as opened:
        for table in (leanings, example_answers, example_masses):
            pd.testing.assert_frame_equal(table(opened), table(data))
        one, other = (sampled_answers(of, most=13, room=10_000)[0] for of in (opened, data))
        pd.testing.assert_frame_equal(one, other)
        read = [name for name in opened.data_vars if opened.variables[name]._in_memory]
        assert set(read) <= {"status"}
