"""Sequence classifiers from Hugging Face checkpoints: texts in, logits out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polbayes.config.schema import CoderConfig
from polbayes.data.prose import plural
from polbayes.errors import UserError
from polbayes.huggingface import checkpoint
from polbayes.huggingface.encoding import Encoder, Encoding, room
from polbayes.huggingface.hub import reason_of
from polbayes.huggingface.identity import other_digest, source_digest
from polbayes.huggingface.locate import locate
from polbayes.huggingface.portions import inference
from polbayes.huggingface.trained import trained_as

_UNDER = "coding.models"


class SequenceClassifier:
    """A sequence classifier, whose weights are loaded on first use.

    `name` is the coder's, and `under` the config key it is declared under, for errors; `config` has
    the checkpoint, dtype, device and batch size.
    """

    def __init__(self, name: str, config: CoderConfig, *, under: str = _UNDER) -> None:
        self._config = config
        self._source = locate(name, config, under=under)
        self._about = checkpoint.load_config(self._source)
        self._loaded: tuple[Encoder, Any] | None = None
        self.where = self._source.where
        self.trained = trained_as(self.where, self._about)
        self.labels = _labels(self._about, self.where, config.checkpoint)

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the logits of a text, as JSON values."""
        files = {"files": other_digest(self._source)} if self._source.local else {}
        return {
            "checkpoint": self._config.checkpoint,
            "revision": self._config.revision,
            "commit": getattr(self._about, "_commit_hash", None),
            "weights": source_digest(self._source),
            "dtype": self._config.dtype,
            "trust_remote_code": self._config.trust_remote_code,
            **files,
        }

    def encoder(self) -> Encoder:
        """Return the encoder of texts as this model's tokens."""
        return self._load()[0]

    def logits(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        """Return the logits (encoding, label); a `UserError` if they are not finite."""
        # Without a padding token texts are read one at a time.
        size = 1 if self.encoder().tokenizer.pad_token_id is None else self._config.batch_size
        # Batches of similar lengths need little padding.
        order = sorted(range(len(encodings)), key=lambda n: -len(encodings[n]["input_ids"]))
        out = np.empty((len(encodings), len(self.labels)), dtype=np.float32)
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            try:
                out[rows] = self._forward([encodings[n] for n in rows])
            except Exception as error:  # whatever a model or its library raises
                raise UserError(
                    f"{self.where}: '{self._config.checkpoint}' could not read "
                    f"{plural(len(rows), 'text')} at once ({reason_of(error)}); earlier batches "
                    "are kept; a smaller batch_size needs less memory."
                ) from error
        if not np.isfinite(out).all():
            raise UserError(
                f"{self.where}: '{self._config.checkpoint}' gives values that are not finite in "
                f"{self._config.dtype}; use dtype: float32."
            )
        return out

    def _forward(self, batch: Sequence[Encoding]) -> NDArray[np.float32]:

        encoder, model = self._load()
        inputs = encoder.batch(batch)
        with inference():
            logits = model(**{key: value.to(model.device) for key, value in inputs.items()}).logits
        return np.asarray(logits.float().cpu().numpy())

    def _load(self) -> tuple[Encoder, Any]:
        if self._loaded is None:
            from transformers import AutoModelForSequenceClassification

            tokenizer = checkpoint.load_tokenizer(self._source)
            model = checkpoint.load_weights(
                self._source,
                self._config,
                AutoModelForSequenceClassification,
                self._about,
                trained_as="a sequence classifier",
            )
            if model.config.pad_token_id is None:
                model.config.pad_token_id = tokenizer.pad_token_id
            limit = room(self._about, tokenizer, model)
            self._loaded = Encoder(tokenizer, limit, self.where), model
        return self._loaded

    def close(self) -> None:
        """Free the weights; they are loaded again on next use."""
        import gc

        import torch

        self._loaded = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _labels(about: Any, where: str, name: str) -> tuple[str, ...]:
    """Return the labels of a classifier in the order of its outputs."""
    architectures = getattr(about, "architectures", None) or []
    custom = "AutoModelForSequenceClassification" in (getattr(about, "auto_map", None) or {})
    if not custom and not any(x.endswith("ForSequenceClassification") for x in architectures):
        raise UserError(
            f"{where}: checkpoint: '{name}' is a {about.model_type} model "
            f"({', '.join(architectures) or 'no architecture named'}), not a sequence classifier; "
            "choose another checkpoint."
        )
    by_output = {int(n): str(label) for n, label in about.id2label.items()}
    labels = tuple(by_output[n] for n in sorted(by_output))
    other = ("regression", "multi_label_classification")
    if len(labels) < 2 or getattr(about, "problem_type", None) in other:
        raise UserError(
            f"{where}: checkpoint: '{name}' does not choose one of several classes "
            f"(labels: {', '.join(labels)}); choose a classifier that does."
        )
    return labels
