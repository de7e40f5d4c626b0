"""Text that spreadsheets show instead of computing.

A text that begins like a formula gets a leading apostrophe, and so does one that begins with an
apostrophe, so that `restored` knows which to remove. A spreadsheet that expects semicolons splits a
comma-separated file within its texts, where a sign after a separator or a line break could begin a
formula: it gets a leading invisible joiner.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# What begins a formula, and every character whose compatibility form (NFKC) does.
SIGNS = r"=+\-@%⁺₊⁼₌⩵⩶﬩﹢﹣﹦﹪﹫％＋－＝＠"
# Spaces, control characters and a byte order mark may be skipped before it.
_BEGINS = re.compile(rf"[\t\r\n';|]|[\s\x00-\x1f\x7f-\x9f\ufeff]*[{SIGNS}]")
_JOINER = "\u2060"
_WITHIN = re.compile(rf"(?<=[;,|\t\r\n])({_JOINER}*)(?=[{SIGNS}])")
_JOINED = re.compile(rf"(?<=[;,|\t\r\n]){_JOINER}({_JOINER}*)(?=[{SIGNS}])")


def defused(text: str) -> str:
    """Change a text so that no spreadsheet computes anything in it; `restored` undoes this."""
    within = _WITHIN.sub(rf"{_JOINER}\1", text)
    return f"'{within}" if _BEGINS.match(within) else within


def restored(text: str) -> str:
    """Undo `defused`."""
    return _JOINED.sub(r"\1", text[1:] if text.startswith("'") else text)


def defused_value(value: Any) -> Any:
    """Defuse a table's value if it is text; a number written as text, such as -1.5, is kept."""
    if not isinstance(value, str):
        return value
    try:
        float(value)
    except ValueError:
        return defused(value)
    return value


def defused_table(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table with every text defused; `restored_table` undoes this."""
    return _changed(table, defused_value)


def restored_table(table: "pd.DataFrame") -> "pd.DataFrame":
    """Undo `defused_table`."""
    return _changed(table, lambda value: restored(value) if isinstance(value, str) else value)


def _changed(table: "pd.DataFrame", change: Callable[[Any], Any]) -> "pd.DataFrame":
    """Change the texts of a table, each of them once; columns without any stay as they are."""
    import pandas as pd

    changed = {}
    for name, column in table.items():
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
            continue
        new = {text: change(text) for text in column.unique() if isinstance(text, str)}
        if any(text != known for known, text in new.items()):
            values = [new.get(x, x) if isinstance(x, str) else x for x in column]
            changed[name] = pd.Series(values, index=column.index, dtype=column.dtype)
    return table.assign(**changed)
