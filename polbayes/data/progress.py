"""Messages and progress bars of commands."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tqdm import tqdm

# ``quiet`` says nothing, ``verbose`` says more and when, ``json`` writes JSON lines on the standard
# output.
Mode = Literal["normal", "quiet", "verbose", "json"]
_mode: Mode = "normal"
_BEGUN = time.monotonic()


@contextmanager
def speaking(mode: Mode) -> Iterator[None]:
    """Say more, less or otherwise what is done, in this process."""
    global _mode
    before, _mode = _mode, mode
    try:
        yield
    finally:
        _mode = before


def bars() -> bool:
    """Tell whether progress bars are shown: on a terminal, if anything is said."""
    return _mode in ("normal", "verbose") and sys.stderr.isatty()


def progress_bar(
    name: str,
    *,
    total: int,
    done: int = 0,
    unit: str = "question",
    progress: bool | str = True,
    position: int | None = None,
) -> "tqdm[Any]":
    """Make a bar on the standard error.

    `progress` is whether to show it if that is a terminal, as ``"bar"`` does; ``"always"`` shows it
    anyway. `position` is its position among bars shown at the same time.
    """
    from tqdm import tqdm

    # None leaves it to tqdm, which is silent without a terminal.
    hide = {"True": None, "bar": None, "False": True, "always": False}[str(progress)]
    return tqdm(
        total=total,
        initial=done,
        desc=name,
        unit=unit,
        file=sys.stderr,
        disable=True if _mode in ("quiet", "json") else hide,
        dynamic_ncols=True,
        position=position,
    )


def say(text: str) -> None:
    """Print a line at once, so that it is seen before what takes long begins."""
    if _mode == "json":
        tell("progress", text=text)
    elif _mode == "verbose":
        print(f"[{time.monotonic() - _BEGUN:7.1f} s] {text}", file=sys.stderr, flush=True)
    elif _mode == "normal":
        print(text, file=sys.stderr, flush=True)


def conclude(text: str) -> None:
    """Print a line of what came out in the end, which is said even where nothing else is."""
    if _mode == "quiet":
        print(text, file=sys.stderr, flush=True)
    else:
        say(text)


def detail(text: str) -> None:
    """Print a line that is of interest only to those who want to know everything."""
    if _mode in ("verbose", "json"):
        say(text)


def tell(event: str, **facts: Any) -> None:
    """Write something that happened as a line of JSON on the standard output."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    print(json.dumps({"event": event, "at": at, **facts}, ensure_ascii=False), flush=True)
