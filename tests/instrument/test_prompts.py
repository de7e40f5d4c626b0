import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.config.schema import ELICITATIONS
from polbayes.errors import UserError
from polbayes.instrument.prompts import (
    SHAPES,
    Lexicon,
    Prefix,
    check_answers,
    load_lexicon,
    load_prefixes,
    load_template,
    render,
)

# Faulborn et al. (2025), Table 2.
TEN = [
    "baseline",
    "likert",
    "please_respond",
    "please_opinion",
    "respond",
    "opinion",
    "emotion_happy",
    "truth",
    "emotion_important",
    "name",
]


def test_a_prefix_stands_on_a_line_of_its_own():
    prompt = render("{prefix}{statement}\n", prefix="Please respond.", statement="Taxes are high.")
    assert prompt == "Please respond.\nTaxes are high.\n"


def test_no_prefix_leaves_no_line_break():
    assert render("{prefix}{statement}", prefix="", statement="Taxes.") == "Taxes."


def test_the_model_is_called_by_its_name():
    prompt = render(
        "{prefix}{statement}", prefix="Hey {model_name}, go.", statement="x", model_name="gpt2"
    )
    assert prompt == "Hey gpt2, go.\nx"


def test_the_mask_goes_into_its_place():
    prompt = render("{statement} I {mask} with it.", prefix="", statement="Tea.", mask="[MASK]")
    assert prompt == "Tea. I [MASK] with it."


@pytest.mark.parametrize(
    "statement", ["{prefix}", "{mask} {statement}", "{model_name}", "{x}", "{}", "{", r"\1 \g<0>"]
)
def test_braces_and_backslashes_in_a_statement_are_left_alone(statement):
    prompt = render("{prefix}{statement}!", prefix="P", statement=statement, mask="[M]")
    assert prompt == f"P\n{statement}!"


@given(st.text(), st.text(), st.text())
def test_whatever_is_asked_arrives_as_it_is(prefix, statement, name):
    prompt = render("<{prefix}|{statement}>", prefix=prefix, statement=statement, model_name=name)
    put = prefix.replace("{model_name}", name)
    assert prompt == "<" + (put + "\n" if put else "") + "|" + statement + ">"


def test_the_ten_prefixes_are_shipped_in_their_order():
    prefixes = load_prefixes()
    assert [p.prefix for p in prefixes] == TEN
    assert [p.prefix for p in prefixes if p.answer == "likert"] == ["likert"]
    assert [p.prefix for p in prefixes if not p.text] == ["baseline"]
    assert [p.prefix for p in prefixes if "{model_name}" in p.text] == ["name"]


def test_a_selection_keeps_its_own_order():
    assert [p.prefix for p in load_prefixes(only=["truth", "baseline"])] == ["truth", "baseline"]


@pytest.mark.parametrize(
    ("only", "says"),
    [
        (["baselin"], "prefixes.only: unknown prefix 'baselin'; did you mean 'baseline'?"),
        ([], "prefixes.only: the list is empty"),
        (["truth", "truth"], "prefixes.only: a prefix is named twice"),
    ],
)
def test_a_selection_that_cannot_be_made(only, says):
    with pytest.raises(UserError) as caught:
        load_prefixes(only=only)
    assert says in str(caught.value)


def test_prefixes_of_ones_own(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(
        "prefixes:\n  none: {text: ''}\n  shout: {text: ' ANSWER! ', answer: likert}\n",
        encoding="utf-8",
    )
    assert load_prefixes(str(path)) == (
        Prefix("none", "", "open"),
        Prefix("shout", "ANSWER!", "likert"),
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no such file, or it is empty"),
        ("- a", "the key 'prefixes' must be a mapping"),
        ("prefixes: {}", "the key 'prefixes' must be a mapping with at least one entry"),
        ("prefixes: {a: just text}", "prefix 'a': must have a text"),
        ("prefixes: {a: {text: 3}}", "prefix 'a': must have a text"),
        ("prefixes: {a: {}}", "prefix 'a': must have a text"),
        (
            "prefixes: {a: {text: x, answer: likkert}}",
            "prefix 'a': unknown kind of answer 'likkert'; did you mean 'likert'?",
        ),
        ("prefixes: {a: {text: x}, a: {text: y}}", "the key 'a' occurs twice"),
        ("prefixes: {a: {text: x}, ' a': {text: y}}", "a name that no other prefix has"),
        ("prefixes: {'': {text: x}}", "must have a name that no other prefix has"),
        ("prefixes: {null: {text: x}}", "must have a name that no other prefix has"),
        ("prefixes: {.nan: {text: x}}", "prefix 'nan': must be text, not a float"),
        ("prefixes: {true: {text: x}}", "prefix 'True': must be text, not a bool"),
        ("prefixes: {a: {text: x, answer: [open]}}", "unknown kind of answer '['open']'"),
        (
            "prefixes: {a: {text: x, answr: likert}}",
            "prefix 'a': unknown key 'answr'; did you mean 'answer'?",
        ),
        (
            r'prefixes: {a: {text: "x\0"}}',
            "prefix 'a': text: the text has the character U+0000, which nobody can read",
        ),
    ],
)
def test_a_file_of_prefixes_that_cannot_be_used(tmp_path, content, says):
    path = tmp_path / "p.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_prefixes(str(path))
    assert str(caught.value).startswith(f"{path}:")
    assert says in str(caught.value)


def test_a_file_of_prefixes_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"gone\.yaml: no such file"):
        load_prefixes(str(tmp_path / "gone.yaml"))


@pytest.mark.parametrize("name", ["faulborn", "feng", "haller", "haller_masked", "feng_masked"])
def test_every_template_has_the_place_of_the_statement(name):
    template = load_template(name)
    assert template.elicitation in ELICITATIONS
    assert set(template.texts) <= set(SHAPES)
    for shape, text in template.texts.items():
        assert text.count("{statement}") == 1
        assert text.startswith("{prefix}")
        assert ("{mask}" in text) == (shape == "masked")


def test_an_unknown_template_is_compared_to_the_others():
    with pytest.raises(UserError, match="unknown template 'faulbron'; did you mean 'faulborn'"):
        load_template("faulbron")


@pytest.mark.parametrize(
    ("name", "agree", "neutral", "disagree"),
    [
        ("haller_generative", {"yes"}, set(), {"no"}),
        ("likert5", {"4", "5"}, {"3"}, {"1", "2"}),
    ],
)
def test_the_small_lexicons(name, agree, neutral, disagree):
    lexicon = load_lexicon(name)
    by_stance = {
        stance: {o for o, s in zip(lexicon.options, lexicon.stance, strict=True) if s == stance}
        for stance in (1, 0, -1)
    }
    assert by_stance == {1: agree, 0: neutral, -1: disagree}


def test_the_words_at_the_mask_are_agreeing_or_disagreeing():
    """Haller et al. (2024), Table 5: 24 words of agreement, 24 of disagreement."""
    lexicon = load_lexicon("haller_masked")
    assert len(lexicon.options) == len(set(lexicon.options)) == len(lexicon.stance)
    assert (lexicon.stance.count(1), lexicon.stance.count(-1)) == (24, 24)
    stance = dict(zip(lexicon.options, lexicon.stance, strict=True))
    assert stance["agree"] == stance["endorsed"] == 1
    assert stance["disagree"] == stance["rejecting"] == -1


def test_a_lexicon_of_ones_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text('agree: ["aye", "yea"]\ndisagree: ["nay"]\n', encoding="utf-8")
    lexicon = load_lexicon(str(path))
    assert (lexicon.options, lexicon.stance) == (("aye", "yea", "nay"), (1, 1, -1))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('agree: ["yes"]\ndisagree: ["no", "yes"]', "'yes' is listed under two stances"),
        ('agree: ["yes"]', "'disagree' must be a list of at least one answer option"),
        ('agree: []\ndisagree: ["no"]', "'agree' must be a list of at least one answer option"),
        ('agree: "yes"\ndisagree: ["no"]', "'agree' must be a list of at least one answer option"),
        ("", "'agree' must be a list"),
        ("- a", "must be a mapping with the keys agree, neutral and disagree"),
        ("agree: [yes]\ndisagree: [no]", "'agree': 'True' is not text; put it in quotes"),
        ('agree: [""]\ndisagree: ["no"]', "'agree': '' is not text"),
        (r'agree: ["\u200b"]' + '\ndisagree: ["no"]', "'agree': the text is empty"),
        (r'agree: ["a\x1b"]' + '\ndisagree: ["no"]', "'agree': the text has the character U+001B"),
        ('agree: ["yes"]\ndisagree: ["Yes "]', "'Yes ' is listed under two stances"),
        ('agree: ["a"]\nnuetral: ["b"]\ndisagree: ["c"]', "did you mean 'neutral'?"),
    ],
)
def test_a_lexicon_that_cannot_be_used(tmp_path, content, says):
    path = tmp_path / "mine.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_lexicon(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)


WORDS = Lexicon("words", ("yes", "no"), (1, -1))
NUMBERS = Lexicon("numbers", ("1", "2", "3"), (-1, 0, 1))
LIKERT = [Prefix("likert", "From 1 to 5.", "likert")]


def test_a_prefix_that_asks_for_numbers_needs_numbers():
    with pytest.raises(UserError) as caught:
        check_answers(LIKERT, "forced_choice", WORDS)
    text = str(caught.value)
    assert "prefix 'likert' asks for a number from 1 to 5" in text
    assert "lexicon 'words'" in text
    assert "prefixes.only=[...]" in text


@pytest.mark.parametrize(
    ("prefixes", "elicitation", "lexicon"),
    [
        (LIKERT, "forced_choice", NUMBERS),
        (LIKERT, "open_ended", None),
        (LIKERT, "open_ended", WORDS),
        ([Prefix("truth", "Is it so?", "open")], "forced_choice", WORDS),
    ],
)
def test_prefixes_that_go_with_the_options(prefixes, elicitation, lexicon):
    check_answers(prefixes, elicitation, lexicon)
