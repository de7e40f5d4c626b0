"""The token limit of a model, from its config and its position tables."""

from typing import Any

# Config keys for the number of positions.
_DECLARED = ("max_position_embeddings", "max_seq_len")
# Names of position tables in models.
_TABLES = ("position_embeddings", "embed_positions", "positions_embed", "wpe")
UNLIMITED = 1 << 30


def positions(about: Any, model: Any) -> int:
    """Return the token limit of a model by its config `about`; `UNLIMITED` if unknown.

    The network may lack weights; None if it cannot be built without.
    """
    text = about.get_text_config()
    declared = [getattr(text, name, None) for name in _DECLARED]
    limits = [n for n in declared if isinstance(n, int) and n > 0]
    for name, module in model.named_modules() if model is not None else ():
        if name.rpartition(".")[2] in _TABLES and hasattr(module, "weight"):
            limits.append(len(module.weight) - _unused(module))
    return min(limits, default=UNLIMITED)


def _unused(table: Any) -> int:
    """Return how many rows of a table precede the first position."""
    offset = getattr(table, "offset", None)
    if isinstance(offset, int):
        return offset
    # Models such as RoBERTa count positions from after the padding's.
    padding = getattr(table, "padding_idx", None)
    return 0 if padding is None else int(padding) + 1
