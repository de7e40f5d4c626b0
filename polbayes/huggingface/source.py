"""Where a checkpoint is."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """Where a checkpoint is.

    Parameters
    ----------
    where
        The key of the config that declares it, for errors.
    location
        A folder, or the name of a model on the hub.
    local
        Whether it is a folder.
    revision
        Of the hub; None for the default branch.
    remote_code
        Whether the checkpoint's own code may run.
    """

    where: str
    location: str
    local: bool
    revision: str | None
    remote_code: bool

    @property
    def arguments(self) -> dict[str, Any]:
        """What every ``from_pretrained`` is given."""
        return {
            "revision": None if self.local else self.revision,
            "trust_remote_code": self.remote_code,
            "local_files_only": self.local,
        }
