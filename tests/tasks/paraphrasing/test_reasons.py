import pandas as pd
import pytest

from polbayes.data.tables import read_table
from polbayes.errors import UserError
from polbayes.instrument.questionnaires import load_instrument
from polbayes.tasks.paraphrasing.reasons import check_reasons, reason_of, with_reasons

ORIGINAL = "The rich are too highly taxed."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Wealthy people pay too much tax.", ""),
        ("…", "empty"),
        ("", "empty"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("I cannot create paraphrases of this statement.", "refusal"),
        ("As an AI language model, I do not have personal opinions.", "refusal"),
        ("Here are 20 paraphrases for the statement", "preamble"),
        ("Sure! Here you go.", "preamble"),
        ("Wordings of this kind might be the following:", "preamble"),
        ("Yes, I agree with this statement.", "answer"),
        ("I strongly disagree.", "answer"),
        ("I agree that wealthy people pay too much tax.", ""),
        ("Are the rich too highly taxed?", "question"),
        ("1) The rich pay too much. 2) The poor pay less.", "list"),
        ("Taxed highly.", "fragment"),
        ("the rich ARE too highly taxed", "original"),
        ("The statement “The rich are too highly taxed” is old.", "quotes_original"),
        ("I will not abandon my country.", ""),
        ("Here in the city people should be taxed less.", ""),
    ],
)
def test_what_is_no_statement_is_told(text, reason):
    assert reason_of(text, ORIGINAL, kind="paraphrase", least_words=3) == reason


def test_a_denial_may_have_the_statement_in_it():
    text = "It is not so that the rich are too highly taxed."
    for kind, reason in {"paraphrase": "quotes_original", "negation": "", "opposite": ""}.items():
        assert reason_of(text, ORIGINAL, kind=kind, least_words=3) == reason


def table(texts, **columns):
    rows = {"item": "q", "set": "a", "kind": "paraphrase", "instruction": "x", "call": 1}
    return pd.DataFrame([{**rows, "text": t, "reason": ""} for t in texts]).assign(**columns)


def test_duplicates_are_of_one_item_set_and_kind_and_of_what_is_kept():
    texts = ["Tax the wealthy less.", "tax the wealthy LESS", "Tax the wealthy less now!"]
    same = with_reasons(table(texts), {"q": ORIGINAL}, exclude=[])
    assert same["reason"].tolist() == ["", "duplicate", ""]
    near = with_reasons(table(texts), {"q": ORIGINAL}, exclude=["duplicate"], near=0.7)
    # Words and pairs: 7 of the first, 9 of the third, 7 in common.
    assert near["reason"].tolist() == ["", "duplicate", "near_duplicate"]
    for name, values in {
        "set": list("abc"),
        "kind": ["paraphrase", "negation", "opposite"],
    }.items():
        apart = with_reasons(table(texts, **{name: values}), {"q": ORIGINAL}, exclude=["duplicate"])
        assert apart["reason"].tolist() == ["", "", ""]
    # What is left out for something else cannot make others duplicates, what is only flagged can.
    texts = ["Really, taxed less?", "Really, taxed less."]
    found = with_reasons(table(texts), {"q": ORIGINAL}, exclude=["question"])
    assert found["reason"].tolist() == ["question", ""]
    found = with_reasons(table(texts), {"q": ORIGINAL}, exclude=[])
    assert found["reason"].tolist() == ["question", "duplicate"]


def test_several_statements_where_one_was_asked_for_are_a_list():
    texts = ["Here you are:", "Tax the wealthy less.", "The wealthy pay too much."]
    rows = table(texts, instruction=["one", "one", "one"])
    assert with_reasons(rows, {"q": ORIGINAL}, exclude=[], one=["one"])["reason"].tolist() == [
        "preamble",
        "list",
        "list",
    ]
    calls = rows.assign(call=[1, 1, 2])
    found = with_reasons(calls, {"q": ORIGINAL}, exclude=[], one=["one"])
    assert found["reason"].tolist() == ["preamble", "", ""]


def test_what_went_wrong_before_keeps_its_reason():
    rows = table(["", "Tax the wealthy"], reason=["failed", "cut_off"])
    assert with_reasons(rows, {"q": ORIGINAL}, exclude=[])["reason"].tolist() == [
        "failed",
        "cut_off",
    ]


def test_unknown_reasons_are_refused():
    with pytest.raises(UserError, match="did you mean 'question'"):
        check_reasons(["questions"])


def test_hardly_a_published_paraphrase_is_taken_for_no_statement(shared_data):
    """Haller et al. removed empty lines and equal texts, and people found the rest to be fine."""
    rows = read_table(shared_data / "haller" / "paraphrases.parquet").iloc[::29]
    statement = {i.item: i.variants[0].text for i in load_instrument("pct").items}
    found = [
        reason_of(text, statement[item], kind="paraphrase", least_words=3)
        for item, text in zip(rows["item_id"], rows["text"], strict=True)
    ]
    assert len(found) == 2030
    assert sum(map(bool, found)) < 8
    assert not {"refusal", "preamble", "list", "original", "empty"} & set(found)
