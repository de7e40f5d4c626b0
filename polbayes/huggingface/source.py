"""The location of a checkpoint."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """The location of a checkpoint."""

    where: str  # the key of the config that declares it, for errors
    location: str  # folder, or name of a model on the hub; for an adapter, of its base model
    local: bool  # whether it is a folder
    revision: str | None  # of the hub; None for the default branch
    remote_code: bool  # whether the checkpoint's own code may run
    gguf: str = ""  # the file of the folder that holds everything, if it is a GGUF file; else empty
    adapter: str = ""  # the folder of the adapter that goes on top; else empty

    @property
    def name(self) -> str:
        """Its name in errors."""
        if self.adapter:
            return f"{self.location}' with the adapter '{self.adapter}"
        return f"{self.location}/{self.gguf}" if self.gguf else self.location

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of every ``from_pretrained``."""
        one_file = {"gguf_file": self.gguf} if self.gguf else {}
        return {
            "revision": None if self.local else self.revision,
            "trust_remote_code": self.remote_code,
            "local_files_only": self.local,
            **one_file,
        }
