"""An answer as annotators see it: without the model, active content or a meaningful id."""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import pandas as pd

from polbayes.report.visible import visible

# A spreadsheet cell holds 32,767 characters and spills the rest into its neighbours.
MOST_SHOWN = 30_000
HIDDEN = "[name]"
# Without vowels, no spreadsheet mistakes an id for a month or a number.
_LETTERS = "bcdfghjkmnpqrstvwxz"
_TELLING = re.compile(r"[\d/_.-]")


def shown(text: str, hide: Sequence[str] = ()) -> str:
    """Replace control characters by signs, hide names (whole words), and truncate."""
    clear = visible(text.replace("{model_name}", HIDDEN))
    if hide:
        longest_first = sorted(hide, key=len, reverse=True)
        either = "|".join(re.escape(name) for name in longest_first)
        clear = re.sub(rf"(?<!\w)(?:{either})(?!\w)", HIDDEN, clear, flags=re.IGNORECASE)
    if len(clear) > MOST_SHOWN:
        clear = f"{clear[:MOST_SHOWN]} […] ({len(clear) - MOST_SHOWN} more characters)"
    return clear


def names_to_hide(names: Iterable[str], more: Sequence[str] = ()) -> list[str]:
    """List the names that would reveal a model."""
    found = []
    for name in dict.fromkeys(names):
        whole = name.removeprefix("embedded:").removeprefix("planted:")
        found += [n for n in (whole, whole.rsplit("/", 1)[-1]) if _TELLING.search(n)]
    return list(dict.fromkeys([*found, *(name for name in more if name.strip())]))


def ids_of(sample: pd.DataFrame) -> list[str]:
    """Return ids for the rows of a sample, with a prefix that differs between samples."""
    text = sample.to_csv(index=False, lineterminator="\n")
    number = int.from_bytes(blake2b(text.encode("utf-8", "backslashreplace")).digest()[:8])
    letters = ""
    for _ in range(5):
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    width = max(4, len(str(len(sample))))
    return [f"{letters}-{k:0{width}d}" for k in range(1, len(sample) + 1)]
