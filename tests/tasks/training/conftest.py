"""A small encoder with random weights, and answers whose labels follow a rule."""

import random
from pathlib import Path

import pandas as pd
import pytest
from small_tokenizers import save_wordpieces

from polbayes.cli import _main

TOPICS = ("tea", "milk", "salt", "railways", "museums", "taxes", "rivers", "cats", "rain", "bread")
FILLERS = (
    "well",
    "so",
    "indeed",
    "today",
    "often",
    "people",
    "here",
    "much",
    "more",
    "than",
    "that",
)
SAYS = {"agree": ("yes", "surely"), "disagree": ("no", "never"), "neutral": ("perhaps", "both")}


def toy_answers(n: int, seed: int = 1, *, noise: float = 0.1) -> pd.DataFrame:
    """Make answers that hold one telling word, which decides the label but for some noise."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        label = rng.choice(list(SAYS))
        words = rng.choices(FILLERS, k=rng.randint(2, 7))
        words.insert(rng.randint(0, len(words)), rng.choice(SAYS[label]))
        topic = rng.choice(TOPICS)
        rows.append(
            {
                "statement": f"there should be {topic}.",
                "response": " ".join(words),
                "label": rng.choice(list(SAYS)) if rng.random() < noise else label,
                "item": topic,
                "model": rng.choice(["a", "b"]),
                "keying": rng.choice(["left", "right"]),
            }
        )
    return pd.DataFrame(rows)


def save_encoder(folder: Path, *, labels=()) -> Path:
    """Save a BERT of one layer with its tokenizer, as a masked LM or as a classifier of labels."""
    import torch
    import transformers as tf
    from transformers.utils import logging

    logging.disable_progress_bar()
    said = [word for words in SAYS.values() for word in words]
    text = " ".join([*TOPICS, *FILLERS, *said, "there should be agree ."])
    config = tf.BertConfig(
        vocab_size=save_wordpieces(folder, text),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        initializer_range=0.1,
        **({"id2label": dict(enumerate(labels))} if labels else {}),
    )
    torch.manual_seed(5)
    kind = tf.BertForSequenceClassification if labels else tf.BertForMaskedLM
    kind(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def toy(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("toy") / "toy.csv"
    toy_answers(300).to_csv(path, index=False)
    return path


def arguments(folder, table, checkpoint, *more):
    """Return a command line that trains in a second or two."""
    given = [
        "task=train_coder",
        f"run_dir={folder}",
        f"training.table={table}",
        f"training.checkpoint={checkpoint}",
        "training.device=cpu",
        "training.learning_rate=0.005",
        "training.weight_decay=0.01",
        "training.warmup_steps=20",
        "training.steps=80",
        "training.batch_size=16",
        "training.evaluate_every=20",
        "measures.bootstrap=200",
    ]
    named = {one.split("=")[0].lstrip("+") for one in more}
    return [*(one for one in given if one.split("=")[0] not in named), *more]


@pytest.fixture(scope="session")
def trained(tmp_path_factory, toy, encoder) -> Path:
    """Return the folder of a classifier that was trained on the toy answers."""
    run = tmp_path_factory.mktemp("run")
    assert _main(arguments(run, toy, encoder)) == 0
    return run / "coder"


@pytest.fixture(scope="session")
def make_answers():
    return toy_answers


@pytest.fixture(scope="session")
def make_encoder():
    return save_encoder


@pytest.fixture(scope="session")
def command_line():
    return arguments
