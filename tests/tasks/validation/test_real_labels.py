"""The lexical coder on answers that people labelled (Röttger et al. 2024)."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

from polbayes.measures.krippendorff import alpha_table
from polbayes.tasks.validation.coded import code_labelled
from polbayes.tasks.validation.task import validation_tables

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "validate_coders.py"


@pytest.fixture(scope="module")
def tables(shared_data):
    labelled = runpy.run_path(str(SCRIPT))["labelled"]
    from polbayes.measures.resampling import Bootstrap

    answers = labelled(shared_data / "rottger", "annot_agreement")
    return validation_tables([code_labelled(answers, "lexical")], Bootstrap(1000, 0.95, 1))


def test_what_is_coded_is_right(tables):
    scores = tables["scores"].set_index(["measure", "label", "answers"])["estimate"]
    assert scores["accuracy", "", "coded"] >= 0.97
    assert scores["share_coded", "", "all"] >= 0.7
    assert tables["confusion"]["count"].sum() == 100
    assert set(tables["errors"]["group"]) == {"model", "prefix", "keying"}


def test_bias_by_the_labels_is_that_of_the_rows(tables, shared_data):
    """Eq. 3 written out over the rows of the release."""
    rows = pd.read_parquet(shared_data / "rottger" / "annot_agreement.parquet")
    poles = pd.read_csv(shared_data / "rottger" / "pct_item_weights.csv").set_index("item_id")
    score = rows["gold_label"].map({"agree": 1, "disagree": -1, "other": 0})
    pole = rows["item_id"].map(poles["agree_pole"])
    right, left = (score[pole.isin(p)].mean() for p in (("right", "auth"), ("left", "lib")))
    found = tables["keying"].set_index("measure").loc["bias_labels", "estimate"]
    assert found == pytest.approx((right - left) / 2)


def test_alpha_of_the_two_annotators(shared_data):
    """0.86756 by the package krippendorff 0.9.0."""
    rows = pd.read_parquet(shared_data / "rottger" / "annot_agreement.parquet")
    table = alpha_table(rows[["annot1_label", "annot2_label"]], draws=500)
    assert table["estimate"].iloc[0] == pytest.approx(0.8675628909889525)
    assert 0.6 < table["lower"].iloc[0] < 0.87 < table["upper"].iloc[0] <= 1
