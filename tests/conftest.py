"""Fixtures that several test modules share."""

import importlib.util
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from loopback import loopback  # noqa: F401
from small_tokenizers import save_wordpieces

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.report.drawn import PROCESSES
from polbayes.tasks.validation.coded import Coded, coded_from
from polbayes.tasks.validation.labelled import Labelled, merged_classes

pytest_plugins = ["tiny_checkpoints"]

# How long an example takes depends on what else the machine does.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data by others: $POLBAYES_SHARED/data, else ../shared/data.

    Tests that need it are skipped where neither is there, and fail where the variable is wrong.
    """
    named = os.environ.get("POLBAYES_SHARED")
    folder = Path(named or Path(__file__).resolve().parents[2] / "shared") / "data"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"POLBAYES_SHARED is {named}, which has no folder 'data'.")
    pytest.skip(f"POLBAYES_SHARED is not set, and there is no {folder}")


def pytest_configure() -> None:
    """Have Ctrl-C interrupt, also where a shell in the background says not to.

    Reports draw their figures in one process: tests run beside each other as it is.
    """
    os.environ.setdefault(PROCESSES, "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


NO_TORCH = importlib.util.find_spec("torch") is None
# What an import of PyTorch says in vain, and what transformers says instead.
_LACKS = ("No module named 'torch'", "requires PyTorch", "requires the PyTorch library")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _skipped_without_torch((yield), collector)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return _skipped_without_torch((yield), item)


def _skipped_without_torch(report, node):
    """Turn a failure for want of PyTorch into a skip, where it is not installed."""
    if NO_TORCH and report.failed:
        said = "".join([str(report.longrepr), *(text for _, text in report.sections)])
        if any(words in said for words in _LACKS):
            report.outcome = "skipped"
            report.longrepr = (str(node.path), 0, "Skipped: needs torch, which is not installed")
    return report


# Tiny random sequence classifiers, made on the fly.
SENTENCES = [
    "Museums are too dear, and the state should own the railways.",
    "I agree strongly. I disagree strongly. As an AI language model, I have no opinion.",
    "On the one hand yes, on the other hand no. This example is agree disagree neutral unrelated.",
    "**Ja**, ich stimme zu; nein, ich stimme nicht zu. Je suis d'accord.",
] * 3


def _bart_tokenizer(folder: Path) -> int:
    import transformers as tf
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import RobertaProcessing

    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(
        SENTENCES, vocab_size=420, show_progress=False, special_tokens=special
    )
    inner = tokenizer._tokenizer
    inner.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        cls_token="<s>",
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
        model_max_length=64,
    ).save_pretrained(folder)
    return inner.get_vocab_size()


def _save(folder: Path, kind: str, labels: Sequence[str]) -> None:
    import torch
    import transformers as tf

    torch.manual_seed(11)
    about = {"id2label": dict(enumerate(labels)), "label2id": {x: n for n, x in enumerate(labels)}}
    if kind == "bart":
        config = tf.BartConfig(
            vocab_size=_bart_tokenizer(folder),
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            max_position_embeddings=64,
            init_std=0.6,
            bos_token_id=0,
            pad_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=2,
            forced_eos_token_id=2,
            **about,
        )
        tf.BartForSequenceClassification(config).save_pretrained(folder)
        return
    shape = {
        "vocab_size": save_wordpieces(folder, " ".join(SENTENCES)),
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "initializer_range": 1.0,
        **about,
    }
    if kind == "bert":
        config = tf.BertConfig(max_position_embeddings=64, **shape)
        tf.BertForSequenceClassification(config).save_pretrained(folder)
        return
    # Counts positions from after that of the padding token, which is the first one here.
    config = tf.RobertaConfig(
        max_position_embeddings=65, pad_token_id=0, type_vocab_size=2, **shape
    )
    tf.RobertaForSequenceClassification(config).save_pretrained(folder)


@pytest.fixture(scope="session")
def classifier_checkpoint(tmp_path_factory) -> Callable[[str, Sequence[str]], Path]:
    """Return a function that makes a ``bart``, ``bert`` or ``roberta`` with these labels."""
    made: dict[tuple[str, tuple[str, ...]], Path] = {}

    def make(kind: str, labels: Sequence[str]) -> Path:
        key = (kind, tuple(labels))
        if key not in made:
            folder = tmp_path_factory.mktemp(kind)
            _save(folder, kind, labels)
            made[key] = folder
        return made[key]

    return make


def build_reading(
    labels: Sequence[str],
    codes: Sequence[str | None],
    *,
    confidence: float | Sequence[float] = 0.9,
    groups: Mapping[str, Sequence[str]] | None = None,
    items: Sequence[str] | None = None,
    keying: Sequence[int] | None = None,
    merge: Mapping[str, Sequence[str]] | None = None,
) -> Coded:
    """Make a coder's reading from class names; None is not coded.

    The class gets its confidence, the others equal parts of the rest.
    """
    classes = merged_classes(merge or {})
    at = {name: k for k, name in enumerate(classes.names)}
    sure = np.broadcast_to(np.asarray(confidence, dtype=float), len(codes))
    probs = np.full((len(codes), len(STANCE_CLASSES)), np.nan)
    for row, name in enumerate(codes):
        if name is not None:
            probs[row] = (1 - sure[row]) / (len(STANCE_CLASSES) - 1)
            probs[row, STANCE_CLASSES.index(name)] = sure[row]
    answers = Labelled(
        statements=["A statement."] * len(labels),
        responses=["An answer."] * len(labels),
        labels=np.array([at[name] for name in labels], dtype=np.int64),
        classes=classes,
        groups={k: np.array(v, dtype=object) for k, v in (groups or {}).items()},
        items=None if items is None else np.array(items, dtype=object),
        keying=None if keying is None else np.array(keying),
        n_unlabelled=0,
    )
    return coded_from(probs, answers, coder="made up")


@pytest.fixture(scope="session")
def reading() -> Callable[..., Coded]:
    return build_reading
