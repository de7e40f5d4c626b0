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
        A folder, or the name of a model on the hub; for an adapter, of its base model.
    local
        Whether it is a folder.
    revision
        Of the hub; None for the default branch.
    remote_code
        Whether the checkpoint's own code may run.
    gguf
        The file of the folder that holds everything, if it is a GGUF file; else empty.
    adapter
        The folder of the adapter that goes on top; else empty.
    """

    where: str
    location: str
    local: bool
    revision: str | None
    remote_code: bool
    gguf: str = ""
    adapter: str = ""

    @property
    def name(self) -> str:
        """What the checkpoint is called in an error."""
        if self.adapter:
            return f"{self.location}' with the adapter '{self.adapter}"
        return f"{self.location}/{self.gguf}" if self.gguf else self.location

    @property
    def arguments(self) -> dict[str, Any]:
        """What every ``from_pretrained`` is given."""
        one_file = {"gguf_file": self.gguf} if self.gguf else {}
        return {
            "revision": None if self.local else self.revision,
            "trust_remote_code": self.remote_code,
            "local_files_only": self.local,
            **one_file,
        }
