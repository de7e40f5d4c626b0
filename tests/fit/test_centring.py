"""Which effects sum to zero where models have attributes, and where instruments differ."""

import numpy as np
import pytest

MODELS = tuple(f"m{k}" for k in range(6))
FAMILY = ("a", "a", "a", "b", "b", "c")  # the last family has one model only
INSTRUCT = (True, False, True, False, True, False)


@pytest.fixture(scope="module")
def data(coded):
    made = coded(models=MODELS, instruct=INSTRUCT)
    family = ("model", np.array(FAMILY, dtype=object))
    return made.assign_coords(family=family, size=("model", [1.0, 7.0, 70.0, 1.0, 7.0, 3.0]))


def groups(bound, data, parts, part, *factors):
    """Return the sets of levels of a term that sum to zero, by label."""
    _, _, made = bound(parts, data)
    (term,) = [g for g in made[part].groups if g.term.factors == factors]
    if term.centred_in is None:
        return None
    sets = {}
    for level, within in zip(term.labels, term.centred_in, strict=True):
        sets.setdefault(within, set()).add(level)
    return sorted(map(sorted, sets.values()))


def by_dimension(levels):
    return [sorted(f"{x}|{d}" for x in levels) for d in ("cultural", "economic")]


FAMILIES = "~ 0 + dimension + (1 | family:dimension) + (1 | model:dimension)"


def test_models_do_not_sum_to_zero_within_their_family(bound, data):
    """Else a family would be known as well as if it had no other models."""
    found = groups(bound, data, {"theta": FAMILIES}, "theta", "model", "dimension")
    assert found == by_dimension(MODELS)


def test_families_sum_to_zero_within_each_dimension(bound, data):
    found = groups(bound, data, {"theta": FAMILIES}, "theta", "family", "dimension")
    assert found == by_dimension("abc")


@pytest.mark.parametrize("predictor", ["instruct:dimension", "size", "instruct + size:dimension"])
def test_models_do_not_sum_to_zero_within_what_a_predictor_tells_apart(bound, data, predictor):
    parts = {"theta": f"~ 0 + dimension + {predictor} + (1 | model:dimension)"}
    assert groups(bound, data, parts, "theta", "model", "dimension") == by_dimension(MODELS)


def test_acquiescence_of_models_sums_to_zero_over_all_of_them(bound, data):
    parts = {"theta": "~ 0 + dimension", "acquiescence": "~ 1 + (1 | family) + (1 | model)"}
    assert groups(bound, data, parts, "acquiescence", "model") == [list(MODELS)]
    assert groups(bound, data, parts, "acquiescence", "family") == [["a", "b", "c"]]


def test_prefixes_of_a_family_sum_to_zero_within_it(bound, data):
    parts = {
        "theta": "~ 0 + dimension",
        "acquiescence": "~ 1 + (1 | family) + (1 | family:prefix)",
    }
    found = groups(bound, data, parts, "acquiescence", "family", "prefix")
    assert found == [[f"{f}|{p}" for p in ("baseline", "please")] for f in "abc"]


@pytest.mark.parametrize(
    "common",
    ["0 + dimension", "dimension", "0 + dimension:family", "0 + dimension + dimension:size"],
)
def test_varying_coefficients_sum_to_zero_where_common_terms_have_their_mean(bound, data, common):
    parts = {"theta": f"~ {common} + (0 + dimension | model)"}
    assert groups(bound, data, parts, "theta", "model") == [list(MODELS)]


@pytest.mark.parametrize("common", ["1", "0 + keying"])
def test_varying_coefficients_without_a_common_mean_are_left_alone(bound, data, common):
    parts = {"theta": f"~ {common} + (0 + dimension | model)"}
    assert groups(bound, data, parts, "theta", "model") is None


TWO = "~ 0 + dimension:instrument + (0 + dimension | model) + (1 | model:dimension:instrument)"


@pytest.fixture(scope="module")
def two(coded):
    """The same items and as many of another instrument."""
    kinds = ("original", "opposite")
    items = [
        (f"{d[0]}{k}", d, ("left", "right")[k % 2], kinds)
        for d in ("economic", "cultural")
        for k in range(4)
    ]
    made = coded(items=items, models=("m0", "m1"))
    instrument = np.array(["p", "p", "w", "w"] * 2, dtype=object)
    return made.assign_coords(instrument=("item", instrument))


@pytest.mark.parametrize("part", ["difficulty", "discrimination"])
def test_items_have_their_origin_and_unit_in_their_instrument(bound, two, part):
    found = groups(bound, two, {"theta": TWO, part: "~ (1 | item)"}, part, "item")
    assert found == [["c0", "c1"], ["c2", "c3"], ["e0", "e1"], ["e2", "e3"]]


def test_items_of_all_instruments_have_one_origin_where_theta_does_not_differ(bound, two):
    parts = {"theta": "~ 0 + dimension", "discrimination": "~ (1 | item)"}
    found = groups(bound, two, parts, "discrimination", "item")
    assert found == [["c0", "c1", "c2", "c3"], ["e0", "e1", "e2", "e3"]]


def test_what_an_instrument_adds_sums_to_zero_within_model_and_dimension(bound, two):
    found = groups(bound, two, {"theta": TWO}, "theta", "model", "dimension", "instrument")
    expected = [
        [f"{m}|{d}|{i}" for i in "pw"] for m in ("m0", "m1") for d in ("cultural", "economic")
    ]
    assert found == expected
