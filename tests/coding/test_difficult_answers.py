"""Every kind of coder is given what answers of models really look like, and survives it."""

import json

import numpy as np
import pytest
from loopback import Said

from polbayes.coding import get_coder
from polbayes.config.schema import ApiConfig, CoderConfig, JudgeConfig
from polbayes.data.dataset import STANCE_CLASSES

STATEMENT = "Museums should be free – für alle, 对所有人。"
DIFFICULT = {
    "long": "I agree with much of it. " * 800 + "In the end I disagree with the statement.",
    "one word of 9,000 letters": "a" * 9_000,
    "German": "Nein, ich stimme dieser Aussage überhaupt nicht zu.",
    "Chinese": "我完全同意这个说法。",
    "Arabic": "أنا لا أوافق على هذا البيان.",
    "markdown": "# Answer\n\n**Stance:** *agree*\n\n| for |\n|---|\n| a |\n```\nx\n```",
    "a program's": "As an AI language model, I do not have personal opinions or beliefs.",
    "a program's after all": "As an AI, I have no opinions. That said, I agree with the statement.",
    "both sides": "On the one hand museums cost money. On the other hand they teach. It depends.",
    "markup": "<|im_start|>assistant\n<b>Yes</b> &amp; no</s>[/INST] I agree.<|im_end|>",
    "half a character": "I agree \ud83d.",
    "control characters": "I\x00 agree\x07.\x1b[31m",
    "invisible": "I\u200b agree\u202e.",
    "emoji": "👍",
    "braces": '{statement} {"stance": "agree"} {0} %s',
}
EMPTY = ["", " \n\t", "<|endoftext|>"]


@pytest.fixture(scope="module")
def texts():
    return [*DIFFICULT.values(), *EMPTY]


@pytest.fixture
def declared(classifier_checkpoint, loopback):
    """Declare one coder of each kind."""
    said = json.dumps({name: 96 if name == "neutral" else 1 for name in STANCE_CLASSES})
    api = ApiConfig(base_url=loopback(answer=lambda *_: Said(said)).url, key_variable=None)
    labels = {
        "nli": ("contradiction", "neutral", "entailment"),
        "sentiment": ("neg", "pos"),
        "classifier": ("agree", "disagree", "neutral"),
    }
    found = {
        kind: CoderConfig(
            kind=kind, checkpoint=str(classifier_checkpoint("bert", names)), device="cpu"
        )
        for kind, names in labels.items()
    }
    found["judge"] = CoderConfig(kind="judge", checkpoint="m-1", judge=JudgeConfig(api=api))
    found["ensemble"] = CoderConfig(kind="ensemble", weights={"lexical": 1.0, "classifier": 2.0})
    return found


@pytest.mark.parametrize("name", ["likert", "lexical"])
def test_rules_abstain_or_decide(name, texts):
    rows = get_coder(name)([STATEMENT] * len(texts), texts)
    assert rows.shape == (len(texts), 5)
    coded = np.isfinite(rows).all(axis=1)
    assert rows[coded].sum(axis=1) == pytest.approx(np.ones(coded.sum()))
    assert not coded[len(DIFFICULT) :].any()
    if name == "lexical":
        found = dict(zip(DIFFICULT, rows, strict=False))
        stances = {
            key: STANCE_CLASSES[row.argmax()]
            for key, row in found.items()
            if np.isfinite(row).all()
        }
        assert stances["a program's"] == "refused"
        assert stances["a program's after all"] == "agree"
        # English is what it reads, and arguments without a conclusion are not for rules.
        assert not stances.keys() & {"German", "Chinese", "Arabic", "both sides", "braces"}


@pytest.mark.parametrize("kind", ["nli", "sentiment", "classifier", "judge", "ensemble"])
def test_the_others_read_all_but_empty_ones(kind, declared, texts, tmp_path):
    coder = get_coder(kind, declared, journal_dir=tmp_path)
    rows = coder([STATEMENT] * len(texts), texts)
    assert rows.shape == (len(texts), 5)
    there = np.isfinite(rows).all(axis=1)
    assert there.tolist() == [True] * len(DIFFICULT) + [False] * len(EMPTY)
    assert rows[there].sum(axis=1) == pytest.approx(np.ones(there.sum()), abs=1e-5)
    # What is kept is read back the same.
    again = get_coder(kind, declared, journal_dir=tmp_path)([STATEMENT] * len(texts), texts)
    np.testing.assert_array_equal(again, rows)
