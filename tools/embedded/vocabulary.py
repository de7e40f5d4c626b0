"""The tokenizers of the embedded respondents."""

import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tools.embedded.corpus import CHAT_TEMPLATE

# Positions of every checkpoint, far more than the longest shipped prompt and answer need.
MAX_LENGTH = 512

PAD, BEGIN, END = "<|pad|>", "<|begin|>", "<|end|>"
_BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
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
        Pads on the left and adds no special tokens, so that prompt and answer are tokenised
        independently.
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
    """Make the WordPiece tokenizer of the masked respondent.

    Parameters
    ----------
    texts
        The training corpus.
    size
        Number of tokens, special ones included, at most.
    whole
        Words that must be single tokens.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        Without case, with BERT's special tokens around the text.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    normalizer = normalizers.BertNormalizer(lowercase=True)
    pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    counts = Counter(
        word
        for text in texts
        for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(text))
    )
    numbers = {piece: n for n, piece in enumerate(_pieces(counts, size, whole))}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.WordPiece()
    around = [(token, numbers[token]) for token in ("[CLS]", "[SEP]")]
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


def _pieces(counts: "Counter[str]", size: int, whole: Sequence[str]) -> list[str]:
    """Choose the pieces: characters, then whole words, then endings, by frequency.

    WordPiece's trainer is not used, because it numbers tokens differently in every run.
    """
    characters = sorted(
        {*string.ascii_lowercase, *string.digits, *string.punctuation, *"".join(counts)}
    )
    endings: Counter[str] = Counter()
    for word in counts:
        endings.update(f"##{word[-length:]}" for length in range(2, min(6, len(word))))
    ranked = [sorted(c, key=lambda piece: (-c[piece], piece)) for c in (counts, endings)]
    pieces = [*_BERT, *characters, *(f"##{c}" for c in characters), *whole, *ranked[0], *ranked[1]]
    return list(dict.fromkeys(pieces))[:size]


def with_chat(tokenizer: Any, *, chat: bool) -> Any:
    """Set or remove the tokenizer's chat template."""
    tokenizer.chat_template = CHAT_TEMPLATE if chat else None
    return tokenizer
