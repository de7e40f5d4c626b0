"""``task=train_coder`` from the command line, on answers whose labels follow a rule."""

import json
import re
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.coding import get_coder
from polbayes.config.schema import CoderConfig
from polbayes.data.dataset import STANCE_CLASSES
from polbayes.tasks.training.loop import Training

NAMES = ("disagree", "neutral", "agree")


def coder(folder, **more):
    declared = CoderConfig(kind="classifier", checkpoint=str(folder), device="cpu", **more)
    return get_coder("trained", {"trained": declared})


def weights(folder):
    return sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def by_transformers(folder, statements, responses):
    """Return probabilities (answer, label) by the checkpoint alone, one answer at a time."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    assert [model.config.id2label[k] for k in range(3)] == list(NAMES)
    with torch.no_grad():
        logits = [
            model(**tokenizer(s, r, return_tensors="pt")).logits[0]
            for s, r in zip(statements, responses, strict=True)
        ]
    temperature = json.loads((folder / "config.json").read_text())["polbayes"]["temperature"]
    return torch.softmax(torch.stack(logits).double() / temperature, dim=-1).numpy()


def test_it_learns_the_rule(trained, make_answers):
    """On answers that it never saw, made by the rule without noise."""
    fresh = make_answers(200, seed=99, noise=0)
    found = coder(trained)(fresh["statement"], fresh["response"])
    said = [STANCE_CLASSES[k] for k in found.argmax(axis=1)]
    assert np.mean([a == b for a, b in zip(said, fresh["label"], strict=True)]) > 0.95


def test_reloading_gives_the_same_predictions(trained, make_answers):
    fresh = make_answers(50, seed=98)
    statements, responses = fresh["statement"].tolist(), fresh["response"].tolist()
    first, second = (coder(trained)(statements, responses) for _ in range(2))
    assert (first == second).all()
    alone = by_transformers(trained, statements, responses)
    columns = [STANCE_CLASSES.index(name) for name in NAMES]
    assert first[:, columns] == pytest.approx(alone, abs=2e-6)
    assert (np.delete(first, columns, axis=1) == 0).all()


def test_the_temperature_is_stored_and_applied(trained):
    record = json.loads((trained / "training.json").read_text())["temperature"]
    said = json.loads((trained / "config.json").read_text())["polbayes"]
    assert said == {
        "text": "{statement}",
        "pair": "{response}",
        "temperature": record["value"],
    }
    assert record["value"] != 1
    assert record["lower"] <= record["value"] <= record["upper"]
    assert coder(trained).identity["temperature"] == record["value"]


def test_the_card_states_the_true_numbers(trained, toy):
    card = (trained / "README.md").read_text(encoding="utf-8")
    held = pd.read_parquet(trained / "held_out.parquet")
    rows = pd.read_csv(toy)
    probs = by_transformers(trained, held["statement"], held["response"])
    said = np.array(NAMES)[probs.argmax(axis=1)]
    hits = said == held["label"]
    # As in the card's table of scores: measure, label, estimate, interval, of.
    cells = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("| ")]
    found = {(row[0], row[1]): row[2:] for row in cells if len(row) == 5}
    assert found["share right", "all"][0] == f"{hits.mean():.3f}"
    assert found["share right", "all"][2] == str(len(held))
    assert 0.7 < hits.mean() < 1
    for name in NAMES:
        precision, recall = hits[said == name].mean(), hits[held["label"] == name].mean()
        assert found["precision", name][0] == f"{precision:.3f}"
        assert found["recall", name][0] == f"{recall:.3f}"
        assert found["F1", name][0] == f"{2 / (1 / precision + 1 / recall):.3f}"
        assert re.fullmatch(r"\[0\.\d{3}, [01]\.\d{3}\]", found["precision", name][1])
    # Counts by class: all answers of the table, each in one part.
    counts = {row[0]: [int(x) for x in row[1:]] for row in cells if row[0] in (*NAMES, "all")}
    for name in NAMES:
        assert sum(counts[name]) == (rows["label"] == name).sum()
        assert counts[name][2] == (held["label"] == name).sum()
    # Shares of 0.7, 0.1 and 0.2 of 300, each of three classes off by less than two.
    assert counts["all"] == pytest.approx([210, 30, 60], abs=5)
    looks = json.loads((trained / "training.json").read_text())["looks"]
    best = min(looks, key=lambda look: look["loss"])
    assert f"| weights of step | {best['step']} |" in card
    assert f"| validation loss | {best['loss']:.4f}, {best['accuracy']:.3f} right" in card
    for said in (
        "| learning rate | 0.005, rising over 20 ",
        "| batch size | 16 |",
        "seed | 2017 |",
    ):
        assert said in card
    assert "kind: classifier, checkpoint: FOLDER" in card


def test_what_was_held_out_was_not_trained_on(trained, toy):
    held = pd.read_parquet(trained / "held_out.parquet")
    assert list(held) == ["statement", "response", "label", "model", "item", "keying"]
    rows = pd.read_csv(toy)
    texts = set(zip(held["statement"], held["response"], strict=True))
    of_all = list(zip(rows["statement"], rows["response"], strict=True))
    assert sum(pair in texts for pair in of_all) == len(held)


def test_the_seed_gives_the_same_weights_even_if_interrupted(
    trained, toy, encoder, command_line, tmp_path, monkeypatch, capsys
):
    step = Training._step

    def stopping(self):
        if self.state.step == 40:
            raise KeyboardInterrupt
        return step(self)

    line = command_line(tmp_path, toy, encoder)
    with monkeypatch.context() as patch:
        patch.setattr(Training, "_step", stopping)
        assert _main(line) == 130
    assert not (tmp_path / "coder").exists()
    assert [path.name for path in tmp_path.iterdir()] == [".coder.training"]
    capsys.readouterr()
    assert _main(line) == 0
    assert "80 steps at most, going on after step 40" in capsys.readouterr().err
    assert weights(tmp_path / "coder") == weights(trained)
    assert [path.name for path in tmp_path.iterdir()] == ["coder"]


def test_again_it_does_nothing_and_replaces_nothing(
    trained, toy, encoder, command_line, capsys, monkeypatch
):
    monkeypatch.setattr(Training, "run", None)
    before = {path: path.stat().st_mtime_ns for path in trained.iterdir()}
    assert _main(command_line(trained.parent, toy, encoder)) == 0
    assert "has this classifier already; nothing was changed" in capsys.readouterr().err
    assert _main(command_line(trained.parent, toy, encoder, "seed=2")) == 2
    assert "holds a classifier that was trained otherwise" in capsys.readouterr().err
    assert _main(command_line(trained.parent, toy, encoder, "training.folder=.")) == 2
    assert {path: path.stat().st_mtime_ns for path in trained.iterdir()} == before
    assert [path.name for path in trained.parent.iterdir()] == ["coder"]


def test_a_failure_at_the_end_leaves_no_folder(toy, encoder, command_line, tmp_path, monkeypatch):
    def failing(facts):
        raise KeyboardInterrupt

    monkeypatch.setattr("polbayes.tasks.training.build.card", failing)
    assert _main(command_line(tmp_path, toy, encoder, "training.steps=21")) == 130
    assert [path.name for path in tmp_path.iterdir()] == [".coder.training"]


@pytest.mark.slow
def test_then_it_is_validated_on_what_was_held_out(trained, tmp_path, capsys):
    assert (
        _main(
            [
                "task=validate_coder",
                f"run_dir={tmp_path}",
                f"validation.table={trained / 'held_out.parquet'}",
                "validation.coders=[trained]",
                "+coding.models.trained.kind=classifier",
                f"+coding.models.trained.checkpoint={trained}",
                "measures.bootstrap=200",
            ]
        )
        == 0
    )
    scores = pd.read_csv(tmp_path / "validation" / "tables" / "scores.csv")
    whole = scores[(scores["coder"] == "trained") & scores["label"].isna()]
    accuracy = whole[(whole["measure"] == "accuracy") & (whole["answers"] == "coded")]
    card = (trained / "README.md").read_text(encoding="utf-8")
    assert f"| share right | all | {accuracy['estimate'].item():.3f} |" in card


def test_labels_that_stand_for_several_classes(make_answers, encoder, command_line, tmp_path):
    rows = make_answers(120, noise=0).rename(columns={"response": "answer"})
    rows["label"] = rows["label"].replace("neutral", "Other")
    rows.loc[3, "label"] = ""
    rows.loc[4, "answer"] = " "
    rows.to_csv(tmp_path / "t.csv", index=False)
    line = command_line(
        tmp_path / "run",
        tmp_path / "t.csv",
        encoder,
        "training.columns.response=answer",
        "+training.merge.other=[neutral,unrelated,refused]",
        "training.steps=25",
        "training.held_out=0",
        "training.calibrate=false",
        "training.class_weights=balanced",
        "training.resume=false",
    )
    assert _main(line) == 0
    folder = tmp_path / "run" / "coder"
    labels = json.loads((folder / "config.json").read_text())["id2label"]
    assert list(labels.values()) == ["disagree", "neutral", "agree"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| other, read as neutral |" in card
    assert "Left out: 1 without a label, 1 without any text." in card
    assert "No answers were held out." in card
    assert "| temperature | none: not asked for |" in card
    assert "| class weights | balanced |" in card
    assert not (folder / "held_out.parquet").exists()
    assert "temperature" not in coder(folder).identity
    assert not (tmp_path / "run" / ".coder.training").exists()


def test_what_belongs_together_is_held_out_together(toy, encoder, command_line, tmp_path):
    line = command_line(
        tmp_path, toy, encoder, "training.steps=21", "training.group=item", "training.seed=0"
    )
    assert _main(line) == 2
    line = command_line(tmp_path, toy, encoder, "training.steps=21", "training.group=item")
    assert _main(line) == 0
    held = pd.read_parquet(tmp_path / "coder" / "held_out.parquet")
    rows = pd.read_csv(toy)
    assert 1 <= held["item"].nunique() <= 4
    assert len(held) == rows["item"].isin(set(held["item"])).sum()
    card = (tmp_path / "coder" / "README.md").read_text(encoding="utf-8")
    assert "answers with the same item stay together" in card


@pytest.mark.parametrize("kind", ["bart", pytest.param("roberta", marks=pytest.mark.slow)])
def test_encoders_of_other_families(classifier_checkpoint, toy, command_line, tmp_path, kind):
    """BART wants the same number of end tokens in a batch, RoBERTa counts positions otherwise."""
    base = classifier_checkpoint(kind, ("contradiction", "neutral", "entailment"))
    rows = pd.read_csv(toy).head(60)
    rows.loc[0, "response"] = "well yes people here </s> much " * 30
    rows.to_csv(tmp_path / "t.csv", index=False)
    line = command_line(tmp_path / "run", tmp_path / "t.csv", base, "training.steps=22")
    assert _main(line) == 0
    folder = tmp_path / "run" / "coder"
    found = coder(folder)(rows["statement"], rows["response"])
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert np.ptp(found[:, STANCE_CLASSES.index("agree")]) > 1e-4


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["training.table=no.csv"], "training.table: no.csv: no such file"),
        (["training.columns.label=stance"], "training.columns.label: unknown column 'stance'"),
        (["+training.merge.x=[agre]"], "unknown class 'agre'; did you mean 'agree'"),
        (["training.checkpoint=./none"], "training: checkpoint: there is no folder './none'"),
        (["training.checkpoint="], "training: checkpoint: is empty"),
        (["training.pair=answer"], "must have the field {response} exactly once"),
        (["training.text=answer"], "must have the field {response} exactly once"),
        (["training.group=prefix"], "training.group: the table has no column 'prefix'"),
        (["training.steps=20"], "20 steps of warm-up are all of the 20 steps"),
        (["training.weight_decay=-0.1"], "training.weight_decay: must be at least 0"),
        (["training.device=tpu"], "unknown device 'tpu'"),
        (["training.max_length=12"], "the statement 'there should be"),
        (["training.epoch=3"], "did you mean 'epochs'"),
        (["training.validation=0.001"], "training.validation: a share of 0.001 of 300 answers"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    toy, encoder, command_line, tmp_path, capsys, more, says
):
    assert _main(command_line(tmp_path / "run", toy, encoder, *more)) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert says in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["agree"] * 5, "all answers are labelled 'agree'"),
        ([""] * 5, "no row has a label"),
        (["agree", "yes"], "row 2: unknown label 'yes'"),
        (["agree", "disagree"], "fewer than two of the classes disagree, agree are among the 0"),
    ],
)
def test_tables_that_nothing_is_learnt_from(encoder, command_line, tmp_path, capsys, rows, says):
    table = pd.DataFrame({"statement": "tea.", "response": "same", "label": rows})
    if len(rows) == 2:
        table["response"] = ["yes", "no"]
    table.to_csv(tmp_path / "t.csv", index=False)
    line = command_line(
        tmp_path / "run",
        tmp_path / "t.csv",
        encoder,
        "training.validation=0",
        "training.held_out=0.7",
    )
    assert _main(line) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_what_annotators_left_is_the_default(tmp_path, encoder, make_answers, capsys):
    line = ["task=train_coder", f"run_dir={tmp_path}", f"training.checkpoint={encoder}"]
    line.append("measures.bootstrap=200")
    assert _main(line) == 2
    err = capsys.readouterr().err
    assert "annotation/labelled.parquet: no such file; name a table of labelled answers" in err
    (tmp_path / "annotation").mkdir()
    make_answers(80).to_parquet(tmp_path / "annotation" / "labelled.parquet")
    assert _main([*line, "training.steps=12", "training.warmup_steps=2"]) == 0
    assert "`labelled.parquet`" in (tmp_path / "coder" / "README.md").read_text(encoding="utf-8")
    assert _main(["task=train_coder"]) == 2
    assert "task=train_coder works in a run's folder" in capsys.readouterr().err


def test_a_damaged_entry_of_a_checkpoint_is_said(trained, tmp_path, make_answers):
    import shutil

    from polbayes.errors import UserError

    folder = shutil.copytree(trained, tmp_path / "coder")
    about = json.loads((folder / "config.json").read_text())
    for wrong in ({"temperature": 0}, {"temperature": "warm"}, {"text": None}):
        changed = {**about, "polbayes": {**about["polbayes"], **wrong}}
        (folder / "config.json").write_text(json.dumps(changed))
        with pytest.raises(UserError, match=r"the entry 'polbayes' of its config\.json cannot be"):
            coder(folder)
