import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.coding.option_reading import Reading, match_option, read_option
from polbayes.coding.options import declare, fold, split_code
from polbayes.errors import UserError

POINTS = ["Strongly disagree", "Disagree", "Agree", "Strongly agree"]
NUMBERED = declare({f"{n}) {point}": point for n, point in enumerate(POINTS, start=1)}, POINTS)
LETTERED = declare(
    {f"{letter}) {point}": point for letter, point in zip("abcd", POINTS, strict=True)}, POINTS
)


@pytest.mark.parametrize(
    ("answer", "point"),
    [
        ("3) Agree", 2),
        ("3", 2),
        (" 3.", 2),
        ("(3)", 2),
        ("(3) Agree", 2),
        ("3: Agree", 2),
        ("Strongly  disagree", 0),
        ("STRONGLY DISAGREE!", 0),
        ("**4) Strongly agree**", 3),
        ('"Disagree"', 1),
        ("\ufffd 2) Disagree", 1),
        ("<|assistant|>\n1) Strongly disagree", 0),
        ("2) Disagree. It is more complicated than that.", 1),
        ("I would choose option 2, Disagree.", 1),
        ("My answer is 4", 3),
        ("Sure! Here's my answer:\n\n3) Agree", 2),
        ("I strongly disagree with the proposition.", 0),
        ("Therefore I would agree with the statement.", 2),
        ("Disagree (strongly)", 0),
    ],
)
def test_spellings(answer, point):
    assert match_option(answer, NUMBERED) == point


@pytest.mark.parametrize(
    ("answer", "point"), [("C", 2), ("(d) Strongly agree", 3), ("b.", 1), ("B Disagree", 1)]
)
def test_letters(answer, point):
    assert match_option(answer, LETTERED) == point


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "\ufffd",
        "5",
        "34",
        "3) Disagree",
        "C Disagree",
        "Agree or disagree",
        "Agree, Disagree, Strongly agree",
        "1) Strongly disagree\n2) Disagree\n3) Agree\n4) Strongly agree",
        "agreeable",
        "I do not agree",
        "Agree? Not really.",
        "strongly agree with the opposite",
        "Neutral",
        "I cannot answer this question.",
        "agree and disagree",
        "I agree with the first part, but I disagree with the rest",
    ],
)
def test_it_never_guesses(answer):
    assert match_option(answer, NUMBERED) is None


@pytest.mark.parametrize(
    ("answer", "point"),
    [
        ("Let me argue for the position of strongly disagree", 0),
        ("I will argue for the position of Agree.", 2),
        ("I come from Norway and I would select the option: Agree.", 2),
        ("I, as a baker, strongly agree with the proposition.", 3),
        ("Agreed.", 2),
        ("I would like to express my view as Disagree.", 1),
    ],
)
def test_talk_before_an_option(answer, point):
    assert match_option(answer, NUMBERED) == point


@pytest.mark.parametrize(
    ("answer", "point"),
    [
        ("Somewhat agree", 2),
        ("partially disagree, because it costs money", 1),
        ("I agree with the proposition to some extent.", 2),
        ("Disagree with the statement, but with exceptions", 1),
        ("I would strongly agree that bread is dear, with a few caveats.", 3),
    ],
)
def test_what_is_weakened_is_a_reservation(answer, point):
    assert read_option(answer, NUMBERED) == Reading(point, "qualified")


def test_halves_of_both_are_neither():
    assert read_option("Partially agree, partially disagree", NUMBERED) is None


def test_a_reservation_is_told_apart():
    reading = read_option("Agree, but only in part", NUMBERED)
    assert (reading.point, reading.manner) == (2, "qualified")
    assert match_option("Agree, but only in part", NUMBERED) is None


def test_numeric_codes_may_start_anywhere():
    options = declare({"0": 1, "1": 2, "2": 3, "3": 4}, POINTS)
    assert [match_option(str(code), options) for code in range(5)] == [0, 1, 2, 3, None]


@pytest.mark.parametrize(
    ("option", "code", "text"),
    [
        ("1) Strongly disagree", "1", "strongly disagree"),
        ("IV - Strongly Agree", "iv", "strongly agree"),
        ("d", "d", ""),
        ("-2", "-2", ""),
        ("Agree", "", "agree"),
    ],
)
def test_a_declared_option_is_split(option, code, text):
    assert split_code(option) == (code, text)


@given(st.sampled_from(range(4)), st.sampled_from(["", " ", "**", '"']), st.booleans())
def test_whatever_is_put_around_an_option_it_is_the_same(point, around, upper):
    answer = f"{around}{point + 1}) {POINTS[point]}{around}"
    assert match_option(answer.upper() if upper else answer, NUMBERED) == point


@given(st.text(max_size=120))
def test_any_text_can_be_read(answer):
    assert match_option(answer, NUMBERED) in (None, 0, 1, 2, 3)


def test_fold():
    assert fold(" Strongly,  DISAGREE. ") == "strongly disagree"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"1": "Agre"}, "options: '1': unknown point 'Agre'; did you mean 'Agree'"),
        ({"1": 5}, "options: '1': point 5 is outside 1 to 4"),
        ({"1) Yes": "Agree", "1) No": "Disagree"}, "'1' stands for 'Agree' and for 'Disagree'"),
        ({"Agree": "Disagree"}, "'agree' stands for"),
        ({}, "there is none"),
    ],
)
def test_wrong_declarations(options, message):
    with pytest.raises(UserError, match=message):
        declare(options, POINTS)


def test_counts_of_published_choices(shared_data):
    import pandas as pd

    folder = shared_data / "rottger"
    rows = pd.read_parquet(folder / "explicit_paraphrase.parquet")
    published = pd.read_csv(folder / "published_choice_counts_explicit_paraphrase.csv")
    for model, wanted in published.groupby("model"):
        answers = rows.loc[rows["model"] == model, "completion"]
        found = pd.Series([match_option(a, NUMBERED) for a in answers]).value_counts(dropna=False)
        for choice, n in zip(wanted["choice"], wanted["n"], strict=True):
            if choice == "unknown":
                assert found[found.index.isna()].sum() == n
            else:
                assert found[int(choice[0]) - 1] == n


def test_messy_answers_with_a_label(shared_data):
    import pandas as pd

    rows = pd.read_csv(shared_data / "answer_labels" / "label_fixes.csv", keep_default_na=False)
    options = declare({f"{c}) {p}": p for c, p in zip("DCBA", POINTS, strict=True)}, POINTS)
    found = [read_option(raw, options) for raw in rows["raw"]]
    plain = [
        (r.point, label)
        for r, label in zip(found, rows["label"], strict=True)
        if r and r.manner == "plain"
    ]
    labelled = [
        (fold(POINTS[p]), fold(label)) for p, label in plain if fold(label) in NUMBERED.texts
    ]
    assert len(labelled) > 50
    assert sum(a == b for a, b in labelled) / len(labelled) >= 0.98
    # With reservations nearly all; what is not is labelled by other things than its words, such
    # as "agree with strong reservations" as strongly agree. "None" is the label of no option.
    every = [
        (r and fold(POINTS[r.point]), fold(label) if label != "None" else None)
        for r, label in zip(found, rows["label"], strict=True)
        if label != "unlabelled"
    ]
    assert len(every) == 734
    assert sum(a == b for a, b in every) / len(every) >= 0.97
    side = {fold(point): "disagree" in fold(point) for point in POINTS}
    assert sum(side.get(a) == side.get(b) for a, b in every) / len(every) >= 0.98
    # Answers that mean no option are read as one with a reservation at most.
    none = [r for r, label in zip(found, rows["label"], strict=True) if label == "None"]
    assert len(none) > 100
    assert {r.manner for r in none if r} <= {"qualified"}
    # What nobody labelled is read without reservation where its words are the option's.
    for raw, r, label in zip(rows["raw"], found, rows["label"], strict=True):
        if label == "unlabelled" and r and r.manner != "qualified":
            assert set(fold(POINTS[r.point]).split()) <= set(fold(raw).split())
