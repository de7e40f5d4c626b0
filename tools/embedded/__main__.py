"""Train the embedded respondents: ``python -m tools.embedded [--only NAME ...]``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from polbayes.config.resources import folder
from polbayes.errors import UserError
from tools.embedded.checkpoints import make_checkpoints


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, measure and save the selected respondents.

    Parameters
    ----------
    arguments
        Command-line arguments.

    Returns
    -------
    int
        Exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.embedded", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="respondents to train")
    parser.add_argument("--out", type=Path, help="folder of the checkpoints (default: models/)")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    options = parser.parse_args(arguments)
    out = options.out or folder("models")
    try:
        for line in make_checkpoints(options.only, out, jobs=max(options.jobs, 1)):
            print(line, flush=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
