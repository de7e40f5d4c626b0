"""The questions of studies that were not made."""

import numpy as np

from polbayes.data.dataset import CELL_DIMS
from polbayes.fit.spec.cells import gather_cells
from polbayes.tasks.planning.layouts import as_if_answered, laid_out, with_answers

NUMBERS = {"items": 12, "wordings": 3, "prefixes": 5, "runs": 2}
SOURCES = {"a": "m1", "b": "m0"}


def laid(questions, **numbers):
    return laid_out(questions, {**NUMBERS, **numbers}, SOURCES, np.random.default_rng(1))


def test_both_keys_of_every_dimension(questions):
    for number in (12, 7, 40):
        data = laid(questions, items=number)
        for dimension in ("economic", "cultural"):
            own = data["direction"].values[data["dimension"].values == dimension]
            assert len(own) == number
            assert abs(own.sum()) <= 1


def test_sizes_and_attributes(questions):
    data = laid(questions)
    assert {d: data.sizes[d] for d in CELL_DIMS} == {
        "model": 2, "item": 24, "variant": 3, "prefix": 5, "run": 2,
    }  # fmt: skip
    assert data["model"].values.tolist() == ["a", "b"]
    assert (
        data["instruct"].values.tolist()
        == questions["instruct"].sel(model=["m1", "m0"]).values.tolist()
    )
    assert len(set(data["item"].values)) == 24
    assert "statement" not in data.coords


def test_wordings_are_those_of_the_item_that_one_is_like(questions):
    data = laid(questions)
    keying, direction = data["keying"].transpose("item", "variant").values, data["direction"].values
    # Items with one wording repeat its key; those with a reversed one alternate.
    assert set(map(tuple, keying * direction[:, None])) == {(1, 1, 1), (1, -1, 1)}


def test_answers_are_where_they_belong(questions, spec):
    data = laid(questions, prefixes=2)
    at = np.random.default_rng(2).integers(-1, 3, data["status"].shape)
    answered = with_answers(data, spec, (-1, 0, 1), at)
    cells = gather_cells(answered, spec)
    first = cells.frame.iloc[0]
    own = answered["stance"].sel({d: first[d] for d in ("model", "item", "variant", "prefix")})
    assert cells.counts[0].tolist() == [(own.values == s).sum() for s in (-1, 0, 1)]
    assert cells.counts.sum() == (at >= 0).sum()


def test_no_two_runs_are_alike_before_anything_is_asked(questions, spec):
    cells = gather_cells(as_if_answered(laid(questions), spec), spec)
    assert not cells.copies
    assert (cells.counts.sum(axis=1) == 2).all()
    assert (cells.counts.max(axis=1) == 1).all()
