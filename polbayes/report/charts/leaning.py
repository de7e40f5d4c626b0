"""The models on two dimensions, on statements like those asked or on these."""

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

# With more models only those that are looked for get their name.
_MOST_NAMES = 12


def leaning_chart(estimands: Mapping[str, pd.DataFrame], pair: Sequence[Dimension]) -> Spec:
    """Draw every model as a point with a cross of intervals, for one estimand at a time.

    `estimands` are tables such as ``theta``, by what their estimates are about.
    """
    rows = [row for of, table in estimands.items() for row in _rows(of, table, pair)]
    ends = [abs(row[end]) for row in rows for end in ("x1", "x2", "y1", "y2") if row[end]]
    reach = value(1.1 * max(ends, default=0.5), 2)
    named = len({row["model"] for row in rows}) <= _MOST_NAMES
    found = containing("model", "find")
    params = [
        *choice("of", "Leaning", {of: of for of in estimands}),
        search("find", "Highlight a model"),
    ]
    x, y = (_axis(name, one, reach) for name, one in zip("xy", pair, strict=True))
    pale = {"condition": {"test": found, "value": 1}, "value": 0.15}
    named_ones = [] if named else [{"filter": f"find != '' && {found}"}]
    about = {f"{end}_": _hint(end, pair) for end in ("x", "x1", "x2", "y", "y1", "y2")}
    told = hints(model="Model", **about)
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
        "height": 440,
        "layer": [
            line(),
            line(along="y"),
            _interval({"x": {**x, "field": "x1"}, "x2": {"field": "x2"}, "y": y}, pale),
            _interval({"y": {**y, "field": "y1"}, "y2": {"field": "y2"}, "x": x}, pale),
            point,
            {
                "transform": named_ones,
                "mark": {"type": "text", "align": "left", "dx": 8, "dy": -8, "aria": False},
                "encoding": {"x": x, "y": y, "text": {"field": "model"}, "opacity": pale},
            },
        ],
    }


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
