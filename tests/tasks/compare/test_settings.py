from dataclasses import replace

import pytest

from polbayes.config.schema import AnalysisConfig, MeasureConfig, RunConfig, SamplerConfig
from polbayes.errors import UserError
from polbayes.tasks.compare.settings import for_several, settle
from polbayes.tasks.compare.task import _keys

FIRST = RunConfig(
    seed=7,
    analysis=AnalysisConfig(parts={"theta": "~ 0 + dimension", "quirk": "~ (1 | model:item)"}),
    sampler=SamplerConfig(draws=123),
)
OWN = RunConfig(seed=1, analysis=AnalysisConfig(parts={"theta": "~ 1"}), name="compare_a_b")


def test_the_first_run_says_how():
    settled = settle(OWN, FIRST, ["task=compare", "runs=[a,b]"])
    assert settled == replace(FIRST, name="compare_a_b")


def test_a_named_analysis_takes_its_place():
    settled = settle(OWN, FIRST, ["analysis=ideology", "analysis.level=0.8", "seed=1"])
    assert settled.analysis == OWN.analysis  # Hydra has put the level there
    assert settled.seed == 1
    assert settled.sampler.draws == 123


def test_keys_of_it_can_be_changed():
    settled = settle(OWN, FIRST, ["analysis.parts.quirk=null", "sampler.draws=60"])
    assert settled.analysis.parts == {"theta": "~ 0 + dimension", "quirk": None}
    assert settled.sampler.draws == 60


@pytest.mark.parametrize(("own", "measured"), [([], 0.8), (["measures.level=0.7"], 0.7)])
def test_classical_intervals_keep_the_level_of_the_analysis(own, measured):
    first = replace(FIRST, measures=MeasureConfig(level=FIRST.analysis.level))
    settled = settle(OWN, first, ["analysis.level=0.8", *own])
    assert (settled.analysis.level, settled.measures.level) == (0.8, measured)


def test_another_seed_has_draws_of_its_own():
    assert _keys(FIRST, {})["draws"] == _keys(replace(FIRST, title="Another"), {})["draws"]
    assert _keys(FIRST, {})["draws"] != _keys(replace(FIRST, seed=8), {})["draws"]


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("+experiment=wvs_prefixes", "leave \\+experiment out"),
        ("~analysis.parts.quirk", "set analysis.parts.quirk=null"),
        ("sampler.draws=many", "draws|many"),
    ],
)
def test_what_cannot_be_taken_is_refused(override, says):
    with pytest.raises(UserError, match=says):
        settle(OWN, FIRST, [override])


def test_an_analysis_of_one_model_gives_way_to_one_of_several():
    one = replace(FIRST.analysis, parts={"theta": "~ 0 + dimension"}, level=0.8)
    several, sentence = for_several(one, 2)
    assert several.parts["theta"] == "~ 0 + dimension + (0 + dimension | model)"
    assert several.level == 0.8
    assert "analysis=ideology" in sentence
    assert for_several(one, 1) == (one, "")
    own = replace(one, parts={"theta": "~ 0 + dimension + (1 | model:dimension)"})
    assert for_several(own, 2) == (own, "")
