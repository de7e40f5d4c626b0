"""Finished runs, loaded from their folders with everything that a comparison needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from polbayes.config.schema import RunConfig
from polbayes.data.dataset import open_responses
from polbayes.data.provenance import file_digest
from polbayes.errors import UserError
from polbayes.run.manifest import Manifest, read_config

_NEEDED = ("code",)


@dataclass(frozen=True)
class FinishedRun:
    """A run finished at least to its coded answers."""

    label: str  # its folder's name, or as much of its path as tells it from the others
    folder: Path
    config: RunConfig
    responses: xr.Dataset
    posterior: xr.Dataset | None  # None without a fit of its own
    stages: Mapping[str, Mapping[str, Any]]


def check_finished(folders: Sequence[str]) -> dict[str, Path]:
    """Check that folders hold finished runs, and name them."""
    if len(folders) < 2:
        raise UserError(
            "runs: task=compare needs at least two finished runs, e.g. "
            "runs=[outputs/first,outputs/second]."
        )
    paths = [Path(folder).expanduser() for folder in folders]
    for path in paths:
        if not path.is_dir():
            raise UserError(f"runs: {path}: no such folder; name the folder of a finished run.")
        stages = Manifest(path).stages
        if "probe" not in stages:
            raise UserError(f"runs: {path} is not the folder of a run that was finished.")
        for stage in _NEEDED:
            if stage not in stages:
                raise UserError(
                    f"runs: {path} is not finished (stage {stage} was not done); run its own "
                    "command first."
                )
    resolved = [path.resolve() for path in paths]
    for path, one in zip(paths, resolved, strict=True):
        if resolved.count(one) > 1:
            raise UserError(f"runs: {path} is named twice; name each run once.")
    return dict(zip(_labels(resolved), paths, strict=True))


def _labels(folders: Sequence[Path]) -> list[str]:
    """Name folders by as many last parts of their paths as distinguish them."""
    for depth in range(1, max(len(folder.parts) for folder in folders)):
        names = ["/".join(folder.parts[-depth:]) for folder in folders]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]


def digests(folders: Mapping[str, Path]) -> dict[str, list[str]]:
    """Hash the results of each run; a comparison is redone when one has changed."""
    found = {}
    for label, folder in folders.items():
        files = [folder / "responses.nc"]
        files += [folder / "posterior.nc"] if "fit" in Manifest(folder).stages else []
        for file in files:
            if not file.is_file():
                raise UserError(f"{file}: no such file; run the command of {folder} again.")
        found[label] = [file_digest(file) for file in files]
    return found


def load_finished(label: str, folder: Path) -> FinishedRun:
    """Load a finished run."""
    from polbayes.fit.fit import load_posterior

    stages, posterior = Manifest(folder).stages, None
    if "fit" in stages:
        posterior = load_posterior(folder / "posterior.nc")
    if posterior is not None and "theta" not in posterior:
        raise UserError(
            f"runs: {folder} was analysed with a mixed model, which has no leanings to compare; "
            "fit it with analysis=ideology first."
        )
    return FinishedRun(
        label,
        folder,
        read_config(folder / ".hydra" / "config.yaml"),
        open_responses(folder),
        posterior,
        stages,
    )
