"""Ranges of the numbers in a config: declared with its fields, checked when it is composed."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from polbayes.errors import UserError

_RANGE = "range"


@dataclass(frozen=True)
class _Range:
    """An interval of finite numbers, and its description for users."""

    ge: float | None
    gt: float | None
    le: float | None
    lt: float | None
    says: str | None

    def __contains__(self, value: float) -> bool:
        return (
            math.isfinite(value)
            and (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )

    def sentence(self, value: float) -> str:
        says = self.says or f"must be {self._words()}, not {{value}}."
        return says.format(value=value, ge=self.ge)

    def _words(self) -> str:
        if self.ge is not None and self.le is not None:
            return f"from {self.ge} to {self.le}"
        if self.gt is not None and self.lt is not None:
            return f"between {self.gt} and {self.lt}"
        bounds = {"at least": self.ge, "above": self.gt, "at most": self.le, "below": self.lt}
        return " and ".join(f"{word} {n}" for word, n in bounds.items() if n is not None)


def number(
    default: float | Callable[[], Any] | None,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    says: str | None = None,
) -> Any:
    """Declare a field with a number within a range, None, or a list or mapping of such."""
    metadata = {_RANGE: _Range(ge, gt, le, lt, says)}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def check_ranges(value: Any, key: str = "", limits: _Range | None = None) -> None:
    """Refuse numbers outside the declared range of their field, in nested sections, too."""
    if is_dataclass(value):
        for each in fields(value):
            own = each.metadata.get(_RANGE)
            check_ranges(getattr(value, each.name), _under(key, each.name), own)
    elif isinstance(value, dict):
        for name, one in value.items():
            check_ranges(one, _under(key, name), limits)
    elif isinstance(value, list):
        for one in value:
            # The schema does not look into lists of lists.
            if limits is not None and isinstance(one, list | dict):
                raise UserError(f"{key}: must be a list of numbers, not of '{one}'.")
            check_ranges(one, key, limits)
    elif limits is not None and value is not None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(f"{key}: must be a number, not '{value}'.")
        if value not in limits:
            raise UserError(f"{key}: {limits.sentence(value)}")


def _under(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)
