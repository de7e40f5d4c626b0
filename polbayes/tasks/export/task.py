"""`task=export`: what of a run is written, and where."""

from collections.abc import Callable, Mapping
from pathlib import Path

from polbayes.config.schema import RunConfig
from polbayes.data.progress import say
from polbayes.errors import UserError, check_known
from polbayes.tasks.export.answers import write_csv, write_parquet
from polbayes.tasks.export.draws import write_draws, write_draws_parquet
from polbayes.tasks.export.questions import write_inspect, write_lm_eval
from polbayes.tasks.export.tables import write_html, write_latex

# Each writes into a folder and returns the files.
FORMATS: Mapping[str, Callable[[RunConfig, Path, Path], list[Path]]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "draws": write_draws,
    "draws_parquet": write_draws_parquet,
    "latex": write_latex,
    "html": write_html,
    "lm_eval": write_lm_eval,
    "inspect": write_inspect,
}


def export(config: RunConfig) -> None:
    """Write every format that the config names into the folder for exports."""
    wanted = config.export
    check_known("format", *wanted.formats, known=FORMATS, where="export.formats")
    if not wanted.formats:
        raise UserError(f"export.formats: the list is empty; name some of {', '.join(FORMATS)}.")
    run = Path(config.run_dir).expanduser()
    folder = run / Path(wanted.folder).expanduser()
    for name in wanted.formats:
        for path in FORMATS[name](config, run, folder):
            say(f"export: {path}")
