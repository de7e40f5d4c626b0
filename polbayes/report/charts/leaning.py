"""The respondents on two dimensions, on statements like those asked or on these."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from polbayes.instrument.dimensions import Dimension
from polbayes.report.charts.parts import (
    SAID,
    ZOOM,
    Spec,
    choice,
    containing,
    hints,
    line,
    saying,
    search,
    sides,
    value,
)
from polbayes.report.figures.leaning_map import placed
from polbayes.report.figures.names import cross, place_names
from polbayes.report.prose import MODEL, Noun

# With more models only those that are looked for get their name.
_MOST_NAMES = 12
# The size of the map in pixels on a page of full width.
_WIDTH, _HEIGHT = 860, 440
_NAME: Spec = {"type": "text", "aria": False, "align": "left", "baseline": "bottom"}
_NAME |= {"dx": {"expr": "datum.dx"}, "dy": {"expr": "datum.dy"}}


def leaning_chart(
    estimands: Mapping[str, pd.DataFrame], pair: Sequence[Dimension], who: Noun = MODEL
) -> Spec:
    """Draw every respondent as a point with a cross of intervals, for one estimand at a time.

    `estimands` are tables such as ``theta``, by what their estimates are about.
    """
    rows = [row for of, table in estimands.items() for row in _rows(of, table, pair)]
    ends = [abs(row[end]) for row in rows for end in ("x1", "x2", "y1", "y2") if row[end]]
    reach = value(1.1 * max(ends, default=0.5), 2)
    named = len({row["model"] for row in rows}) <= _MOST_NAMES
    if named:
        _place(rows, reach or 1)
    found = containing("model", "find")
    params = [
        *choice("of", "Leaning", {of: of for of in estimands}),
        search("find", f"Highlight {who.a}"),
    ]
    x, y = (_axis(name, one, reach) for name, one in zip("xy", pair, strict=True))
    pale = {"condition": {"test": found, "value": 1}, "value": 0.15}
    named_ones = [] if named else [{"filter": f"find != '' && {found}"}]
    about = {f"{end}_": _hint(end, pair) for end in ("x", "x1", "x2", "y", "y1", "y2")}
    told = hints(model=who.one.capitalize(), **about)
    point = {
        "params": [{**ZOOM, "select": {**ZOOM["select"], "encodings": ["x", "y"]}}],
        "mark": {"type": "point", "filled": True, "size": 90},
        "encoding": {"x": x, "y": y, "opacity": pale, "tooltip": told, **SAID},
    }
    return {
        "params": params,
        "data": {"values": rows},
        "transform": [
            *([{"filter": "datum.of == of"}] if len(estimands) > 1 else []),
            saying("model", "x_", "y_"),
        ],
        "height": _HEIGHT,
        "layer": [
            line(),
            line(along="y"),
            _interval({"x": {**x, "field": "x1"}, "x2": {"field": "x2"}, "y": y}, pale),
            _interval({"y": {**y, "field": "y1"}, "y2": {"field": "y2"}, "x": x}, pale),
            point,
            {
                "transform": named_ones,
                "mark": _NAME if named else {**_NAME, "dx": 8, "dy": -8},
                "encoding": {"x": x, "y": y, "text": {"field": "model"}, "opacity": pale},
            },
        ],
    }


def _place(rows: Sequence[Spec], reach: float) -> None:
    """Add how far each name is from its point, for each estimand on its own."""
    size = np.array([_WIDTH, _HEIGHT])
    for of in dict.fromkeys(row["of"] for row in rows):
        own = [row for row in rows if row["of"] == of]
        points, low, high = (
            size / 2 * (1 + np.nan_to_num(np.array(_at(own, end), dtype=float)) / reach)
            for end in ("", "1", "2")
        )
        lines = [box for k in range(len(own)) for box in cross(points[k], low[k], high[k])]
        sizes = [(6.6 * len(row["model"]), 14.0) for row in own]
        boxes = place_names(points, sizes, (_WIDTH, _HEIGHT), lines=lines)
        for row, point, box in zip(own, points, boxes, strict=True):
            row |= {"dx": round(box[0] - point[0]), "dy": round(point[1] - box[1])}


def _at(rows: Sequence[Spec], end: str) -> list[list[float | None]]:
    return [[row[f"{d}{end}"] for d in "xy"] for row in rows]


def _interval(encoding: Spec, pale: Spec) -> Spec:
    mark = {"type": "rule", "aria": False, "strokeWidth": 2, "strokeOpacity": 0.55}
    return {"mark": mark, "encoding": {**encoding, "opacity": pale}}


def _axis(field: str, dimension: Dimension, reach: float | None) -> Spec:
    negative, positive = dimension.poles
    return {
        "field": field,
        "type": "quantitative",
        "title": sides(negative, positive),
        "scale": {"domain": [-(reach or 1), reach or 1], "nice": False},
    }


def _hint(end: str, pair: Sequence[Dimension]) -> str:
    words = {"": "", "1": ", from", "2": ", to"}
    return f"{pair['xy'.index(end[0])].label}{words[end[1:]]}"


def _rows(of: str, table: pd.DataFrame, pair: Sequence[Dimension]) -> list[Spec]:
    wide = placed(table, pair)
    ends = {"": "estimate", "1": "lower", "2": "upper"}
    return [
        {"model": str(model), "of": of}
        | {f"{d}{end}": value(row[(column, d)]) for d in "xy" for end, column in ends.items()}
        for model, row in wide.iterrows()
        if np.isfinite(row[("estimate", "x")])
    ]
