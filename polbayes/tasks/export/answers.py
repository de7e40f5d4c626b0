"""Answers as a tidy table: one row for each, one column for each thing known of it."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import xarray as xr

from polbayes.config.schema import RunConfig
from polbayes.data import tables
from polbayes.data.dataset import CELL_DIMS, to_frame
from polbayes.data.files import replacing
from polbayes.data.out_of_core import portions
from polbayes.errors import UserError

# Cells in memory at a time.
_PORTION = 500_000
# Variables that have several values for each answer, which get a column for each.
_SEVERAL = {"option_prob": "option", "stance_prob": "stance_class"}


def tidy(data: xr.Dataset) -> pd.DataFrame:
    """Return answers with their coordinates, codes as words, ``option_prob[yes]`` and the like."""
    spread = {
        f"{name}[{label}]": data[name].sel({dim: label}, drop=True)
        for name, dim in _SEVERAL.items()
        if name in data
        for label in data[dim].values
    }
    flat = data.drop_vars([name for name in _SEVERAL if name in data]).assign(spread)
    frame = to_frame(flat, labels=True)
    return frame.drop(columns=[c for c in _of_no_cell(flat) if c in frame])


def _of_no_cell(data: xr.Dataset) -> list[str]:
    return [str(name) for name, x in data.coords.items() if not {*x.dims} & {*CELL_DIMS}]


def _frames(run: Path) -> Iterator[pd.DataFrame]:
    if (run / "transcripts.nc").is_file():
        raise UserError(
            "export.formats: csv and parquet are of answers; those of a role play are with their "
            f"ratings in {run / 'report' / 'tables' / 'transcripts.csv'}, and transcripts.nc."
        )
    return map(tidy, portions(run, cells=_PORTION))


def write_csv(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write ``answers.csv``, in which texts that a spreadsheet would compute are defused."""
    path = folder / "answers.csv"
    tables.write_csv(path, _frames(run))
    return [path]


def write_parquet(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write ``answers.parquet``, with every text as it was received."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "answers.parquet"
    with replacing(path) as temporary:
        writer = None
        for frame in _frames(run):
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if writer is None:
                writer = pq.ParquetWriter(temporary, table.schema)
            writer.write_table(table.cast(writer.schema))
        if writer is not None:
            writer.close()
    return [path]
