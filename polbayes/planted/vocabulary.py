"""The tokenizers of the embedded respondents."""

from collections.abc import Sequence
from typing import Any

from polbayes.planted.corpus import CHAT_TEMPLATE

# Positions of every checkpoint: the longest shipped prompt and answer have far fewer.
MAX_LENGTH = 512

PAD, BEGIN, END = "<|pad|>", "<|begin|>", "<|end|>"
_ROLES = ("<|system|>", "<|user|>", "<|assistant|>")


def causal_tokenizer(texts: Sequence[str], size: int) -> Any:
    """Train the byte-level BPE tokenizer that all causal respondents share.

    Parameters
    ----------
    texts
        The training corpus.
    size
        Number of tokens, special ones included.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        Pads on the left and adds no special token of its own, so that a prompt followed by an
        answer is tokenised as the one and then the other.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD, BEGIN, END, *_ROLES],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer_class: Any = PreTrainedTokenizerFast
    return tokenizer_class(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BEGIN,
        eos_token=END,
        additional_special_tokens=list(_ROLES),
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=MAX_LENGTH,
    )


def masked_tokenizer(texts: Sequence[str], size: int, whole: Sequence[str]) -> Any:
    """Train the WordPiece tokenizer of the masked respondent.

    Parameters
    ----------
    texts
        The training corpus.
    size
        Number of tokens, special ones included.
    whole
        Words that must be single tokens.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        Without case, with BERT's special tokens around the text.
    """
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator([*texts, *(list(whole) * 1000)], trainer)
    missing = [word for word in whole if tokenizer.token_to_id(word) is None]
    if missing:
        raise ValueError(f"'{missing[0]}' is not a single token; raise the vocabulary size")
    around = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=around
    )
    tokenizer_class: Any = PreTrainedTokenizerFast
    return tokenizer_class(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=MAX_LENGTH,
    )


def with_chat(tokenizer: Any, *, chat: bool) -> Any:
    """Give the tokenizer the chat template, or take it away."""
    tokenizer.chat_template = CHAT_TEMPLATE if chat else None
    return tokenizer
