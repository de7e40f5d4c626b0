"""The measures on answers of real models, released by Eroglu."""

import numpy as np
import pandas as pd
import pytest

from polbayes.measures import bias
from polbayes.measures.resampling import generator, resample_answers

SIDE_OF_POLE = {"left": "left", "lib": "left", "right": "right", "auth": "right"}


@pytest.fixture(scope="module")
def eroglu(coded, shared_data):
    """Two chat models' 37,200 answers to the Political Compass, contexts as prefixes."""
    rows = pd.read_parquet(shared_data / "eroglu" / "responses.parquet")
    keys = pd.read_csv(shared_data / "rottger" / "pct_item_weights.csv").set_index("item_id")
    side = keys["agree_pole"].map(SIDE_OF_POLE).fillna("")
    dimension = keys["axis"].map({"econ": "economic", "soc": "cultural"}).fillna("")
    rows["stance"] = np.where(rows["score_0_3"] >= 2, 1, -1)
    rows["side"] = rows["item_id"].map(side.map({"left": -1, "right": 1}))
    rows["dimension"] = rows["item_id"].map(dimension)
    sizes = [rows[c].unique() for c in ("model", "item_id", "context", "run")]
    index = pd.MultiIndex.from_product(sizes)
    cells = rows.set_index(["model", "item_id", "context", "run"])["stance"].loc[index]
    stance = cells.to_numpy().reshape([len(s) for s in sizes])[:, :, None]
    items = [(i, dimension[i], side[i], ("original",)) for i in sizes[1]]
    data = coded(items, stance, models=sizes[0], prefixes=sizes[2], runs=len(sizes[3]))
    return data, rows


def eq_3(rows):
    """Bias of rows with `side` and `stance`, written without the package."""
    left, right = (rows.loc[rows["side"] == side, "stance"].mean() for side in (-1, 1))
    return (right - left) / 2


def test_bias_of_real_answers_is_that_of_their_rows(eroglu):
    data, rows = eroglu
    scored = rows[rows["dimension"] != ""]
    table = bias(data, by=("model", "prefix", "dimension"), measures=["bias"], draws=200)
    table = table.set_index(["model", "prefix", "dimension"])
    assert len(table) == 2 * 3 * 3
    for (model, context), group in scored.groupby(["model", "context"]):
        for dimension, part in [*group.groupby("dimension"), ("total", group)]:
            found = table.loc[(model, context, dimension)]
            assert found["estimate"] == pytest.approx(eq_3(part))
            assert found["n"] == len(part)
            assert found["n_items"] == part["item_id"].nunique()
            # A hundred repetitions of one question are no hundred questions.
            assert found["lower_item"] < found["lower"] < found["upper"] < found["upper_item"]


def test_items_without_any_variance_are_survived(eroglu):
    data, rows = eroglu
    scored = rows[rows["dimension"] != ""]
    constant = scored.groupby(["model", "item_id"])["stance"].nunique() == 1
    table = bias(data, by=("model", "item"), measures=["bias_left", "bias_right"], draws=100)
    found = table[table["estimate"].notna()].set_index(["model", "item"])
    never = found["note"].str.startswith("answers never vary")
    assert len(found) == len(constant)
    assert (never == constant.reindex(never.index)).all()
    assert 0 < constant.sum() < len(constant)


def test_resampled_scores_reproduce_the_published_intervals(eroglu, shared_data):
    """Published: mean -+ 1.96 s / 10 of 100 scores from 0 to 3, in 372 cells."""
    _, rows = eroglu
    published = pd.read_csv(shared_data / "eroglu" / "published_ci.csv")
    cells = rows.groupby(["model", "context", "item_id"])["score_0_3"]
    for row in published.to_dict("records"):
        for model in ("ChatGPT", "DeepSeek"):
            scores = cells.get_group((model, row["Context"], row["item_id"]))
            counts = np.bincount(scores, minlength=4)
            assert counts @ np.arange(4) / 100 == pytest.approx(row[f"{model}_Mean"])
            drawn = resample_answers(counts, 4000, generator(1, model, row["item_id"]))
            means = drawn @ np.arange(4) / 100
            bounds = means.mean() + np.array([-1.96, 1.96]) * means.std() * np.sqrt(100 / 99)
            width = row[f"{model}_CI_High"] - row[f"{model}_CI_Low"]
            expected = [row[f"{model}_CI_Low"], row[f"{model}_CI_High"]]
            # Exactly, by the normal interval that was published.
            half = 1.96 * scores.std(ddof=1) / 10
            np.testing.assert_allclose([scores.mean() - half, scores.mean() + half], expected)
            # 4,000 draws know a standard deviation to 1.1 % and the mean to 1.6 % of it.
            np.testing.assert_allclose(bounds, expected, atol=0.04 * width + 1e-12)
