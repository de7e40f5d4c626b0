"""Tiny random checkpoints, made on the fly."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

SENTENCES = [
    "Do you agree or disagree with this statement?",
    "The state should own the railways.",
    "Taxes are too high, and nobody can say yes or no to that.",
    "Please respond: yes if you agree, no if you disagree. Your response:",
    "I agree strongly. I disagree strongly. I support, I oppose, I reject it.",
    "Yes yes YES no No NO agree Agree disagree Disagree strongly support oppose reject.",
] * 3
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
CHAT = (
    "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@dataclass(frozen=True)
class Checkpoint:
    """What a made checkpoint is."""

    path: Path
    # Where the tokenizer writes a space.
    metaspace: bool
    bos: bool


def _byte_level(bos: bool):
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import TemplateProcessing

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(
        SENTENCES, vocab_size=420, show_progress=False, special_tokens=SPECIAL
    )
    inner = tokenizer._tokenizer
    if bos:
        # An end token as well, as some tokenizers of causal models add one.
        ends = [(token, inner.token_to_id(token)) for token in ("<s>", "</s>")]
        inner.post_processor = TemplateProcessing("<s> $A </s>", special_tokens=ends)
    return inner


def _metaspace(bos: bool):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from tokenizers.processors import TemplateProcessing

    inner = Tokenizer(models.BPE(unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=160, special_tokens=SPECIAL, show_progress=False)
    inner.train_from_iterator([*SENTENCES, "\n"], trainer)
    if bos:
        start = [("<s>", inner.token_to_id("<s>"))]
        inner.post_processor = TemplateProcessing("<s> $A", special_tokens=start)
    return inner


def _unigram(bos: bool):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from tokenizers.processors import TemplateProcessing

    inner = Tokenizer(models.Unigram())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    inner.train_from_iterator([*SENTENCES, "\n"], trainer)
    if bos:
        start = [("<s>", inner.token_to_id("<s>"))]
        inner.post_processor = TemplateProcessing("<s> $A", special_tokens=start)
    return inner


def _wordpiece(lowercase: bool):
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=lowercase)
    tokenizer.train_from_iterator(SENTENCES, vocab_size=130, min_frequency=1, show_progress=False)
    return tokenizer._tokenizer


def _causal_wordpiece(bos: bool):
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=False, unk_token="<unk>")
    tokenizer.train_from_iterator(
        SENTENCES, vocab_size=180, min_frequency=1, show_progress=False, special_tokens=SPECIAL
    )
    return tokenizer._tokenizer


TOKENIZERS = {
    "bytes": _byte_level,
    "metaspace": _metaspace,
    "unigram": _unigram,
    "wordpiece": _causal_wordpiece,
}


def _save_causal(folder: Path, kind: str, inner, *, side: str, chat: bool) -> None:
    import torch
    import transformers as tf

    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side=side,
    )
    tokenizer.chat_template = CHAT if chat else None
    tokenizer.save_pretrained(folder)
    size = inner.get_vocab_size()
    ends = {"bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.25}
    torch.manual_seed(7)
    shape = {
        "vocab_size": size,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
    }
    if kind == "llama":
        model = tf.LlamaForCausalLM(tf.LlamaConfig(**shape, **ends))
    elif kind == "mistral":
        # A window between the lengths of the tests' prompts.
        model = tf.MistralForCausalLM(tf.MistralConfig(sliding_window=24, **shape, **ends))
    else:
        config = tf.GPT2Config(
            vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=128, **ends
        )
        model = tf.GPT2LMHeadModel(config)
    # What a checkpoint recommends must not change what is measured.
    model.generation_config.repetition_penalty = 1.7
    model.save_pretrained(folder)


CAUSAL = {
    # kind of model, tokenizer, BOS, default padding side, chat template
    "llama-bytes-bos-right": ("llama", "bytes", True, "right", False),
    "llama-metaspace-left": ("llama", "metaspace", True, "left", False),
    "gpt2-bytes-right": ("gpt2", "bytes", False, "right", False),
    "gpt2-metaspace-left": ("gpt2", "metaspace", False, "left", False),
    "mistral-unigram-right": ("mistral", "unigram", True, "right", False),
    "gpt2-wordpiece-left": ("gpt2", "wordpiece", False, "left", False),
    "gpt2-chat": ("gpt2", "bytes", True, "left", True),
}


@pytest.fixture(scope="session")
def causal_checkpoint(tmp_path_factory) -> Callable[[str], Checkpoint]:
    """Return a function that makes the causal checkpoint of a name of `CAUSAL`."""
    made: dict[str, Checkpoint] = {}

    def make(name: str) -> Checkpoint:
        if name not in made:
            kind, tokenizer, bos, side, chat = CAUSAL[name]
            folder = tmp_path_factory.mktemp(name)
            inner = TOKENIZERS[tokenizer](bos)
            _save_causal(folder, kind, inner, side=side, chat=chat)
            made[name] = Checkpoint(folder, tokenizer in ("metaspace", "unigram"), bos)
        return made[name]

    return make


@pytest.fixture(scope="session")
def masked_checkpoint(tmp_path_factory) -> Callable[[bool], Path]:
    """Return a function that makes a BERT, cased or uncased."""
    made: dict[bool, Path] = {}

    def make(lowercase: bool) -> Path:
        import torch
        import transformers as tf

        if lowercase not in made:
            folder = tmp_path_factory.mktemp("bert")
            inner = _wordpiece(lowercase)
            tokenizer = tf.PreTrainedTokenizerFast(
                tokenizer_object=inner,
                unk_token="[UNK]",
                cls_token="[CLS]",
                sep_token="[SEP]",
                pad_token="[PAD]",
                mask_token="[MASK]",
            )
            tokenizer.save_pretrained(folder)
            torch.manual_seed(3)
            config = tf.BertConfig(
                vocab_size=inner.get_vocab_size(),
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                max_position_embeddings=64,
                initializer_range=0.3,
                pad_token_id=tokenizer.pad_token_id,
            )
            tf.BertForMaskedLM(config).save_pretrained(folder)
            made[lowercase] = folder
        return made[lowercase]

    return make
