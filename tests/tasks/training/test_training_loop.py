import numpy as np
import pytest
import torch

from polbayes.coding.checkpoint_coder import CheckpointCoder
from polbayes.coding.readings import reading
from polbayes.config.schema import CoderConfig, TrainingConfig
from polbayes.errors import UserError
from polbayes.huggingface.sequence import SequenceClassifier
from polbayes.tasks.training.data import outputs_of, prepare
from polbayes.tasks.training.loop import Training
from polbayes.tasks.training.network import load_network, open_base
from polbayes.tasks.training.schedule import Answer, class_weights, rate
from polbayes.tasks.training.state import STATE, read_state, write_state
from polbayes.tasks.validation.labelled import Classes, Labelled

LABELS = ("disagree", "neutral", "agree")
HOW = reading("training", CoderConfig(kind="classifier"), LABELS)


@pytest.fixture
def training(encoder, make_answers):
    """Return a function that sets up a training: settings, labels of the validation answers."""

    def make(*, shuffled=False, state=None, n=60, **settings):
        given = {
            "learning_rate": 0.003,
            "warmup_steps": 2,
            "steps": 20,
            "evaluate_every": 5,
            "batch_size": 8,
            "checkpoint": str(encoder),
            "device": "cpu",
            **settings,
        }
        config = TrainingConfig(**given)
        network, tokens = load_network(open_base(config), LABELS, config, seed=1)
        rows = make_answers(n + 30, noise=0)
        answers = [
            Answer(tokens.answer(HOW.fill, r.statement, r.response), LABELS.index(r.label))
            for r in rows.itertuples()
        ]
        held = answers[n:]
        if shuffled:
            # Never what is learnt: the longer it learns, the worse it fits.
            held = [Answer(a.windows, (a.label + 1) % 3) for a in held]
        return Training(network, tokens, answers[:n], held, settings=config, seed=1, state=state)

    return make


def weights(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def test_the_rate_rises_and_falls_in_straight_lines():
    assert [rate(step, 2, 6) for step in range(6)] == [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    assert [rate(step, 0, 4) for step in range(4)] == [1.0, 0.75, 0.5, 0.25]


def test_balanced_classes_weigh_the_same():
    answers = [Answer([], label) for label in (0, 0, 0, 2)]
    found = class_weights(answers, 3, TrainingConfig(class_weights="balanced"))
    # 4 answers, 2 classes that occur: 4 / (2 · 3) and 4 / (2 · 1).
    assert found[[0, 2]] == pytest.approx([2 / 3, 2.0])
    assert class_weights(answers, 3, TrainingConfig()).tolist() == [1, 1, 1]


def test_every_answer_is_seen_once_an_epoch(training):
    made = training(n=20, steps=6, batch_size=8)
    seen = [[id(answer) for answer in made._batch(step)] for step in range(6)]
    assert [len(batch) for batch in seen] == [8, 8, 4] * 2
    first, second = ([*seen[k], *seen[k + 1], *seen[k + 2]] for k in (0, 3))
    assert sorted(first) == sorted(second) == sorted(map(id, made._answers))
    assert first != second


def test_a_step_is_that_of_adamw_by_hand(training):
    """The first step of AdamW moves a weight by the rate times the sign of its gradient."""
    made = training(warmup_steps=2, weight_decay=0.2, learning_rate=0.01, max_gradient_norm=1e9)
    for module in made.network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    before = weights(made.network)
    batch = made._batch(0)
    logits = torch.cat(
        [
            made.network(**{k: torch.tensor([v]) for k, v in answer.windows[0].items()}).logits
            for answer in batch
        ]
    )
    labels = torch.tensor([answer.label for answer in batch])
    loss = torch.nn.functional.cross_entropy(logits, labels)
    gradients = dict(
        zip(
            (name for name, _ in made.network.named_parameters()),
            torch.autograd.grad(loss, list(made.network.parameters())),
            strict=True,
        )
    )
    assert made._step() == pytest.approx(loss.item(), abs=1e-5)
    after = weights(made.network)
    # Half the rate at the first of two steps of warm-up; decay of matrices, none of biases.
    for name, decay in (("classifier.weight", 0.2), ("classifier.bias", 0.0)):
        g = gradients[name]
        expected = before[name] * (1 - 0.005 * decay) - 0.005 * g / (g.abs() + 1e-8)
        assert torch.allclose(after[name], expected, atol=1e-5)


def test_it_stops_early_and_keeps_the_best_weights(training):
    made = training(shuffled=True, steps=400, evaluate_every=4, patience=2)
    made.run()
    looks = made.state.looks
    assert made.stopped_early
    best = min(looks, key=lambda look: look.loss)
    assert made.state.step == best.step + 8 == looks[-1].step < 400
    probs = made.probabilities(made._validation)
    own = probs[np.arange(30), [answer.label for answer in made._validation]]
    assert -np.log(own).mean() == pytest.approx(best.loss)
    assert looks[-1].loss > best.loss
    assert not made.network.training


def test_without_patience_it_goes_on_to_the_end(training):
    made = training(shuffled=True, steps=22, patience=None)
    made.run()
    assert made.state.step == 22
    assert not made.stopped_early
    assert [look.step for look in made.state.looks] == [5, 10, 15, 20, 22]


def test_an_interrupted_training_ends_with_the_same_weights(training, tmp_path, monkeypatch):
    whole = training()
    whole.run()
    step = Training._step

    def stopping(self):
        value = step(self)
        if self.state.step == 11:
            raise KeyboardInterrupt
        return value

    first = training()
    with monkeypatch.context() as patch:
        patch.setattr(Training, "_step", stopping)
        with pytest.raises(KeyboardInterrupt):
            first.run(lambda state: write_state(tmp_path, state, "mine"))
    kept = read_state(tmp_path, "mine")
    # Broken off within a step: the state is that of the last look.
    assert kept.step == 10
    second = training(state=kept)
    second.run(lambda state: write_state(tmp_path, state, "mine"))
    assert same(whole.network.state_dict(), second.network.state_dict())
    assert whole.state.looks == second.state.looks


def test_an_interruption_between_steps_loses_nothing(training, tmp_path, monkeypatch):
    import signal

    made = training()
    step = Training._step

    def signalled(self):
        if self.state.step == 7:
            signal.raise_signal(signal.SIGINT)
        return step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_step", signalled)
        with pytest.raises(KeyboardInterrupt):
            made.run(lambda state: write_state(tmp_path, state, "mine"))
    assert read_state(tmp_path, "mine").step == 8


def test_a_state_of_another_training_or_a_damaged_one_is_none(training, tmp_path):
    made = training()
    made.run(lambda state: write_state(tmp_path, state, "mine"))
    assert read_state(tmp_path, "mine").step == 15
    assert read_state(tmp_path, "other").step == 0
    path = tmp_path / STATE
    path.write_bytes(path.read_bytes()[:1000])
    assert read_state(tmp_path, "mine").network is None
    assert read_state(tmp_path / "none", "mine").step == 0


def test_what_it_learns_from_is_what_the_coder_reads(training, tmp_path):
    """Probabilities while training are those of the coder, over several windows too."""
    made = training(max_length=24)
    made.network.eval()
    long = " ".join(f"well people here {word} today" for word in ("yes", "no", "both", "no"))
    texts = ["yes indeed", f"<|assistant|> {long}", "no [SEP] never", long]
    labelled = Labelled(
        ["there should be tea."] * 5,
        [*texts, "[PAD]"],
        np.array([0, 1, 2, 1, 1]),
        Classes(LABELS, (0, 1, 2, 2, 2)),
        {},
        None,
        None,
        0,
    )
    settings = TrainingConfig(held_out=0, validation=0)
    outputs = outputs_of(labelled, {})
    material = prepare(labelled, outputs, made._encoder, HOW, settings, seed=1)
    assert material.n_empty == 1
    assert material.rows.tolist() == [0, 1, 2, 3]
    answers = material.answers
    assert [len(answer.windows) > 1 for answer in answers] == [False, True, False, True]
    assert max(len(w["input_ids"]) for answer in answers for w in answer.windows) <= 24
    found = made.probabilities(answers)
    made.network.save_pretrained(tmp_path)
    made._encoder.tokenizer.save_pretrained(tmp_path)
    config = CoderConfig(kind="classifier", checkpoint=str(tmp_path), device="cpu")
    classifier = SequenceClassifier("mine", config)
    coder = CheckpointCoder("mine", classifier, HOW, config, None)
    coded = coder(["there should be tea."] * 4, texts)
    assert coded[:, [0, 1, 2]] == pytest.approx(found[:, [0, 1, 2]], abs=2e-6)
    assert classifier.encoder().limit == 24


def test_half_precision_computes_and_keeps_float32(training):
    made = training(dtype="bfloat16", steps=4)
    made.run()
    assert {
        value.dtype for value in made.network.state_dict().values() if value.is_floating_point()
    } == {torch.float32}
    exact = training(steps=4)
    exact.run()
    assert not same(made.network.state_dict(), exact.network.state_dict())


def test_a_loss_that_is_no_number_is_said(training):
    made = training()
    with torch.no_grad():
        made.network.classifier.bias[0] = float("nan")
    with pytest.raises(UserError, match=r"training: the loss is no number at step 1; a smaller"):
        made.run()


def test_a_warm_up_that_never_ends_is_refused(training):
    with pytest.raises(UserError, match=r"warmup_steps: 20 steps of warm-up are all of the 20"):
        training(warmup_steps=20)
    # 60 answers, 8 at once, once and a half: 12 of 8 steps an epoch.
    assert training(epochs=1.5, warmup_steps=3).total == 12


@pytest.mark.parametrize("labels", [LABELS, ("contradiction", "neutral", "entailment")])
def test_only_a_head_for_the_same_labels_is_kept(make_encoder, tmp_path, labels):
    from safetensors.torch import load_file

    path = make_encoder(tmp_path / "base", labels=labels)
    config = TrainingConfig(checkpoint=str(path), device="cpu")
    before = load_file(path / "model.safetensors")
    network, _ = load_network(open_base(config), LABELS, config, seed=1)
    after = network.state_dict()
    assert torch.equal(after["classifier.weight"], before["classifier.weight"]) == (
        labels == LABELS
    )
    name = "bert.embeddings.word_embeddings.weight"
    assert torch.equal(after[name], before[name])
    again, _ = load_network(open_base(config), LABELS, config, seed=1)
    assert same(after, again.state_dict())
    other, _ = load_network(open_base(config), LABELS, config, seed=2)
    assert same(after, other.state_dict()) == (labels == LABELS)


def test_more_labels_than_before_get_a_new_head(make_encoder, tmp_path):
    path = make_encoder(tmp_path / "base", labels=("agree", "disagree"))
    config = TrainingConfig(checkpoint=str(path), device="cpu")
    network, _ = load_network(open_base(config), LABELS, config, seed=1)
    assert network.classifier.out_features == 3
    assert network.config.id2label == dict(enumerate(LABELS))


def test_what_has_no_encoder_is_refused(make_encoder, tmp_path):
    from safetensors.torch import load_file, save_file

    path = make_encoder(tmp_path / "base")
    weights = load_file(path / "model.safetensors")
    del weights["bert.encoder.layer.0.output.dense.weight"]
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    config = TrainingConfig(checkpoint=str(path), device="cpu")
    with pytest.raises(UserError, match=r"training: checkpoint: .* lacks the weights 'bert\.enc"):
        load_network(open_base(config), LABELS, config, seed=1)
