"""Effects of judges and of ways of asking, by hand."""

import numpy as np
import pytest
import xarray as xr

from polbayes.errors import UserError
from polbayes.instrument.values import VALUES, WEIGHTS
from polbayes.roleplay.measures import judge_checks, judge_effects

HOW = {"draws": 100, "seed": 1}
SIGNS = np.sign([WEIGHTS[v] for v in VALUES])


def effects(data):
    table = judge_effects(data, **HOW)
    return table.set_index(["measure", "judge", "value"])


def test_severity_and_leaning_of_two_judges(rated):
    """The second judge rates everything 1 lower, and liberal values another 2 higher."""
    data = rated(np.zeros((2, 3, 1, 1, 1, 1)), judges=("j", "k"))
    shift = xr.DataArray([np.zeros(10), -1 + 2 * (SIGNS > 0)], dims=("judge", "value"))
    data["rating"] = data["rating"] + shift
    data["commitment"] = data["commitment"] - xr.DataArray([0.0, 1.0], dims="judge")
    found = effects(data)["estimate"]
    # Half of the values are liberal: the mean shift is 0, and the panel lies in the middle.
    assert found["severity", "k", "all"] == pytest.approx(0.0)
    for value, sign in zip(VALUES, SIGNS, strict=True):
        assert found["shift", "k", value] == pytest.approx(0.5 * sign)
        assert found["shift", "j", value] == pytest.approx(-0.5 * sign)
    # The weights are 5 in sum on either side: 5 x 0.5 + 5 x 0.5 points against the panel.
    assert found["leaning", "k", "all"] == pytest.approx(5.0)
    assert found["leaning", "j", "all"] == pytest.approx(-5.0)
    assert found["shift", "k", "commitment"] == pytest.approx(-0.5)


def test_a_severe_judge_rates_lower_and_does_not_lean(rated):
    data = rated(np.zeros((1, 4, 1, 1, 1, 1)), judges=("j", "k", "l"))
    data["rating"] = data["rating"] - xr.DataArray([3.0, 0.0, 0.0], dims="judge")
    found = effects(data)["estimate"]
    assert found["severity", "j", "all"] == pytest.approx(2.0)
    assert found["severity", "k", "all"] == pytest.approx(-1.0)
    assert found["leaning", "j", "all"] == pytest.approx(0.0)


def test_texts_that_not_all_have_rated_are_left_out_and_counted(rated):
    data = rated(np.zeros((1, 4, 1, 1, 1, 1)), judges=("j", "k"))
    rating = data["rating"].copy()
    rating[0, 0, 0, 0, 0, 0] = np.nan  # j left a whole text out
    rating[0, 1, 0, 0, 0, 1, 3] = np.nan  # k one value
    rating[0, 2, 0, 0, 0] = np.nan  # nobody rated it: nothing to leave out
    # What k says of these texts would otherwise be an effect.
    rating[0, 0, 0, 0, 0, 1] = 20
    found = effects(data.assign(rating=rating))
    assert set(found["n_excluded"]) == {2}
    assert found.loc[("severity", "k", "all"), "estimate"] == pytest.approx(0.0)


def test_one_judge_cannot_be_compared(rated):
    with pytest.raises(UserError, match="at least two"):
        judge_effects(rated(np.zeros((1, 2, 1, 1, 1, 1))))


def checks(order, scale, *, scenarios=("s", "s", "t")):
    """Make checks of one judge: usual ratings of 10, and these shifts by value."""
    rating = np.full((3, 1, len(scenarios), 10), 10.0)
    rating[1] += order
    rating[2] += scale
    return xr.Dataset(
        {
            "rating": (("check", "judge", "unit", "value"), rating),
            "commitment": (("check", "judge", "unit"), np.full((3, 1, len(scenarios)), 2.0)),
        },
        coords={
            "check": ["plain", "order", "scale"],
            "judge": ["j"],
            "value": list(VALUES),
            "scenario": ("unit", list(scenarios)),
        },
    )


def test_what_standing_first_adds_and_what_numbers_add():
    """Being first adds 1.5: in reversed order the first value loses 3, the last one gains 3."""
    first = 1 - 2 * np.arange(10) / 9
    table = judge_checks(checks(-3.0 * first, -4.0), **HOW)
    found = table.set_index(["check", "measure", "value"])["estimate"]
    assert found["order", "place", "all"] == pytest.approx(1.5)
    assert found["order", "shift", VALUES[0]] == pytest.approx(-3.0)
    assert found["order", "shift", VALUES[-1]] == pytest.approx(3.0)
    # 2 too many on 0 to 20 are 2 too few once the scale is turned back: 4 less than usual.
    assert found["scale", "number", "all"] == pytest.approx(2.0)
    assert found["scale", "shift", "commitment"] == pytest.approx(0.0)


def test_a_scenario_counts_once_however_many_texts_it_has():
    data = checks(0.0, 0.0)
    data["rating"][2, 0, 2] += 6.0  # the only text of its scenario
    table = judge_checks(data, **HOW).set_index(["check", "measure", "value"])
    assert table.loc[("scale", "shift", VALUES[0]), "estimate"] == pytest.approx(3.0)
    assert table.loc[("scale", "shift", VALUES[0]), "n"] == 2
