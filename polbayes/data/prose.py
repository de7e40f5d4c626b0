"""Counts in sentences, whose words agree with them."""

from collections.abc import Callable


def plural(number_of: float, name: str, shown: Callable[[float], str] = "{:,}".format) -> str:
    """Count something in words: ``1 prefix``, ``2,000 prefixes``; `shown` writes the number."""
    return f"{shown(number_of)} {noun(number_of, name)}"


def noun(number_of: float, name: str) -> str:
    """Return the word behind a number, in the singular or plural."""
    if number_of == 1:
        return name
    if name.endswith("y") and name[-2:-1] not in set("aeiou"):
        return f"{name[:-1]}ies"
    return name + ("es" if name.endswith(("x", "s", "ch", "sh")) else "s")


def form(number_of: float, one: str, many: str) -> str:
    """Return the form of some words that agrees with a number: ``form(1, "is", "are")``."""
    return one if number_of == 1 else many
