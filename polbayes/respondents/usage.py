"""The tokens used by asking, as counted by the server."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Tokens used."""

    # Tokens of prompts and of answers, as the server counted them.
    input: int = 0
    output: int = 0
    uncounted: int = 0  # requests that may have been worked on, but of which no count came back
    # The highest possible number of tokens of the uncounted requests.
    input_bound: int = 0
    output_bound: int = 0
    # What batch services had of the four numbers of tokens above.
    batch_input: int = 0
    batch_output: int = 0
    batch_input_bound: int = 0
    batch_output_bound: int = 0

    @property
    def of_batch(self) -> "Usage":
        """The same, all of it by a batch service."""
        return replace(
            self,
            batch_input=self.input,
            batch_output=self.output,
            batch_input_bound=self.input_bound,
            batch_output_bound=self.output_bound,
        )

    @classmethod
    def at_most(cls, most: tuple[int, int]) -> "Usage":
        """Return the usage of requests whose questions and answers have at most so many tokens."""
        return cls(input_bound=most[0], output_bound=most[1])

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def record(self) -> dict[str, list[int]]:
        """Return its entries in a journal's record; none if nothing was used."""
        values = list(astuple(self))
        while values and not values[-1]:
            values.pop()
        return {"tokens": values} if values else {}


def used(records: Iterable[Mapping[str, Any]]) -> Usage:
    """Sum up the usage in the records of a journal."""
    total = Usage()
    for record in records:
        if "tokens" in record:
            total += Usage(*record["tokens"])
    return total
