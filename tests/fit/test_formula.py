import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.errors import UserError
from polbayes.fit.spec.formula import Formula, GroupTerm, parse_formula

WHERE = "analysis.parts.theta"


@pytest.mark.parametrize(
    ("text", "common", "groups"),
    [
        ("~ 1", "1", ()),
        ("1", "1", ()),
        ("  ~  0 + dimension ", "0 + dimension", ()),
        ("~ (1 | item)", "0", (GroupTerm("1", ("item",)),)),
        ("~ 0 + (1|item)", "0", (GroupTerm("1", ("item",)),)),
        ("~ x + (1 + x | model) + z", "x + z", (GroupTerm("1 + x", ("model",)),)),
        ("~ 1 + (1 | model : prefix)", "1", (GroupTerm("1", ("model", "prefix")),)),
        (
            "~ (1 | item:variant) + (1 | gr(model:item:variant, by = model))",
            "0",
            (
                GroupTerm("1", ("item", "variant")),
                GroupTerm("1", ("model", "item", "variant"), by="model"),
            ),
        ),
        ("~ (0 + dimension | model)", "0", (GroupTerm("0 + dimension", ("model",)),)),
        (
            "~ (0 + dimension || model)",
            "0",
            (GroupTerm("0 + dimension", ("model",), correlated=False),),
        ),
        ("~ (1 + x + (y) | model)", "0", (GroupTerm("1 + x + (y)", ("model",)),)),
    ],
)
def test_notation_of_lme4_and_brms(text, common, groups):
    assert parse_formula(text, where=WHERE) == Formula(text.strip(), common, groups)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the formula is empty"),
        (" ~ ", "the formula is empty"),
        ("~ (1 | model", "leaves a parenthesis open"),
        ("~ 1 | model)", "closes a parenthesis that was never opened"),
        ("~ 1 +", "has a '[+]' with nothing beside it"),
        ("~ + 1", "has a '[+]' with nothing beside it"),
        ("~ 1 + + x", "has a '[+]' with nothing beside it"),
        ("~ ( | model)", r"does not say what varies; write \(1 \| model\)"),
        ("~ (1 | )", "is not a grouping factor"),
        ("~ (1 | 3)", "'3' is not a grouping factor"),
        ("~ (1 | model*prefix)", r"'model\*prefix' is not a grouping factor"),
        ("~ (1 | model/prefix)", "is not a grouping factor"),
        ("~ (1 | model) (1 | item)", "is not a grouping factor"),
        ("~ (1 ||| model)", "is not a grouping factor"),
        ("~ (1 | gr(model, scale = model))", "is not a grouping factor"),
        ("~ (1 | model) * 2", r"cannot be read; write \(1 \| group\)"),
        ("~ (1 | gr(model:prefix, by = item))", "'item' must be one of the grouping factors"),
        ("~ (1 | model) + (1|model)", "the same group-specific term twice"),
    ],
)
def test_what_is_no_formula_is_refused_with_the_key(text, says):
    with pytest.raises(UserError, match=says) as caught:
        parse_formula(text, where=WHERE)
    assert str(caught.value).startswith(f"{WHERE}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["~ ((1 | model))", "~ 1 + ((0 + dimension | model))"])
def test_a_group_term_in_double_parentheses_is_not_lost(text):
    """It is either read as the term it is, or refused."""
    try:
        formula = parse_formula(text, where=WHERE)
    except UserError:
        return
    assert [group.factors for group in formula.groups] == [("model",)]


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,8}", fullmatch=True)
terms = st.builds(
    lambda expr, factors, by, correlated: GroupTerm(
        expr, tuple(factors), factors[0] if by else None, correlated
    ),
    st.sampled_from(["1", "0 + x", "1 + x", "x + (z)"]),
    st.lists(names, min_size=1, max_size=3, unique=True),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(terms, min_size=1, max_size=3, unique_by=lambda t: (t.expr, t.factors)))
def test_what_is_printed_is_read_back(groups):
    text = " + ".join(map(str, groups))
    assert parse_formula(text, where=WHERE).groups == tuple(groups)
