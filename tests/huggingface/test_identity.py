"""Two checkpoints that differ in anything an answer depends on are told apart."""

import hashlib
import json
import os
import shutil

import pytest

from polbayes.config.schema import CoderConfig, ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.huggingface import identity
from polbayes.huggingface.identity import other_digest, source_digest
from polbayes.huggingface.sequence import SequenceClassifier
from polbayes.huggingface.source import Source
from polbayes.probing.answer_cache import open_cache
from polbayes.probing.journal import Journal, adopt
from polbayes.respondents import Question, answer_settings, setting_defaults

ASKED = Question("i", "v", "p", 1, "Statement.", 1, "economic", "Prompt.")
RECORD = {"cell": ["i", "v", "p", 1], "prompt": "x", "status": "ok", "mass": [0.25, None]}
COMMIT = "0123456789abcdef0123456789abcdef01234567"

FILES = [
    *("model.safetensors", "config.json", "generation_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"),
]


@pytest.fixture
def copy(causal_checkpoint, tmp_path):
    """Return a checkpoint of one's own to change."""
    return shutil.copytree(causal_checkpoint("gpt2-chat").path, tmp_path / "copy")


@pytest.fixture
def large(monkeypatch, tmp_path):
    """Count every file as large, and keep digests in a folder of the test's own."""
    monkeypatch.setattr(identity, "_LARGE", 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "polbayes" / "digests.json"


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(1, hash(place) % 10**9))


def change(path):
    """Flip a bit in the middle of weights; change other files so that they can still be read."""
    if path.suffix == ".safetensors":
        flip(path, path.stat().st_size // 2)
    else:
        path.write_text(path.read_text() + " ")


def source(path):
    return Source("respondents.m", str(path), True, None, False)


def settings(path):
    config = RespondentConfig(checkpoint=str(path), device="cpu")
    return answer_settings(config, ElicitationConfig())


def test_a_middle_layer_counts(copy, large):
    weights = copy / "model.safetensors"
    before = source_digest(source(copy))
    flip(weights, weights.stat().st_size // 2)
    assert source_digest(source(copy)) != before
    assert len(json.loads(large.read_text())) == 2


def test_a_large_file_is_read_once(copy, large, monkeypatch):
    before = source_digest(source(copy))

    def refuse(*_):
        raise AssertionError("read again")

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    assert source_digest(source(copy)) == before
    os.utime(copy / "model.safetensors", ns=(5, 5))
    with pytest.raises(AssertionError, match="read again"):
        source_digest(source(copy))


@pytest.mark.parametrize("content", ["", "{", "[1]"])
def test_a_damaged_cache_is_made_anew(copy, large, content):
    before = source_digest(source(copy))
    large.write_text(content)
    assert source_digest(source(copy)) == before
    assert json.loads(large.read_text())


def test_a_cache_that_cannot_be_written_is_done_without(copy, large):
    large.parent.parent.write_text("a file where the folder should be")
    assert source_digest(source(copy)) == source_digest(source(copy)) != ""


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"]
)
def test_what_weights_mean_counts(copy, name):
    before = other_digest(source(copy))
    content = json.loads((copy / name).read_text()) if (copy / name).exists() else {}
    (copy / name).write_text(json.dumps({**content, "changed": 1}))
    assert other_digest(source(copy)) != before


def test_a_template_counts_and_a_card_does_not(copy):
    before = other_digest(source(copy))
    (copy / "README.md").write_text("another card")
    (copy / "README.txt").write_text("another card")
    assert other_digest(source(copy)) == before
    (copy / "chat_template.jinja").write_text("{{ messages[0].content }}!")
    assert other_digest(source(copy)) != before


def test_a_checkpoint_on_the_hub_is_known_by_its_commit(monkeypatch, tmp_path):
    import huggingface_hub.constants as constants
    from transformers.utils import hub

    cache = tmp_path / "hub"
    for target in (constants, hub.constants):
        monkeypatch.setattr(target, "HF_HUB_OFFLINE", True, raising=False)
        monkeypatch.setattr(target, "HF_HUB_CACHE", str(cache), raising=False)
    stored = cache / "models--owner--name"
    (stored / "snapshots" / COMMIT).mkdir(parents=True)
    (stored / "snapshots" / COMMIT / "config.json").write_text("{}")
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text(COMMIT)
    assert other_digest(Source("m", "owner/name", False, None, False)) == COMMIT
    assert other_digest(Source("m", "owner/other", False, None, False)) == ""


@pytest.mark.parametrize("changed", FILES)
def test_a_journal_refuses_another_checkpoint(copy, tmp_path, changed, large):
    path, before = tmp_path / "m.jsonl", settings(copy)
    with Journal(path, before, defaults=setting_defaults(before)) as journal:
        journal.extend([RECORD])
    change(copy / changed)
    now = settings(copy)
    with (
        pytest.raises(UserError, match="made under other settings"),
        Journal(path, now, defaults=setting_defaults(now)),
    ):
        pass


@pytest.mark.parametrize("changed", FILES)
def test_answers_of_another_checkpoint_are_not_taken_over(copy, tmp_path, changed, large):
    path, before = tmp_path / "m.jsonl", settings(copy)
    with Journal(path, before, defaults=setting_defaults(before)) as journal:
        journal.extend([RECORD])
    change(copy / changed)
    now = settings(copy)
    with pytest.raises(UserError, match="made under other settings: respondent"):
        adopt(path, tmp_path / "new.jsonl", now, defaults=setting_defaults(now))
    assert not (tmp_path / "new.jsonl").exists()


def test_which_part_holds_which_weights_counts(copy):
    (copy / "model.safetensors.index.json").write_text('{"weight_map": {"a": "one"}}')
    before = other_digest(source(copy))
    (copy / "model.safetensors.index.json").write_text('{"weight_map": {"a": "two"}}')
    assert other_digest(source(copy)) != before


@pytest.mark.parametrize("name", ["source.spm", "vocab.bpe", "bpe.codes"])
def test_rarer_vocabularies_count(copy, name):
    before = other_digest(source(copy))
    (copy / name).write_text("a b")
    assert other_digest(source(copy)) != before


def test_the_tokenizer_of_a_classifier_counts(tmp_path, copy):
    about = json.loads((copy / "config.json").read_text())
    about |= {"architectures": ["GPT2ForSequenceClassification"]}
    (copy / "config.json").write_text(json.dumps(about))
    config = CoderConfig(checkpoint=str(copy))
    before = SequenceClassifier("c", config).identity
    change(copy / "tokenizer.json")
    assert SequenceClassifier("c", config).identity != before


def test_a_journal_begun_before_files_counted_is_gone_on_with(copy, tmp_path):
    path, now = tmp_path / "m.jsonl", settings(copy)
    old = {key: value for key, value in now.items() if key != "respondent.files"}
    assert len(old) == len(now) - 1
    with Journal(path, old, defaults=setting_defaults(old)) as journal:
        journal.extend([RECORD])
    with Journal(path, now, defaults=setting_defaults(now)) as journal:
        assert [record["cell"] for record in journal.records] == [RECORD["cell"]]


@pytest.mark.parametrize("changed", FILES)
def test_a_cache_misses_another_checkpoint(copy, tmp_path, changed, large):
    path = tmp_path / "answers.sqlite"

    def cache():
        about = {"settings": settings(copy), "sampled": False, "by_prompt": True}
        return open_cache(path, model="m", seed=1, **about)

    with cache() as before:
        before.keep([(ASKED, RECORD)])
        assert before.find([ASKED])
    change(copy / changed)
    with cache() as after:
        assert not after.find([ASKED])
