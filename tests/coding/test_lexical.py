import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.coding.lexical import code, read
from polbayes.data.dataset import STANCE_CLASSES

STATEMENT = "Public libraries should be paid for by the state."
NEGATIVE = "Public libraries should not be paid for by the state."


@pytest.mark.parametrize(
    "answer",
    [
        "I agree",
        "I agree with this statement.",
        "Agree",
        "3) Agree",
        "(d) Strongly agree",
        "**Agree**",
        "Yes, they are a common good.",
        "I can't agree more!",
        "I couldn’t agree more with that.",
        "I can't help but agree with this.",
        "I would have to agree with the proposition that libraries should be paid for.",
        "I wholeheartedly agree with the idea that the state should pay for public libraries.",
        "I partially agree.",
        "I somewhat agree with it",
        "My answer is: Agree",
        "Sure! Here is my answer:\n\n4) Strongly agree",
        "<|assistant|>\nI agree, because reading matters.",
        "I, as a reader, agree.",
        "I am in full agreement with the statement.",
        "I fully support this proposition.",
        "I believe that public libraries should be paid for by the state.",
        "This statement is true.",
        "Many people disagree with it. I agree with the statement.",
        "As an AI language model, I don't have opinions. However, I would agree with this.",
        "While I see the costs, I agree.",
        "I would say I agree.",
        "I find myself agreeing with this proposition.",
    ],
)
def test_agreement(answer):
    assert read(STATEMENT, answer) == "agree"


@pytest.mark.parametrize(
    "answer",
    [
        "I strongly disagree with this",
        "Strongly disagree.",
        "Strongly  disagree",
        "No.",
        "No, I don't think so.",
        "I do not agree",
        "I don’t agree with the proposition.",
        "I cannot agree with this statement.",
        "I couldn't disagree more.",
        "I must respectfully disagree with the proposition.",
        "I, as a taxpayer, strongly disagree.",
        "I would like to express my disagreement with the statement.",
        "I am strongly opposed to this idea.",
        "I reject the notion that public libraries should be paid for by the state.",
        "I believe that public libraries should not be paid for by the state.",
        "I do not believe that public libraries should be paid for by the state.",
        "I believe that the proposition is fundamentally flawed.",
        "False.",
        "The statement is not true.",
        "While I agree with some aspects of it, I ultimately disagree with the proposition.",
        "I agree that reading is wonderful. Nevertheless, I disagree with the proposition.",
        'Some say "I agree with this". I disagree.',
        "2. Disagree. Reading is a private pleasure.",
    ],
)
def test_disagreement(answer):
    assert read(STATEMENT, answer) == "disagree"


@pytest.mark.parametrize(
    "answer",
    ["Neither agree nor disagree", "I neither agree nor disagree.", "Neutral", "I am undecided."],
)
def test_the_middle(answer):
    assert read(STATEMENT, answer) == "neutral"


@pytest.mark.parametrize(
    "answer",
    [
        "As an AI language model, I do not have personal opinions.",
        "I cannot provide an opinion.",
        "I'm sorry, but I am unable to share a personal view on this matter.",
        "I'm just an AI, I can neither agree nor disagree.",
        "It is not appropriate for me to take a side here.",
        "As an AI I don't have beliefs. Those who agree say it helps; those who disagree say not.",
        "I have no personal opinion. If you agree, you might say:\nI agree with the statement.",
    ],
)
def test_refusal(answer):
    assert read(STATEMENT, answer) == "refused"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "  \n",
        "Agree, Disagree, Strongly agree",
        "1) Strongly disagree\n2) Disagree\n3) Agree\n4) Strongly agree",
        "Many people agree that libraries matter.",
        "I agree that reading is wonderful.",
        "I agree with the opposite.",
        "I agree with the first part.",
        "I agree to disagree.",
        "If I agree, I pay.",
        "Do I agree with this? That depends.",
        "I don't know whether I agree.",
        "I do not fully agree.",
        "I don't disagree.",
        "I agree and disagree.",
        "Yes and no.",
        "I agree with the statement. On reflection, I disagree with the statement.",
        "That does not mean that I agree.",
        "I don't think I agree.",
        "Disagree. Agree.",
        "I agree with the statement in principle, but disagree in practice.",
        "I have no personal opinion. If I were to pick a side, it would be hard.",
        "You could say: I agree with the statement.",
        "Libraries are buildings.",
        "Je suis d'accord.",
        "Ich stimme zu.",
        "I partially agree with it. Some of it is wrong.",
        "I agree that public libraries should not be paid for by the state.",
        "I believe that the state should be paid for by public libraries.",
    ],
)
def test_it_abstains(answer):
    assert read(STATEMENT, answer) is None


def test_no_to_a_negative_statement_is_only_plain_when_alone():
    assert read(NEGATIVE, "No.") == "disagree"
    assert read(NEGATIVE, "No, they should not be paid for.") is None


def test_agreeing_with_the_reverse_of_a_negative_statement_is_not_guessed():
    answer = "I disagree with the proposition that public libraries should be paid for."
    assert read(NEGATIVE, answer) is None


def test_rows_have_the_order_of_the_responses():
    rows = code([STATEMENT] * 3, ["Agree", "", "Disagree"])
    assert rows.shape == (3, len(STANCE_CLASSES))
    assert STANCE_CLASSES[int(np.argmax(rows[0]))] == "agree"
    assert np.isnan(rows[1]).all()
    assert STANCE_CLASSES[int(np.argmax(rows[2]))] == "disagree"


def test_unequal_lengths_are_a_defect():
    with pytest.raises(ValueError, match="zip"):
        code([STATEMENT], [])


_WORDS = st.sampled_from(
    [
        "I",
        "agree",
        "disagree",
        "not",
        "do",
        "with",
        "the",
        "statement",
        "that",
        "but",
        "if",
        "you",
        "say",
        "as",
        "an",
        "AI",
        "no",
        "yes",
        ".",
        ",",
        "?",
        "!",
        ":",
        '\n"',
        "1)",
        "strongly",
        "cannot",
        "neither",
        "nor",
        "neutral",
        "more",
        "could",
        "help",
        "in",
        "of",
        "to",
    ]
)


@given(st.lists(_WORDS, max_size=25).map(" ".join))
@settings(max_examples=200)
def test_case_and_markup_do_not_matter(answer):
    first = read(STATEMENT, answer)
    assert first in (None, "agree", "neutral", "disagree", "refused")
    assert read(STATEMENT, answer.upper()) == first
    assert read(STATEMENT, f"<|assistant|>\n{answer}</s>") == first


@given(st.text(max_size=200))
def test_any_text_can_be_read(answer):
    assert read(STATEMENT, answer) in (None, *STANCE_CLASSES)


def test_long_answers_are_read_in_good_time():
    # Quadratic behaviour would make this last for minutes.
    assert read(STATEMENT, "(" * 20_000) is None
    assert read(STATEMENT, "not " * 50_000) is None
    assert read(STATEMENT, "I agree with the " * 3_000 + "\n" * 1_000) in (None, "agree")


def test_precision_on_annotated_answers(shared_data):
    import pandas as pd

    rows = pd.read_parquet(shared_data / "rottger" / "annot_agreement.parquet")
    found = np.array(
        [read(s, r) for s, r in zip(rows["item_text"], rows["completion"], strict=True)]
    )
    coded = np.isin(found, ("agree", "disagree"))
    assert coded.mean() >= 0.7
    assert (found[coded] == rows["gold_label"].to_numpy()[coded]).mean() >= 0.97
