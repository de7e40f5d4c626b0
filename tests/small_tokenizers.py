"""Tokenizers of small checkpoints."""

import re
from pathlib import Path

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def save_wordpieces(folder: Path, text: str) -> int:
    """Save a BERT's tokenizer with the words of a text and parts of them; return its size.

    It is not trained: among pieces that are as frequent, training takes others every time.
    """
    import transformers as tf
    from tokenizers import BertWordPieceTokenizer

    words = set(re.findall(r"\w+|[^\w\s]", text.casefold()))
    parts = sorted({w[k : k + n] for w in words for n in (1, 2, 3) for k in range(len(w))} | words)
    pieces = [*SPECIAL, *parts, *(f"##{part}" for part in parts)]
    vocab = {piece: number for number, piece in enumerate(pieces)}
    inner = BertWordPieceTokenizer(vocab, lowercase=True)._tokenizer
    tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    ).save_pretrained(folder)
    return len(vocab)
