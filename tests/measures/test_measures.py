import numpy as np
import pandas as pd
import pytest

from polbayes.data.dataset import NOT_ASKED, write_dataset
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import load_instrument
from polbayes.measures import measure_all
from polbayes.measures.measure import Job, Measure
from polbayes.measures.registry import MEASURES

ORIGINAL = ("original",)
ALWAYS = {
    "bias",
    "bias_by_prefix",
    "bias_by_kind",
    "bias_by_variant",
    "validity",
    "validity_by_prefix",
    "agreement",
    "consistency",
    "consistency_by_item",
}
OF_PROBABILITIES = {
    "stability",
    "stability_by_item",
    "validity_by_item",
    "distributions",
    "divergent_pairs",
    "item_instability",
}
BOTH = [
    ("a", "economic", "left", ("original", "paraphrase", "opposite")),
    ("b", "cultural", "right", ("original", "opposite")),
]


def test_tables_follow_what_the_data_have(coded):
    data = coded(BOTH, 1)
    assert set(measure_all(data, draws=10)) == ALWAYS
    data["r_plus"] = data["status"].astype(np.float64) * 0 + 0.7
    sets = {"one": ["original"], "other": ["paraphrase*"]}
    assert "paraphrase_sets" in measure_all(data, draws=10, paraphrase_sets=sets)
    two = coded(BOTH, 1, instruments=("x", "y"))
    assert set(measure_all(data, draws=10)) == ALWAYS | OF_PROBABILITIES
    of_instruments = {"bias_by_instrument", "bias_difference_by_instrument"}
    assert set(measure_all(two, draws=10)) == ALWAYS | of_instruments
    many = coded(BOTH, 1, models=("m", "n"), prefixes=("p", "q"), instruments=("x", "y"))
    assert set(measure_all(many, draws=10)) == ALWAYS | of_instruments | {
        "prefix_shift",
        "bias_by_prefix_and_instrument",
        *(f"rank_agreement_by_{name}" for name in ("prefix", "variant", "instrument")),
    }
    plain = measure_all(data.sel(variant=["original"]), draws=10)
    assert set(plain) == (ALWAYS | OF_PROBABILITIES) - {
        "consistency",
        "consistency_by_item",
    }


def test_points_give_positions():
    pct = load_instrument("pct")
    data = design([pct], [Prefix("p", "p", "open")], [ModelInfo("m", "{statement}")])
    data["stance"] = data["status"] * 0 + np.int8(1)
    data["status"] = data["stance"]
    # Agreement to everything: what the published points of agreeing, 0 each, add up to.
    table = measure_all(data, draws=10)["compass"].set_index(["answers", "measure"])["estimate"]
    assert table["original", "economic"] == pytest.approx(0.375)
    assert table["original", "social"] == pytest.approx(2.4103)
    # The opposite answers would be disagreement.
    disagree = [i.points["economic"][1] for i in pct.items if "economic" in i.points]
    assert table["all negation", "economic_shift"] == pytest.approx(-sum(disagree) / 8)


def test_many_paraphrases_are_not_measured_by_number(coded):
    wordings = ("original", *(f"paraphrase{k}" for k in range(50)))
    tables = measure_all(coded([("a", "economic", "left", wordings)], 1), draws=10)
    assert set(tables) == ALWAYS - {"bias_by_variant", "consistency_by_item"}
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


def test_measures_declare_the_tables_that_they_give(coded):
    data = coded(BOTH, 1, models=("m", "n"), prefixes=("p", "q"), instruments=("x", "y"))
    data["r_plus"] = data["status"].astype(np.float64) * 0 + 0.7
    sets = {"one": ["original"], "other": ["paraphrase*", "opposite"]}
    tables = measure_all(data, draws=10, paraphrase_sets=sets)
    declared = {name: cols for one in MEASURES.values() for name, cols in one.tables.items()}
    assert set(tables) <= set(declared)
    for name, table in tables.items():
        assert set(declared[name]) <= set(table.columns), name


def test_a_measure_is_added_but_takes_no_table_of_another(coded, monkeypatch):
    def level(context):
        return {"levels": pd.DataFrame({"level": [context.level, context.draws]})}

    monkeypatch.setitem(MEASURES, "own", Measure(level, {"levels": ("level",)}))
    data = coded(BOTH, 1)
    assert measure_all(data, draws=10, level=0.8)["levels"]["level"].tolist() == [0.8, 10]
    again = Measure(lambda context: {"bias": pd.DataFrame()}, {"bias": ()})
    monkeypatch.setitem(MEASURES, "own", again)
    with pytest.raises(UserError, match="measure 'own': its table 'bias' has the name of another"):
        measure_all(data, draws=10)


def test_models_one_after_the_other_have_the_tables_of_all_together(coded, tmp_path):
    """From a dataset and from a run's folder, with a model that was asked nothing."""
    rng = np.random.default_rng(4)
    stance = rng.integers(-1, 2, (4, 2, 3, 2, 2)).astype(np.int8)
    data = coded(BOTH, stance, models=("b", "a", "none", "c"), prefixes=("p", "q"), runs=2)
    data["r_plus"] = data["status"] * 0 + rng.uniform(size=data["status"].shape)
    data["status"].loc[{"model": "none"}] = NOT_ASKED
    together: dict[str, pd.DataFrame] = {}
    for measure in MEASURES.values():
        together |= measure.compute(Job(data, draws=50, seed=3))
    write_dataset(data, tmp_path / "responses.nc")
    for source in (data, tmp_path):
        tables = measure_all(source, draws=50, seed=3)
        assert set(tables) == set(together)
        for name, table in tables.items():
            keys = [c for c in table if table[c].dtype.kind not in "f"]
            one, other = (t.sort_values(keys, ignore_index=True) for t in (table, together[name]))
            pd.testing.assert_frame_equal(one, other, obj=name)
