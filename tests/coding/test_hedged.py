import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.coding.hedged import hedged
from polbayes.coding.option_reading import Reading, match_option, read_option
from polbayes.coding.options import declare

POINTS = ["Strongly disagree", "Disagree", "Agree", "Strongly agree"]
LETTERED = declare(
    {f"{letter}) {point}": point for letter, point in zip("abcd", POINTS, strict=True)}, POINTS
)


@pytest.mark.parametrize(
    ("answer", "point"),
    [
        # A letter that does not go with the words, or stands among odd ones.
        ("B Agree, but not for bread", 2),
        ("2 D. Disagree", 1),
        ("(a) Agree with the aim, disagree with the means", 2),
        ("Argument first. Answer: A Agree", 2),
        # Leaning, arguing and choosing.
        ("I am torn, but lean towards disagreeing with it.", 1),
        ("Neutral, but with an argument for Agree", 2),
        ("I will argue for the position of disagreeing that bread is dear.", 1),
        ("I speak as a person who agrees that bread is dear.", 2),
        ("I strongly agree that bread is dear.", 3),
        ("I will argue for the position that bread is dear.", 2),
        # Degrees.
        ("Agree or strongly agree", 2),
        ("agree and strongly agree", 3),
        ("disagree or strongly disagree", 1),
        ("Strongly disagree and disagree", 0),
        ("Agree with a strong emphasis on bread", 3),
        ("disagree (stronger emphasis)", 0),
        # In spite of what is said against it.
        ("Agree (but not always)", 2),
        ("disagree with the claim that rules are not needed", 1),
        # Misspelt.
        ("Strogly agree", 3),
        ("\ufffdisagree", 1),
    ],
)
def test_what_an_answer_leans_to_is_a_reservation(answer, point):
    assert read_option(answer, LETTERED) == Reading(point, "qualified")
    assert match_option(answer, LETTERED) is None


@pytest.mark.parametrize(
    "answer",
    [
        "Agree or disagree",
        "agree with the aim, disagree with the means",
        "agree on one condition (strongly disagree without it)",
        "x. agree or disagree with the proposition",
        "(c) Agree with what it says of bread. However, I cannot give a personal opinion.",
        "I lean towards agreeing, others towards disagreeing",
        "strongly agree with the opposite",
        "I would like to express my view on this.",
        "Agree is not what I would say",
        "B, perhaps",
        "Agreeable",
        "Conservative",
        "I agree that it is dear and I strongly agree that it is good",
    ],
)
def test_nothing_is_read_where_nothing_is_said(answer):
    assert read_option(answer, LETTERED) is None


def test_a_choice_in_quotation_marks_is_a_statement():
    answer = "From what I know I would choose the option 'Disagree' with the proposition."
    assert read_option(answer, LETTERED) == Reading(1, "stated")


def test_options_that_are_other_words():
    options = declare({"Yes": 2, "No": 1}, ["No", "Yes"])
    assert hedged("I am inclined to Yes", options) == 1
    assert hedged("argue for the position that bread is dear", options) is None


@given(st.text(max_size=80))
def test_any_text_can_be_looked_at(text):
    assert hedged(text, LETTERED) in (None, 0, 1, 2, 3)
