"""Panels that are abreast in a figure, one below the other on narrow screens."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

_POINTS = 72.0
_GAP = 6.0
# The text of an SVG is as wide as its glyphs, and those of a PNG are a little narrower.
_MARGIN = 3.0
# Largest height in widths: with more, a section would take more than a screen.
_TALLEST = 1.75


def panels_abreast(figure: "Figure") -> list["Bbox"]:
    """Return the boxes of a figure's panels in points, from its lower left corner.

    There are none unless some are abreast, all can stand alone (with their own numbers and names,
    without a legend or a title of the whole, and without overlaps), and one below the other they
    fit a narrow screen.
    """
    from matplotlib.transforms import Bbox

    if figure.legends or figure.texts or len(figure.axes) < 2:
        return []
    if not all(_labelled(axes) for axes in figure.axes):
        return []
    whole = figure.bbox
    found = []
    for axes in figure.axes:
        box = axes.get_tightbbox()
        inside = None if box is None else Bbox.intersection(box, whole)
        if inside is None:
            return []
        found.append(Bbox(inside.get_points() * _POINTS / figure.dpi))
    pairs = [(a, b) for k, a in enumerate(found) for b in found[:k]]
    if any(a.overlaps(b) for a, b in pairs):
        return []
    abreast = any(a.y0 < b.y1 and b.y0 < a.y1 for a, b in pairs)
    height = sum(box.height + _GAP for box in found)
    fits = height <= _TALLEST * max(box.width for box in found)
    return [box.padded(_MARGIN, 0) for box in found] if abreast and fits else []


def _labelled(axes: "Axes") -> bool:
    return all(
        any(tick.get_visible() and tick.get_text() for tick in ticks)
        for ticks in (axes.get_xticklabels(), axes.get_yticklabels())
    )


def stacked(svg: bytes, boxes: list["Bbox"]) -> bytes:
    """Draw an SVG of which each box, in points from the lower left corner, is below the last."""
    found = re.search(rb'<svg\b[^>]*viewBox="0 0 ([0-9.]+) ([0-9.]+)"[^>]*>', svg)
    assert found is not None
    # Its own size is in points, which would be wider than a unit here.
    own = re.sub(rb'(width|height)="([0-9.]+)pt"', rb'\1="\2"', found[0])
    height, below, views = float(found[2]), 0.0, []
    for box in boxes:
        area = f"{box.x0:.2f} {height - box.y1:.2f} {box.width:.2f} {box.height:.2f}"
        place = f'y="{below:.2f}" width="{box.width:.2f}" height="{box.height:.2f}"'
        views.append(f'<svg {place} viewBox="{area}"><use href="#whole"/></svg>')
        below += box.height + _GAP
    width = max(box.width for box in boxes)
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.2f}pt" height="{below:.2f}pt" '
        f'viewBox="0 0 {width:.2f} {below:.2f}"><defs><g id="whole">'
    )
    end = f"</g></defs>{''.join(views)}</svg>"
    return begin.encode() + own + svg[found.end() :].rstrip() + end.encode()
