"""Where the names of points are written, so that they cover little."""

from collections.abc import Iterator, Sequence

import numpy as np

# A box: left, lower, right and upper end.
Box = tuple[float, float, float, float]
# Half of the side of a point's box.
_POINT = 6.0


def place_names(
    points: np.ndarray,
    sizes: Sequence[tuple[float, float]],
    side: tuple[float, float],
    *,
    lines: Sequence[Box] = (),
    taken: Sequence[Box] = (),
) -> list[Box]:
    """Find a box near each point for its name, the earlier points first.

    Parameters
    ----------
    points
        Dimensions ``(point, 2)``, from the lower left corner of the figure.
    sizes
        Width and height of each name, in the unit of `points`.
    side
        Width and height of the figure.
    lines
        Boxes that a name may cover in part, such as intervals.
    taken
        Boxes that no name may cover, such as other texts.
    """
    covered = [(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points]
    covered += taken
    out: list[Box] = []
    for point, size in zip(points, sizes, strict=True):
        costs = {box: _cost(box, point, covered, lines, side) for box in _near(point, size)}
        out.append(min(costs, key=lambda box: costs[box]))
        covered.append(out[-1])
    return out


def cross(point: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[Box]:
    """Return the boxes of a point's two intervals."""
    (x, y), (left, bottom), (right, top) = point, low, high
    return [(left, y - 1, right, y + 1), (x - 1, bottom, x + 1, top)]


def distance(box: Box, point: np.ndarray) -> float:
    """Return how far a box is from a point."""
    x = max(box[0] - point[0], point[0] - box[2], 0.0)
    return float(np.hypot(x, max(box[1] - point[1], point[1] - box[3], 0.0)))


def _near(point: np.ndarray, size: tuple[float, float]) -> Iterator[Box]:
    width, height = size
    for gap in (7, 14, 24, 36, 50):
        for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0)):
            left = point[0] + gap * dx - width * (1 - dx) / 2
            low = point[1] + gap * dy - height * (1 - dy) / 2
            yield left, low, left + width, low + height


def _cost(
    box: Box,
    point: np.ndarray,
    covered: Sequence[Box],
    lines: Sequence[Box],
    side: tuple[float, float],
) -> float:
    # A covered name or point is lost; a covered line remains partly visible.
    lost = sum(20 * _overlap(box, other) for other in covered)
    lost += sum(_overlap(box, other) for other in lines)
    beyond = max(0.0, -box[0], -box[1], box[2] - side[0], box[3] - side[1])
    return lost + 1000 * beyond + distance(box, point)


def _overlap(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0)
