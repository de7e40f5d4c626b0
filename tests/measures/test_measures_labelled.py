"""Tables of measures as labelled arrays."""

import numpy as np
import pandas as pd
import pytest

from polbayes.config.schema import FeatureConfig
from polbayes.errors import UserError
from polbayes.measures import measure_all
from polbayes.measures.labelled import as_dataset, load_measures

TABLE = pd.DataFrame(
    {
        "model": ["b", "b", "a"],
        "prefix": ["p", "q", "q"],
        "measure": "bias",
        "estimate": [0.5, np.nan, -0.25],
        "n": [3, 0, 8],
        "note": ["", "no answer", None],
    }
)


def test_a_table_by_hand():
    data = as_dataset(TABLE)
    assert data["estimate"].dims == ("model", "prefix", "measure")
    assert data["model"].values.tolist() == ["b", "a"]
    assert float(data["estimate"].sel(model="a", prefix="q", measure="bias")) == -0.25
    # Without a row, and with one that has no estimate: both are NaN, and told apart.
    assert data["present"].squeeze().values.tolist() == [[True, True], [False, True]]
    assert np.isnan(data["estimate"].sel(model="a", prefix="p")).all()
    assert np.isnan(data["n"].sel(model="a", prefix="p")).all()
    assert float(data["n"].sel(model="b", prefix="q").item()) == 0
    assert data["note"].sel(model="b").values.ravel().tolist() == ["", "no answer"]
    assert data["note"].sel(model="a").values.ravel().tolist() == ["", ""]


def test_dimensions_of_ones_own_must_tell_rows_apart():
    whole = as_dataset(TABLE[:2], dims=["prefix"])
    assert whole["estimate"].dims == ("prefix",)
    assert whole["model"].values.tolist() == ["b", "b"]
    with pytest.raises(UserError, match="prefix do not tell the rows apart"):
        as_dataset(TABLE, dims=["prefix"])
    with pytest.raises(UserError, match="did you mean 'prefix'"):
        as_dataset(TABLE, dims=["prefx"])


def test_every_measure_is_laid_out_and_comes_back(coded):
    """All tables of a dataset with several of everything, and every row of each."""
    items = [
        ("a", "economic", "left", ("original", "paraphrase", "opposite")),
        ("b", "cultural", "right", ("original", "paraphrase", "opposite")),
    ]
    kinds = {"models": ("m", "n"), "prefixes": ("baseline", "q"), "instruments": ("x", "y")}
    data = coded(items, 1, **kinds)
    data["r_plus"] = data["status"].astype(np.float64) * 0 + 0.7
    sets = {"one": ["original"], "other": ["paraphrase*"]}
    names = FeatureConfig(names=["word_length", "sentence_length"])
    tables = measure_all(data, draws=10, paraphrase_sets=sets, features=names)
    assert {"bias", "paraphrase_sets", "text_features", "consistency"} <= set(tables)
    for name, table in tables.items():
        laid = as_dataset(table)
        assert int(laid["present"].sum()) == len(table), name
        numbers = [c for c in table.select_dtypes("number") if c not in laid.dims]
        for column in numbers:
            total = np.nansum(laid[column].values)
            assert total == pytest.approx(np.nansum(table[column].astype(float))), (name, column)


def test_measures_of_a_run_are_loaded(tmp_path):
    with pytest.raises(UserError, match="was the stage measure done"):
        load_measures(tmp_path)
    (tmp_path / "measures").mkdir()
    TABLE.assign(model=["NA", "NA", "null"]).to_csv(tmp_path / "measures" / "bias.csv", index=False)
    assert load_measures(tmp_path)["bias"]["model"].values.tolist() == ["NA", "null"]
