"""Registries of what users can choose by name, and extend by packages of their own."""

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from polbayes.errors import UserError, check_known

T = TypeVar("T")


def added(group: str) -> dict[str, str]:
    """Return the additions of installed packages to an entry point group: value and version."""
    return {
        entry.name: f"{entry.value} {entry.dist.version if entry.dist else ''}".strip()
        for entry in entry_points(group=group)
    }


class Registry(MutableMapping[str, T], Generic[T]):
    """Objects of one kind by name, imported on access.

    Installed packages add to them by entry points of the `group`, e.g. ``polbayes.coders``; scripts
    by assignment. `kind` names them in errors, e.g. ``coder``; `own` are those of polbayes itself,
    as ``module:attribute`` or as objects.
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
        """Return the object of a name; `where` is the config key that holds it."""
        check_known(self.kind, name, known=self, where=where)
        return self[name]
