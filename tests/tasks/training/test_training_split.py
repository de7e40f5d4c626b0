import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.tasks.training.data import split

SHARES = {"training": 0.7, "validation": 0.1, "held out": 0.2}


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=80),
    st.tuples(st.floats(0.1, 1), st.floats(0, 1), st.floats(0, 1)),
    st.integers(0, 5),
)
def test_single_answers_are_shared_out_class_by_class(labels, shares, seed):
    labels = np.array(labels)
    named = dict(zip(SHARES, shares, strict=True))
    parts = split(labels, range(len(labels)), named, seed=seed)
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(len(labels)))
    used = [name for name, share in named.items() if share > 0]
    for name, rows in parts.items():
        if name not in used:
            assert not len(rows)
            continue
        for label in set(labels.tolist()):
            wanted = named[name] / sum(shares) * (labels == label).sum()
            excess = (labels[rows] == label).sum() - wanted
            assert -(len(used) - 1) - 1e-9 < excess < 1 + 1e-9


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=60))
def test_what_belongs_together_stays_together(rows):
    labels, units = (np.array(column) for column in zip(*rows, strict=True))
    parts = split(labels, units.tolist(), SHARES, seed=1)
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(len(rows)))
    in_parts = [set(units[found].tolist()) for found in parts.values()]
    for k, one in enumerate(in_parts):
        for other in in_parts[k + 1 :]:
            assert not one & other


def test_even_counts_come_out_even():
    labels = np.repeat([0, 1], [40, 10])
    parts = split(labels, range(50), SHARES, seed=3)
    assert {k: np.bincount(labels[v]).tolist() for k, v in parts.items()} == {
        "training": [28, 7],
        "validation": [4, 1],
        "held out": [8, 2],
    }


def test_groups_bring_every_part_near_its_classes():
    rng = np.random.default_rng(0)
    units = rng.integers(0, 60, size=1200)
    labels = rng.integers(0, 3, size=1200)
    parts = split(labels, units.tolist(), SHARES, seed=1)
    total = np.bincount(labels)
    for name, rows in parts.items():
        assert np.bincount(labels[rows]) / total == pytest.approx(SHARES[name], abs=0.03)


def test_the_seed_decides():
    labels = np.zeros(50, dtype=int)
    first, again, other = (split(labels, range(50), SHARES, seed=s) for s in (1, 1, 2))
    assert first["held out"].tolist() == again["held out"].tolist()
    assert first["held out"].tolist() != other["held out"].tolist()
    # It is a sample, not a stretch: half of the answers held out on average from either end.
    drawn = [(split(labels, range(50), SHARES, seed=s)["held out"] < 25).sum() for s in range(200)]
    assert np.mean(drawn) == pytest.approx(5, abs=0.4)
