"""The notebooks of the documentation: executed, clean, and still running."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[dict]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


@each
def test_every_cell_was_executed_and_none_failed(path):
    assert all(cell["execution_count"] for cell in cells(path))
    outputs = [output for cell in cells(path) for output in cell["outputs"]]
    assert outputs
    assert not [one for one in outputs if one["output_type"] == "error"]
    assert not [one for one in outputs if one.get("name") == "stderr"]


@each
def test_figures_are_pictures_and_paths_are_relative(path):
    plots = [cell for cell in cells(path) if "run.plot." in "".join(cell["source"])]
    for cell in plots:
        assert any("image/png" in output.get("data", {}) for output in cell["outputs"])
    text = path.read_text(encoding="utf-8")
    assert not any(part in text for part in ("/tmp/", "/home/", "/root/", "site-packages"))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    "names", [["first_run", "gallery"], ["own_models"], ["collected_elsewhere"]]
)
def test_they_run(names, tmp_path):
    for name in names:
        code = "\n".join("".join(cell["source"]) for cell in cells(FOLDER / f"{name}.ipynb"))
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
