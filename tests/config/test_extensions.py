import pytest

from polbayes.config.extensions import with_defaults, without_additions

OLD = with_defaults(
    {
        "instruments": ["wvs"],
        "items": ["a", "b"],
        "variants": ["original"],
        "models": ["m", "n"],
        "respondents": {"m": {"checkpoint": "x"}, "n": {"checkpoint": "y"}},
        "prefixes": {"file": None, "only": ["baseline"]},
        "elicitation": {"runs": 2},
        "wordings": ["first.csv"],
    }
)


def changed(old=OLD, **values):
    """Return a config with changes, given as keys with two underscores for a dot."""
    new = {**old}
    for key, value in values.items():
        group, _, name = key.partition("__")
        new[group] = {**new[group], name: value} if name else value
    return new


@pytest.mark.parametrize(
    "more",
    [
        {"instruments": ["wvs", "pct"]},
        {"items": ["c", "b", "a"]},
        {"items": None},
        {"variants": ["original", "paraphrase_*"]},
        {"variants": None},
        {"wordings": ["first.csv", "second.csv"]},
        {"prefixes__only": ["likert", "baseline"]},
        {"prefixes__only": None},
        {"elicitation__runs": 3},
        {"models": ["m", "n", "o"], "respondents__o": {"checkpoint": "z"}},
        {"models": None},
        {"items": None, "elicitation__runs": 5, "variants": None},
    ],
)
def test_what_only_adds_changes_nothing(more):
    assert without_additions(OLD, changed(**more)) == OLD


@pytest.mark.parametrize(
    "values",
    [
        {"seed": 2},
        {"instruments": ["pct"]},
        {"items": ["a"]},
        {"variants": ["paraphrase"]},
        {"wordings": []},
        {"prefixes__only": ["likert"]},
        {"prefixes__file": "mine.yaml"},
        {"elicitation__runs": 1},
        {"elicitation__temperature": 0.5},
        {"models": ["m"]},
        {"respondents__m": {"checkpoint": "z"}},
        {"respondents": {"n": {"checkpoint": "y"}}},
        {"coding": {"coders": []}},
    ],
)
def test_what_takes_away_or_changes_stays_a_difference(values):
    new = changed(**values)
    assert without_additions(OLD, new) == new


def test_of_an_addition_and_a_change_the_change_is_left():
    new = changed(elicitation__runs=3, elicitation__top_k=1)
    assert without_additions(OLD, new) == changed(elicitation__top_k=1)


def test_where_all_were_asked_a_list_of_names_may_leave_some_out():
    every = changed(items=None, variants=None, prefixes__only=None)
    for values in ({"items": ["a"]}, {"variants": ["original"]}, {"prefixes__only": ["baseline"]}):
        new = changed(every, **values)
        assert without_additions(every, new) == new


def test_where_all_models_were_asked_a_list_of_all_and_more_adds():
    every = changed(models=None)
    more = changed(every, models=["m", "n", "o"], respondents__o={"checkpoint": "z"})
    assert without_additions(every, more) == every
    fewer = changed(every, models=["n", "o"], respondents__o={"checkpoint": "z"})
    assert without_additions(every, fewer) == fewer


def test_a_table_of_answers_is_not_added_to():
    old = changed(imported={"path": "a.csv"})
    new = changed(old, elicitation__runs=3, models=None)
    assert without_additions(old, new) == new
