"""Terms that the data cannot identify: left out where the spec allows it, refused elsewhere."""

import re

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.config.resources import folder
from polbayes.data.dataset import NOT_ASKED
from polbayes.errors import UserError
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.formula import parse_formula
from polbayes.fit.spec.reduction import reduced, without
from polbayes.fit.spec.spec import parse_spec
from polbayes.fit.spec.terms import bind

ONE_WORDING = tuple(
    (name, dimension, side, ("original",))
    for name, dimension, side in [
        ("e1", "economic", "left"),
        ("e2", "economic", "right"),
        ("c1", "cultural", "right"),
        ("c2", "cultural", "left"),
    ]
)


def shipped(analysis, **settings):
    config = compose(["+experiment=wvs_prefixes", f"analysis={analysis}"])[0].analysis
    for name, value in settings.items():
        setattr(config, name, value)
    return parse_spec(config)


def answers(coded, **design):
    runs = design.get("runs", 2)
    return coded(np.resize([1, -1], runs), **{"runs": runs, **design})


def terms(spec):
    """Return what is estimated: common formula and group-specific terms by part."""
    return {
        part: ({formula.common}, *map(str, formula.groups)) for part, formula in spec.parts.items()
    }


def groups(spec):
    return {part: {str(g) for g in formula.groups} for part, formula in spec.parts.items()}


def test_nothing_is_left_out_of_a_full_design(coded):
    spec = shipped("ideology")
    assert reduced(spec, gather_cells(answers(coded), spec)) == (spec, ())


def test_of_one_model_the_spec_for_one_model_is_left(coded):
    spec = shipped("ideology")
    less, notes = reduced(spec, gather_cells(answers(coded, models=["m1"]), spec))
    assert terms(less) == terms(shipped("ideology_one_model"))
    assert len(notes) == 7
    assert "analysis.parts.threshold is without (1 | model): there is only one model." in notes


@pytest.mark.parametrize(
    ("design", "gone"),
    [
        (
            {"prefixes": ["baseline"]},
            {
                ("acquiescence", "(1 | gr(model:prefix, by = model))"),
                ("steer", "(1 | gr(model:prefix, by = model))"),
                ("wording", "(1 | gr(model:item:variant:prefix, by = model))"),
            },
        ),
        (
            {"items": ONE_WORDING},
            {
                ("wording", "(1 | item:variant)"),
                ("wording", "(1 | gr(model:item:variant, by = model))"),
            },
        ),
    ],
)
def test_what_one_level_cannot_tell_is_left_out(coded, design, gone):
    spec = shipped("ideology")
    less, notes = reduced(spec, gather_cells(answers(coded, **design), spec))
    before = {(part, str(g)) for part, formula in spec.parts.items() for g in formula.groups}
    after = {(part, str(g)) for part, formula in less.parts.items() for g in formula.groups}
    assert before - after == gone
    assert after <= before
    said = {re.fullmatch(r"analysis\.parts\.(\w+) is without (.+?): .*", n).groups() for n in notes}
    assert said == gone


def asked_once(coded, model, **design):
    """Answers of three models, of which one was asked under the first prefix only."""
    data = answers(coded, models=("m1", "m2", "m3"), **design)
    unasked = (data["model"] == model) & (data["prefix"] != data["prefix"][0])
    return data.assign(status=data["status"].where(~unasked, np.int8(NOT_ASKED)))


def test_a_model_with_a_single_prefix_does_not_take_prefixes_from_others(coded):
    """What it does not tell about its prompts is taken from the other models."""
    spec = shipped("ideology")
    less, notes = reduced(spec, gather_cells(asked_once(coded, "m2"), spec))
    before, after = groups(spec), groups(less)
    assert before["steer"] - after["steer"] == {"(1 | gr(model:prefix, by = model))"}
    assert after["steer"] - before["steer"] == {"(1 | model:prefix)"}
    assert after["acquiescence"] - before["acquiescence"] == {"(1 | model:prefix)"}
    assert after["wording"] - before["wording"] == {"(1 | model:item:variant:prefix)"}
    assert before["wording"] - after["wording"] == {
        "(1 | gr(model:item:variant:prefix, by = model))"
    }
    assert {part for part in before if before[part] != after[part]} == {
        "steer",
        "acquiescence",
        "wording",
    }
    assert len(notes) == 3
    assert all("one standard deviation" in note and "m2 do not tell" in note for note in notes)
    bind(less, gather_cells(asked_once(coded, "m2"), less))


def test_a_single_prefix_is_as_with_one_wording_each(coded):
    """Without the pooled spread, those of its prompts and of its views could be exchanged."""
    spec = shipped("ideology")
    data = asked_once(coded, "m2", items=ONE_WORDING)
    after = groups(reduced(spec, gather_cells(data, spec))[0])
    assert after["wording"] == {"(1 | model:item:variant:prefix)"}


def test_a_spec_of_ones_own_keeps_its_standard_deviations(coded):
    spec = shipped("ideology", unidentified="refuse")
    with pytest.raises(UserError, match="there is only one"):
        reduced(spec, gather_cells(asked_once(coded, "m2"), spec))


def test_a_spec_of_ones_own_is_refused(coded):
    spec = shipped("ideology", unidentified="refuse")
    with pytest.raises(UserError, match="there is only one model"):
        reduced(spec, gather_cells(answers(coded, models=["m1"]), spec))


def test_what_would_change_the_meaning_is_refused(coded):
    """Agreeing with everything is no leaning, whatever the spec."""
    keyed = tuple((name, d, "right", kinds) for name, d, _, kinds in ONE_WORDING)
    spec = shipped("ideology")
    with pytest.raises(UserError, match="every statement is keyed to the positive pole"):
        reduced(spec, gather_cells(answers(coded, items=keyed), spec))


def test_an_unknown_value_is_refused():
    with pytest.raises(UserError, match=r"analysis\.unidentified: .*leave_out"):
        shipped("ideology", unidentified="drop")


@pytest.mark.parametrize(
    "overrides",
    [["prefixes.only=[baseline]"], ["variants=[original]"], ["models=[left]"]],
)
def test_what_the_help_advertises_is_explained(overrides, capsys, tmp_path):
    """The equation is that of what is left."""
    arguments = ["+experiment=wvs_prefixes", "task=explain", f"run_dir={tmp_path}", *overrides]
    assert _main(arguments) == 0
    out = capsys.readouterr().out
    assert "is without" in out
    assert out.index("η = ") < out.index("is without") < out.index("priors")


def users(coded, leaning, agrees):
    """Answers to users under two prefixes, with what these say of themselves."""
    told = {"user_leaning": ("prefix", leaning), "user_agrees": ("prefix", agrees)}
    return answers(coded, models=("m1", "m2", "m3")).assign_coords(told)


def sycophancy(**settings):
    spec = shipped("sycophancy", **settings)
    assert spec.parts["steer"].common == "0 + user_leaning"
    return spec


@pytest.mark.parametrize(
    ("leaning", "agrees", "gone"),
    [
        ([0, 0], [0, 1], {"steer": ("user_leaning", "it is 0 for every answer")}),
        ([0, 1], [1, 1], {"acquiescence": ("user_agrees", "it is 1 for every answer")}),
        # The leaning is that towards such users.
        ([1, 1], [0, 1], {"steer": ("user_leaning", "it is 1 for every answer")}),
        (
            [0, 0],
            [0, 0],
            {
                "steer": ("user_leaning", "it is 0 for every answer"),
                "acquiescence": ("user_agrees", "it is 0 for every answer"),
            },
        ),
    ],
)
def test_a_common_term_that_does_not_vary_is_left_out(coded, leaning, agrees, gone):
    spec, data = sycophancy(), users(coded, leaning, agrees)
    less, notes = reduced(spec, gather_cells(data, spec))
    assert sorted(notes) == sorted(
        f"analysis.parts.{part} is without {term}: {why}." for part, (term, why) in gone.items()
    )
    common = {part: formula.common for part, formula in spec.parts.items()}
    common |= {part: {"steer": "0", "acquiescence": "1"}[part] for part in gone}
    assert {part: formula.common for part, formula in less.parts.items()} == common
    assert groups(less) == groups(spec)


def test_a_common_term_of_ones_own_is_refused_and_named(coded):
    spec = sycophancy(unidentified="refuse")
    with pytest.raises(UserError, match=r"steer: .*leave out user_leaning, because it is 0 for"):
        reduced(spec, gather_cells(users(coded, [0, 0], [0, 1]), spec))
    with pytest.raises(UserError, match="leave user_leaning out of steer, because it is 1 for"):
        reduced(spec, gather_cells(users(coded, [1, 1], [0, 1]), spec))


def test_of_two_predictors_that_go_together_the_first_stays(coded):
    parts = {"steer": "~ 0 + user_leaning + user_agrees"}
    spec = shipped("ideology", parts=compose_parts(parts))
    less, notes = reduced(spec, gather_cells(users(coded, [0, 1], [0, 2]), spec))
    assert less.parts["steer"].common == "0 + user_leaning"
    assert notes == (
        "analysis.parts.steer is without user_agrees: it cannot be told from user_leaning.",
    )


def compose_parts(parts):
    config = compose(["+experiment=wvs_prefixes", "analysis=ideology"])[0].analysis
    return {**config.parts, **parts}


@pytest.mark.parametrize("unidentified", ["refuse", "leave_out"])
def test_a_factor_of_one_level_has_no_coefficient(coded, unidentified):
    parts = compose_parts({"acquiescence": "~ 1 + kind"})
    spec = shipped("ideology", parts=parts, unidentified=unidentified)
    cells = gather_cells(answers(coded, items=ONE_WORDING), spec)
    if unidentified == "refuse":
        with pytest.raises(UserError, match="kind needs at least two levels in the data, but"):
            reduced(spec, cells)
        return
    less, notes = reduced(spec, cells)
    assert less.parts["acquiescence"].common == "1"
    assert "analysis.parts.acquiescence is without kind: there is only one kind." in notes


def test_agreeing_is_not_left_out_for_the_leaning(coded):
    """If each dimension has one key, agreeing with everything is a leaning on both."""
    keyed = tuple(
        (name, d, "right" if d == "economic" else "left", kinds)
        for name, d, _, kinds in ONE_WORDING
    )
    spec = shipped("ideology")
    with pytest.raises(UserError, match="the common terms of theta and acquiescence apart; leave"):
        reduced(spec, gather_cells(answers(coded, items=keyed), spec))


@pytest.mark.parametrize(
    ("text", "term", "left"),
    [
        ("~ 1 + a + (1 | g)", "a", ("1", "(1 | g)")),
        ("~ a + b", "a", ("1 + b",)),
        ("~ 0 + a + (1 | g)", "a", ("0", "(1 | g)")),
        ("~ a * b", "a:b", ("1 + a + b",)),
        ("~ 0 + scale(a) + log(b)", "scale(a)", ("0 + log(b)",)),
    ],
)
def test_a_formula_without_a_common_term(text, term, left):
    found = without(parse_formula(text, where="x"), term)
    assert (found.common, *map(str, found.groups)) == left
    assert parse_formula(found.text, where="x") == found or found.common == "0"


# Designs for the shipped analyses.
_CHOICE = ("+experiment=haller", "respondents=simulated")
_OPTIONS = ("elicitation.template=options", "prefixes.only=null")
_DRAWN = (
    *("+experiment=wvs_prefixes", "respondents=simulated", "elicitation=sampled_choice"),
    *(*_OPTIONS, "prefixes.file=scale5"),
)
_DESIGNS = {
    "sycophancy": ("+experiment=sycophancy",),
    "ideology_instruments": ("+experiment=instruments",),
    "ideology_probabilities": (*_CHOICE, "sampler=nutpie"),
    "ideology_probabilities_one_model": (*_CHOICE, "sampler=nutpie"),
    "mixed_r_plus": _CHOICE,
    "text_features_unparsed": _CHOICE,
    "option_order": _DRAWN,
    "option_order_ratings": _DRAWN,
    "option_order_probabilities": (
        *(*_CHOICE, "sampler=nutpie", *_OPTIONS),
        "prefixes.file=option_orders",
    ),
}
# The single prefix of a design without the baseline.
_ONE_PREFIX = {
    "option_order": "prefixes.only=[letters]",
    "option_order_ratings": "prefixes.only=[letters]",
    "option_order_probabilities": "prefixes.only=[letters_yes_first]",
}
# They need a parser, or columns that come with several modes or languages, or imported tables.
_OTHER = {
    *("text_features", "ideology_modes", "ideology_languages", "ideology_administrations"),
    *("ideology_ratings", "ideology_ratings_logit"),
}
_SHIPPED = sorted({path.stem for path in (folder("conf") / "analysis").glob("*.yaml")} - _OTHER)
_SINGLE = ("prefixes.only=[baseline]", "variants=[original]", "models=[left]")
# What cannot be learned from so little, and why.
_REFUSED = {
    ("ideology_anchored", "models=[left]"): "(0 + dimension | model) needs at least two levels",
    **{
        (f"ideology_probabilities{more}", "variants=[original]"): (
            "analysis.parts.quirk=null analysis.parts.decisiveness=null"
        )
        for more in ("", "_one_model")
    },
}


def explained(analysis, *overrides):
    design = _DESIGNS.get(analysis, ("+experiment=wvs_prefixes",))
    return _main([*design, f"analysis={analysis}", "task=explain", *overrides])


@pytest.mark.slow
@pytest.mark.parametrize("override", _SINGLE)
@pytest.mark.parametrize("analysis", _SHIPPED)
def test_every_shipped_analysis_is_explained(analysis, override, capsys, tmp_path):
    if override.startswith("prefixes.only"):
        override = _ONE_PREFIX.get(analysis, override)
    code = explained(analysis, override, f"run_dir={tmp_path}")
    said = capsys.readouterr()
    refused = _REFUSED.get((analysis, override))
    assert (code, refused is None or refused in said.err) == (2 if refused else 0, True)


@pytest.mark.parametrize(
    ("analysis", "override", "left_out"),
    [
        ("sycophancy", "prefixes.only=[baseline]", ["steer", "user_leaning"]),
        ("sycophancy", "prefixes.only=[says_left]", ["steer", "user_leaning"]),
        ("mixed_stance", "variants=[original]", ["mu", "kind"]),
        ("mixed_stance", "models=[left]", ["mu", "(0 + keying | model)"]),
        ("mixed_r_plus", "variants=[original]", ["mu", "(1 | item)"]),
        ("text_features_unparsed", "variants=[original]", ["mu", "(1 | item)"]),
    ],
)
def test_common_terms_and_mixed_models_are_explained(
    analysis, override, left_out, capsys, tmp_path
):
    assert explained(analysis, override, f"run_dir={tmp_path}") == 0
    out = capsys.readouterr().out
    note = "analysis.parts.{} is without {}: ".format(*left_out)
    assert out.index("η = ") < out.index(note) < out.index("priors")


@pytest.mark.parametrize("more", ["", "_one_model"])
def test_the_way_out_of_one_answer_to_each_statement(more, capsys, tmp_path):
    analysis = f"ideology_probabilities{more}"
    assert explained(analysis, "variants=[original]", f"run_dir={tmp_path}") == 2
    assert "leave out the unit as well" in capsys.readouterr().err
    parts = ("analysis.parts.quirk=null", "analysis.parts.decisiveness=null")
    assert explained(analysis, "variants=[original]", *parts, f"run_dir={tmp_path}") == 0


@pytest.mark.slow
def test_the_least_that_can_be_asked_is_reported(tmp_path, capsys):
    arguments = [
        "+experiment=wvs_prefixes",
        "prefixes.only=[baseline]",
        "variants=[original]",
        "models=[left]",
        "elicitation.runs=2",
        "sampler.chains=2",
        "sampler.tune=200",
        "sampler.draws=200",
        f"run_dir={tmp_path / 'run'}",
    ]
    assert _main(arguments) == 0
    assert "fit: analysis.parts.steer is without" in capsys.readouterr().err
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "analysis.parts.steer is without" in page
