"""The tables of a report for papers: in LaTeX, and in HTML for word processors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from polbayes.config.schema import RunConfig
from polbayes.data.files import write_text
from polbayes.data.tables import read_csv
from polbayes.errors import UserError, check_known

# Rows of a table that is written without being named.
_LONGEST = 100

# Rules above and below, and numbers aligned to the right.
_RULES: Any = [
    {"selector": "", "props": "border-collapse: collapse; border-top: 1.5pt solid; "
     "border-bottom: 1.5pt solid; font-family: serif"},
    {"selector": "thead th", "props": "border-bottom: 0.75pt solid; text-align: left"},
    {"selector": "th, td", "props": "padding: 2pt 6pt"},
    {"selector": "caption", "props": "text-align: left"},
]  # fmt: skip


def latex_table(table: pd.DataFrame, *, caption: str = "", label: str = "") -> str:
    r"""Return a table for ``\usepackage{booktabs}``, numbers to three significant digits."""
    numbers = table.select_dtypes("number").columns
    style = _formatted(table, "latex")
    columns = "".join("r" if column in numbers else "l" for column in table.columns)
    return str(
        style.to_latex(
            column_format=columns, hrules=True, caption=caption or None, label=label or None
        )
    )


def html_table(table: pd.DataFrame, *, caption: str = "") -> str:
    """Return a page with the table alone, numbers to three significant digits."""
    from markupsafe import escape

    numbers = list(table.select_dtypes("number").columns)
    style = _formatted(table, "html").set_table_styles(_RULES)
    style = style.set_properties(subset=numbers, **{"text-align": "right"})
    style = style.set_caption(str(escape(caption))) if caption else style
    return str(style.to_html(doctype_html=True, table_uuid="table"))


def _formatted(table: pd.DataFrame, escape: str) -> Any:
    numbers = table.select_dtypes("number").columns
    style = table.style.format(escape=escape).format(
        lambda x: "" if pd.isna(x) else f"{x:.3g}", subset=list(numbers)
    )
    return style.format_index(escape=escape, axis=1).hide(axis="index")


def write_latex(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write the tables of the report as ``latex/NAME.tex``."""
    written = []
    for name, caption, table in _tables(config, run):
        written.append(folder / "latex" / f"{name}.tex")
        write_text(written[-1], latex_table(table, caption=caption, label=f"tab:{name}"))
    return written


def write_html(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write the tables of the report as ``html/NAME.html``."""
    written = []
    for name, caption, table in _tables(config, run):
        written.append(folder / "html" / f"{name}.html")
        write_text(written[-1], html_table(table, caption=caption))
    return written


def _tables(config: RunConfig, run: Path) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the wanted tables of the report, or those that are not too long, with captions."""
    tables = {path.stem: path for path in sorted((run / "report" / "tables").glob("*.csv"))}
    if not tables:
        raise UserError(f"{run}: has no tables of a report; run the stage report first.")
    wanted = config.export.tables
    check_known("table", *(wanted or ()), known=tables, where="export.tables")
    for name in tables if wanted is None else wanted:
        try:
            table = read_csv(tables[name])
        except pd.errors.EmptyDataError:
            continue
        if wanted is None and len(table) > _LONGEST:
            continue
        text = table.select_dtypes(exclude="number").columns
        yield name, name.replace("_", " ").capitalize(), table.fillna(dict.fromkeys(text, ""))
