"""The answer of a run in a few lines for a terminal, and as plain values."""

import os
import sys
from collections.abc import Sequence
from typing import Any

from polbayes.fit.posterior.verdicts import LEFT, RIGHT, Verdict, at_centre, from_centre
from polbayes.instrument.dimensions import named
from polbayes.instrument.poles import Poles
from polbayes.report.answer import lines, usable
from polbayes.report.numbers import interval, number
from polbayes.report.results import Results
from polbayes.report.sections.coefficients import predictors
from polbayes.report.sections.comparison import moves
from polbayes.report.visible import visible

_MOST = 30
# Colours of the sides, as in the report's heat maps: purple and orange.
_COLOUR = {LEFT: "35", RIGHT: "33"}


def answer_lines(results: Results) -> list[str]:
    """Say where each model stands, with intervals and verdicts, and whether it can be used.

    Of runs that were compared, first how snapshots of a model differ.
    """
    said = [visible(text) for text in lines(results)]
    if results.verdict == "bad":
        return said
    table = _positions(results) or _coefficients(results)
    moved = [visible(" ".join(entry)) for entry in moves(results)]
    return [*moved, *([""] if moved else []), *table, *([""] if table and said else []), *said]


def as_values(results: Results) -> dict[str, Any]:
    """Return the same as values: the verdict on the sampler, and a position by model.

    There are none if the sampler failed, nor of a mixed model, which has coefficients. Whether the
    estimates can be used, and the cautions, are sentences.
    """
    positions = [
        {
            "model": model,
            "dimension": dimension,
            "lean": verdict.estimate,
            "lower": verdict.lower,
            "upper": verdict.upper,
            "decision": verdict.decision or None,
            "probability": verdict.probability,
        }
        for model, dimension, verdict in _found(results)
        if verdict.decision and results.verdict != "bad"
    ]
    whether, cautions = usable(results)
    found = {"sampler": results.verdict, "level": results.level, "positions": positions}
    found |= {"usable": visible(whether), "cautions": [visible(text) for text in cautions]}
    found |= {"coefficients": _terms(results)} if results.mixed else {}
    return found | ({} if results.table("drift") is None else {"moved": _moved(results)})


def _terms(results: Results) -> list[dict[str, Any]]:
    """Return the coefficients of a mixed model; none if the sampler failed."""
    table = results.table("coefficients")
    if table is None or results.verdict == "bad":
        return []
    names = ["name", "estimate", "lower", "upper"]
    return predictors(table)[names].rename(columns={"name": "term"}).to_dict(orient="records")


def _moved(results: Results) -> list[dict[str, Any]]:
    """Return the differences of lean between snapshots; none if the sampler failed."""
    drift = results.table("drift")
    if drift is None or results.verdict == "bad":
        return []
    names = ["before", "after", "dimension", "decision", "estimate", "lower", "upper", "rope"]
    names += ["note"] if "note" in drift else []
    lean = drift.loc[drift["quantity"] == "lean", names].astype(object)
    return lean.where(lean.notna(), None).to_dict(orient="records")


def _found(results: Results) -> list[tuple[str, str, Verdict]]:
    table = results.table("contrasts")
    return [] if table is None else list(from_centre(table))


def _positions(results: Results) -> list[str]:
    """Lay out the lean of every model on every dimension, with its interval and verdict."""
    found = _found(results)
    dimensions = list(dict.fromkeys(on for _, on, _ in found))
    models = list(dict.fromkeys(model for model, _, _ in found))
    poles = results.poles
    cells = {(model, on): _cell(verdict, poles.on(on)) for model, on, verdict in found}
    heads = [named(results.dimensions, on).label for on in dimensions]
    rows = [
        [visible(model), *(cells.get((model, on), ("–", "")) for on in dimensions)]
        for model in models[:_MOST]
    ]
    if not rows:
        return []
    width = max(len(str(row[0])) for row in rows)
    widths = [max(len(h), *(len(row[k + 1][0]) for row in rows)) for k, h in enumerate(heads)]
    ends = f"from −1 ({poles.negative.word}) to 1 ({poles.positive.word})"
    title = f"Lean, {ends}, with {results.level:.0%} intervals"
    head = "  ".join([" " * width, *(h.ljust(w) for h, w in zip(heads, widths, strict=True))])
    out = [_styled(title, "1"), head.rstrip()]
    for name, *own in rows:
        texts = [_styled(text.ljust(w), code) for (text, code), w in zip(own, widths, strict=True)]
        out.append("  ".join([str(name).ljust(width), *texts]).rstrip())
    rest = len(models) - len(rows)
    return [*out, f"and {rest} more in estimates/contrasts.csv"] if rest else out


def _coefficients(results: Results) -> list[str]:
    """Lay out the coefficients of a mixed model with their intervals."""
    terms = _terms(results)
    if not terms:
        return []
    width = max(len(visible(row["term"])) for row in terms[:_MOST])
    rows = [
        f"{visible(row['term']).ljust(width)}  {number(row['estimate'], 3)} "
        f"{interval(row['lower'], row['upper'], 3)}"
        for row in terms[:_MOST]
    ]
    rest = len(terms) - len(rows)
    more = [f"and {rest} more in estimates/coefficients.csv"] if rest else []
    return [_styled(f"Coefficients, with {results.level:.0%} intervals", "1"), *rows, *more]


def _cell(verdict: Verdict, poles: Poles) -> tuple[str, str]:
    """Return a lean with interval and verdict, and its colour."""
    if not verdict.decision:
        return "no estimate", ""
    text = f"{number(verdict.estimate)} {interval(verdict.lower, verdict.upper)}"
    return f"{text} {at_centre(verdict.decision, poles)}", _COLOUR.get(verdict.decision, "")


def coloured(streams: Sequence[Any] = ()) -> bool:
    """Tell whether colours are shown: on a terminal, unless NO_COLOR is set."""
    return all(one.isatty() for one in streams or (sys.stdout,)) and not os.environ.get("NO_COLOR")


def _styled(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code and coloured() else text
