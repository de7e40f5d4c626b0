"""Estimates with intervals, one line each, sorted and filtered by the reader."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from polbayes.report.charts.parts import (
    COLOURS,
    SAID,
    ZOOM,
    Spec,
    choice,
    chosen,
    containing,
    every,
    hints,
    line,
    saying,
    search,
    value,
)
from polbayes.report.prose import MODEL, Noun

_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_ORDERS = {"'estimate'": "by estimate", "'name'": "by name", "'given'": "as asked"}


def forest_chart(
    tables: Mapping[str, pd.DataFrame],
    *,
    axis: str,
    who: Noun = MODEL,
    series: str = "dimension",
    words: Mapping[str, str] | None = None,
    centre: float | None = 0,
    descending: bool = False,
) -> Spec:
    """Draw one table of estimates at a time: a row for each respondent, a colour for each series.

    Parameters
    ----------
    tables
        By what they are about, with the columns ``model``, `series` (or without it) and
        ``estimate, lower, upper``.
    axis
        What the horizontal axis is.
    who
        What the respondents are.
    words
        What the series are called; others by their own name.
    centre
        Where a line is drawn; none where there is no centre.
    descending
        Whether the largest estimate is at the top.
    """
    rows = [r for of, table in tables.items() for r in _rows(of, table, series, words or {})]
    places = {one: k for k, one in enumerate(sorted({row["name"] for row in rows}))}
    for row in rows:
        row |= {"a": places[row["name"]], "model": row["name"]}
    named = dict.fromkeys(row["series"] for row in rows)
    params = [
        *choice("of", "Shown", {of: of for of in tables}),
        *choice("one", series.capitalize(), every(list(named), "all")),
        *choice("order", "Sort", {k.strip("'"): v for k, v in _ORDERS.items()}),
        search("find", who.one.capitalize()),
    ]
    return {
        "params": params,
        "data": {"values": rows},
        "transform": [
            *([{"filter": "datum.of == of"}] if len(tables) > 1 else []),
            *chosen("series", "one", params),
            {"filter": containing("name", "find")},
            saying("name", "series", "e_", "l_", "u_"),
            {
                "joinaggregate": [{"op": "mean", "field": "e", "as": "m"}],
                "groupby": ["name"],
            },
            {
                "calculate": f"order == 'estimate' ? {'-' if descending else ''}datum.m : "
                "order == 'name' ? datum.a : datum.k",
                "as": "place",
            },
        ],
        "height": {"step": 15 * min(len(named), 3) + 8, "for": "position"},
        "usermeta": {"longest": {"row": _longest(places), "series": _longest(named)}},
        "layer": [
            *([] if centre is None else [line(centre)]),
            *_marks(who.one.capitalize(), list(named), axis),
        ],
    }


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _marks(name: str, series: list[str], axis: str) -> list[Spec]:
    y = {
        "field": "name",
        "type": "nominal",
        "title": None,
        "sort": {"field": "place", "op": "min"},
        "axis": {"grid": True, "domain": False, "ticks": False},
    }
    several = len(series) > 1
    colour = {
        "field": "series",
        "title": None,
        "scale": {"domain": series, "range": [COLOURS[k % 6] for k in range(len(series))]},
        "legend": {"orient": "top"},
    }
    scale = {"domain": series, "range": [_SHAPES[k % 6] for k in range(len(series))]}
    own: Spec = {"y": y}
    if several:
        own |= {"yOffset": {"field": "series", "sort": series}, "color": colour}
    x = {"field": "l", "type": "quantitative", "title": axis, "scale": {"zero": False}}
    shape = {"shape": {"field": "series", "title": None, "scale": scale}} if several else {}
    shown = {"name": name, **({"series": "Of"} if several else {})}
    shown |= {"e_": "Estimate", "l_": "From", "u_": "To"}
    return [
        {
            "mark": {"type": "rule", "aria": False, "strokeWidth": 2.5, "opacity": 0.8},
            "encoding": {**own, "x": x, "x2": {"field": "u"}},
        },
        {
            "params": [ZOOM],
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {**own, **shape, "x": {**x, "field": "e"}, "tooltip": hints(**shown)}
            | SAID,
        },
    ]


def _rows(of: str, table: pd.DataFrame, series: str, words: Mapping[str, str]) -> list[Spec]:
    known = table[np.isfinite(table["estimate"].to_numpy(dtype=float))]
    places = {str(one): k for k, one in enumerate(dict.fromkeys(known["model"].astype(str)))}
    return [
        {
            "name": str(row["model"]),
            "series": words.get(str(row.get(series, "")), str(row.get(series, ""))),
            "of": of,
            "k": places[str(row["model"])],
            "e": value(row["estimate"]),
            "l": value(row["lower"]),
            "u": value(row["upper"]),
        }
        for row in known.to_dict(orient="records")
    ]
