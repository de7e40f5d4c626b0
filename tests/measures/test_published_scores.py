"""Published scores against the formula by hand."""

import numpy as np
import pytest

from polbayes.data.dataset import CELL_DIMS, MISSING, STANCE, STATUS
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.dimensions import Dimension
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.measures.measure import Job
from polbayes.measures.scores import MEASURE, scores

DIMENSIONS = (
    Dimension("econ", "Economic", "equality", "markets", (0, 100)),
    Dimension("govt", "Civil", "authority", "liberty", (0, 100)),
)
WEIGHTS = [{"econ": 10.0}, {"econ": -5.0, "govt": 10.0}, {"govt": -10.0}, {}]


def dataset(weights=WEIGHTS, dimensions=DIMENSIONS):
    items = []
    for n, own in enumerate(weights):
        name = max(own, key=lambda d: abs(own[d])) if own else dimensions[0].dimension
        direction = -1 if own and own[name] < 0 else 1
        wordings = (
            Variant("original", f"It is {n}.", "original", 1),
            Variant("negation", f"It is not {n}.", "negation", -1),
        )
        items.append(Item(f"q{n}", name, direction, "s", wordings, {}, weights=own))
    instrument = Instrument("t", "T", "C", tuple(items), dimensions=dimensions)
    infos = [ModelInfo("one", ""), ModelInfo("two", "")]
    return design([instrument], [Prefix("baseline", "", "open")], infos)


def with_ratings(data, points):
    """Fill in `points[model][item]` as the answers to the originals; None for no answer."""
    rating = np.full(tuple(data.sizes[d] for d in CELL_DIMS), MISSING, dtype=np.int8)
    for m, row in enumerate(points):
        for i, point in enumerate(row):
            if point is not None:
                rating[m, i, 0, 0, 0] = point
    data["status"][:] = STATUS["ok"]
    data["rating"] = (CELL_DIMS, rating, {"rating_points": "--; -; 0; +; ++"})
    return data


def by(table):
    return {(r["model"], r["dimension"]): r for r in table.to_dict("records")}


def test_two_axes_as_8values_computes_them():
    """Multipliers 1, .5, 0, -.5, -1; score = 100 (max + sum) / (2 max)."""
    data = with_ratings(dataset(WEIGHTS[:3]), [[4, 3, 0], [0, 2, 1]])
    found = by(scores(data, draws=100))
    # econ: 10·1 − 5·½ of 15; govt: 10·½ + 10·1 of 20.
    assert found["one", "econ"]["estimate"] == pytest.approx(100 * (15 + 7.5) / 30)
    assert found["one", "govt"]["estimate"] == pytest.approx(100 * (20 + 15) / 40)
    # econ: −10 of 15; govt: 0 + 10·½ of 20.
    assert found["two", "econ"]["estimate"] == pytest.approx(100 * (15 - 10) / 30)
    assert found["two", "govt"]["estimate"] == pytest.approx(100 * (20 + 5) / 40)
    assert all(row["lower"] <= row["estimate"] <= row["upper"] for row in found.values())
    assert found["one", "econ"]["n_items"] == 2


def test_items_without_weights_and_without_answers():
    data = with_ratings(dataset(), [[4, None, None, 0], [None, None, None, None]])
    found = by(scores(data, draws=100))
    # 10·1 and 1·(−1), of 11.
    assert found["one", "econ"]["estimate"] == pytest.approx(100 * (11 + 9) / 22)
    assert set(found) == {("one", "econ")}


def test_one_dimension_is_the_mean_keyed_answer():
    only = Dimension("care", "Care", "less", "more")
    data = with_ratings(dataset([{}, {}, {"care": -1.0}], (only,)), [[4, 3, 0], [2, 2, 4]])
    found = by(scores(data, draws=100))
    assert found["one", "care"]["estimate"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert found["two", "care"]["estimate"] == pytest.approx(-1 / 3)


def test_a_scale_may_run_the_other_way():
    only = Dimension("econ", "Economic", "equality", "markets", (100, 0))
    data = with_ratings(dataset([{"econ": 2.0}, {"econ": 1.0}], (only,)), [[4, 0], [0, 0]])
    found = by(scores(data, draws=100))
    assert found["one", "econ"]["estimate"] == pytest.approx(100 * (1 - (1 + 1 / 3) / 2))
    assert found["two", "econ"]["estimate"] == 100
    assert found["one", "econ"]["lower"] <= found["one", "econ"]["upper"]


def test_reversed_wordings_and_stances():
    data = dataset([{"econ": 1.0}, {"econ": 3.0}], DIMENSIONS[:1])
    stance = np.full(tuple(data.sizes[d] for d in CELL_DIMS), STANCE["refused"], dtype=np.int8)
    # One agrees with the first original and with its negation: 0 together; and with the second.
    stance[0, 0, :, 0, 0] = STANCE["agree"]
    stance[0, 1, 0, 0, 0] = STANCE["agree"]
    # Two disagrees with the negation alone.
    stance[1, 1, 1, 0, 0] = STANCE["disagree"]
    data["status"][:] = STATUS["ok"]
    data["stance"] = (CELL_DIMS, stance)
    found = by(scores(data, draws=100))
    assert found["one", "econ"]["estimate"] == pytest.approx(100 * (4 + 3) / 8)
    assert found["one", "econ"]["n"] == 3
    assert found["two", "econ"]["estimate"] == 100
    assert np.isnan(found["two", "econ"]["lower"])


def test_only_declared_dimensions_have_scores():
    declared = with_ratings(dataset(), [[4] * 4, [0] * 4])
    assert "scores" in MEASURE.compute(Job(declared, draws=100))
    usual = declared.drop_dims("score")
    assert not MEASURE.compute(Job(usual, draws=100))
