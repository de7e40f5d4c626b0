"""The published figures that are carried along, against the tables they were taken from."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from polbayes.config.compose import compose
from polbayes.config.schema import STUDIES
from polbayes.errors import UserError
from polbayes.report.studies.faulborn import published_mean_shift
from polbayes.report.studies.published import load_published, published_at

EXPERIMENTS = {
    "faulborn": ("faulborn",),
    "haller": ("haller", "haller_masked"),
    "lunardi": ("lunardi", "lunardi_masked"),
}
NAMES = {
    "gpt-3.5-turbo-0125": "gpt-35-turbo",
    "mistral-7b-instruct-v0.1": "mistral-7b-instruct",
    "mistral-7b-v0.1": "mistral-7b",
}
HALF = 0.00051


@pytest.mark.parametrize("study", STUDIES)
def test_models_go_by_the_names_that_the_experiments_give_them(study):
    known = set()
    for name in EXPERIMENTS[study]:
        known |= set(compose([f"+experiment={name}"])[0].respondents)
    models = set(load_published(study)["model"].dropna())
    assert models
    assert models <= known
    if study != "lunardi":
        assert models == known


def test_an_unknown_study_is_said():
    with pytest.raises(UserError, match="did you mean 'haller'"):
        load_published("haler")


def test_bias_of_faulborn(shared_data):
    source = pd.read_csv(shared_data / "faulborn" / "bias_by_source_dimension.csv")
    found = published_at("faulborn", "figure_1").set_index(["model", "instrument", "dimension"])
    assert len(found) == len(source) == 77
    for row in source.to_dict("records"):
        instrument = "all" if row["source"] == "total" else row["source"]
        dimension = "total" if row["dimension"] == "all" else row["dimension"]
        own = found.loc[NAMES.get(row["model"], row["model"]), instrument, dimension]
        assert own["estimate"] == pytest.approx(row["bias"], abs=HALF)
        assert own["tuned"] == row["tuned"]
        if np.isfinite(row["ci_lower"]):
            ends = [row["ci_lower"], row["ci_upper"]]
            assert [own["lower"], own["upper"]] == pytest.approx(ends, abs=HALF)


def test_the_carried_figures_give_the_published_agreement_of_orders():
    """Kendall's tau of 0.600 and 0.709, from values rounded to three decimals."""
    table = published_at("faulborn", "figure_1")
    for dimension, tau in (("cultural", 0.600), ("economic", 0.709)):
        rows = table[table["dimension"] == dimension]
        wide = rows.pivot(index="model", columns="instrument", values="estimate")
        found = kendalltau(wide["wvs"], wide["pct"])
        assert found.statistic == pytest.approx(tau, abs=5e-4)
        assert 0.001 < found.pvalue < 0.011


def test_figure_2b_is_that_of_the_published_prefix_values(shared_data):
    source = pd.read_csv(shared_data / "faulborn" / "prefixes_long.csv")
    carried = published_at("faulborn", "figure_2").set_index(["model", "prefix"])["estimate"]
    assert len(carried) == len(source) == 110
    found = published_mean_shift().set_index("model")["estimate"]
    for model, rows in source.groupby("model"):
        values = rows.set_index("prefix")["bias"]
        for prefix, value in values.items():
            assert carried[NAMES.get(model, model), prefix] == pytest.approx(value, abs=HALF)
        others = [abs(v - values["baseline"]) for p, v in values.items() if p != "baseline"]
        mean = sum(others) / 9
        assert found[NAMES.get(model, model)] == pytest.approx(mean, abs=2 * HALF)
    # The text: gpt-3.5-turbo moves most of the instruction-tuned models.
    tuned = published_mean_shift().query("tuned == 'instruct'")
    assert tuned.loc[tuned["estimate"].idxmax(), "model"] == "gpt-35-turbo"


def test_the_published_differences_of_instruments_are_those_of_the_published_biases(shared_data):
    folder = shared_data / "faulborn"
    bias = pd.read_csv(folder / "bias_by_source_dimension.csv").query("dimension == 'all'")
    wide = bias.pivot(index="model", columns="source", values="bias")
    apart = pd.read_csv(folder / "wvs_pc_compare.csv").set_index("model")["wvs_minus_pct"]
    found = (wide["wvs"] - wide["pct"])[apart.index]
    assert found.tolist() == pytest.approx(apart.tolist(), abs=1e-12)


def test_differences_and_deviations_of_faulborn(shared_data):
    folder = shared_data / "faulborn"
    apart = pd.read_csv(folder / "wvs_pc_compare.csv").set_index("model")
    found = published_at("faulborn", "figure_4").set_index("model")
    for model, row in apart.iterrows():
        own = found.loc[NAMES.get(model, model)]
        ends = [row["wvs_minus_pct"], row["ci_lower"], row["ci_upper"]]
        assert own[["estimate", "lower", "upper"]].tolist() == pytest.approx(ends, abs=HALF)
    drawn = published_at("faulborn", "figure_6").set_index(["measure", "prefix", "model"])
    for row in pd.read_csv(folder / "figure6_deviation_digitised.csv").to_dict("records"):
        key = (row["contrast"], NAMES.get(row["model"], row["model"]))
        for measure, column in (
            ("as drawn", "mean_others_minus_this"),
            ("recomputed", "recomputed_from_prefixes_csv"),
        ):
            value = drawn.loc[(measure, *key), "estimate"]
            assert value == pytest.approx(row[column], abs=HALF)


@pytest.mark.parametrize(
    ("at", "file", "column"),
    [
        ("table_3", "table3_effects.csv", "estimate"),
        ("table_4", "table4_match_proportion.csv", "match_proportion"),
    ],
)
def test_tables_of_haller(shared_data, at, file, column):
    source = pd.read_csv(shared_data / "haller" / file)
    found = published_at("haller", at)
    assert found["estimate"].tolist() == pytest.approx(source[column].tolist(), abs=HALF)


def test_stability_of_haller(shared_data):
    source = pd.read_csv(shared_data / "haller" / "table1_stability.csv")
    found = published_at("haller", "table_1").pivot(
        index="model", columns="measure", values="estimate"
    )
    order = published_at("haller", "table_1")["model"].drop_duplicates()
    for measure, column in (
        ("validity", "validity"),
        ("range", "range_mean"),
        ("sd", "sd_mean"),
        *((f"flip_{k}", f"flip{k}") for k in (5, 10, 25)),
    ):
        assert found.loc[order, measure].tolist() == pytest.approx(source[column].tolist())
    agree = found.index[found["always_agree"] == 1]
    assert set(agree) == {
        *("falcon-7b", "llama-2-7b", "llama-2-13b", "tinyllama"),
        *("bert-base", "bert-large", "electra"),
    }
    assert found.index[found["always_disagree"] == 1].tolist() == ["distilroberta-base"]
