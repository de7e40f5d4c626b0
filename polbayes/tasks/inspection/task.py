"""`task=inspect`: single answers of a run, in the terminal or in a file."""

import sys
from pathlib import Path

from polbayes.config.schema import InspectConfig, RunConfig
from polbayes.data.files import replacing
from polbayes.data.progress import say
from polbayes.data.prose import plural
from polbayes.errors import check_known
from polbayes.tasks.inspection.answers import find
from polbayes.tasks.inspection.layout import LAYOUTS, summary
from polbayes.tasks.inspection.source import open_source

_ON_SCREEN = 20


def inspect(config: RunConfig) -> None:
    """Show the answers that the config asks for."""
    wanted = config.inspect
    layout = _layout(wanted)
    limit = wanted.limit
    if limit is None and wanted.file is None:
        limit = _ON_SCREEN
    source = open_source(Path(config.run_dir).expanduser())
    try:
        found = find(source, wanted, limit=limit)
    finally:
        source.data.close()
    lines = LAYOUTS[layout](found.rows)
    if wanted.file is not None:
        with (
            replacing(Path(wanted.file).expanduser()) as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            file.writelines(lines)
        say(f"{wanted.file}: {plural(len(found.rows), 'answer')}")
    else:
        for line in lines:
            print(line, end="" if layout != "text" else "\n")
        sys.stdout.flush()
    say(summary(found))


def _layout(wanted: InspectConfig) -> str:
    layout = wanted.format
    if layout is None and wanted.file is not None:
        suffix = Path(wanted.file).suffix.lstrip(".")
        layout = suffix if suffix in LAYOUTS else "text"
    layout = layout or "text"
    check_known("format", layout, known=LAYOUTS, where="inspect")
    return layout
