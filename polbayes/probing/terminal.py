"""What a command says while it works, on the standard error."""

import sys


def say(text: str) -> None:
    """Print a line at once, so that it is seen before what takes long begins."""
    print(text, file=sys.stderr, flush=True)
