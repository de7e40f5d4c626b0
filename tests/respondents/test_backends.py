import shutil
from dataclasses import replace

import pytest

from polbayes.config.resources import folder
from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.prompts import Template, surfaces
from polbayes.respondents import answer_settings, check, describe

SIMULATED = RespondentConfig(backend="simulated", checkpoint="planted:left")


def test_surfaces_are_cases_with_and_without_a_space():
    assert surfaces("strongly Agree") == (
        "strongly Agree",
        "strongly agree",
        "Strongly agree",
        "STRONGLY AGREE",
        " strongly Agree",
        " strongly agree",
        " Strongly agree",
        " STRONGLY AGREE",
    )
    assert surfaces("3") == ("3", " 3")


def test_unknown_backends_and_ways_of_asking_are_refused():
    elicitation = ElicitationConfig()
    with pytest.raises(UserError, match="unknown backend 'casual'; did you mean 'causal'"):
        check("m", RespondentConfig(backend="casual"), elicitation)
    with pytest.raises(UserError, match="unknown backend"):
        describe("m", RespondentConfig(backend="x"), Template("t", "open_ended", {}))
    with pytest.raises(UserError, match="elicitation: unknown kind 'essay'"):
        check("m", SIMULATED, replace(elicitation, kind="essay"))
    with pytest.raises(UserError, match="causal cannot be asked by fill_mask"):
        check("m", RespondentConfig(), replace(elicitation, kind="fill_mask"))
    with pytest.raises(UserError, match="masked cannot be asked by open_ended"):
        check("m", RespondentConfig(backend="masked"), elicitation)


def test_labels_and_speed_are_no_answer_settings():
    open_ended = ElicitationConfig()
    settings = answer_settings(SIMULATED, open_ended)
    same = replace(SIMULATED, family="f", instruct=True, device="cpu")
    assert answer_settings(same, replace(open_ended, batch_size=1, runs=9)) == settings
    for changed in (
        answer_settings(replace(SIMULATED, checkpoint="planted:right"), open_ended),
        answer_settings(SIMULATED, replace(open_ended, top_k=3)),
        answer_settings(SIMULATED, replace(open_ended, template="feng")),
    ):
        assert changed != settings
    forced = ElicitationConfig(kind="forced_choice", template="haller")
    assert answer_settings(SIMULATED, forced) == answer_settings(
        SIMULATED, replace(forced, top_k=3)
    )


@pytest.mark.parametrize(
    ("backend", "kind", "name"),
    [("causal", "open_ended", "left"), ("masked", "fill_mask", "masked_left")],
)
def test_answers_belong_to_the_weights_that_gave_them(tmp_path, backend, kind, name):
    """A folder whose weights are trained on is another respondent, and its journal another's."""
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(folder("models") / name, checkpoint)
    config = RespondentConfig(backend=backend, checkpoint=str(checkpoint))
    before = answer_settings(config, ElicitationConfig(kind=kind))
    weights = bytearray((checkpoint / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (checkpoint / "model.safetensors").write_bytes(weights)
    after = answer_settings(config, ElicitationConfig(kind=kind))
    assert {key for key in before if before[key] != after[key]} == {"respondent.weights"}


def test_answers_of_planted_parameters_belong_to_these():
    settings = [
        answer_settings(replace(SIMULATED, checkpoint=f"planted:{name}"), ElicitationConfig())
        for name in ("left", "left", "right")
    ]
    left, again, right = (of["respondent.weights"] for of in settings)
    assert left == again
    assert len({"", left, right}) == 3
