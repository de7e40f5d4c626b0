"""Formatting of numbers for readers."""

import math

ABSENT = "–"


def number(value: float, digits: int = 2) -> str:
    """Format a number with a true minus sign; ``–`` if missing.

    A value that rounds to zero has no sign.
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def interval(lower: float, upper: float, digits: int = 2) -> str:
    """Format an interval as ``[−1.10, −0.54]``; ``–`` if an end is missing."""
    low, high = number(lower, digits), number(upper, digits)
    return ABSENT if ABSENT in (low, high) else f"[{low}, {high}]"


def chance(probability: float) -> str:
    """Format a probability in percent, never as certain: ``< 1%`` and ``> 99%`` at the ends."""
    if probability is None or not math.isfinite(probability):
        return ABSENT
    if probability < 0.01:
        return "<\u00a01%"
    if probability > 0.99:
        return ">\u00a099%"
    return f"{100 * probability:.0f}%"


def p_value(value: float) -> str:
    """Format a p value with three decimals."""
    return "< 0.001" if value < 0.001 else number(value, 3)


def share(value: float) -> str:
    """Format a share in percent."""
    return ABSENT if value is None or not math.isfinite(value) else f"{100 * value:.1f}%"


def count(value: float) -> str:
    """Format a count with narrow no-break spaces between thousands."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return f"{value:,.0f}".replace(",", "\u202f")
