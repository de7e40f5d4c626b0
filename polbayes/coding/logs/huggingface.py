"""Data sets of the Hugging Face hub, or folders that its ``datasets`` package reads."""

from pathlib import Path
from typing import Any

import pandas as pd

from polbayes.coding.logs.reader import Reader, as_table
from polbayes.config.schema import ImportConfig
from polbayes.data.tables import read_table
from polbayes.errors import UserError, check_known, reason
from polbayes.huggingface.hub import quiet_datasets

_SAVED = ("dataset_info.json", "dataset_dict.json", "state.json")


def read(path: Path, config: ImportConfig) -> pd.DataFrame:
    """Read one split; a column that is a mapping becomes one for each of its keys, ``a.b``."""
    if path.is_file():
        return read_table(path)
    try:
        import datasets
    except ImportError as error:
        raise UserError(
            "imported.format: huggingface needs datasets; install it with pip install "
            "'polbayes[datasets]'."
        ) from error
    quiet_datasets(datasets)
    try:
        split = _split(datasets, path, config).flatten()
    except UserError:
        raise
    except Exception as error:  # what a builder or the network raises
        raise UserError(
            f"imported.path: '{path}' cannot be loaded ({reason(error)[:300]})."
        ) from error
    return as_table(split.to_list(), path)


def _split(datasets: Any, path: Path, config: ImportConfig) -> Any:
    if not any((path / name).is_file() for name in _SAVED):
        return datasets.load_dataset(
            str(path), config.subset, split=config.split, revision=config.revision
        )
    saved = datasets.load_from_disk(str(path))
    if not isinstance(saved, datasets.DatasetDict):
        return saved
    check_known("split", config.split, known=saved, where="imported.split")
    return saved[config.split]


def _files(path: str, base: Path | None) -> list[Path]:
    """Return the file or folder at a path, or the name on the hub where there is neither."""
    local = (base or Path.cwd()) / Path(path).expanduser()
    return [local if local.exists() else Path(path)]


READER = Reader(_files, read)
