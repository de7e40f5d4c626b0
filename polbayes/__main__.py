"""Entry point of `python -m polbayes`."""

from polbayes.cli import main

main()
