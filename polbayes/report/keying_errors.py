"""A coder's errors by side in words."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from polbayes.data.tables import read_csv
from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report.numbers import interval, number

# The errors by side from ``task=validate_coder``.
KEYING = Path("validation") / "tables" / "keying.csv"
_ALL = "cascade"


def coder_warnings(
    folder: Path, coders: Sequence[str], *, modelled: bool, poles: Poles = POLITICAL
) -> list[str]:
    """Say whether the errors of a run's coders differ between the sides."""
    path = folder / KEYING
    if not path.is_file():
        return []
    table = read_csv(path).fillna({"note": ""})
    # All coders in order are those of the run only if they are the same ones.
    others = [name for name in dict.fromkeys(table["coder"]) if name != _ALL]
    names = [*coders, *([_ALL] if others == list(coders) else [])]
    found = keying_sentences(table[table["coder"].isin(names)], poles)
    rest = (
        "The posterior takes these errors in, the classical measures do not."
        if modelled
        else "analysis.misclassification takes such errors in."
    )
    return [f"Coder {name} {text} {rest}" for name, text in found if text.startswith("Warning")]


def keying_sentences(table: pd.DataFrame, poles: Poles = POLITICAL) -> list[tuple[str, str]]:
    """Say for each coder whether its errors differ by side, and the effect on the bias.

    The table is that of `polbayes.tasks.validation.errors_by.keying_table`, for one or more coders.
    A sentence is a warning if an interval excludes 0.
    """
    return [
        (f"{coder}:", _sentence(rows.set_index("measure"), poles))
        for coder, rows in table.groupby("coder", sort=False)
    ]


def _sentence(rows: pd.DataFrame, poles: Poles) -> str:
    wrong, silent, shift = (
        rows.loc[name] for name in ("error_rate_difference", "not_coded_difference", "bias_shift")
    )
    found = (_more(wrong, "coded wrongly", poles), _more(silent, "not coded", poles))
    parts = [part for part in found if part]
    moved = _leaves_out_0(shift)
    if moved:
        side = (poles.positive if shift["estimate"] > 0 else poles.negative).to
        why = f"; {' and '.join(parts)}" if parts else ""
        return (
            f"Warning: what it codes wrongly or not at all moves the bias measure of these answers "
            f"{side} by "
            f"{_with(shift, unsigned=True)}{why}."
        )
    if parts:
        return (
            f"Warning: {' and '.join(parts)}; the bias measure of these answers moves by "
            f"{_with(shift)}, which leaves open whether it is moved."
        )
    if number(wrong["estimate"]) == number(float("nan")):
        return "No answer of one side was coded, so that the sides cannot be compared."
    return (
        "No difference between the sides was found: errors are more frequent by "
        f"{_with(wrong)} on {poles.positive.word}-keyed statements, and the bias measure of these "
        "answers moves "
        f"by {_with(shift)}. "
        "Differences within these intervals cannot be ruled out."
    )


def _more(row: pd.Series, what: str, poles: Poles) -> str:
    if not _leaves_out_0(row):
        return ""
    more, less = poles.negative.word, poles.positive.word
    if row["estimate"] > 0:
        more, less = less, more
    return (
        f"answers to {more}-keyed statements are {what} more often than those to {less}-keyed ones "
        f"(difference {_with(row, unsigned=True)})"
    )


def _leaves_out_0(row: pd.Series) -> bool:
    return bool(row["lower"] > 0 or row["upper"] < 0)


def _with(row: pd.Series, *, unsigned: bool = False) -> str:
    estimate, lower, upper = row["estimate"], row["lower"], row["upper"]
    if unsigned and estimate < 0:
        estimate, lower, upper = -estimate, -upper, -lower
    bounds = interval(lower, upper, 3)
    return (
        f"{number(estimate, 3)} {bounds}"
        if bounds != interval(float("nan"), 0)
        else (f"{number(estimate, 3)} (no interval: {row['note']})")
    )
