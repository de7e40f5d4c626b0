"""Figures as PNG and SVG, drawn by processes beside the one that makes the page."""

import io
import math
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from polbayes.errors import UserError
from polbayes.report.blocks import Block, Picture, pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_TO_BE_USED = "not to be used: failed diagnostics"
PROCESSES = "POLBAYES_PROCESSES"
_PIXELS_PER_INCH = 160
# The page embeds pixels of a figure with more bytes, such as a heat map of thousands of cells.
_LARGEST_SVG = 150_000
_WIDEST_PIXELS, _MOST_PIXELS = 2000, 8_000_000
_TALLEST_PIXELS = 16_383  # that WebP can hold
# A process takes about a second to start, in which a few figures are drawn here.
_FEWEST = 6
_MOST_PROCESSES = 4


@dataclass(frozen=True)
class Drawn:
    """A figure as files: PNG, SVG, that of them for the page, and that for narrow screens."""

    png: bytes
    svg: bytes
    page: bytes
    narrow: bytes | None


class Drawings:
    """The pictures of a page, drawn while its other sections are made.

    To be used in a ``with`` statement, at whose end its processes end: one for each core and four
    at most, or as many as the environment says. Pictures that rest on the posterior are stamped
    with a warning where it is not `usable`.
    """

    def __init__(self, *, usable: bool) -> None:
        self._usable = usable
        # An interpreter within another program has no executable.
        self._number = _number_of_processes() if sys.executable else 1
        self._figures: dict[str, Figure] = {}
        self._begun: dict[str, Future[Drawn | None]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()

    def __enter__(self) -> "Drawings":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            # Closing its pipes writes what is left, which a killed process does not read.
            with suppress(BrokenPipeError), process:
                pass

    def begin(self, blocks: tuple[Block, ...]) -> None:
        """Have the pictures in blocks drawn, unless they are already."""
        from polbayes.report.figures.style import stamp

        for picture in pictures(blocks):
            if picture.name in self._figures:
                continue
            if picture.posterior and not self._usable:
                stamp(picture.figure, NOT_TO_BE_USED)
            self._figures[picture.name] = picture.figure
        if self._number < 2 or len(self._figures) < _FEWEST:
            return
        try:
            self._threads = self._threads or self._start()
        except OSError:  # such as too many processes: everything is drawn here
            self._number = 1
            return
        for name, figure in self._figures.items():
            if name not in self._begun:
                self._begun[name] = self._threads.submit(self._elsewhere, figure)

    def _start(self) -> ThreadPoolExecutor:
        places = os.pathsep.join(map(os.path.abspath, sys.path))
        for _ in range(self._number):
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": places},
            )
            self._processes.append(process)
            self._idle.put(process)
        return ThreadPoolExecutor(self._number)

    def _elsewhere(self, figure: "Figure") -> Drawn | None:
        """Have a figure drawn by an idle process; None if it cannot."""
        import cloudpickle  # formatters of axes are local functions

        process = self._idle.get()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(cloudpickle.dumps(figure))
            process.stdin.flush()
            found: Drawn | None = pickle.load(process.stdout)
        except Exception:  # such as a process killed for want of memory
            return None
        finally:
            self._idle.put(process)
        return found

    def drawn(self, picture: Picture) -> Drawn:
        """Return a picture's files; what no process could draw is drawn here, with its error."""
        begun = self._begun.get(picture.name)
        done = None if begun is None else begun.result()
        return done or drawn(self._figures[picture.name])


def _number_of_processes() -> int:
    """Return how many processes draw: what the environment says, else one for each core."""
    said = os.environ.get(PROCESSES)
    if said is None:
        return min(os.cpu_count() or 1, _MOST_PROCESSES)
    if not (said.isascii() and said.isdigit() and int(said) > 0):
        raise UserError(f"{PROCESSES} must be a whole number from 1, but is '{said}'.")
    return int(said)


def drawn(figure: "Figure") -> Drawn:
    """Draw a figure, always as the same bytes."""
    from polbayes.report.figures.stacked import panels_abreast, stacked
    from polbayes.report.figures.style import neutral_style

    made = io.BytesIO()
    with neutral_style():
        _lay_out(figure)
        png = _pixels(figure)
        figure.savefig(made, format="svg", metadata={"Date": None, "Creator": None})
        svg = made.getvalue()
        if len(svg) <= _LARGEST_SVG:
            boxes = panels_abreast(figure)
            return Drawn(png, svg, svg, stacked(svg, boxes) if boxes else None)
        return Drawn(png, svg, _smaller(png), None)


def _lay_out(figure: "Figure") -> None:
    """Lay out a figure for good: with a layout engine matplotlib draws twice for every file."""
    if engine := figure.get_layout_engine():
        own = figure.dpi
        figure.set_dpi(_PIXELS_PER_INCH)
        engine.execute(figure)
        figure.set_dpi(own)
        figure.set_layout_engine(None)


def _pixels(figure: "Figure") -> bytes:
    """Draw a PNG."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=_PIXELS_PER_INCH, metadata={"Software": None})
    return png.getvalue()


def _smaller(png: bytes) -> bytes:
    """Return a picture as lossless WebP of few colours, an eighth of the size, for the page.

    The octree keeps colours that few pixels have; palettes by median cut have turned the darkest
    purple and the darkest orange of a heat map into one brown.
    """
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    width, height = image.size
    most = math.sqrt(_MOST_PIXELS / (width * height))
    scale = min(_WIDEST_PIXELS / width, _TALLEST_PIXELS / height, most)
    if scale < 1:
        image = image.resize((int(width * scale), int(height * scale)), Image.Resampling.LANCZOS)
    few = image.quantize(method=Image.Quantize.FASTOCTREE)
    colours, paper = few.getpalette() or [], few.getpixel((0, 0))
    assert isinstance(paper, int)
    colours[3 * paper : 3 * paper + 3] = [255, 255, 255]  # not nearly white
    few.putpalette(colours)
    out = io.BytesIO()
    few.convert("RGB").save(out, "WEBP", lossless=True, quality=50)
    return out.getvalue()


def serve() -> None:
    """Draw figures from the standard input for another process, until that ends, however it does.

    The answer to a figure that cannot be drawn is None.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that makes the page
    figures, drawings = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            figure = pickle.load(figures)
        except EOFError:
            return
        done = None
        with suppress(Exception):
            done = drawn(figure)
        pickle.dump(done, drawings)
        drawings.flush()
