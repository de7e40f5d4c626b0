"""Running R scripts, whose numbers are compared with."""

import shutil
import subprocess
from pathlib import Path

import pytest


def run_r(package: str, script: Path, *paths: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    asked = subprocess.run(
        ["Rscript", "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"],
        capture_output=True,
        check=False,
    )
    if asked.returncode:
        pytest.skip(f"the R package {package} is not installed")
    command = ["Rscript", str(script), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
