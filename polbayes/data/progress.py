"""Messages and progress bars of commands."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


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
        disable=hide,
        dynamic_ncols=True,
        position=position,
    )


def say(text: str) -> None:
    """Print a line at once, so that it appears before a long computation begins."""
    print(text, file=sys.stderr, flush=True)
