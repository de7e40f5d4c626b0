"""Panels that are abreast in a figure stand one below the other on narrow screens."""

import io
import re

import pytest
from matplotlib.figure import Figure

from polbayes.report.figures import style
from polbayes.report.figures.stacked import panels_abreast, stacked

HEIGHT = 1.5


def drawn(rows=1, columns=2, **how):
    figure = Figure(figsize=(8, HEIGHT * rows), layout="constrained")
    for axes in figure.subplots(rows, columns, squeeze=False, **how).flat:
        axes.plot([0, 1], [0, 1])
    figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize(("rows", "columns"), [(1, 2), (2, 2)])
def test_panels_abreast_are_found_in_their_order(rows, columns):
    boxes = panels_abreast(drawn(rows, columns))
    assert len(boxes) == rows * columns
    order = sorted(boxes, key=lambda box: (-round(box.y0), box.x0))
    assert [box.bounds for box in boxes] == [box.bounds for box in order]
    assert all(0 <= box.x0 < box.x1 <= 8 * 72 for box in boxes)
    assert all(0 <= box.y0 < box.y1 <= HEIGHT * rows * 72 for box in boxes)


def test_panels_that_share_names_or_stand_below_each_other_stay_as_they_are():
    assert panels_abreast(drawn(sharey=True)) == []
    assert panels_abreast(drawn(rows=2, sharex=True)) == []
    assert panels_abreast(drawn(rows=2, columns=1)) == []
    assert panels_abreast(drawn(columns=1)) == []


def test_what_would_take_more_than_a_screen_stays_as_it_is():
    assert panels_abreast(drawn(rows=4)) == []


def test_a_legend_or_a_warning_over_all_panels_keeps_them_together():
    warned, explained = drawn(), drawn()
    style.stamp(warned, "not to be used")
    explained.legend([explained.axes[0].lines[0]], ["line"])
    assert panels_abreast(warned) == panels_abreast(explained) == []


def test_overlapping_panels_stay_as_they_are():
    figure = drawn()
    figure.axes[1].set_position(figure.axes[0].get_position())
    assert panels_abreast(figure) == []


def test_every_panel_is_shown_below_the_one_before():
    figure, svg = drawn(rows=2), io.BytesIO()
    boxes = panels_abreast(figure)
    figure.savefig(svg, format="svg")
    found = stacked(svg.getvalue(), boxes).decode()
    views = re.findall(
        r'<svg y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" viewBox="([\d. ]+)"><use', found
    )
    assert len(views) == 4
    assert float(re.search(r'<svg [^>]*width="([\d.]+)pt"', found)[1]) < 8 * 72 / 2 + 20
    bottom = 0.0
    for (top, width, height, area), box in zip(views, boxes, strict=True):
        assert float(top) >= bottom
        bottom = float(top) + float(height)
        x, y, *size = map(float, area.split())
        assert size == [float(width), float(height)]
        assert (x, y) == pytest.approx((box.x0, 2 * HEIGHT * 72 - box.y1), abs=0.01)
    assert found.count("<metadata>") == 1  # the drawing itself is there once
