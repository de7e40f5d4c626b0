"""R-style formulas: split into a common part and group-specific terms.

The notation is that of lme4 and brms: ``(1 | g)`` is a varying intercept,
``(0 + x | g)`` varying coefficients that are correlated, ``(0 + x || g)`` the same
without correlation, ``a:b`` an interaction of grouping factors, and
``gr(a:b, by = a)`` (brms) a separate standard deviation for every level of ``a``, and
``gr(a:b, dist = "student")`` (brms) effects with a t distribution, whose degrees of freedom are
estimated. ``rw(a:b)`` is a random walk over the sorted values of ``b``, one for every level of
``a`` (INLA's rw1 with replicates).
The formula algebra itself is formulae's.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from polbayes.errors import UserError, check_known

# Functions for formulas in addition to those of formulae (scale, center, C, ...).
NAMESPACE = {name: getattr(np, name) for name in ("log", "log2", "log10", "exp", "sqrt", "abs")}

_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_FACTORS = re.compile(rf"{_NAME}(\s*:\s*{_NAME})*")
_GR = re.compile(
    rf"gr\(\s*(?P<factors>{_NAME}(\s*:\s*{_NAME})*)\s*"
    rf"(,\s*by\s*=\s*(?P<by>{_NAME})\s*)?(,\s*dist\s*=\s*(?P<dist>[\"']?\w+[\"']?)\s*)?\)"
)
_RW = re.compile(rf"rw\(\s*(?P<factors>{_NAME}(\s*:\s*{_NAME})*)\s*\)")
DISTRIBUTIONS = ("gaussian", "student")


@dataclass(frozen=True)
class GroupTerm:
    """Effects that vary over the levels of a grouping factor."""

    expr: str  # what varies, as a formula without a response: "1", "0 + dimension"
    factors: tuple[str, ...]  # variables whose combinations are the levels
    by: str | None = None  # variable whose levels have separate standard deviations, or None
    correlated: bool = True  # whether the coefficients of `expr` are correlated (|) or not (||)
    dist: str = DISTRIBUTIONS[0]  # one of `DISTRIBUTIONS`
    walk: bool = False  # whether the effects are the steps of random walks over the last factor

    @property
    def heavy(self) -> bool:
        """Whether the effects have a t distribution."""
        return self.dist != DISTRIBUTIONS[0]

    @property
    def name(self) -> str:
        """Name used in priors and messages, e.g. ``"model:prefix"``."""
        return ":".join(self.factors)

    def __str__(self) -> str:
        bar = "|" if self.correlated else "||"
        if self.walk:
            return f"({self.expr} {bar} rw({self.name}))"
        further = [f"by = {self.by}"] if self.by else []
        further += [f"dist = {self.dist}"] if self.heavy else []
        group = f"gr({', '.join([self.name, *further])})" if further else self.name
        return f"({self.expr} {bar} {group})"


@dataclass(frozen=True)
class Formula:
    """One part's formula."""

    text: str  # as written
    common: str  # the common ("fixed") part as formula text, "0" if there is none
    groups: tuple[GroupTerm, ...]  # the group-specific ("random") terms


def parse_formula(text: str, *, where: str) -> Formula:
    """Parse a one-sided formula, `where` being its key, for messages.

    As in R, the common part has an intercept unless it says ``0 +``; a formula of group-specific
    terms alone has none, because its mean belongs to another part.
    """
    body = text.strip().removeprefix("~").strip()
    if not body:
        raise UserError(f"{where}: the formula is empty; leave the part out instead.")
    common: list[str] = []
    groups: list[GroupTerm] = []
    for piece in map(_bare, _summands(body, where)):
        if piece.startswith("(") and _bar(piece) is not None:
            groups.append(_group(piece, where))
        elif "|" in piece:
            raise UserError(f"{where}: '{piece}' cannot be read; write (1 | group).")
        else:
            common.append(piece)
    if len({(g.expr, g.factors) for g in groups}) < len(groups):
        raise UserError(f"{where}: the formula '{text}' has the same group-specific term twice.")
    # `-1` is R's other way of writing `0 +`.
    kept = ["0" if piece.replace(" ", "") == "-1" else piece for piece in common]
    return Formula(text.strip(), " + ".join(kept) or "0", tuple(groups))


def described(text: str, attribute: str, *, where: str) -> Any:
    """Parse a common part with formulae."""
    from formulae import model_description
    from formulae.parser import ParseError
    from formulae.scanner import ScanError

    try:
        return getattr(model_description(text), attribute)
    except (ParseError, ScanError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{where}: '{text}' cannot be read: {str(error).rstrip('.')}.") from error


def _summands(body: str, where: str) -> list[str]:
    """Split at plus signs outside of parentheses."""
    pieces, depth, start = [], 0, 0
    for at, character in enumerate(body):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            raise UserError(f"{where}: '{body}' closes a parenthesis that was never opened.")
        if character == "+" and depth == 0:
            pieces.append(body[start:at].strip())
            start = at + 1
    pieces.append(body[start:].strip())
    if depth:
        raise UserError(f"{where}: '{body}' leaves a parenthesis open.")
    if not all(pieces):
        raise UserError(f"{where}: '{body}' has a '+' with nothing beside it.")
    return pieces


def _bare(piece: str) -> str:
    """Strip redundant parentheses around a group-specific term."""
    while piece.startswith("((") and piece.endswith("))") and _bar(piece) is None:
        piece = piece[1:-1].strip()
    return piece


def _bar(piece: str) -> int | None:
    depth = 0
    for at, character in enumerate(piece):
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 1:
            return at
    return None


def _group(piece: str, where: str) -> GroupTerm:
    bar = _bar(piece)
    assert bar is not None
    if not piece.endswith(")"):
        raise UserError(f"{where}: '{piece}' cannot be read; write (1 | group).")
    correlated = piece[bar + 1] != "|"
    expr = piece[1:bar].strip()
    right = piece[bar + (1 if correlated else 2) : -1].strip()
    if not expr:
        raise UserError(f"{where}: '{piece}' does not say what varies; write (1 | {right}).")
    match, walk = _GR.fullmatch(right), _RW.fullmatch(right)
    if walk:
        factors, by, dist = walk["factors"], None, DISTRIBUTIONS[0]
    elif match:
        factors, by = match["factors"], match["by"]
        dist = (match["dist"] or DISTRIBUTIONS[0]).strip("\"'")
    elif _FACTORS.fullmatch(right):
        factors, by, dist = right, None, DISTRIBUTIONS[0]
    else:
        raise UserError(
            f"{where}: '{right}' is not a grouping factor; write a name, names joined by ':', "
            "gr(a:b, by = a), gr(a:b, dist = student) or rw(a:b)."
        )
    check_known("distribution", dist, known=DISTRIBUTIONS, where=f"{where}: in '{right}'")
    names = tuple(name.strip() for name in factors.split(":"))
    if by is not None and by not in names:
        raise UserError(f"{where}: in '{right}', '{by}' must be one of the grouping factors.")
    if expr != "1" and (walk or dist != DISTRIBUTIONS[0]):
        what = "a random walk" if walk else "a distribution"
        raise UserError(
            f"{where}: in '{piece}', {what} can only be given for an intercept; write "
            f"(1 | {right})."
        )
    return GroupTerm(expr, names, by, correlated, dist, bool(walk))
