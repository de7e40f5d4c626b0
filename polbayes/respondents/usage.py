"""What asking a respondent took: tokens, as the server counts them."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Tokens that were used."""

    # Tokens of prompts and of answers, as the server counted them.
    input: int = 0
    output: int = 0
    uncounted: int = 0  # requests that may have been worked on, but of which no count came back
    # The most tokens that the uncounted requests can have had.
    input_bound: int = 0
    output_bound: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def record(self) -> dict[str, list[int]]:
        """Return what a journal's record says of it; nothing where nothing was used."""
        values = list(astuple(self))
        while values and not values[-1]:
            values.pop()
        return {"tokens": values} if values else {}


def used(records: Iterable[Mapping[str, Any]]) -> Usage:
    """Add up what the records of a journal say."""
    total = Usage()
    for record in records:
        if "tokens" in record:
            total += Usage(*record["tokens"])
    return total
