import numpy as np
import pytest

from polbayes.data.dataset import MISSING, STATUS
from polbayes.measures import validity

ITEMS = [
    ("a", "economic", "left", ("original", "opposite")),
    ("b", "cultural", "right", ("original",)),
    ("u", "", "", ("original",)),
]
# Four wordings, three runs; the row of b and u has no second wording.
STANCE = [
    [[1, 1, 0], [-1, 2, 3]],
    [[MISSING, MISSING, MISSING], [0, 0, 0]],
    [[MISSING, MISSING, 1], [0, 0, 0]],
]
ANSWERED, PENDING = STATUS["ok"], STATUS["pending"]
STATUSES = [
    [[ANSWERED, ANSWERED, ANSWERED], [ANSWERED, ANSWERED, ANSWERED]],
    [[STATUS["refused"], STATUS["invalid"], STATUS["error"]], [0, 0, 0]],
    [[PENDING, ANSWERED, ANSWERED], [0, 0, 0]],
]


@pytest.fixture
def data(coded):
    data = coded(ITEMS, np.array(STANCE)[None, :, :, None, :], runs=3)
    given = np.array(STATUSES, dtype=np.int8)[None, :, :, None, :]
    data["status"] = data["status"].where(data["status"] == -128, given)
    return data


def test_every_cell_is_counted_once(data):
    table = validity(data, draws=20).set_index("measure")
    counts = {
        "answered": 10,
        "error": 1,
        "pending": 1,
        "usable": 5,
        "agree": 3,
        "neutral": 1,
        "disagree": 1,
        "unrelated": 1,
        "refused": 2,
        "empty": 0,
        "truncated": 0,
        "invalid": 1,
        "uncoded": 1,
    }
    assert table["count"].to_dict() == counts
    assert set(table.loc[table["base"] == "asked", "n"]) == {12}
    assert set(table.loc[table["base"] == "answered", "n"]) == {10}
    assert table.loc["usable", "estimate"] == 0.5
    # Wilson, 5 of 10: centre 0.5, half width sqrt(q) / (2 sqrt(1 + q)) with q = z^2 / 10.
    z2 = 1.959964**2 / 10
    half = 0.5 * np.sqrt(z2) / np.sqrt(1 + z2)
    assert table.loc["usable", ["lower", "upper"]].tolist() == pytest.approx(
        [0.5 - half, 0.5 + half]
    )


def test_groups_and_unscored_items(data):
    table = validity(data, by=("dimension",), draws=20)
    answered = table[table["measure"] == "answered"].set_index("dimension")["count"]
    assert answered.to_dict() == {"economic": 6, "cultural": 2, "": 2, "total": 10}


def test_nothing_answered_yet(data):
    data["status"] = data["status"].where(data["status"] == -128, np.int8(PENDING))
    data["stance"] = data["stance"].where(data["status"] == -128, np.int8(MISSING))
    table = validity(data, draws=20).set_index("measure")
    assert table.loc["pending", "estimate"] == 1
    assert np.isnan(table.loc["usable", "estimate"])
    assert table.loc["usable", "note"] == "nothing was answered"


@pytest.mark.parametrize("with_runs", [True, False])
def test_mass_is_the_mean_over_cells(data, with_runs):
    """Mass a/original 0.9, a/opposite 0.5, b 0.7, u unknown: mean 0.7."""
    agree = np.array([[0.6, 0.5], [0.1, np.nan], [np.nan, np.nan]])[None, :, :, None, None]
    disagree = np.array([[0.3, 0.0], [0.6, np.nan], [np.nan, np.nan]])[None, :, :, None, None]
    shape = data["status"].shape
    for name, values in (("p_agree", agree), ("p_disagree", disagree)):
        full = data["status"].copy(data=np.broadcast_to(values, shape).astype(np.float32))
        data[name] = full if with_runs else full.isel(run=0, drop=True)
    found = validity(data, draws=500).set_index("measure").loc["mass"]
    assert found["estimate"] == pytest.approx(0.7, abs=1e-6)
    assert (found["count"], found["n"]) == ((9, 12) if with_runs else (3, 4))
    assert found["lower"] == pytest.approx(0.7, abs=1e-6)  # both items have mean 0.7
    assert found["upper"] == pytest.approx(0.7, abs=1e-6)


@pytest.mark.parametrize("name", ["empty", "truncated", "invalid"])
def test_what_nobody_could_read_is_told_apart(data, name):
    before = validity(data, draws=20).set_index("measure")["count"]
    data["status"] = data["status"].where(data["status"] != STATUS["invalid"], STATUS[name])
    after = validity(data, draws=20).set_index("measure")["count"]
    changed = {key: after[key] - before[key] for key in after.index if after[key] != before[key]}
    assert changed == ({} if name == "invalid" else {name: 1, "invalid": -1})
