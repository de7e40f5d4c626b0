import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.errors import UserError
from polbayes.instrument.folding import folded
from polbayes.instrument.questionnaires import load_instrument
from polbayes.tasks.paraphrasing.reasons import duplicates

PAIRS = [
    ("Land shouldn't be SOLD!", "land  shouldn’t be sold", True),
    ("Straße", "STRASSE", True),
    ("ﬁne art", "fine art", True),
    ("ban-it", "ban it", True),
    ("More than 50 %", "More than 50", True),
    ("a < b", "a > b", False),
    ("कि", "का", False),
    ("Tax the rich.", "Do not tax the rich.", False),
]


@pytest.mark.parametrize(("one", "other", "same"), PAIRS)
def test_case_space_and_punctuation_do_not_count_but_the_rest_does(one, other, same):
    assert (folded(one) == folded(other)) is same


@settings(max_examples=50)
@given(st.text())
def test_folding_is_idempotent_and_blind_to_case_and_space(text):
    assert folded(folded(text)) == folded(text)
    assert folded(f"  {text}\t") == folded(text)
    assert folded(folded(text).upper()) == folded(folded(text).upper().lower())


@pytest.mark.parametrize(("one", "other", "same"), PAIRS)
def test_instruments_and_paraphrases_agree_on_what_is_one_wording(one, other, same, tmp_path):
    assert duplicates([one, other]).tolist() == [False, same]
    item = {"item": "a", "text": one, "dimension": "economic", "direction": "left", "source": "us"}
    items = [item | {"variants": {"reformulation": other}}]
    path = tmp_path / "a.yaml"
    content = {"id": "a", "title": "A", "citation": "us", "items": items}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    if same:
        with pytest.raises(UserError, match="occurs twice"):
            load_instrument(str(path))
    else:
        assert len(load_instrument(str(path)).items[0].variants) == 2
