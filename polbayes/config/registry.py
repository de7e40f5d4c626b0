"""What can be chosen by name, and added by a package of the user's own."""

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from polbayes.errors import UserError, check_known

T = TypeVar("T")


def added(group: str) -> dict[str, str]:
    """Return what installed packages add to a group of entry points: value and version, by name."""
    return {
        entry.name: f"{entry.value} {entry.dist.version if entry.dist else ''}".strip()
        for entry in entry_points(group=group)
    }


class Registry(MutableMapping[str, T], Generic[T]):
    """Things of one kind by name, imported when they are asked for.

    An installed package adds to them by entry points of the `group`, e.g. ``polbayes.coders``, a
    script by assignment. `kind` is what they are, for errors, e.g. ``coder``, and `own` those of
    polbayes itself, as ``module:attribute`` or as they are.
    """

    def __init__(self, group: str, kind: str, own: Mapping[str, str | T]) -> None:
        self.group, self.kind, self._own = group, kind, own

    @cached_property
    def _found(self) -> "dict[str, T | EntryPoint]":
        found: dict[str, T | EntryPoint] = {
            name: EntryPoint(name, one, self.group) if isinstance(one, str) else one
            for name, one in self._own.items()
        }
        for entry in entry_points(group=self.group):
            if entry.name in found:
                raise UserError(
                    f"{self.kind} '{entry.name}' of {entry.value} has the name of another; rename "
                    f"the entry point (group {self.group})."
                )
            found[entry.name] = entry
        return found

    def __getitem__(self, name: str) -> T:
        one = self._found[name]
        if not isinstance(one, EntryPoint):
            return one
        try:
            loaded: T = getattr(import_module(one.module), one.attr)
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"{self.kind} '{name}': {one.value} cannot be imported ({error})."
            ) from error
        self._found[name] = loaded
        return loaded

    def __setitem__(self, name: str, one: T) -> None:
        self._found[name] = one

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def chosen(self, name: str, *, where: str = "") -> T:
        """Return one of them; `where` is the key of the config that names it."""
        check_known(self.kind, name, known=self, where=where)
        return self[name]
