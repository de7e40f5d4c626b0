"""Heat maps: what each prefix does to each model, and what each model says to each statement."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from polbayes.instrument.poles import Poles
from polbayes.report.charts.parts import (
    LEFT_RIGHT,
    SAID,
    Spec,
    choice,
    chosen,
    containing,
    diverging,
    every,
    hints,
    saying,
    search,
    value,
)
from polbayes.report.prose import MODEL, Noun

# Numbers are written into the cells of no more columns, and of small screens into none.
_MOST_WRITTEN = 12
# With more numbers than this, single prefixes and wordings are left to the tables.
MOST_VALUES = 40_000


def prefix_chart(
    effects: pd.DataFrame,
    *,
    colours: Sequence[str] = LEFT_RIGHT,
    bound: float | None = None,
    who: Noun = MODEL,
) -> Spec:
    """Draw one number per model and prefix, `effects` being as for `plot_prefix_effects`."""
    known = effects[np.isfinite(effects["estimate"].to_numpy(dtype=float))]
    rows: list[Spec] = [
        {"model": str(row["model"]), "prefix": str(row["prefix"])}
        | {"e": value(row["estimate"]), "l": value(row["lower"]), "u": value(row["upper"])}
        for row in known.to_dict(orient="records")
    ]
    end = bound or max(0.5, *(abs(row["e"]) for row in rows), 0.5)
    columns = len({row["prefix"] for row in rows})
    name = who.one.capitalize()
    shown = hints(model=name, prefix="Prefix", e_="Estimate", l_="From", u_="To")
    orders = {"given": "as asked", "estimate": "by mean"}
    return {
        "params": [
            *choice("order", "Sort", orders),
            search("find", name),
            search("also", "Prefix"),
        ],
        "data": {"values": rows},
        "transform": [
            {"filter": containing("model", "find")},
            {"filter": containing("prefix", "also")},
            saying("model", "prefix", "e_"),
            _mean("model", "m"),
            _mean("prefix", "p"),
            {"calculate": "order == 'estimate' ? datum.m : 0", "as": "row"},
            {"calculate": "order == 'estimate' ? datum.p : 0", "as": "column"},
        ],
        "usermeta": {"columns": columns},
        "height": {"step": 24},
        "layer": _cells("prefix", "model", diverging(colours, end), shown, columns),
    }


def _mean(by: str, name: str, op: str = "mean") -> Spec:
    return {"joinaggregate": [{"op": op, "field": "e", "as": name}], "groupby": [by]}


def _cells(x: str, y: str, scale: Spec, shown: list[Spec], columns: int) -> list[Spec]:
    across = {"field": x, "type": "nominal", "title": None, "sort": {"field": "column"}}
    down = {"field": y, "type": "nominal", "title": None, "sort": {"field": "row"}}
    axis = {"domain": False, "ticks": False}
    # The lower end of a chart that is taller than the screen is out of sight.
    above = {**axis, "orient": "top", "labelAngle": -40}
    place = {"x": {**across, "axis": above}, "y": {**down, "axis": axis}}
    colour = {"field": "e", "type": "quantitative", "title": None, "scale": scale}
    legend = {"orient": "top", "format": ".2~f"}
    cell = {
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.5},
        "encoding": {**place, "color": {**colour, "legend": legend}, "tooltip": shown} | SAID,
    }
    edge = scale["domain"][-1] * 0.75
    test = {"test": f"abs(datum.e) > {edge}", "value": "white"}
    written = {
        "mark": {"type": "text", "fontSize": 10, "aria": False},
        "encoding": {
            **place,
            "text": {"field": "e", "type": "quantitative", "format": ".2f"},
            "color": {"condition": test, "value": "#222"},
        },
    }
    return [cell, written] if columns <= _MOST_WRITTEN else [cell]


def statement_chart(
    slices: Mapping[str, pd.DataFrame],
    statements: pd.DataFrame,
    *,
    drill: Mapping[str, str],
    poles: Poles,
    who: Noun = MODEL,
) -> Spec:
    """Draw how each respondent leans on each statement, for one set of prompts at a time.

    Parameters
    ----------
    slices
        By what they are about, tables ``model, item, estimate`` with ``lower, upper`` or ``n``.
    statements
        The columns ``item, dimension, statement``.
    drill
        The prefix of a slice that is about one.
    poles
        Words for the two ends.
    who
        What the respondents are.
    """
    kept: dict[str, pd.DataFrame] = {}
    left = MOST_VALUES
    for name, table in slices.items():
        left -= len(table)
        if left >= 0 or not kept:
            kept[name] = table
    about = {str(r["item"]): r for r in statements.astype(str).to_dict(orient="records")}
    rows = [
        row | {"s": s, "prefix": drill.get(of)}
        for s, (of, table) in enumerate(kept.items())
        for row in _rows(table, about)
    ]
    dimensions = every(list(statements["dimension"].astype(str)), "all")
    columns = len({row["model"] for row in rows})
    ends, name = f"from {poles.negative.word} to {poles.positive.word}", who.one.capitalize()
    params = [
        *choice("which", "Shown", dict(enumerate(kept))),
        *choice("one", "Dimension", dimensions),
        *choice("order", "Sort", {"lean": ends, **_SORTED}),
        search("also", "Statement"),
        search("find", name),
    ]
    shown = hints(statement="Statement", model=name, e_="Leaning", l_="From", u_="To", n="Answers")
    return {
        "params": params,
        "data": {"values": rows},
        "transform": [
            *([{"filter": "datum.s == which"}] if len(kept) > 1 else []),
            *chosen("dimension", "one", params),
            {"filter": containing("statement", "also")},
            {"filter": containing("model", "find")},
            saying("model", "statement", "e_"),
            _mean("statement", "mean"),
            _mean("statement", "spread", "stdev"),
            _mean("model", "column"),
            {"calculate": _PLACE, "as": "row"},
        ],
        "usermeta": {"columns": columns},
        "height": {"step": 20},
        "layer": _cells("model", "statement", diverging(LEFT_RIGHT, 1), shown, columns),
    }


_SORTED = {"spread": "by disagreement", "given": "as asked"}
_NUMBERS = ("estimate", "lower", "upper", "n")
_PLACE = "order == 'lean' ? datum.mean : order == 'spread' ? -datum.spread : datum.i"


def _rows(table: pd.DataFrame, about: Mapping[str, Mapping[str, str]]) -> list[Spec]:
    places = {item: k for k, item in enumerate(about)}
    return [
        {"model": str(row["model"]), "item": item, "i": places[item]}
        | {"dimension": about[item]["dimension"]}
        | {"statement": f"{item} {about[item]['statement']}".strip()}
        | {name[0]: value(row.get(name, np.nan)) for name in _NUMBERS}
        for row in table.to_dict(orient="records")
        if (item := str(row["item"])) in about and np.isfinite(row["estimate"])
    ]
