"""The user's own folder of configs as a source of Hydra's search path."""

import os
from pathlib import Path

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult

from polbayes.config.resources import check_size

# Values that a config may have when its aliases are written out.
_MOST_VALUES = 100_000


class _OwnSource(FileConfigSource):
    """Files, refused if they have more values than OmegaConf can handle."""

    @staticmethod
    def scheme() -> str:
        return "own"

    def load_config(self, config_path: str) -> ConfigResult:
        path = Path(os.path.join(self.path, self._normalize_file_name(config_path)))
        check_size(path, _MOST_VALUES)
        return super().load_config(config_path)


def search_path(folder: Path) -> str:
    """Return a folder's entry in Hydra's search path."""
    Plugins.instance().register(_OwnSource)
    return f"{_OwnSource.scheme()}://{folder}"
