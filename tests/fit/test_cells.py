from itertools import product

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.data.dataset import MISSING, STANCE, STATUS
from polbayes.errors import UserError
from polbayes.fit.spec.cells import gather_cells, label, levels, used_variables

THETA = {"theta": "~ 0 + dimension"}
PREFIX = {**THETA, "steer": "~ (1 | prefix)"}
VALID = {**THETA, "validity": "~ 1"}
U, R = STANCE["unrelated"], STANCE["refused"]

TWO = (
    ("l1", "economic", "left", ("original", "opposite")),
    ("r1", "cultural", "right", ("original",)),
)

NO_STANCE = "no stance that the model can use"


def at(cells, **where):
    """Return the number of the one row that has these values."""
    inside = np.logical_and.reduce([cells.frame[k] == v for k, v in where.items()])
    (row,) = np.flatnonzero(inside)
    return row


def test_repeated_runs_are_added_up(coded, spec_of):
    stance = np.array([[[1, 1, -1], [0, -1, -1]], [[1, 1, 1], [0, 0, 0]]])[None, :, :, None, :]
    data = coded(stance, items=TWO, models=("m",), prefixes=("p",), runs=3)
    cells = gather_cells(data, spec_of(THETA))
    assert cells.points == ("disagree", "neutral", "agree")
    assert len(cells.frame) == 3
    expected = {
        ("l1", "original"): (1, 0, 2),
        ("l1", "opposite"): (2, 1, 0),
        ("r1", "original"): (0, 0, 3),
    }
    for (item, variant), counts in expected.items():
        assert cells.counts[at(cells, item=item, variant=variant)].tolist() == list(counts)
    assert cells.asked.tolist() == cells.answered.tolist() == [3, 3, 3]
    assert cells.notes == ()
    assert cells.value.size == 0


def test_coordinates_come_with_the_cells(coded, spec_of):
    data = coded(items=TWO, models=("m",), prefixes=("p",))
    frame = gather_cells(data, spec_of(THETA)).frame
    rows = set(
        frame[["item", "variant", "dimension", "direction", "keying"]].itertuples(
            index=False, name=None
        )
    )
    assert rows == {
        ("l1", "original", "economic", -1, -1),
        ("l1", "opposite", "economic", -1, 1),
        ("r1", "original", "cultural", 1, 1),
    }


def test_every_prefix_is_a_cell_of_its_own(coded, spec_of):
    data = coded(1, items=TWO, models=("a", "b"), prefixes=("p", "q"), runs=4)
    cells = gather_cells(data, spec_of(PREFIX))
    assert len(cells.frame) == 3 * 2 * 2
    assert (cells.counts == [0, 0, 4]).all()


def test_one_answer_to_an_unscored_item_is_in_the_singular(coded, spec_of):
    items = (*TWO, ("u1", "", "", ("original",)))
    data = coded(1, items=items, models=("a",), prefixes=("p",), runs=1)
    assert "Left out: 1 answer to unscored items (u1)." in gather_cells(data, spec_of(THETA)).notes


def test_what_cannot_be_used_is_left_out_and_counted(coded, spec_of):
    items = (*TWO, ("u1", "", "", ("original",)))
    stance = np.full((2, 3, 2, 1, 4), 1)
    stance[0, 0, 0, 0] = [1, U, R, MISSING]
    stance[1, 1, 0, 0] = [0, U, 1, 1]
    data = coded(stance, items=items, models=("a", "b"), prefixes=("p",), runs=4)
    status = data["status"].values
    status[0, 0, 0, 0] = [STATUS["ok"], STATUS["ok"], STATUS["refused"], STATUS["invalid"]]
    status[1, 0, 0, 0, 0] = STATUS["pending"]
    status[1, 0, 0, 0, 1] = STATUS["error"]
    cells = gather_cells(data, spec_of(THETA))
    assert "u1" not in set(cells.frame["item"])
    row = at(cells, model="a", item="l1", variant="original")
    assert cells.counts[row].tolist() == [0, 0, 1]
    assert cells.asked[row] == 1
    assert cells.counts[at(cells, model="b", item="l1", variant="original")].tolist() == [0, 0, 2]
    assert cells.counts[at(cells, model="b", item="r1")].tolist() == [0, 1, 2]
    # Asked and back, scored: 12 of model a, 10 of model b; 3 and 1 of them have no stance.
    text = "\n".join(cells.notes)
    assert "2 cells were not asked yet, or failed, and left out." in text
    assert "Left out: 8 answers to unscored items (u1)." in text
    assert "a: no stance that the model can use in 3 of 12 answers (25.0%)." in text
    assert "b: no stance that the model can use in 1 of 10 answers (10.0%)." in text
    assert len(cells.notes) == 4


def test_unusable_answers_of_many_models_are_one_sentence(coded, spec_of):
    stance = np.full((10, 2, 2, 1, 4), 1)
    for k in range(9):
        stance[k, 0, 0, 0, : 1 + k // 3] = U
    stance[4, 0, 0, 0] = U
    models = tuple(f"m{k}" for k in range(10))
    cells = gather_cells(
        coded(stance, items=TWO, models=models, prefixes=("p",), runs=4), spec_of(THETA)
    )
    (note,) = [note for note in cells.notes if "stance" in note]
    assert note == (
        "No stance that the model can use in 20 of 108 answers (18.5%) of 9 models, most often of "
        "m4 (33.3%), m6 (25.0%), m7 (25.0%)."
    )


def test_unusable_answers_stay_as_asked_where_validity_is_modelled(coded, spec_of):
    stance = np.full((1, 2, 2, 1, 3), 1)
    stance[0, 0, 0, 0] = [U, R, MISSING]
    stance[0, 1, 0, 0] = [-1, U, 0]
    data = coded(stance, items=TWO, models=("a",), prefixes=("p",), runs=3)
    data["status"].values[0, 0, 0, 0, 1] = STATUS["refused"]
    data["status"].values[0, 0, 1, 0, 2] = STATUS["error"]
    cells = gather_cells(data, spec_of(VALID))
    found = {
        (row.item, row.variant): (cells.asked[k], cells.answered[k], tuple(cells.counts[k]))
        for k, row in enumerate(cells.frame.itertuples())
    }
    assert found == {
        ("l1", "original"): (3, 0, (0, 0, 0)),
        ("l1", "opposite"): (2, 2, (0, 0, 2)),
        ("r1", "original"): (3, 2, (1, 1, 0)),
    }
    assert any(note == f"a: {NO_STANCE} in 4 of 8 answers (50.0%)." for note in cells.notes)


def test_bernoulli_leaves_neutral_answers_out_and_says_so(coded, spec_of):
    stance = np.array([1, 0, -1, -1])[None, None, None, None, :]
    data = coded(stance, items=TWO, models=("m",), prefixes=("p",), runs=4)
    cells = gather_cells(data, spec_of(THETA, response="agree", family="bernoulli"))
    assert cells.points == ("disagree", "agree")
    assert (cells.counts == [2, 1]).all()
    assert any(note == f"m: {NO_STANCE} in 3 of 12 answers (25.0%)." for note in cells.notes)


def test_ratings_have_the_points_of_their_scale(coded, spec_of):
    rating = np.array([0, 3, 3, 1, MISSING])[None, None, None, None, :]
    data = coded(1, items=TWO, models=("m",), prefixes=("p",), runs=5, rating=rating)
    labels = ("Strongly disagree", "Disagree", "Agree", "Strongly agree")
    data["rating"].attrs["rating_points"] = "; ".join(labels)
    cells = gather_cells(data, spec_of(THETA, response="rating"))
    assert cells.points == labels
    assert (cells.counts == [1, 1, 0, 2]).all()
    assert any(note == f"m: {NO_STANCE} in 3 of 15 answers (20.0%)." for note in cells.notes)


def test_probabilities_are_squeezed_off_the_ends(coded, spec_of):
    r_plus = np.array([[0.0, 1.0], [0.5, np.nan]])[None, :, :, None, None]
    data = coded(items=TWO, models=("m",), prefixes=("p",), r_plus=r_plus)
    cells = gather_cells(data, spec_of(THETA, response="r_plus", family="logit_normal"))
    value = {(r.item, r.variant): cells.value[k] for k, r in enumerate(cells.frame.itertuples())}
    # (y (n - 1) + 1/2) / n with n = 1000
    assert value == pytest.approx(
        {("l1", "original"): 0.0005, ("l1", "opposite"): 0.9995, ("r1", "original"): 0.5}
    )
    assert cells.counts.size == 0
    assert cells.points == ()
    assert cells.answered.tolist() == [1, 1, 1]


def test_probabilities_that_are_missing_are_counted(coded, spec_of):
    r_plus = np.array([[0.2, np.nan], [0.5, np.nan]])[None, :, :, None, None]
    data = coded(items=TWO, models=("m",), prefixes=("p",), r_plus=r_plus)
    cells = gather_cells(data, spec_of(THETA, response="r_plus", family="beta"))
    assert len(cells.frame) == len(cells.value) == 2
    assert any(note == f"m: {NO_STANCE} in 1 of 3 answers (33.3%)." for note in cells.notes)


@pytest.mark.parametrize(
    ("settings", "fill"),
    [
        ({}, {"stance": MISSING}),
        ({}, {"stance": U}),
        ({"response": "agree", "family": "bernoulli"}, {"stance": 0}),
        ({"response": "r_plus", "family": "logit_normal"}, {"stance": 1, "r_plus": np.nan}),
        ({"response": "r_plus", "family": "beta"}, {"stance": 1, "r_plus": np.nan}),
    ],
)
def test_no_usable_answer_at_all_is_refused(coded, spec_of, settings, fill):
    fill = dict(fill)
    data = coded(fill.pop("stance"), items=TWO, models=("m",), **fill)
    with pytest.raises(UserError, match=r"none of the 6 answers has a usable .*validity\.csv"):
        gather_cells(data, spec_of(THETA, **settings))


def test_nothing_came_back_is_refused(coded, spec_of):
    data = coded(items=TWO, models=("m",))
    data["status"] = data["status"].where(data["status"] != STATUS["ok"], STATUS["pending"])
    with pytest.raises(UserError, match="none of the 0 answers"):
        gather_cells(data, spec_of(THETA))


@pytest.mark.parametrize(
    "settings",
    [
        {"response": "r_plus", "family": "beta"},
        {"response": "rating"},
    ],
)
def test_a_response_that_is_not_there_is_refused(coded, spec_of, settings):
    with pytest.raises(UserError, match=r"the data have no '.*'; they have stance"):
        gather_cells(coded(items=TWO), spec_of(THETA, **settings))


def test_agreement_without_stances_is_refused(coded, spec_of):
    data = coded(items=TWO).drop_vars("stance")
    with pytest.raises(UserError, match=r"analysis\.response"):
        gather_cells(data, spec_of(THETA, response="agree", family="bernoulli"))


def test_a_selection_keeps_what_it_names(coded, spec_of):
    data = coded(items=TWO, models=("a", "b"), prefixes=("p", "q"))
    spec = spec_of(THETA, select={"prefix": "q", "variant": ["original"]})
    frame = gather_cells(data, spec).frame
    assert set(frame["prefix"]) == {"q"}
    assert set(frame["variant"]) == {"original"}
    assert set(frame["model"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("parts", "select", "says"),
    [
        (THETA, {"prefixx": "q"}, "unknown variable 'prefixx'; did you mean 'prefix'?"),
        (THETA, {"prefix": "pleese"}, "analysis.select.prefix: unknown value 'pleese'; did you"),
        ({"theta": "~ 0 + dimenson"}, {}, "unknown variable 'dimenson'; did you mean 'dimension'?"),
        ({**THETA, "steer": "~ (1 | mdel)"}, {}, "unknown variable 'mdel'; did you mean 'model'?"),
        ({**THETA, "steer": "~ (0 + kin | model)"}, {}, "did you mean 'kind'?"),
        ({"theta": "~ 1 + * dimension"}, {}, "analysis.parts.theta: "),
        ({"theta": "~ dimension; x"}, {}, "analysis.parts.theta: "),
        (THETA, {"item": "l1", "dimension": "cultural"}, "unknown value 'cultural'"),
    ],
)
def test_unknown_names_are_refused(coded, spec_of, parts, select, says):
    data = coded(items=TWO, prefixes=("p", "please"))
    with pytest.raises(UserError) as caught:
        gather_cells(data, spec_of(parts, select=select))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_variables_of_all_formulas_are_found(spec_of):
    spec = spec_of(
        {
            "theta": "~ 0 + dimension + instruct:dimension + (0 + dimension | model)",
            "acquiescence": "~ 1 + (1 | gr(model:prefix, by = model))",
            "wording": "~ (0 + kind | item)",
        }
    )
    assert used_variables(spec) == {"dimension", "instruct", "model", "prefix", "kind", "item"}


@settings(max_examples=25)
@given(
    st.lists(
        st.sampled_from([*STANCE.values(), MISSING]), min_size=2 * 3 * 2 * 2, max_size=2 * 3 * 2 * 2
    )
)
def test_no_answer_is_lost_or_counted_twice(coded, spec_of, codes):
    """With three existing wordings, two models, two prefixes and two runs."""
    answers = iter(codes)
    stance = np.full((2, 2, 2, 2, 2), MISSING)
    for at_cell in product(range(2), ((0, 0), (0, 1), (1, 0)), range(2), range(2)):
        m, (i, v), p, r = at_cell
        stance[m, i, v, p, r] = next(answers)
    data = coded(stance, items=TWO, models=("a", "b"), prefixes=("p", "q"), runs=2)
    usable = [code for code in codes if code in (-1, 0, 1)]
    if not usable:
        with pytest.raises(UserError):
            gather_cells(data, spec_of(PREFIX))
        return
    cells = gather_cells(data, spec_of(PREFIX))
    assert cells.counts.sum(axis=0).tolist() == [usable.count(k) for k in (-1, 0, 1)]
    assert (cells.answered == cells.asked).all()
    assert not cells.frame.duplicated().any()
    both = gather_cells(data, spec_of({**PREFIX, "validity": "~ 1"}))
    assert both.asked.sum() == len(codes)
    assert both.answered.sum() == len(usable)


def test_levels_are_the_combinations_that_occur():
    import pandas as pd

    frame = pd.DataFrame({"a": ["y", "x", "y", "x"], "b": [2, 1, 2, 3]})
    index, table = levels(frame, ["a", "b"])
    assert table.to_numpy().tolist() == [["x", 1], ["x", 3], ["y", 2]]
    assert index.tolist() == [2, 0, 2, 1]
    assert [label(row) for row in table.to_dict("records")] == ["x|1", "x|3", "y|2"]


def with_masses(data, mass):
    """Give half of the probability of usable answers to agreeing."""
    dims = data["r_plus"].dims
    half = (dims, np.broadcast_to(np.asarray(mass) / 2, data["r_plus"].shape))
    return data.assign(p_agree=half, p_disagree=half)


@pytest.mark.parametrize("family", ["logit_normal", "beta"])
def test_the_probability_of_usable_answers_is_kept_where_it_is_modelled(coded, spec_of, family):
    data = coded(1, items=TWO, models=("m",), r_plus=0.5)
    first = {"item": data["item"].values[0]}
    mass = xr.full_like(data["r_plus"], 0.8)
    mass.loc[first] = 0.0  # and R+ cannot be had
    data = with_masses(data, mass.values).assign(r_plus=data["r_plus"].where(mass > 0))
    plain, modelled = THETA, {**THETA, "validity": "~ 1"}
    settings = {"response": "r_plus", "family": family}
    cells = gather_cells(data, spec_of(modelled, **settings)).every
    empty = (cells.frame["item"] == first["item"]).to_numpy()
    assert 0 < empty.sum() < len(empty)
    # Moved off the ends as R+ is.
    np.testing.assert_allclose(cells.mass, np.where(empty, 0.5, 0.8 * 999 + 0.5) / 1000, rtol=1e-6)
    np.testing.assert_array_equal(np.isnan(cells.value), empty)
    np.testing.assert_array_equal(cells.answered, (~empty).astype(float))
    without = gather_cells(data, spec_of(plain, **settings)).every
    assert len(without.frame) == (~empty).sum()
    assert without.mass.size == 0


def test_validity_of_numbers_needs_both_probabilities(coded, spec_of):
    data = coded(1, items=TWO, models=("m",), r_plus=0.5)
    spec = spec_of({**THETA, "validity": "~ 1"}, response="r_plus", family="logit_normal")
    with pytest.raises(UserError, match=r"validity: the data have no 'p_agree'"):
        gather_cells(data, spec)
