"""Which of a few answers the rules read."""

import pytest

from polbayes.coding.readable import beside_asking, by_rules_alone, readable
from polbayes.config.schema import CoderConfig, CodingConfig, JudgeConfig
from polbayes.respondents.base import Question


def put(answer, text):
    statement = "The state should own the railways."
    question = Question("i", "original", "p", 1, statement, 1, "economic", "Say.", answer=answer)
    return question, text


@pytest.mark.parametrize(
    ("answer", "text", "usable"),
    [
        ("likert", "4", True),
        # A number that nobody asked for.
        ("open", "4", False),
        ("open", "I disagree.", True),
        ("open", "As an AI language model, I cannot have personal opinions.", True),
        ("open", "<think>\nOkay, the user wants", False),
        ("likert", "The railways are red.", False),
    ],
)
def test_what_rules_read(answer, text, usable):
    pair = put(answer, text)
    assert readable([pair], ["likert", "lexical"]) == [usable]
    assert readable([put("open", "I agree."), pair], ["likert", "lexical"]) == [True, usable]


def test_what_no_coder_is_for_is_left_to_others():
    answers = [put("open", "4"), put("likert", "4"), put("likert", "Four.")]
    assert readable(answers, ["likert"]) == [True, True, False]


@pytest.mark.parametrize(
    ("coders", "models", "alone"),
    [
        (["likert", "lexical"], {}, True),
        (["lexical"], {}, True),
        (["likert", "nli"], {}, False),
        (["likert", "lexical", "mine"], {"mine": CoderConfig(kind="nli")}, False),
        # A name of the user's own.
        (["lexical"], {"lexical": CoderConfig(kind="nli")}, False),
    ],
)
def test_runs_that_rules_alone_read(coders, models, alone):
    assert by_rules_alone(CodingConfig(coders=coders, models=models)) is alone


LOCAL, SERVED = (
    CoderConfig(kind="judge", judge=JudgeConfig(backend=backend), checkpoint="m")
    for backend in ("causal", "chat_api")
)
BOTH = CoderConfig(kind="ensemble", weights={"mine": 1.0, "nli": 1.0})


@pytest.mark.parametrize(
    ("coders", "models", "reads"),
    [
        (["likert", "nli"], {}, True),
        (["mine"], {"mine": SERVED}, True),
        (["lexical", "mine"], {"mine": LOCAL}, False),
        (["both"], {"mine": LOCAL, "both": BOTH}, False),
        (["both"], {"mine": SERVED, "both": BOTH}, True),
    ],
)
def test_a_judge_on_this_machine_does_not_read_beside_the_respondent(coders, models, reads):
    assert beside_asking(CodingConfig(coders=coders, models=models)) == reads
