"""Terms that the data cannot identify: left out where the spec allows it, refused elsewhere."""

import re

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.data.dataset import NOT_ASKED
from polbayes.errors import UserError
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import reduced
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
