from polbayes.errors import UserError, unknown


def test_a_close_name_is_suggested():
    error = unknown("prefix", "baselin", ["truth", "baseline"], where="prefixes.only")
    assert isinstance(error, UserError)
    assert str(error) == (
        "prefixes.only: unknown prefix 'baselin'; did you mean 'baseline'? known: baseline, truth."
    )


def test_a_far_name_is_not_suggested_and_the_place_is_optional():
    assert str(unknown("model", "zzz", ("left", "right"))) == (
        "unknown model 'zzz'; known: left, right."
    )


def test_nothing_known_is_said():
    assert str(unknown("model", "a", [])) == "unknown model 'a'; known: none."


def test_what_is_no_text_is_shown_too():
    assert str(unknown("run", 3, [1, 2])) == "unknown run '3'; known: 1, 2."
