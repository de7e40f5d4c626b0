"""The report as files: page, figures and tables, written atomically."""

import io
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from polbayes.data.files import TEMPORARY
from polbayes.data.spreadsheets import defused_value
from polbayes.errors import UserError
from polbayes.report.answer import answer
from polbayes.report.blocks import Section
from polbayes.report.page import Front, front_of, pictures, render_page, sections
from polbayes.report.results import POSTERIOR, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

PAGE = "index.html"
NOT_TO_BE_USED = "not to be used: failed diagnostics"
_PIXELS_PER_INCH = 160
# The page embeds a PNG of a figure with more bytes, such as a heat map of thousands of cells.
_LARGEST_SVG = 150_000
_WIDEST_PIXELS, _MOST_PIXELS = 2000, 8_000_000
_COLOURS = 64


def write_report(results: Results, folder: Path) -> Path:
    """Write a report into its own folder, as ``index.html``, ``figures/`` and ``tables/``.

    An existing report is replaced in one step once the new one is complete; a folder with anything
    else is a `UserError`.
    """
    present, absent = sections(results)
    front = front_of(results, absent, answer=answer(results))
    return write_page(front, present, results.tables, folder)


def write_page(
    front: Front,
    present: Sequence[Section],
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    *,
    also: Callable[[Path], object] | None = None,
) -> Path:
    """Write a page with its figures and tables; see `write_report`.

    Tables are those of its sections and those given; `also` writes further files into the new
    folder.
    """
    target = Path(folder).resolve()
    _check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    built = _folder_beside(target)
    try:
        _build(front, present, tables, built)
        if also is not None:
            also(built)
        built.chmod(0o755)
        _swap_in(built, target)
    finally:
        shutil.rmtree(built, ignore_errors=True)
    return target / PAGE


def _folder_beside(target: Path) -> Path:
    begin, end = TEMPORARY
    return Path(tempfile.mkdtemp(prefix=begin, suffix=end, dir=target.parent))


def _check_replaceable(target: Path) -> None:
    if target.is_dir():
        if any(target.iterdir()) and not (target / PAGE).is_file():
            raise UserError(
                f"{target}: holds files but no {PAGE}, so it is not replaced by a report; "
                "give an empty or new folder."
            )
    elif target.exists():
        raise UserError(f"{target}: is a file; give the path of a folder for the report.")


def _build(
    front: Front, present: Sequence[Section], tables: Mapping[str, pd.DataFrame], folder: Path
) -> None:
    from polbayes.report.figures.stacked import stacked
    from polbayes.report.figures.style import stamp

    every = dict(tables)
    for section in present:
        every |= section.tables
    for name, table in every.items():
        marked = front.verdict if name in POSTERIOR else None
        _write_table(table, folder / "tables" / f"{name}.csv", verdict=marked)
    images, narrow = {}, {}
    for blocks in (front.answer, *(section.blocks for section in present)):
        for picture in pictures(blocks):
            if picture.posterior and front.verdict == "bad":
                stamp(picture.figure, NOT_TO_BE_USED)
            path = folder / "figures" / picture.name
            images[picture.name], abreast = _save(picture.figure, path)
            if abreast:
                narrow[picture.name] = stacked(images[picture.name], abreast)
    page = render_page(front, present, images, narrow)
    (folder / PAGE).write_text(page, encoding="utf-8")


def _write_table(table: pd.DataFrame, path: Path, *, verdict: str | None) -> None:
    """Write one CSV; estimates carry the verdict, so that it stays with them."""
    safe = table.copy()
    for column in safe.columns:
        if not is_numeric_dtype(safe[column]):
            safe[column] = _defused(safe[column])
    if verdict is not None:
        safe["verdict"] = verdict
    path.parent.mkdir(exist_ok=True)
    # A lone surrogate, which a completion may contain, cannot be encoded.
    safe.to_csv(path, index=False, encoding="utf-8", errors="backslashreplace")


def _defused(column: "pd.Series[Any]") -> list[Any]:
    """Defuse the texts of a column, each of them once."""
    known: dict[str, Any] = {}
    out = []
    for value in column:
        if isinstance(value, str):
            if value not in known:
                known[value] = defused_value(value)
            value = known[value]
        out.append(value)
    return out


def _save(figure: "Figure", path: Path) -> tuple[bytes, list["Bbox"]]:
    """Save a figure as PNG and SVG, always with the same bytes.

    Returned are that for the page, and the panels that it may stack if that is the SVG.
    """
    from polbayes.report.figures.stacked import panels_abreast
    from polbayes.report.figures.style import neutral_style

    path.parent.mkdir(exist_ok=True)
    svg = io.BytesIO()
    with neutral_style():
        _lay_out(figure)
        png = _pixels(figure, _PIXELS_PER_INCH)
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        path.with_name(f"{path.name}.png").write_bytes(png.getvalue())
        path.with_name(f"{path.name}.svg").write_bytes(svg.getvalue())
        if len(svg.getvalue()) <= _LARGEST_SVG:
            return svg.getvalue(), panels_abreast(figure)
        width, height = figure.get_size_inches()
        dots = min(_WIDEST_PIXELS / width, math.sqrt(_MOST_PIXELS / (width * height)))
        return _in_few_colours(png if dots >= _PIXELS_PER_INCH else _pixels(figure, dots)), []


def _lay_out(figure: "Figure") -> None:
    """Lay out a figure for good: with a layout engine matplotlib draws twice for every file."""
    if engine := figure.get_layout_engine():
        own = figure.dpi
        figure.set_dpi(_PIXELS_PER_INCH)
        engine.execute(figure)
        figure.set_dpi(own)
        figure.set_layout_engine(None)


def _pixels(figure: "Figure", dots: float) -> io.BytesIO:
    """Draw a PNG with so many dots per inch."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=dots, metadata={"Software": None})
    return png


def _in_few_colours(png: io.BytesIO) -> bytes:
    """Return a PNG with a palette, a quarter of the size."""
    from PIL import Image

    few = io.BytesIO()
    Image.open(png).convert("RGB").quantize(_COLOURS).save(few, "PNG", optimize=True)
    return few.getvalue()


def _swap_in(built: Path, target: Path) -> None:
    """Replace `target` by `built`; at every moment one of them is complete on disk."""
    if not target.exists():
        os.rename(built, target)
        return
    old = _folder_beside(target)
    try:
        os.rename(target, old / "report")
        try:
            os.rename(built, target)
        except OSError:
            os.rename(old / "report", target)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
