"""What the charts share: fields to filter by, colours, marks and hints."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polbayes.report.visible import visible

# A Vega-Lite specification, or a part of one.
Spec = dict[str, Any]

# Okabe and Ito's colours that can be told apart on white and on black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Purple is left and orange right, brown is disagreeing and green agreeing.
LEFT_RIGHT = ("#542788", "#998ec3", "#f7f7f7", "#f1a340", "#b35806")
DISAGREE_AGREE = ("#8c510a", "#d8b365", "#f5f5f5", "#5ab4ac", "#01665e")
# The two estimands, as the reader chooses between them.
LIKE_THESE, THESE = "on statements like these", "on these statements"
ZOOM: Spec = {
    "name": "zoom",
    "bind": "scales",
    "select": {"type": "interval", "encodings": ["x"], "zoom": "wheel![event.shiftKey]"},
}


def search(name: str, label: str) -> Spec:
    """Make a field to type a part of a name into."""
    return {"name": name, "value": "", "bind": {"input": "search", "name": f"{label} "}}


def choice(name: str, label: str, options: Mapping[Any, str]) -> list[Spec]:
    """Make a list to choose from, the first option being chosen; none for a single option."""
    if len(options) < 2:
        return []
    shown = {"input": "select", "options": list(options), "labels": list(options.values())}
    return [{"name": name, "value": next(iter(options)), "bind": {**shown, "name": f"{label} "}}]


def every(values: Sequence[str], all_of_them: str) -> dict[str | None, str]:
    """Offer all values together before each of them; nothing where there is but one."""
    each: dict[str | None, str] = {value: value for value in dict.fromkeys(values)}
    return {None: all_of_them, **each} if len(each) > 1 else {}


def containing(field: str, name: str) -> str:
    """Write the condition that a field contains what was typed."""
    return f"indexof(lower(datum.{field}), lower({name})) >= 0"


def chosen(field: str, name: str, params: Sequence[Spec]) -> list[Spec]:
    """Keep the rows of what was chosen, all of them where that is all."""
    if not any(param["name"] == name for param in params):
        return []
    return [{"filter": f"{name} == null || datum.{field} == {name}"}]


def hints(**titles: str) -> list[Spec]:
    """Show fields under a title on hovering; numbers with two decimals."""
    return [
        {"field": field.rstrip("_"), "title": title}
        | ({"type": "quantitative", "format": ".2f"} if field.endswith("_") else {})
        for field, title in titles.items()
    ]


SAID = {"description": {"field": "said", "type": "nominal"}}


def saying(*fields: str) -> Spec:
    """Say a mark's values to a screen reader; numbers, with an underscore, with two decimals."""
    said = (
        f"format(datum.{field[:-1]}, '.2f')" if field.endswith("_") else f"datum.{field}"
        for field in fields
    )
    return {"calculate": " + ', ' + ".join(said), "as": "said"}


def diverging(colours: Sequence[str], bound: float) -> Spec:
    """Spread five colours over a scale with 0 in its middle."""
    domain = [-bound, -bound / 2, 0, bound / 2, bound]
    return {"domain": domain, "range": list(colours), "clamp": True}


def line(at: float = 0, along: str = "x") -> Spec:
    """Draw a line at a value, such as the centre."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "aria": False, "color": "#808080", "strokeWidth": 1},
        "encoding": {along: {"datum": at}},
    }


def sides(low: str, high: str) -> str:
    """Say which end of an axis is which."""
    return f"← {low}\u2003\u2003{high} →"


def value(number: Any, digits: int = 3) -> float | None:
    """Round a number for the page; a missing one has no value."""
    return round(float(number), digits) if np.isfinite(number) else None


def packed(chart: Mapping[str, Any]) -> Spec:
    """Write a chart's rows by column and each text once; `charts.js` makes rows of it again."""
    rows: list[Spec] = chart["data"]["values"]
    fields = dict.fromkeys(field for row in rows for field in row)
    columns = {field: [row.get(field) for row in rows] for field in fields}
    texts = {field: c for field, c in columns.items() if any(isinstance(v, str) for v in c)}
    numbers = {field: column for field, column in columns.items() if field not in texts}
    data = {
        "count": len(rows),
        "numbers": numbers,
        "texts": {field: _coded(column) for field, column in texts.items()},
    }
    return {**chart, "data": data}


def _coded(column: Sequence[Any]) -> Spec:
    places = {text: k for k, text in enumerate(dict.fromkeys(column))}
    return {"texts": list(places), "at": [places[text] for text in column]}


def clean(spec: Any) -> Any:
    """Make every text of a specification visible, names of fields included."""
    if isinstance(spec, Mapping):
        return {visible(key): clean(inner) for key, inner in spec.items()}
    if isinstance(spec, list | tuple):
        return [clean(inner) for inner in spec]
    return visible(spec) if isinstance(spec, str) else spec
