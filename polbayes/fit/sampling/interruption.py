"""Interruptions during compilation."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def postponed() -> Iterator[None]:
    """Delay an interruption until the block ends; a second one is not delayed.

    The compiler prints and drops exceptions in its callbacks, and would lose the interruption.
    Outside of the main thread, which gets no interruptions, this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            before(number, frame)
        came = True
        print(
            "interrupted: stopping as soon as this step ends; once more stops at once.",
            file=sys.stderr,
        )

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
