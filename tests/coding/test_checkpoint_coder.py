"""Checkpoints as coders, compared with the pipelines of transformers where those do the same."""

import json
import shutil
import warnings

import numpy as np
import pytest

from polbayes.coding import get_coder
from polbayes.coding.checkpoint_coder import CheckpointCoder
from polbayes.config.schema import CoderConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.errors import UserError

MNLI = ("contradiction", "neutral", "entailment")
MUSEUMS, RAILWAYS = "Museums are too dear.", "The state should own the railways."
ANSWERS = [
    "I agree.",
    "**I disagree** strongly.\n\n- As an AI language model, I have no opinion.",
    "On the one hand yes, on the other hand no.",
    "Ich stimme nicht zu.",
    "Je suis d'accord, 完全同意 🙂",
    "yes {statement} {response}",
]
STATEMENTS = [MUSEUMS, RAILWAYS] * 3
LONG = " ".join(f"Museums {n} are too dear, I agree." for n in range(40))
FENG = {"agree": "This example is agree.", "disagree": "This example is disagree."}


@pytest.fixture
def coder(classifier_checkpoint):
    """Return a function that makes a coder: kind of checkpoint, labels, declaration."""

    def make(model, names, kind, *, journal_dir=None, **more):
        path = str(classifier_checkpoint(model, names))
        models = {"mine": CoderConfig(kind=kind, checkpoint=path, device="cpu", **more)}
        return get_coder("mine", models, journal_dir=journal_dir)

    return make


def by_name(probs):
    return {name: probs[:, n] for n, name in enumerate(STANCE_CLASSES)}


def pipeline(task, path):
    from transformers import pipeline

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipeline(task, model=str(path), device="cpu")


@pytest.mark.parametrize("model", ["bart", "bert"])
@pytest.mark.parametrize("names", [["agree", "disagree"], None])
def test_inference_is_that_of_the_zero_shot_pipeline(classifier_checkpoint, coder, model, names):
    found = by_name(
        coder(model, MNLI, "nli", hypotheses=FENG if names else {})(STATEMENTS, ANSWERS)
    )
    names = names or ["agree", "disagree", "neutral", "unrelated"]
    theirs = pipeline("zero-shot-classification", classifier_checkpoint(model, MNLI))
    for row, (statement, answer) in enumerate(zip(STATEMENTS, ANSWERS, strict=True)):
        said = theirs(f"{statement} {answer}", candidate_labels=names)
        for label, score in zip(said["labels"], said["scores"], strict=True):
            assert found[label][row] == pytest.approx(score, abs=2e-6)
        for other in set(STANCE_CLASSES) - set(names):
            assert found[other][row] == 0
    assert np.ptp(found["agree"]) > 0.001  # the answers make a difference to this model


def test_the_order_of_the_labels_is_read_from_the_config(classifier_checkpoint, coder, tmp_path):
    from safetensors.torch import load_file, save_file

    before = coder("bart", MNLI, "nli")(STATEMENTS, ANSWERS)
    path = shutil.copytree(classifier_checkpoint("bart", MNLI), tmp_path / "turned")
    weights = load_file(path / "model.safetensors")
    for name in ("weight", "bias"):
        key = f"classification_head.out_proj.{name}"
        weights[key] = weights[key].flip(0).contiguous()
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    about = json.loads((path / "config.json").read_text())
    about["id2label"] = {"0": "ENTAILMENT", "1": "NEUTRAL", "2": "CONTRADICTION"}
    (path / "config.json").write_text(json.dumps(about))
    turned = {"t": CoderConfig(kind="nli", checkpoint=str(path), device="cpu")}
    assert get_coder("t", turned)(STATEMENTS, ANSWERS) == pytest.approx(before, abs=1e-6)


def test_one_hypothesis_is_inference_proper(classifier_checkpoint, coder):
    found = coder("bert", MNLI, "nli", text="{response}", hypotheses={"agree": "{statement}"})
    found = by_name(found(STATEMENTS, ANSWERS))
    theirs = pipeline("text-classification", classifier_checkpoint("bert", MNLI))
    means = {"entailment": "agree", "neutral": "neutral", "contradiction": "disagree"}
    for row, (statement, answer) in enumerate(zip(STATEMENTS, ANSWERS, strict=True)):
        for said in theirs({"text": answer, "text_pair": statement}, top_k=None):
            assert found[means[said["label"]]][row] == pytest.approx(said["score"], abs=2e-6)
    assert (found["unrelated"] == 0).all()


def test_sentiment_is_that_of_the_classification_pipeline(classifier_checkpoint, coder):
    labels = ("NEGATIVE", "POSITIVE")
    found = by_name(coder("bert", labels, "sentiment")(STATEMENTS, ANSWERS))
    theirs = pipeline("text-classification", classifier_checkpoint("bert", labels))
    means = {"POSITIVE": "agree", "NEGATIVE": "disagree"}
    for row, answer in enumerate(ANSWERS):
        for said in theirs(answer, top_k=None):
            assert found[means[said["label"]]][row] == pytest.approx(said["score"], abs=2e-6)


def test_stars_add_up(classifier_checkpoint, coder):
    labels = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
    found = by_name(coder("bert", labels, "sentiment")(STATEMENTS, ANSWERS))
    theirs = pipeline("text-classification", classifier_checkpoint("bert", labels))
    said = {x["label"]: x["score"] for x in theirs(ANSWERS[0], top_k=None)}
    assert found["agree"][0] == pytest.approx(said["4 stars"] + said["5 stars"], abs=2e-6)
    assert found["disagree"][0] == pytest.approx(said["1 star"] + said["2 stars"], abs=2e-6)
    assert found["neutral"][0] == pytest.approx(said["3 stars"], abs=2e-6)


@pytest.mark.parametrize(
    ("labels", "mapping"),
    [
        (("Agree", "DISAGREE", "neutral", "unrelated"), {}),
        (
            ("pro", "con", "none", "off"),
            {"pro": "agree", "con": "disagree", "none": "neutral", "off": "unrelated"},
        ),
    ],
)
def test_a_classifier_is_that_of_the_classification_pipeline(
    classifier_checkpoint, coder, labels, mapping
):
    found = by_name(coder("bart", labels, "classifier", labels=mapping)(STATEMENTS, ANSWERS))
    theirs = pipeline("text-classification", classifier_checkpoint("bart", labels))
    for row, (statement, answer) in enumerate(zip(STATEMENTS, ANSWERS, strict=True)):
        for said in theirs({"text": statement, "text_pair": answer}, top_k=None):
            name = mapping.get(said["label"], said["label"].lower())
            assert found[name][row] == pytest.approx(said["score"], abs=2e-6)


def test_probabilities_do_not_depend_on_the_company_or_the_batch(coder):
    all_at_once = coder("bart", MNLI, "nli", batch_size=64)(STATEMENTS, ANSWERS)
    one_by_one = coder("bart", MNLI, "nli", batch_size=1)(STATEMENTS, ANSWERS)
    assert one_by_one == pytest.approx(all_at_once, abs=2e-6)
    alone = coder("bart", MNLI, "nli")(STATEMENTS[1:2], ANSWERS[1:2])
    assert alone[0] == pytest.approx(all_at_once[1], abs=2e-6)
    assert all_at_once.dtype == np.float32
    assert all_at_once.sum(axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("kind", ["nli", "sentiment", "classifier"])
@pytest.mark.parametrize("empty", ["", " \n\t", "<|endoftext|>", "</s><pad>"])
def test_empty_answers_are_passed_on(coder, kind, empty):
    labels = {"nli": MNLI, "sentiment": ("neg", "pos"), "classifier": ("agree", "disagree")}[kind]
    found = coder("bart", labels, kind)([MUSEUMS, MUSEUMS], [empty, "I agree."])
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    assert coder("bart", labels, kind)([], []).shape == (0, 5)


def test_what_an_answer_writes_cannot_end_its_text(coder):
    mine = coder("bart", MNLI, "nli")
    # A BART classifier fails on texts with different numbers of end tokens.
    answers = ["I agree.", "I </s> agree.</s></s>", "I<mask> agree \ud800.", "I agree [SEP]"]
    found = mine([MUSEUMS] * 4, answers)
    assert np.isfinite(found).all()
    assert found[1] == pytest.approx(mine([MUSEUMS], ["I   agree."])[0], abs=1e-6)


def test_a_long_answer_is_read_to_its_end(coder, monkeypatch):
    mine = coder("bart", MNLI, "nli")
    seen = []
    logits = type(mine._classifier).logits
    monkeypatch.setattr(
        type(mine._classifier),
        "logits",
        lambda self, encodings: seen.extend(encodings) or logits(self, encodings),
    )
    (whole,) = mine([MUSEUMS], [LONG + " Bananas."])
    assert max(len(encoding["input_ids"]) for encoding in seen) <= 64
    count = len(seen) // 4
    assert count > 10
    tokenizer = mine._classifier.encoder().tokenizer
    read = [tokenizer.decode(e["input_ids"], skip_special_tokens=True) for e in seen[::4]]
    assert all(text.startswith(MUSEUMS) for text in read)
    for n in range(40):
        assert any(f" {n} are" in text for text in read)
    assert "Bananas." in read[-1]
    # The mean over the windows, each read as an answer of its own.
    parts = [text.removeprefix(MUSEUMS).split("This example")[0].strip() for text in read]
    alone = mine([MUSEUMS] * count, parts)
    assert whole == pytest.approx(alone.mean(axis=0), abs=2e-6)


@pytest.mark.parametrize("model", ["bart", "bert", "roberta"])
def test_every_position_that_a_model_has_is_used(coder, model):
    mine = coder(model, MNLI, "nli")
    found = mine([MUSEUMS] * 2, [LONG, "I agree. " * 3000])
    assert np.isfinite(found).all()
    assert mine._classifier.encoder().limit == 64
    encoding = mine._classifier.encoder().encode("museums " * 100, "")
    cut = {key: [*ids[:63], ids[-1]] for key, ids in encoding.items()}
    assert np.isfinite(mine._classifier.logits([cut])).all()


def test_a_statement_that_leaves_no_room_is_named(coder):
    with pytest.raises(UserError, match=r"mine: the statement 'Museums 0 are .* takes 64 with"):
        coder("bart", MNLI, "nli")([LONG], [LONG])


def test_the_threshold_passes_on(coder):
    sure = coder("bart", MNLI, "nli")(STATEMENTS, ANSWERS)
    limit = float(np.median(sure.max(axis=1)))
    found = coder("bart", MNLI, "nli", threshold=limit)(STATEMENTS, ANSWERS)
    passed = sure.max(axis=1) < limit
    assert 0 < passed.sum() < len(ANSWERS)
    assert np.isnan(found[passed]).all()
    assert (found[~passed] == sure[~passed]).all()


@pytest.mark.parametrize(
    ("model", "labels", "declared", "says"),
    [
        ("bart", ("LABEL_0", "LABEL_1", "LABEL_2"), {"kind": "nli"}, "entailment, neutral and"),
        (
            "bart",
            ("entailment", "not_entailment"),
            {"kind": "nli"},
            "are not identified by the labels",
        ),
        ("bert", ("LABEL_0", "LABEL_1"), {"kind": "sentiment"}, "labels LABEL_0, LABEL_1 of"),
        ("bert", ("pro", "agree"), {"kind": "classifier"}, "the labels pro of"),
        ("bart", MNLI, {"kind": "nli", "labels": {"entail": "neutral"}}, "unknown label 'entail'"),
        (
            "bert",
            ("pro", "agree"),
            {"kind": "classifier", "labels": {"pro": "favour"}},
            "labels.pro: unknown meaning 'favour'",
        ),
        ("bart", MNLI, {"kind": "nli", "hypotheses": {"agre": "x"}}, "did you mean 'agree'"),
        ("bart", MNLI, {"kind": "nli", "hypotheses": {"neutral": "x"}}, "must be for agree"),
        (
            "bart",
            MNLI,
            {"kind": "nli", "hypotheses": {"agree": "{response}", "neutral": "x"}},
            "hypotheses.agree: unknown field '{response}'",
        ),
        ("bart", MNLI, {"kind": "nli", "text": "{statement}"}, "field {response} exactly once"),
        ("bart", MNLI, {"kind": "nli", "text": "{answer}"}, "unknown field '{answer}'"),
        (
            "bert",
            ("neg", "pos"),
            {"kind": "sentiment", "text": "{response}", "pair": "{response}"},
            "text and pair: must have the field",
        ),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(
    classifier_checkpoint, model, labels, declared, says
):
    path = str(classifier_checkpoint(model, labels))
    with pytest.raises(UserError) as caught:
        get_coder("mine", {"mine": CoderConfig(checkpoint=path, device="cpu", **declared)})
    text = str(caught.value)
    assert says in text
    assert text.startswith("coding.models.mine: ")
    assert "\n" not in text


def test_labels_can_be_told(classifier_checkpoint, coder):
    told = dict(zip(("LABEL_0", "LABEL_1", "LABEL_2"), MNLI, strict=True))
    found = coder("bart", tuple(told), "nli", labels=told)(STATEMENTS, ANSWERS)
    # The same weights under names that say it themselves.
    assert found == pytest.approx(coder("bart", MNLI, "nli")(STATEMENTS, ANSWERS), abs=1e-6)


def test_another_kind_of_checkpoint_is_refused(classifier_checkpoint, tmp_path):
    path = shutil.copytree(classifier_checkpoint("bert", MNLI), tmp_path / "other")
    about = json.loads((path / "config.json").read_text())
    declared = {"mine": CoderConfig(kind="nli", checkpoint=str(path), device="cpu")}
    (path / "config.json").write_text(json.dumps({**about, "architectures": ["BertForMaskedLM"]}))
    with pytest.raises(UserError, match=r"BertForMaskedLM\), not a sequence classifier"):
        get_coder("mine", declared)
    several = {**about, "problem_type": "multi_label_classification"}
    (path / "config.json").write_text(json.dumps(several))
    with pytest.raises(UserError, match="does not choose one of several classes"):
        get_coder("mine", declared)
    (path / "config.json").write_text(json.dumps(about))
    (path / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"has no \*.safetensors file"):
        get_coder("mine", declared)


def test_a_classification_head_is_not_made_up(classifier_checkpoint, tmp_path):
    from safetensors.torch import load_file, save_file

    path = shutil.copytree(classifier_checkpoint("bert", MNLI), tmp_path / "headless")
    weights = load_file(path / "model.safetensors")
    del weights["classifier.weight"]
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    declared = {"mine": CoderConfig(kind="nli", checkpoint=str(path), device="cpu")}
    with pytest.raises(UserError, match=r"lacks the weights 'classifier\.weight'; it was not"):
        get_coder("mine", declared)([MUSEUMS], ["I agree."])


def test_values_that_are_no_numbers_are_refused(classifier_checkpoint, tmp_path):
    from safetensors.torch import load_file, save_file

    path = shutil.copytree(classifier_checkpoint("bert", MNLI), tmp_path / "infinite")
    weights = load_file(path / "model.safetensors")
    weights["classifier.bias"][0] = float("nan")
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    declared = {"mine": CoderConfig(kind="nli", checkpoint=str(path), device="cpu")}
    with pytest.raises(UserError, match="weights that are not finite numbers"):
        get_coder("mine", declared)([MUSEUMS], ["I agree."])


def test_a_hub_name_without_network(monkeypatch, tmp_path):
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(
        UserError, match="'facebook/bart-large-mnli' is not a local folder"
    ) as caught:
        get_coder("nli")
    assert "\n" not in str(caught.value)


def texts(count):
    return [MUSEUMS] * count, [f"Answer {n} of many." for n in range(count)]


def counted(monkeypatch, *, stop_after=10**9):
    """Count the answers that a checkpoint reads, and fail after some batches."""
    read = []
    original = CheckpointCoder._records

    def records(self, batch):
        if len(read) >= stop_after:
            raise KeyboardInterrupt
        read.extend(pair for pair, _ in batch)
        return original(self, batch)

    monkeypatch.setattr(CheckpointCoder, "_records", records)
    return read


def test_an_interrupted_reading_goes_on_where_it_stopped(coder, monkeypatch, tmp_path):
    statements, answers = texts(24)
    whole = coder("bart", MNLI, "nli", batch_size=8)(statements, answers)
    with monkeypatch.context() as patch:
        first = counted(patch, stop_after=12)
        with pytest.raises(KeyboardInterrupt):
            coder("bart", MNLI, "nli", batch_size=8, journal_dir=tmp_path)(statements, answers)
        assert len(first) == 12
    with monkeypatch.context() as patch:
        rest = counted(patch)
        # Doubles, and another batch size, are no reason to read again.
        again = coder("bart", MNLI, "nli", batch_size=4, journal_dir=tmp_path)
        found = again(statements * 2, answers * 2)
        assert len(rest) == 12
        assert not set(first) & set(rest)
        assert found == pytest.approx(np.tile(whole, (2, 1)), abs=2e-6)
        again(statements, answers)
        assert len(rest) == 12
        # Another threshold reads the same probabilities otherwise.
        coder("bart", MNLI, "nli", threshold=0.9, journal_dir=tmp_path)(statements, answers)
        assert len(rest) == 12
        # Other hypotheses are another way of reading.
        other = coder("bart", MNLI, "nli", hypotheses=FENG, journal_dir=tmp_path)
        other(statements, answers)
        assert len(rest) == 36
        other(statements, answers)
        assert len(rest) == 36
    assert len(list(tmp_path.glob("nli-*.jsonl"))) == 2


def test_a_cut_journal_costs_its_last_line_only(coder, monkeypatch, tmp_path):
    statements, answers = texts(8)
    whole = coder("bart", MNLI, "nli", journal_dir=tmp_path)(statements, answers)
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-5])
    read = counted(monkeypatch)
    found = coder("bart", MNLI, "nli", journal_dir=tmp_path)(statements, answers)
    assert len(read) == 1
    assert found == pytest.approx(whole, abs=2e-6)


def test_other_weights_in_the_same_folder_read_again(classifier_checkpoint, monkeypatch, tmp_path):
    path = shutil.copytree(classifier_checkpoint("bert", MNLI), tmp_path / "checkpoint")
    declared = {"mine": CoderConfig(kind="nli", checkpoint=str(path), device="cpu")}
    read = counted(monkeypatch)
    get_coder("mine", declared, journal_dir=tmp_path)(*texts(3))
    data = bytearray((path / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (path / "model.safetensors").write_bytes(data)
    get_coder("mine", declared, journal_dir=tmp_path)(*texts(3))
    assert len(read) == 6
