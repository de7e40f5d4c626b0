"""The checkpoint to train: its tokenizer, and its network with a new head."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from polbayes.config.schema import TrainingConfig
from polbayes.errors import UserError
from polbayes.huggingface import checkpoint
from polbayes.huggingface.encoding import Encoder, room
from polbayes.huggingface.identity import source_digest
from polbayes.huggingface.locate import locate
from polbayes.huggingface.source import Source
from polbayes.tasks.training.settings import SECTION


@dataclass(frozen=True)
class Base:
    """A checkpoint without its weights."""

    source: Source
    about: Any  # what it says about itself
    tokenizer: Any
    identity: dict[str, Any]  # what tells it from others, as values that JSON can hold


def open_base(settings: TrainingConfig) -> Base:
    """Find the checkpoint, and load all but its weights."""
    source = locate(SECTION, settings, under="")
    about = checkpoint.load_config(source)
    tokenizer = checkpoint.load_tokenizer(source)
    if tokenizer.pad_token_id is None:
        raise UserError(
            f"{SECTION}: checkpoint: '{settings.checkpoint}' has no token to pad with, so that "
            "batches cannot be made; choose an encoder such as BERT, RoBERTa, DeBERTa or BART."
        )
    identity = {
        "checkpoint": settings.checkpoint,
        "revision": None if source.local else settings.revision,
        "commit": getattr(about, "_commit_hash", None),
        "weights": source_digest(source),
    }
    return Base(source, about, tokenizer, identity)


def load_network(
    base: Base, labels: Sequence[str], settings: TrainingConfig, *, seed: int
) -> tuple[Any, Encoder]:
    """Load the weights with a head for these labels."""
    import torch
    from transformers import AutoModelForSequenceClassification

    about = base.about
    before = _labels(about)
    about.id2label = dict(enumerate(labels))
    about.label2id = {label: k for k, label in enumerate(labels)}
    about.problem_type = "single_label_classification"
    if about.pad_token_id is None:
        about.pad_token_id = base.tokenizer.pad_token_id
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = checkpoint.load_weights(
            base.source,
            replace(settings, dtype="float32"),
            AutoModelForSequenceClassification,
            about,
            trained_as="an encoder that a classifier can be put on",
            new_head=True,
        )
        if before and before != list(labels):
            _renew_output(network, len(labels))
    limit = room(about, base.tokenizer, network)
    if settings.max_length is not None:
        limit = min(limit, settings.max_length)
        base.tokenizer.model_max_length = limit
    return network, Encoder(base.tokenizer, limit, SECTION)


def _labels(about: Any) -> list[str]:
    """Return the labels of a classifier checkpoint; none for any other."""
    architectures = getattr(about, "architectures", None) or []
    if not any(name.endswith("ForSequenceClassification") for name in architectures):
        return []
    return [str(about.id2label[k]) for k in sorted(about.id2label)]


def _renew_output(network: Any, n_labels: int) -> None:
    """Randomise the output layer, whose earlier labels are irrelevant.

    Loading does so only if the number of labels differs.
    """
    import torch

    layers = [m for m in network.modules() if isinstance(m, torch.nn.Linear)]
    output = [layer for layer in layers if layer.out_features == n_labels][-1]
    torch.nn.init.normal_(output.weight, std=0.02)
    if output.bias is not None:
        torch.nn.init.zeros_(output.bias)
