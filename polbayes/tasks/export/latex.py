"""The tables of a report in LaTeX."""

from pathlib import Path

import pandas as pd

from polbayes.config.schema import RunConfig
from polbayes.data.files import write_text
from polbayes.data.spreadsheets import restored
from polbayes.data.tables import read_csv
from polbayes.errors import UserError, check_known

# Rows of a table that is written without being named.
_LONGEST = 100


def latex_table(table: pd.DataFrame, *, caption: str = "", label: str = "") -> str:
    r"""Return a table for ``\usepackage{booktabs}``, numbers to three significant digits."""
    numbers = table.select_dtypes("number").columns
    style = table.style.format(escape="latex").format(
        lambda x: "" if pd.isna(x) else f"{x:.3g}", subset=list(numbers)
    )
    style = style.format_index(escape="latex", axis=1).hide(axis="index")
    columns = "".join("r" if column in numbers else "l" for column in table.columns)
    return str(
        style.to_latex(
            column_format=columns, hrules=True, caption=caption or None, label=label or None
        )
    )


def write_latex(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write the tables of the report as ``latex/NAME.tex``."""
    tables = {path.stem: path for path in sorted((run / "report" / "tables").glob("*.csv"))}
    if not tables:
        raise UserError(f"{run}: has no tables of a report; run the stage report first.")
    wanted = config.export.tables
    check_known("table", *(wanted or ()), known=tables, where="export.tables")
    written = []
    for name in tables if wanted is None else wanted:
        try:
            table = read_csv(tables[name])
        except pd.errors.EmptyDataError:
            continue
        if wanted is None and len(table) > _LONGEST:
            continue
        for column in table.select_dtypes(exclude="number").columns:
            table[column] = [restored(x) if isinstance(x, str) else "" for x in table[column]]
        caption = name.replace("_", " ").capitalize()
        target = folder / "latex" / f"{name}.tex"
        write_text(target, latex_table(table, caption=caption, label=f"tab:{name}"))
        written.append(target)
    return written
