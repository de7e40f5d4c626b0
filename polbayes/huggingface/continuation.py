"""How an answer option continues a prompt as token ids, and what its mass consists of.

A model generates after the ids of the prompt as they are, so the probability of a written form of
an option is that of *its own* ids after the *prompt's own* ids. They are found by tokenising prompt
and form together; a form that the vocabulary cannot spell is left out.

If the two merge at the join (``:`` and ``yes`` into one token ``:yes``, or the final space of a
prompt into the word), the prompt's last token would change, which a generating model cannot undo.
The form then has the ids it has where it does not merge with the preceding text, provided that they
read as that form after this prompt; a form without such ids cannot follow this prompt.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polbayes.instrument.prompts import Lexicon, claim, surfaces

Ids = tuple[int, ...]

# Texts to precede a form, to find its ids without merging.
_ANCHORS = ("", "\n", ":", "a", "1")


@dataclass(frozen=True)
class Continuations:
    """The possible token sequences of a lexicon's options after one prompt."""

    sequences: tuple[Ids, ...]  # each once
    # What must be fed after the prompt to predict every token of every sequence: the longest of
    # the sequences without their last token.
    stems: tuple[Ids, ...]
    # For each sequence the index of the stem that begins with all but its last token.
    stem_of: tuple[int, ...]
    # Dimensions option, sequence: multiplied by the probabilities of the sequences, the masses. If
    # a sequence begins another option's longer one, the longer one is subtracted, so that no text
    # counts for two options, or twice for one.
    weights: NDArray[np.float64]
    absent: NDArray[np.bool_]  # for each option whether none of its forms can follow the prompt


def continuations(tokenizer: Any, prompt: str, ids: Ids, lexicon: Lexicon) -> Continuations:
    """Find the token sequences of every option after a prompt."""
    owner: dict[Ids, int] = {}
    absent = np.ones(len(lexicon.options), dtype=bool)
    for option, word in enumerate(lexicon.options):
        for form in surfaces(word):
            found = _continue(tokenizer, prompt, ids, form)
            if found and tokenizer.unk_token_id not in found:
                claim(owner, found, option, lexicon)
                absent[option] = False
    return _arrange(owner, absent)


def _continue(tokenizer: Any, prompt: str, ids: Ids, form: str) -> Ids:
    whole = encode(tokenizer, prompt + form)
    if whole[: len(ids)] == ids:
        own = whole[len(ids) :]
        # Some tokenizers silently drop unknown letters.
        spelt = decode(tokenizer, own).strip().casefold() == form.strip().casefold()
        return own if spelt else ()
    before = decode(tokenizer, ids)
    for anchor in _ANCHORS:
        start, both = encode(tokenizer, anchor), encode(tokenizer, anchor + form)
        own = both[len(start) :]
        if both[: len(start)] == start and decode(tokenizer, ids + own) == before + form:
            return own
    return ()


def _arrange(owner: dict[Ids, int], absent: NDArray[np.bool_]) -> Continuations:
    sequences = tuple(owner)
    weights = np.zeros((len(absent), len(sequences)))
    for column, sequence in enumerate(sequences):
        weights[owner[sequence], column] += 1
        shorter = [s for s in sequences if len(s) < len(sequence) and sequence[: len(s)] == s]
        if shorter:
            weights[owner[max(shorter, key=len)], column] -= 1
    heads = sorted({s[:-1] for s in sequences}, key=len, reverse=True)
    stems: list[Ids] = []
    for head in heads:
        if not any(stem[: len(head)] == head for stem in stems):
            stems.append(head)
    stem_of = tuple(
        next(n for n, stem in enumerate(stems) if stem[: len(s) - 1] == s[:-1]) for s in sequences
    )
    return Continuations(sequences, tuple(stems) or ((),), stem_of, weights, absent)


def encode(tokenizer: Any, text: str) -> Ids:
    """Tokenise a text as it is, adding no special tokens."""
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def decode(tokenizer: Any, ids: Ids) -> str:
    """Turn ids back into text, special tokens included."""
    return str(tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))


def leading_ids(tokenizer: Any) -> Ids:
    """Return the special tokens that the tokenizer puts before a text (often one, or none)."""
    probe = tokenizer("a", return_special_tokens_mask=True)
    ids, special = probe["input_ids"], probe["special_tokens_mask"]
    return tuple(ids[: special.index(0)] if 0 in special else ())
