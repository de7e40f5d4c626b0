"""The report as files: page, figures and tables, written atomically."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from polbayes.data.files import TEMPORARY
from polbayes.data.tables import write_csv
from polbayes.errors import UserError
from polbayes.report.answer import answer
from polbayes.report.blocks import Section, pictures
from polbayes.report.drawn import Drawings
from polbayes.report.page import Front, front_of, render_page, sections
from polbayes.report.results import POSTERIOR, Results

PAGE = "index.html"


def write_report(results: Results, folder: Path) -> Path:
    """Write a report into its own folder, as ``index.html``, ``figures/`` and ``tables/``.

    An existing report is replaced in one step once the new one is complete; a folder with anything
    else is a `UserError`.
    """
    with Drawings(usable=results.verdict != "bad") as drawings:
        present, absent = sections(results, lambda section: drawings.begin(section.blocks))
        front = front_of(results, absent, answer=answer(results))
        return write_page(front, present, results.tables, folder, drawings=drawings)


def write_page(
    front: Front,
    present: Sequence[Section],
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    *,
    also: Callable[[Path], object] | None = None,
    drawings: Drawings | None = None,
) -> Path:
    """Write a page with its figures and tables; see `write_report`.

    Tables are those of its sections and those given; `also` writes further files into the new
    folder; `drawings` has what was begun before.
    """
    if drawings is None:
        with Drawings(usable=front.verdict != "bad") as begun:
            return write_page(front, present, tables, folder, also=also, drawings=begun)
    target = Path(folder).resolve()
    _check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    built = _folder_beside(target)
    try:
        _build(front, present, tables, built, drawings)
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
    front: Front,
    present: Sequence[Section],
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    drawings: Drawings,
) -> None:
    parts = (front.answer, *(section.blocks for section in present))
    for blocks in parts:
        drawings.begin(blocks)
    every = dict(tables)
    for section in present:
        every |= section.tables
    for name, table in every.items():
        marked = front.verdict if name in POSTERIOR else None
        _write_table(table, folder / "tables" / f"{name}.csv", verdict=marked)
    figures, images, narrow = folder / "figures", {}, {}
    for picture in (picture for blocks in parts for picture in pictures(blocks)):
        one = drawings.drawn(picture)
        figures.mkdir(exist_ok=True)
        (figures / f"{picture.name}.png").write_bytes(one.png)
        (figures / f"{picture.name}.svg").write_bytes(one.svg)
        images[picture.name] = one.page
        if one.narrow is not None:
            narrow[picture.name] = one.narrow
    page = render_page(front, present, images, narrow)
    (folder / PAGE).write_text(page, encoding="utf-8")


def _write_table(table: pd.DataFrame, path: Path, *, verdict: str | None) -> None:
    """Write one CSV; estimates carry the verdict, so that it stays with them."""
    path.parent.mkdir(exist_ok=True)
    write_csv(path, table if verdict is None else table.assign(verdict=verdict))


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
