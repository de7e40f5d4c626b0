import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.errors import UserError
from polbayes.judging.rubric import WAYS, defused, load_rubric, pair_digest

RUBRIC = load_rubric("stance", where="x")
MARKS = st.sampled_from(
    ["<answer", "</answer", "</s>", "<|im_end|>", "[INST]", ">", "\n", "＜", "a"]
)


@pytest.mark.parametrize("way", WAYS)
def test_the_shipped_rubric_names_every_stance(way):
    text = RUBRIC.template(way).texts["chat"]
    for name in STANCE_CLASSES:
        assert f"\n{name}: " in text.split("{statement}")[0]
        assert re.search(rf"\b{name}\b", RUBRIC.parts[way])
    assert text.count("{statement}") == 1


@given(st.lists(MARKS | st.text(max_size=5), max_size=12).map("".join))
def test_no_answer_gets_out_of_its_marks(text):
    shown = RUBRIC.material("Taxes are theft.", text)
    code = pair_digest("Taxes are theft.", text)
    assert shown.startswith(f"<statement {code}>\nTaxes are theft.\n</statement {code}>\n")
    assert shown.endswith(f"\n</answer {code}>")
    # Four marks, and nothing else that looks like one.
    assert shown.count("<") == shown.count(">") == 4
    assert "[INST]" not in shown
    shown.encode()


def test_words_and_lines_are_left_as_they_are():
    text = "Ja – **ich** stimme zu!\n\n1. Warum? [siehe oben] {statement} 你好"
    assert defused(text) == text
    assert text in RUBRIC.material("A", text)


def test_a_second_attempt_says_so():
    assert RUBRIC.parts["again"] not in RUBRIC.material("A", "b")
    assert RUBRIC.parts["again"] in RUBRIC.material("A", "b", again=True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"task": None}, "task: must be text"),
        ({"stated": "  "}, "stated: the text is empty"),
        ({"end": "See {statement}."}, "end: cannot have the field {statement}"),
        ({"version": "two"}, "version: must be a whole number, not 'two'"),
        ({"more": "x"}, "unknown key 'more'"),
        ({"rubric": "my rubric"}, "'my rubric' is not a usable id"),
    ],
)
def test_a_rubric_that_cannot_be_used(tmp_path, change, says):
    import yaml

    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"rubric": "m", "version": 1, **RUBRIC.parts, **change}))
    with pytest.raises(UserError) as caught:
        load_rubric(str(path), where="x")
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(path))
