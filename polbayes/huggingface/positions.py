"""How many tokens a model takes: what its config says, and what its tables of positions hold."""

from typing import Any

# What configs call the number of positions.
_DECLARED = ("max_position_embeddings", "max_seq_len")
# What models call a table of positions.
_TABLES = ("position_embeddings", "embed_positions", "positions_embed", "wpe")
UNLIMITED = 1 << 30


def positions(about: Any, model: Any) -> int:
    """Return how many tokens a model takes by its config `about`; `UNLIMITED` where nothing says.

    The network may be without weights; None where it cannot be built without.
    """
    text = about.get_text_config()
    declared = [getattr(text, name, None) for name in _DECLARED]
    limits = [n for n in declared if isinstance(n, int) and n > 0]
    for name, module in model.named_modules() if model is not None else ():
        if name.rpartition(".")[2] in _TABLES and hasattr(module, "weight"):
            limits.append(len(module.weight) - _unused(module))
    return min(limits, default=UNLIMITED)


def _unused(table: Any) -> int:
    """Return how many of a table's rows stand before the first position."""
    offset = getattr(table, "offset", None)
    if isinstance(offset, int):
        return offset
    # Models such as RoBERTa begin to count positions after the padding's.
    padding = getattr(table, "padding_idx", None)
    return 0 if padding is None else int(padding) + 1
