import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from polbayes.roleplay.fit.d_study import Variances, _row
from polbayes.roleplay.fit.tables import facet_tables, pairs, ranks


@pytest.fixture(scope="module")
def tables(fitted):
    return facet_tables(fitted, level=0.9)


def test_ranks_and_pairs_by_hand():
    draws = np.array([[[1.0, 2.0], [1.0, 2.0], [3.0, 2.0], [1.0, 2.0]]])
    scores = xr.DataArray(
        draws[..., None],
        dims=("chain", "draw", "model", "source"),
        coords={"model": ["a", "b"], "source": ["reflection"]},
    )
    found = ranks(scores).set_index(["model", "rank"])["probability"]
    assert found.to_dict() == {("a", 1): 0.75, ("a", 2): 0.25, ("b", 1): 0.25, ("b", 2): 0.75}
    assert pairs(scores).set_index("model_a")["p_lower"].to_dict() == {"a": 0.75, "b": 0.25}


def test_error_of_a_study_by_hand():
    of = {
        "model:scenario": 8.0,
        "dialogue": 6.0,
        "unit": 24.0,
        "judge:model": 3.0,
        "judge:unit": 12.0,
        "noise": 36.0,
    }
    known = Variances({name: np.array([v]) for name, v in of.items()}, texts=2)
    # 8/4 + 6/8 + 24/16 + 3/3 + 48/48
    assert known.error(judges=3, scenarios=4, stages=2) == pytest.approx(6.25)


def test_probability_of_the_right_order_by_hand():
    truth = np.tile([0.0, 1.0, 3.0], (200, 1))
    row = _row(truth, np.full(200, 2.0), np.random.default_rng(1), level=0.9)
    by_pair = norm.cdf(np.array([1.0, 2.0, 3.0]) / 2)
    assert row["p_pair"] == pytest.approx(by_pair.mean())
    assert row["p_least"] == pytest.approx(by_pair.min())
    # All three in order, by an independent simulation.
    rng = np.random.default_rng(2)
    drawn = truth[0] + np.sqrt(2.0) * rng.standard_normal((200_000, 3))
    same = (np.diff(drawn, axis=1) > 0).all(axis=1).mean()
    assert row["p_all"] == pytest.approx(same, abs=0.02)
    assert row["generalizability"] == pytest.approx((7 / 3) / (7 / 3 + 2))


def test_more_judges_and_scenarios_are_never_worse(tables):
    designs = tables["facet_d_study"]
    table = designs.pivot_table(index="judges", columns="scenarios", values="se")
    assert (table.diff().dropna() <= 0).all(axis=None)
    assert (table.T.diff().dropna() <= 0).all(axis=None)
    assert designs.groupby("source")["own"].sum().tolist() == [1] * designs["source"].nunique()


def test_tables_say_what_is_positive(tables):
    profiles = tables["facet_profiles"].drop_duplicates("value").set_index("value")["positive"]
    assert profiles["egalitarianism"] == "liberal"
    assert profiles["tradition_orientation"] == "conservative"
    assert set(tables["facet_alignment"]["positive"]) == {"liberal"}
    assert tables["facet_profiles"]["estimate"].between(-10, 10).all()
    probability = tables["facet_ranks"].groupby(["model", "source"])["probability"].sum()
    assert probability.to_numpy() == pytest.approx(1)
    effects = tables["facet_judges"]
    assert (effects["lower"] <= effects["estimate"]).all()
    own = effects[effects["effect"] == "self_tilt"]
    assert own["judge"].tolist() == ["m1"]
