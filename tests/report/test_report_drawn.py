"""Figures drawn by processes beside the one that makes the page."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from polbayes.errors import UserError
from polbayes.report import write_report
from polbayes.report.blocks import Picture
from polbayes.report.drawn import _FEWEST, PROCESSES, Drawings, _smaller, drawn
from polbayes.report.figures.style import drawing


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESSES, "2")


def picture(name: str, **about: Any) -> Picture:
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.plot([0, len(name)])
    # A local function, as formatters are, cannot be sent to a process in the usual way.
    axes.xaxis.set_major_formatter(lambda value, _: f"{name} {value:g}")
    return Picture(name, "Caption.", "Text.", figure, posterior=True, **about)


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_report_is_the_same_from_one_process_and_from_two(
    make_results: Any, tmp_path: Path, two_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    elsewhere = Drawings._elsewhere

    def noted(self: Drawings, figure: Figure) -> Any:
        asked.append(elsewhere(self, figure))
        return asked[-1]

    monkeypatch.setattr(Drawings, "_elsewhere", noted)
    several = files(write_report(make_results(), tmp_path / "several").parent)
    assert len(asked) == sum(name.endswith(".svg") for name in several) > _FEWEST
    assert None not in asked
    asked.clear()
    monkeypatch.setenv(PROCESSES, "1")
    assert files(write_report(make_results(), tmp_path / "one").parent) == several
    assert not asked


def test_few_pictures_start_no_process(two_processes: None) -> None:
    few = tuple(picture(f"p{k}") for k in range(_FEWEST - 1))
    with Drawings(usable=True) as drawings:
        drawings.begin(few)
        assert not drawings._processes
        assert drawings.drawn(few[0]) == drawn(picture("p0").figure)


def test_pictures_are_drawn_once_and_in_any_order(two_processes: None) -> None:
    some = tuple(picture(f"p{k}") for k in range(_FEWEST + 1))
    with Drawings(usable=True) as drawings:
        for one in some:
            drawings.begin((one,))
        drawings.begin(some)
        assert len(drawings._begun) == len(some)
        for one in reversed(some):
            assert drawings.drawn(one) == drawn(picture(one.name).figure)


def test_a_process_that_dies_is_not_missed(two_processes: None) -> None:
    some = tuple(picture(f"p{k}") for k in range(_FEWEST))
    with Drawings(usable=True) as drawings:
        drawings.begin(some)
        assert drawings._begun["p0"].result() is not None
        for process in drawings._processes:
            process.kill()
        for one in some:
            assert drawings.drawn(one) == drawn(picture(one.name).figure)


def test_a_process_that_dies_while_it_is_written_to_is_not_missed(two_processes: None) -> None:
    some = tuple(picture(f"p{k}") for k in range(_FEWEST))
    with Drawings(usable=True) as drawings:
        drawings.begin(some)
        for one in some:
            assert drawings._begun[one.name].result() is not None
        for process in drawings._processes:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.write(b"half a figure")  # which closing the pipe cannot get rid of
        assert drawings.drawn(some[0]) == drawn(picture("p0").figure)
    assert all(process.returncode is not None for process in drawings._processes)


def test_its_processes_end_with_it_and_with_a_killed_one(two_processes: None) -> None:
    some = tuple(picture(f"p{k}") for k in range(_FEWEST))
    with Drawings(usable=True) as drawings:
        drawings.begin(some)
        processes = drawings._processes
        assert [process.poll() for process in processes] == [None, None]
    assert all(process.returncode for process in processes)

    # A killed process cannot end its own, but its pipes close.
    script = (
        "import os\n"
        "from polbayes.report.drawn import Drawings\n"
        "drawings = Drawings(usable=True)\n"
        "drawings._start()\n"
        "print(*(process.pid for process in drawings._processes), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    left = [int(number) for number in done.stdout.split()]
    assert len(left) == 2
    until = time.monotonic() + 120
    while any(runs(number) for number in left):
        assert time.monotonic() < until
        time.sleep(0.1)


def test_processes_that_do_not_start_are_not_missed(
    two_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr("polbayes.report.drawn.subprocess.Popen", refused)
    some = tuple(picture(f"p{k}") for k in range(_FEWEST))
    with Drawings(usable=True) as drawings:
        drawings.begin(some)
        assert drawings.drawn(some[0]) == drawn(picture("p0").figure)


def test_what_must_not_be_used_is_stamped_wherever_it_is_drawn(two_processes: None) -> None:
    some = tuple(picture(f"p{k}") for k in range(_FEWEST))
    with Drawings(usable=False) as drawings:
        drawings.begin(some)
        stamped = drawings.drawn(some[0])
    assert stamped.svg.count(b"failed diagnostics") == 1  # as a comment beside its glyphs
    assert b"failed diagnostics" not in drawn(picture("p0").figure).svg


def test_an_error_in_a_process_is_raised_here(two_processes: None) -> None:
    some = tuple(picture(f"p{k}") for k in range(_FEWEST))
    some[2].figure.axes[0].set_title("$\\unknown$")
    with Drawings(usable=True) as drawings:
        drawings.begin(some)
        with pytest.raises(ValueError, match="Unknown symbol"):
            drawings.drawn(some[2])


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "study.py"
    script.write_text(
        "from matplotlib.figure import Figure\n"
        "from polbayes.report.blocks import Picture\n"
        "from polbayes.report.drawn import Drawings\n"
        "some = tuple(Picture(f'p{k}', 'c', 'a', Figure(), posterior=False) for k in range(7))\n"
        "with Drawings(usable=True) as drawings:\n"
        "    drawings.begin(some)\n"
        "    print(len(drawings._processes), len(drawings.drawn(some[0]).png) > 100)\n"
    )
    environment = {**os.environ, PROCESSES: "2"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("2 True\n", "")


@pytest.mark.parametrize("said", ["0", "-1", "two", "", "1.5", "²"])
def test_the_number_of_processes_is_checked(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESSES, said)
    with pytest.raises(UserError, match=f"must be a whole number from 1, but is '{said}'"):
        Drawings(usable=True)


def test_a_smaller_picture_has_the_colours_of_the_whole() -> None:
    """Two cells of a heat map have colours that no others have, and paper stays white."""
    values = np.random.default_rng(1).normal(0, 0.03, (10, 28))
    values[4, 3], values[8, 20] = -1.0, 1.0
    with drawing(9, 4) as figure:
        axes = figure.subplots()
        axes.imshow(values, cmap="PuOr", vmin=-1, vmax=1)
        for row, column in np.ndindex(values.shape):
            axes.text(column, row, f"{values[row, column]:.2f}", ha="center", size=6)
    png = drawn(figure).png
    before, after = (
        np.asarray(Image.open(io.BytesIO(one)).convert("RGB"), dtype=int)
        for one in (png, _smaller(png))
    )
    assert abs(before - after).max() < 24
    assert after[0, 0].tolist() == [255, 255, 255]
    assert len(_smaller(png)) < len(png) / 4


def test_a_picture_is_no_taller_than_its_format_allows() -> None:
    tall = io.BytesIO()
    Image.new("RGB", (40, 40_000), "white").save(tall, "PNG")
    assert Image.open(io.BytesIO(_smaller(tall.getvalue()))).height == 16_383
