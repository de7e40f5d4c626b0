"""The source of a run's answers: its response dataset, or its journals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from polbayes.data.dataset import CELL_DIMS
from polbayes.errors import UserError
from polbayes.probing.journal import DESIGN, cell_of, journal_path, read
from polbayes.probing.launch.merge import shard_paths

Place = tuple[int, int, int, int]


@dataclass(frozen=True)
class Source:
    """The answers of a run."""

    data: xr.Dataset  # the response dataset, or the design of a run under way; not in memory
    journal_dir: Path | None  # where answers are that the dataset lacks; None where it has them all

    def records(self, model: str) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        """Yield the answers in a model's journals in order, with their positions in the design."""
        assert self.journal_dir is not None
        labels = [
            {x: n for n, x in enumerate(self.data[dim].values.tolist())} for dim in CELL_DIMS[1:]
        ]
        path = journal_path(self.journal_dir, model)
        for one in (path, *shard_paths(path)):
            for record in read(one):
                if "cell" not in record:
                    continue
                cell = cell_of(record)
                if all(label in known for label, known in zip(cell, labels, strict=True)):
                    i, v, p, r = (known[x] for x, known in zip(cell, labels, strict=True))
                    yield (i, v, p, r), record


def open_source(folder: Path) -> Source:
    """Find the answers of a run."""
    design, finished = folder / DESIGN, folder / "responses.nc"
    path = design if design.is_file() else finished
    if not path.is_file():
        raise UserError(
            f"run_dir: {folder} holds no run that has asked anything; name the folder of one."
        )
    try:
        data = xr.open_dataset(path, engine="netcdf4")
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{path}: not a readable netCDF file ({error}).") from error
    missing = [dim for dim in CELL_DIMS if dim not in data.dims]
    if missing:
        data.close()
        raise UserError(f"{path}: not a response dataset (it has no dimension '{missing[0]}').")
    return Source(data, design.parent if path == design else None)
