from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import (
    ApiConfig,
    CoderConfig,
    CodingConfig,
    ElicitationConfig,
    RespondentConfig,
)
from polbayes.errors import UserError
from polbayes.instrument.dimensions import (
    ECONOMIC_AND_CULTURAL,
    Dimension,
    dimension_coordinates,
    dimensions_of,
)
from polbayes.tasks.compare.align import align

TWO = {"a": 1.0, "b": -1.0}
# What read all answers.
CODER = xr.DataArray(np.int8(0), attrs={"flag_values": [0], "flag_meanings": "lexical"})


LOCAL = {"a": "causal", "b": "causal", "old": "causal", "new": "causal"}


def aligned(loaded, *parts, backends=LOCAL):
    labels = ("jan", "feb", "mar")[: len(parts)]
    return align([loaded(name, data, backends) for name, data in zip(labels, parts, strict=True)])


def test_statements_in_common_link_models_of_different_runs(answers, loaded):
    made = aligned(loaded, answers({"a": 1.0}), answers({"b": -1.0}, items=("q1", "q2")))
    assert made.linked
    assert made.data["model"].values.tolist() == ["a", "b"]
    assert made.data["from_run"].values.tolist() == ["jan", "feb"]
    assert made.data["item"].values.tolist() == ["q1", "q2", "q3", "q4"]
    assert made.snapshots == ()
    assert "On economic questions all runs have 1 statement and 0 respondents in common." in (
        made.notes
    )


def test_a_model_that_answers_otherwise_is_a_snapshot(answers, loaded):
    made = aligned(loaded, answers(TWO), answers({"a": 1.0}, seed=2))
    assert made.data["model"].values.tolist() == ["a @ jan", "b", "a @ feb"]
    assert made.snapshots == (("a @ jan", "a @ feb"),)
    assert made.models["jan", "a"] == "a @ jan"
    assert made.models["jan", "b"] == "b"
    assert int((made.data["status"] == 1).sum()) == 3 * 4 * 2 * 4


def test_a_model_that_answers_the_same_is_one_respondent_and_counted_once(answers, loaded):
    made = aligned(loaded, answers(TWO), answers(TWO))
    assert made.data["model"].values.tolist() == ["a", "b"]
    assert made.data["from_run"].values.tolist() == ["jan, feb", "jan, feb"]
    assert made.snapshots == ()
    assert made.notes[0].startswith("The same respondent in jan and feb, because")
    assert made.notes[0].endswith(": a, b.")


def test_another_revision_is_a_snapshot_though_it_answers_the_same(answers, loaded):
    made = aligned(loaded, answers(TWO), answers(TWO, revisions={"a": "v2"}))
    assert made.snapshots == (("a @ jan", "a @ feb"),)


def test_what_holds_for_several_pairs_of_snapshots_is_said_once(answers, loaded):
    made = aligned(loaded, answers(TWO), answers(TWO, seed=2, runs=2))
    pairs = "a @ jan and a @ feb; b @ jan and b @ feb"
    (alike,) = [note for note in made.notes if "asked alike" in note]
    assert alike.startswith(f"{pairs} were not asked alike (")
    (drifted,) = [note for note in made.notes if "drifted" in note]
    assert drifted.startswith(f"{pairs} are the same checkpoint: ")
    said = made.caution("a @ jan", "a @ feb")
    assert said.startswith("They were not asked alike (repetitions: 4 and 2, 2 in common): ")
    assert " They are the same checkpoint: " in said
    assert made.caution("a @ jan", "b @ feb") == ""


def _with(run, **changes):
    """Change a finished run's config: a respondent, the elicitation, or the coding."""
    respondents = {"a": RespondentConfig(backend="chat_api", **changes.pop("respondent", {}))}
    return replace(run, config=replace(run.config, respondents=respondents, **changes))


def test_another_template_is_not_asked_alike(answers, loaded):
    other = answers({"a": 1.0}, seed=2)
    text = np.full(1, "Do you agree that {statement}? {prefix}", dtype=object)
    made = aligned(loaded, answers({"a": 1.0}), other.assign_coords(template=("model", text)))
    said = made.caution("a @ jan", "a @ feb")
    assert said.startswith("They were not asked alike (another template): part of what looks like ")
    assert "read alike" not in said


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"elicitation": ElicitationConfig(temperature=0.5)}, "asked alike (elicitation.tempera"),
        ({"elicitation": ElicitationConfig(decoding="greedy")}, "asked alike (elicitation.decod"),
        ({"respondent": {"api": ApiConfig(system="Be brief.")}}, "asked alike (another api.system"),
        ({"respondent": {"thinking_tokens": 9}}, ""),  # is a coordinate of a run
        ({"elicitation": ElicitationConfig(batch_size=3, beams=7)}, ""),
        ({"respondent": {"api": ApiConfig(retries=1)}}, ""),
        ({"coding": CodingConfig(["judge"])}, "read alike (coders: likert, lexical and judge)"),
    ],
)
def test_other_settings_are_not_alike_where_they_decide_an_answer(answers, loaded, changes, says):
    runs = [
        loaded(name, answers({"a": 1.0}, seed=seed).assign(coder=CODER))
        for seed, name in enumerate(("jan", "feb"))
    ]
    made = align([_with(runs[0]), _with(runs[1], **changes)])
    said = made.caution("a @ jan", "a @ feb")
    assert said.startswith(f"They were not {says}") if says else said == ""


def test_the_same_coders_with_other_settings_do_not_read_alike(answers, loaded):
    runs = [
        loaded(name, answers({"a": 1.0}, seed=seed).assign(coder=CODER))
        for seed, name in enumerate(("jan", "feb"))
    ]
    coding = [CodingConfig(["c"], {"c": CoderConfig("nli", threshold=x)}) for x in (0.0, 0.5)]
    made = align([_with(run, coding=how) for run, how in zip(runs, coding, strict=True)])
    assert "They were not read alike (another c): " in made.caution("a @ jan", "a @ feb")


@pytest.mark.parametrize(
    ("backends", "revisions"),
    [({"a": "chat_api"}, {}), ({}, {}), (LOCAL, {"a": "v2"})],
    ids=["served", "imported", "another revision"],
)
def test_what_may_have_changed_under_its_name_may_have_drifted(
    answers, loaded, backends, revisions
):
    one, other = answers({"a": 1.0}), answers({"a": 1.0}, seed=2, revisions=revisions)
    made = aligned(loaded, one, other, backends=backends)
    assert made.cautions == {("a @ jan", "a @ feb"): ()}


def test_snapshots_of_several_runs_follow_each_other(answers, loaded):
    parts = [answers({"a": 1.0}, seed=seed) for seed in (1, 2, 3)]
    assert aligned(loaded, *parts).snapshots == (("a @ jan", "a @ feb"), ("a @ feb", "a @ mar"))


def test_one_checkpoint_under_two_names_is_one_model(answers, loaded):
    one = answers({"old": 1.0}, checkpoints={"old": "hub/x"}, revisions={"old": "v1"})
    two = answers({"new": 1.0}, checkpoints={"new": "hub/x"}, revisions={"new": "v2"}, seed=2)
    assert aligned(loaded, one, two).snapshots == (("old", "new"),)


def test_a_model_with_other_questions_links_two_instruments(answers, loaded):
    other = answers({"a": 1.0}, items=("w1", "w2"), instrument="other")
    made = aligned(loaded, answers(TWO), other)
    assert made.linked
    assert made.data["model"].values.tolist() == ["a", "b"]
    instruments = dict(zip(made.data["item"].values, made.data["instrument"].values, strict=True))
    assert (instruments["q1"], instruments["w1"]) == ("tiny", "other")


def test_runs_with_nothing_in_common_are_not_linked(answers, loaded):
    made = aligned(loaded, answers(TWO), answers({"c": 0.0}, items=("w1", "w2")))
    assert not made.linked


def test_a_link_on_one_dimension_alone_is_none(answers, loaded):
    """The second run has q1 (economic) of the first, and a cultural statement of its own."""
    made = aligned(loaded, answers(TWO), answers({"c": 0.0}, items=("q1", "w2")))
    assert not made.linked


def test_a_chain_of_runs_is_linked(answers, loaded):
    made = aligned(
        loaded,
        answers({"a": 1.0}, items=("q1", "q2")),
        answers({"b": 1.0}, items=("q1", "q2", "q3", "q4")),
        answers({"c": 1.0}, items=("q3", "q4")),
    )
    assert made.linked


def test_a_statement_in_other_words_is_another_statement(answers, loaded):
    made = aligned(
        loaded, answers({"a": 1.0}), answers({"b": -1.0}, texts={"q2": "Quite another."})
    )
    assert made.data["item"].values.tolist() == ["q1", "q2 @ jan", "q3", "q4", "q2 @ feb"]
    text = made.data["statement"].sel(item="q2 @ feb", variant="original").item()
    assert text == "Quite another."
    assert any("Statements that are not the same" in n and "q2" in n for n in made.notes)


def test_a_prefix_in_other_words_is_another_prefix(answers, loaded):
    made = aligned(
        loaded,
        answers({"a": 1.0}, prefixes={"baseline": "", "polite": "Please."}),
        answers({"b": -1.0}, prefixes={"baseline": "", "polite": "Kindly."}),
    )
    assert made.data["prefix"].values.tolist() == ["baseline", "polite @ jan", "polite @ feb"]


def test_kinds_of_answers_that_cannot_be_pooled_are_refused(answers, loaded):
    words = answers({"a": 1.0})
    probabilities = answers({"b": 1.0}).drop_vars("completion")
    masses = probabilities["stance"].astype(np.float32)
    probabilities = probabilities.assign(p_agree=masses, p_disagree=1 - masses)
    with pytest.raises(UserError, match="jan holds answers in words and feb holds answer prob"):
        aligned(loaded, words, probabilities)
    scales = []
    for model, points in (("a", "no; yes"), ("b", "never; always")):
        rated = answers({model: 1.0})
        rated["rating"] = rated["stance"].assign_attrs(rating_points=points)
        scales.append(rated)
    with pytest.raises(UserError, match="on the scale no, yes and feb holds ratings on the scale"):
        aligned(loaded, *scales)


def test_an_attribute_of_two_kinds_is_refused(answers, loaded):
    one = answers({"a": 1.0}, attributes={"a": {"size": 7.0}})
    other = answers({"b": 1.0}, attributes={"b": {"size": "big"}})
    with pytest.raises(UserError, match="attribute 'size' of the models is text in one of jan"):
        aligned(loaded, one, other)


def test_dimensions_of_a_run_of_its_own_are_those_of_all(answers, loaded):
    """The second run has weights; its dimensions are the usual ones and one more."""
    every = (*ECONOMIC_AND_CULTURAL, Dimension("world", "World", "nation", "globe"))
    other = answers({"b": -1.0}, items=("q1", "q2", "w3", "w4"))
    names = other["item"].values.tolist()
    dimension = [
        d if i != "w3" else "world" for i, d in zip(names, other["dimension"].values, strict=True)
    ]
    weights = [{"world": 3.0, "economic": 1.0} if i == "w3" else {} for i in names]
    other = other.assign_coords(dimension=("item", np.array(dimension, dtype=object)))
    other = other.assign_coords(dimension_coordinates(every, weights))
    made = aligned(loaded, answers({"a": 1.0}), other)
    assert dimensions_of(made.data) == every
    weight = made.data["weight"]
    assert weight.sel(item="w3").values.tolist() == [1, 0, 3]
    assert not weight.drop_sel(item="w3").values.any()
    assert made.linked
    assert not any("world" in note for note in made.notes)
