import numpy as np
import pytest

from polbayes.measures import measure_all

ORIGINAL = ("original",)
ALWAYS = {
    "bias",
    "bias_by_prefix",
    "bias_by_kind",
    "bias_by_variant",
    "validity",
    "validity_by_prefix",
    "agreement",
}
BOTH = [
    ("a", "economic", "left", ("original", "paraphrase", "opposite")),
    ("b", "cultural", "right", ("original", "opposite")),
]


def test_tables_follow_what_the_data_have(coded):
    data = coded(BOTH, 1)
    assert set(measure_all(data, draws=10)) == ALWAYS
    data["r_plus"] = data["status"].astype(np.float64) * 0 + 0.7
    two = coded(BOTH, 1, instruments=("x", "y"))
    assert set(measure_all(data, draws=10)) == ALWAYS | {"stability", "stability_by_item"}
    assert set(measure_all(two, draws=10)) == ALWAYS | {"bias_by_instrument"}


def test_many_paraphrases_are_not_measured_by_number(coded):
    wordings = ("original", *(f"paraphrase{k}" for k in range(50)))
    tables = measure_all(coded([("a", "economic", "left", wordings)], 1), draws=10)
    assert set(tables) == ALWAYS - {"bias_by_variant"}
    assert tables["bias_by_kind"]["n"].max() == 50


@pytest.mark.parametrize("stance", [1, -1, 0, 2, 3, -128])
@pytest.mark.parametrize("items", [BOTH, BOTH[:1], [("c", "economic", "right", ORIGINAL)]])
def test_poor_data_are_survived(coded, items, stance):
    """One model, one prefix, down to one item, with answers that never vary or are no good."""
    for name, table in measure_all(coded(items, stance), draws=10).items():
        assert len(table), name
        bare = table[table["estimate"].isna()]
        assert (bare["note"] != "").all(), name
        assert table["estimate"].dropna().between(-1, 1).all(), name


def test_a_model_without_valid_answers_keeps_its_rows(coded):
    stance = np.array([1, 2])[:, None, None, None, None]
    bias = measure_all(coded(BOTH, stance, models=("good", "bad")), draws=10)["bias"]
    bad = bias[bias["model"] == "bad"]
    assert len(bad) == len(bias) / 2
    assert bad["estimate"].isna().all()
    assert (bad["n"] == 0).all()
    assert bad.loc[bad["dimension"] == "total", "n_excluded"].tolist() == [3, 2, 5]


def test_only_unscored_items(coded):
    tables = measure_all(coded([("u", "", "", ORIGINAL)], 1), draws=10)
    assert tables["bias"].empty
    assert len(tables["validity"])


def test_the_seed_decides(coded):
    rng = np.random.default_rng(2)
    data = coded(BOTH, rng.integers(-1, 2, size=(1, 2, 3, 1, 8)), runs=8)
    first, again, other = (measure_all(data, draws=99, seed=s) for s in (1, 1, 2))
    for name in ("bias", "agreement"):
        assert first[name].equals(again[name])
        assert not first[name].equals(other[name])
