import numpy as np
import pytest

from polbayes.errors import UserError

DIMENSION_OF = {"e1": "economic", "e2": "economic", "c1": "cultural", "c2": "cultural"}
KEYED_RIGHT = (
    ("e1", "economic", "right", ("original",)),
    ("e2", "economic", "right", ("original",)),
    ("c1", "cultural", "right", ("original",)),
    ("c2", "cultural", "right", ("original",)),
)
ONE_WORDING = (
    ("e1", "economic", "left", ("original",)),
    ("e2", "economic", "right", ("original",)),
    ("c1", "cultural", "right", ("original",)),
    ("c2", "cultural", "left", ("original",)),
)


def term_of(parts, part, *factors):
    (group,) = [g for g in parts[part].groups if g.term.factors == factors]
    return group


def constraint(group):
    """Return the sets of levels that sum to zero, by label."""
    labels = group.levels.itertuples(index=False, name=None)
    sets = {}
    for level, within in zip(labels, group.centred_in, strict=True):
        sets.setdefault(within, set()).add(level)
    return {frozenset(s) for s in sets.values()}


def grouped(levels, key):
    sets = {}
    for level in levels:
        sets.setdefault(key(level), set()).add(level)
    return {frozenset(s) for s in sets.values()}


@pytest.fixture(scope="module")
def parts(coded, bound, full_parts):
    return bound(full_parts, coded(runs=3))[2]


MODELS = ("m1", "m2")
PAIRS = [(m, p) for m in MODELS for p in ("baseline", "please")]
WORDINGS = [
    ("e1", "original"),
    ("e1", "opposite"),
    ("e2", "original"),
    ("e2", "paraphrase"),
    ("c1", "original"),
    ("c1", "opposite"),
    ("c2", "original"),
    ("c2", "negation"),
]
EVERYTHING = [
    ("difficulty", ("item",), [(i,) for i in DIMENSION_OF], lambda x: DIMENSION_OF[x[0]]),
    ("discrimination", ("item",), [(i,) for i in DIMENSION_OF], lambda x: DIMENSION_OF[x[0]]),
    ("acquiescence", ("model",), [(m,) for m in MODELS], lambda x: 0),
    ("acquiescence", ("model", "prefix"), PAIRS, lambda x: x[0]),
    ("steer", ("model", "prefix"), PAIRS, lambda x: x[0]),
    (
        "quirk",
        ("model", "item"),
        [(m, i) for m in MODELS for i in DIMENSION_OF],
        lambda x: (x[0], DIMENSION_OF[x[1]]),
    ),
    ("wording", ("item", "variant"), WORDINGS, lambda x: 0),
    (
        "wording",
        ("model", "item", "variant"),
        [(m, *w) for m in MODELS for w in WORDINGS],
        lambda x: x[0],
    ),
]


@pytest.mark.parametrize(("part", "factors", "levels", "within"), EVERYTHING)
def test_effects_sum_to_zero_where_their_mean_is_another_term(parts, part, factors, levels, within):
    group = term_of(parts, part, *factors)
    assert constraint(group) == grouped(levels, within)


@pytest.mark.parametrize("theta", ["~ 0 + dimension", "~ dimension", "~ 1"])
def test_prefix_effects_of_one_model_sum_to_zero(coded, bound, theta):
    """With a coefficient for every dimension and no intercept their mean is in theta all the same.

    So theta is the position averaged over the prefixes that were asked.
    """
    parts = {"theta": theta, "steer": "~ (1 | gr(model:prefix, by = model))"}
    _, _, bound_parts = bound(parts, coded(models=("m1",)))
    np.testing.assert_array_equal(term_of(bound_parts, "steer", "model", "prefix").centred_in, 0)


def test_effects_need_not_sum_to_zero_beside_a_slope_alone(coded, bound):
    """No coefficient can take the mean of the prefixes up."""
    data = coded(models=("m1",)).assign_coords(words=("item", [1.0, 2.0, 4.0, 7.0]))
    parts = {"theta": "~ 0 + words", "steer": "~ (1 | model:prefix)"}
    _, _, bound_parts = bound(parts, data)
    assert term_of(bound_parts, "steer", "model", "prefix").centred_in is None


def test_varying_coefficients_sum_to_zero_over_the_models(parts):
    group = term_of(parts, "theta", "model")
    assert constraint(group) == {frozenset({("m1",), ("m2",)})}
    assert set(group.columns) == {"dimension[economic]", "dimension[cultural]"}


def test_widths_of_the_thresholds_have_the_geometric_mean_one(parts):
    np.testing.assert_array_equal(term_of(parts, "threshold", "model").centred_in, [0, 0])


def test_levels_index_and_answers_follow_the_cells(coded, bound, full_parts):
    _, cells, parts = bound(full_parts, coded(runs=3))
    group = term_of(parts, "quirk", "model", "item")
    named = group.levels.iloc[group.index].reset_index(drop=True)
    assert named.equals(cells.frame[["model", "item"]])
    assert group.labels[0] == "m1|c1"
    # Two wordings, two prefixes, three runs.
    assert group.answers.tolist() == [12.0] * 8
    slope = term_of(parts, "theta", "model")
    column = list(slope.columns).index("dimension[economic]")
    assert (slope.matrix[:, column] == (cells.frame["dimension"] == "economic")).all()


def test_a_scale_for_every_model(parts):
    group = term_of(parts, "wording", "model", "item", "variant")
    assert group.scales == ("m1", "m2")
    assert [group.scales[k] for k in group.scale_of] == list(group.levels["model"])
    assert term_of(parts, "wording", "item", "variant").scales == ()


def test_common_parts_have_one_row_for_each_combination(coded, bound):
    data = coded(models=("a", "b", "c"), instruct=(False, True, True))
    _, cells, parts = bound({"theta": "~ 0 + dimension + instruct:dimension"}, data)
    common = parts["theta"].common
    assert common.matrix.shape == (4, 4)
    beta = np.array([1.0, 10.0, 100.0, 1000.0])
    weight = dict(zip(common.names, beta, strict=True))
    instruct = {
        d: weight[name]
        for d in ("economic", "cultural")
        for name in common.names
        if "instruct" in name and d in name
    }
    expected = [
        weight[f"dimension[{row.dimension}]"] + row.instruct * instruct[row.dimension]
        for row in cells.frame.itertuples()
    ]
    assert (common.matrix @ beta)[common.index].tolist() == expected
    assert set(common.terms) == {"dimension", "instruct:dimension"}


def refused(bound, data, parts, **settings):
    with pytest.raises(UserError) as caught:
        bound(parts, data, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_one_model_is_refused(coded, bound, full_parts):
    text = refused(bound, coded(models=("m1",)), full_parts)
    assert "analysis.parts.theta: (0 + dimension | model) needs at least two levels" in text
    assert "only one model" in text
    assert "analysis=ideology_one_model" in text


def test_one_prefix_is_refused(coded, bound, full_parts):
    text = refused(bound, coded(prefixes=("baseline",)), full_parts)
    assert "(1 | gr(model:prefix, by = model))" in text


def test_one_prefix_without_interaction_is_refused(coded, bound):
    parts = {"theta": "~ 0 + dimension", "steer": "~ (1 | prefix)"}
    text = refused(bound, coded(prefixes=("baseline",)), parts)
    assert "analysis.parts.steer: (1 | prefix) needs at least two levels in the data" in text
    assert "only one prefix" in text


@pytest.mark.parametrize(
    "parts",
    [
        {"steer": "~ (1 | gr(model:prefix, by = model))"},
        {"steer": "~ (1 | model:prefix)"},
    ],
)
def test_one_prefix_cannot_tell_steering_from_ideology(coded, bound, full_parts, parts):
    """With one prefix, what it adds to the leaning of a model is the model's theta."""
    refused(bound, coded(prefixes=("baseline",)), {"theta": full_parts["theta"], **parts})


@pytest.mark.parametrize(
    "parts",
    [
        {"theta": "~ 0 + dimension + (0 + dimension | model)", "quirk": "~ (1 | model)"},
        {"theta": "~ 0 + dimension", "steer": "~ 1"},
        {"theta": "~ 0 + dimension", "difficulty": "~ 1 + (1 | item)"},
        {"theta": "~ 0 + dimension", "difficulty": "~ 0 + dimension + (1 | item)"},
        {"theta": "~ 1", "acquiescence": "~ 1", "wording": "~ 1 + (1 | item:variant)"},
    ],
)
def test_one_mean_in_two_parts_is_refused(coded, bound, parts):
    """Only the sum of the two would be known, and each would be its prior."""
    refused(bound, coded(), parts)


def test_one_item_in_a_dimension_is_refused(coded, bound):
    items = (
        ("e1", "economic", "left", ("original", "opposite")),
        ("e2", "economic", "right", ("original", "opposite")),
        ("c1", "cultural", "right", ("original", "opposite")),
    )
    parts = {"theta": "~ 0 + dimension", "difficulty": "~ (1 | item)"}
    text = refused(bound, coded(items=items), parts)
    assert "analysis.parts.difficulty: (1 | item) needs at least two levels" in text
    assert "only one item" in text


def test_statements_all_keyed_one_way_are_refused(coded, bound):
    data = coded(items=KEYED_RIGHT)
    theta = {"theta": "~ 0 + dimension"}
    text = refused(bound, data, {**theta, "acquiescence": "~ 1", "wording": "~ (1 | prefix)"})
    assert "every statement is keyed to the positive pole" in text
    assert "told from leaning to it" in text
    assert "leave out acquiescence and wording" in text
    bound(theta, data)  # without acquiescence there is nothing to be told apart


def test_statements_all_keyed_left_are_called_so(coded, bound):
    items = tuple((i, d, "left", w) for i, d, _, w in KEYED_RIGHT)
    text = refused(bound, coded(items=items), {"theta": "~ 1", "acquiescence": "~ 1"})
    assert "every statement is keyed to the negative pole" in text


def test_one_wording_an_item_cannot_tell_quirk_from_wording(coded, bound):
    parts = {
        "theta": "~ 0 + dimension",
        "quirk": "~ (1 | model:item)",
        "wording": "~ (1 | gr(model:item:variant, by = model))",
    }
    text = refused(bound, coded(items=ONE_WORDING), parts)
    assert "wording's (1 | gr(model:item:variant, by = model))" in text
    assert "quirk's (1 | model:item)" in text
    bound(parts, coded())  # with two wordings it can


def test_one_wording_an_item_cannot_tell_difficulty_from_wording(coded, bound):
    parts = {
        "theta": "~ 0 + dimension",
        "difficulty": "~ (1 | item)",
        "wording": "~ (1 | item:variant)",
    }
    text = refused(bound, coded(items=ONE_WORDING), parts)
    assert "cannot tell wording's (1 | item:variant) from difficulty's (1 | item)" in text
    # Items whose two wordings are keyed differently keep the two apart.
    bound(parts, coded())


def test_two_names_for_the_same_levels_are_refused(coded, bound):
    data = coded()
    # Every model has a family of its own here.
    data = data.assign_coords(family=("model", np.array(["f1", "f2"], dtype=object)))
    parts = {"theta": "~ 0 + dimension", "steer": "~ (1 | model:prefix) + (1 | family:prefix)"}
    assert "(1 | family:prefix) from steer's (1 | model:prefix)" in refused(bound, data, parts)


OF_THETA = "~ 0 + dimension + (0 + dimension | model)"


@pytest.mark.parametrize(
    ("steer", "identified"),
    [
        ("~ (0 + length | model)", True),
        ("~ (0 + length + log(length) | model)", True),
        ("~ (1 + length | model)", False),  # its intercepts are in theta
        ("~ (0 + kindly | model)", False),  # so is the mean of an effect of either level
        ("~ (1 | model)", False),
        ("~ (0 + length | model) + (0 + I(length * 2) | model)", False),
    ],
)
def test_slopes_of_prompts_are_told_from_positions(coded, bound, steer, identified):
    """The slope of a number is no effect of the model: 3 prompts of length 1, 2 and 5."""
    data = coded(prefixes=("one", "two", "five")).assign_coords(
        length=("prefix", [1.0, 2.0, 5.0]),
        kindly=("prefix", np.array(["yes", "no", "no"], dtype=object)),
    )
    parts = {"theta": OF_THETA, "steer": steer}
    if identified:
        (group,) = bound(parts, data)[2]["steer"].groups
        assert group.centred_in is None
    else:
        assert "the data cannot tell steer's" in refused(bound, data, parts)


def test_a_combination_that_does_not_occur_has_no_coefficient(coded, bound):
    """Instrument b has no cultural statements."""
    data = coded()
    economic = data["dimension"].values == "economic"
    b = economic & (np.cumsum(economic) == 1)
    data = data.assign_coords(instrument=("item", np.where(b, "b", "a")))
    common = bound({"theta": "~ 0 + dimension:instrument"}, data)[2]["theta"].common
    assert len(common.names) == 3
    assert np.linalg.matrix_rank(common.matrix) == 3


@pytest.mark.parametrize("instruct", [(True, True), (False, False)])
def test_a_predictor_that_does_not_vary_is_refused(coded, bound, instruct):
    text = refused(
        bound, coded(instruct=instruct), {"theta": "~ 0 + dimension + instruct:dimension"}
    )
    assert text.startswith("analysis.parts.theta: the data cannot tell the terms of")
    assert "4 coefficients, 2 of them independent" in text


def test_functions_of_a_numeric_attribute_are_predictors(coded, bound):
    data = coded(models=("a", "b", "c")).assign_coords(size=("model", [1.0, 10.0, 100.0]))
    parts = {"theta": "~ 1 + log10(size) + scale(size)"}
    _, cells, bound_parts = bound(parts, data)
    common = bound_parts["theta"].common
    assert common.names[:2] == ("Intercept", "log10(size)")
    by_cell = common.matrix[common.index]
    np.testing.assert_allclose(by_cell[:, 1], np.log10(cells.frame["size"]))
    np.testing.assert_allclose(by_cell[:, 2].mean(), 0, atol=1e-12)
    zero = data.assign_coords(size=("model", [0.0, 10.0, 100.0]))
    text = refused(bound, zero, {"theta": "~ log(size)"})
    assert "'log(size)' is not a finite number for all of the data" in text


@pytest.mark.parametrize("text", ["~ f(dimension)", "~ dimension[economic", "~ log(kind)"])
def test_what_cannot_be_evaluated_is_refused(coded, bound, text):
    assert "analysis.parts.theta" in refused(bound, coded(), {"theta": text})


def test_no_intercept_and_nothing_else_is_no_common_part(coded, bound):
    """`-1` is R's other way of writing `0`."""
    _, _, parts = bound({"theta": "~ 0 + dimension", "steer": "~ -1 + (1 | model:prefix)"}, coded())
    assert parts["steer"].common is None


def test_a_level_for_every_answer_is_refused_beside_a_residual(coded, bound):
    data = coded(r_plus=0.5)
    parts = {
        "theta": "~ 0 + dimension",
        "wording": "~ (1 | model:item:variant:prefix)",
        "sigma": "~ 1",
    }
    text = refused(bound, data, parts, response="r_plus", family="logit_normal")
    assert "analysis.parts.wording: (1 | model:item:variant:prefix) has one level for every" in text
    kept = {**parts, "wording": "~ (1 | item:variant)"}
    bound(kept, data, response="r_plus", family="logit_normal")


def test_coefficients_with_a_scale_for_every_level_are_refused(coded, bound):
    """Two columns and two models would need a standard deviation for each of the four."""
    parts = {"theta": "~ 0 + dimension", "steer": "~ (0 + kind | gr(model:prefix, by = model))"}
    assert "by = model" in refused(bound, coded(), parts)
