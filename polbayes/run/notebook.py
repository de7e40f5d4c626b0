"""Runs in Python: what the command line does, and what a finished run's folder holds.

``import polbayes as pb`` offers `run`, `open_run` as ``pb.open``, and `compare`.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.errors import UserError, check_known

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    from polbayes.config.schema import RunConfig
    from polbayes.config.tasks import Answer
    from polbayes.report.blocks import Picture
    from polbayes.report.results import Results

_TABLES = ("estimates", "measures", "comparisons")


def run(
    experiment: str | None = None,
    *overrides: str,
    config_dir: str | Path | None = None,
    progress: bool = True,
    **values: Any,
) -> "Run | Answer | None":
    """Do what ``polbayes +experiment=EXPERIMENT [KEY=VALUE ...]`` does, and open the run.

    Parameters
    ----------
    experiment
        Name of an experiment, e.g. ``"wvs_prefixes"``; None if the config or a task needs none.
    *overrides
        As on the command line, e.g. ``"sampler.draws=2000"``.
    config_dir
        Folder of your own configs.
    progress
        Whether to say what is being done, with progress bars on a terminal.
    **values
        Further overrides as Python values, nested ones as dictionaries, whose keys are added or
        replaced: ``models=["left", "right"], sampler={"draws": 2000}``.

    Returns
    -------
    Run or Answer
        The run in ``run_dir``, finished as far as its ``stages``; its `Run.said` is what the task
        prints in a terminal. Where there is no run, as usual with ``task=dry_run`` or
        ``task=explain``, that answer by itself; None if the task has none.

    Raises
    ------
    UserError
        If something in the config is wrong.
    """
    from polbayes.config.compose import compose
    from polbayes.config.tasks import Call, answer_of
    from polbayes.data.progress import speaking

    given = [f"+experiment={experiment}"] if experiment else []
    given += [*overrides, *_as_overrides(values)]
    folder = None if config_dir is None else os.fspath(config_dir)
    config, text = compose(given, folder)
    with speaking("normal" if progress else "quiet"):
        said = answer_of(Call(config, text, given, folder))
    return Run(config.run_dir, said) if _is_run(Path(config.run_dir).expanduser()) else said


def open_run(folder: str | Path) -> "Run":
    """Open the folder of a run or of a comparison.

    Parameters
    ----------
    folder
        Such as ``"outputs/wvs_prefixes"``.

    Returns
    -------
    Run
        What is in it.

    Raises
    ------
    UserError
        If there is no run in it.
    """
    return Run(folder)


def compare(runs: "Sequence[str | Path | Run]", *overrides: str, **settings: Any) -> "Run":
    """Put finished runs on one scale, as ``task=compare`` does.

    Parameters
    ----------
    runs
        Two or more runs or their folders.
    *overrides, **settings
        See `run`.

    Returns
    -------
    Run
        The comparison.
    """
    if isinstance(runs, str | Path | Run):
        raise UserError(
            "runs: give the runs as a list, e.g. compare(['outputs/first', 'outputs/second'])."
        )
    folders = [os.fspath(one.folder if isinstance(one, Run) else one) for one in runs]
    made = run(None, "task=compare", *overrides, **{**settings, "runs": folders})
    assert isinstance(made, Run)  # a comparison always has a folder
    return made


def _is_run(folder: Path) -> bool:
    return (folder / ".hydra" / "config.yaml").is_file()


def _as_overrides(values: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Write values as Hydra's overrides, dictionaries by their keys, which may be new."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _as_overrides(value, f"{before}{key}.")
        else:
            yield f"{'++' if before else ''}{before}{key}={_written(value)}"


def _written(value: Any) -> str:
    """Write a value in Hydra's grammar, whatever is in it."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_written, value))}]"
    if not isinstance(value, str | Path):
        return json.dumps(value)
    text = re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + ("\\" + m[2] if m[2] else ""), str(value))
    return f'"{text}"'


class Run:
    """A run, or a comparison of runs, in its folder.

    Parameters
    ----------
    folder
        Where it is.
    said
        What the task said that was done with it.

    Attributes
    ----------
    folder : pathlib.Path
        Where it is.
    said : Answer or None
        What the task said by which `run` gave it: its `text`, and the same as `facts`.
    plot
        The figures of its report as functions, e.g. ``run.plot.leaning_map()``.
    """

    def __init__(self, folder: str | Path, said: "Answer | None" = None) -> None:
        self.folder, self.said = Path(folder).expanduser(), said
        if not _is_run(self.folder):
            raise UserError(f"{self.folder}: is not the folder of a run.")
        self.plot = Plots(self)

    @cached_property
    def config(self) -> "RunConfig":
        """The config that it was made with."""
        from polbayes.run.manifest import read_config

        return read_config(self.folder / ".hydra" / "config.yaml")

    @cached_property
    def responses(self) -> "xr.Dataset":
        """Every question and answer, with named dimensions (``docs/dataset.md``)."""
        from polbayes.data.dataset import open_responses

        return open_responses(self.folder)

    @cached_property
    def posterior(self) -> Any:
        """The posterior as ArviZ has it in memory, with log-likelihood and replicates if any."""
        from polbayes.data.groups import read_groups

        path = self.folder / "posterior.nc"
        if not path.is_file():
            raise UserError(f"{path}: no such file; run the stage fit first.")
        return read_groups(path)

    @property
    def tables(self) -> list[str]:
        """Names of its tables."""
        return list(self._files)

    def table(self, name: str) -> "pd.DataFrame":
        """Read one of its tables.

        Parameters
        ----------
        name
            Such as ``"theta"``, ``"contrasts"`` or ``"bias"``; `tables` has all names.

        Returns
        -------
        pandas.DataFrame
            One row an estimate, with ``estimate``, ``lower`` and ``upper``.
        """
        from polbayes.data.tables import read_csv

        files = self._files
        check_known("table", name, known=files, where=str(self.folder))
        table: pd.DataFrame = read_csv(files[name])
        return table

    @property
    def report(self) -> Path:
        """The report's page."""
        return self.folder / "report" / "index.html"

    @property
    def answer(self) -> str:
        """Where each model stands, with intervals and verdicts, and whether it can be used."""
        from polbayes.run.finished import answer_of_folder

        found = answer_of_folder(self.folder)
        return "not reported yet" if found is None else found.text

    @cached_property
    def results(self) -> "Results":
        """All that its report is made from."""
        from polbayes.run.finished import results_of

        return results_of(self.folder, self.responses)

    @property
    def _files(self) -> dict[str, Path]:
        folders = [self.folder, *(self.folder / name for name in _TABLES)]
        return {path.stem: path for one in folders for path in sorted(one.glob("*.csv"))}

    @property
    def _lines(self) -> str:
        return self.answer if self.said is None else self.said.text

    def __repr__(self) -> str:
        return f"Run('{self.folder}')\n{self._lines}"

    def _repr_html_(self) -> str:
        """Show the answer in a notebook, with a link to the report."""
        from polbayes.report.heading import heading_in
        from polbayes.run.manifest import Manifest

        title, _ = heading_in(self.folder, self.config, Manifest(self.folder).stages)
        lines, link = escape(self._lines), escape(self.report.as_posix(), quote=True)
        head = f"<strong>{escape(title)}</strong>"
        there = f'<a href="{link}">Report</a>' if self.report.is_file() else ""
        return f"<div>{head}<pre>{lines}</pre>{there}</div>"


class Plots:
    """The figures of a run's report, by name.

    As in ArviZ, ``coords`` selects what is drawn, by ``model``, ``dimension``, ``prefix``,
    ``item`` or ``variant``, and ``figsize`` is in inches, e.g.
    ``run.plot.forest(coords={"model": ["left", "right"]}, figsize=(6, 3))``. Nothing is estimated
    anew.

    Parameters
    ----------
    run
        The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def __dir__(self) -> list[str]:
        return sorted(path.stem for path in (self._run.report.parent / "figures").glob("*.png"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known = dir(self)
        if known and name not in known:
            raise AttributeError(f"no figure '{name}'; there are {', '.join(known)}.")
        return partial(self._drawn, name)

    def _drawn(
        self,
        name: str,
        *,
        coords: Mapping[str, str | Sequence[str]] | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw a figure as the report has it, or a part of it."""
        from polbayes.report.drawn import NOT_TO_BE_USED
        from polbayes.report.figures.style import stamp

        results = _selected(self._run.results, coords or {})
        picture = next((one for one in _pictures(results) if one.name == name), None)
        if picture is None:
            of = " of these coords" if coords else ""
            raise UserError(f"{self._run.folder}: its report has no figure '{name}'{of}.")
        if picture.posterior and results.verdict == "bad":
            stamp(picture.figure, NOT_TO_BE_USED)
        if figsize is not None:
            picture.figure.set_size_inches(figsize)
        _show_in_notebooks()
        return picture.figure


# By what figures can be narrowed, and the columns that name it.
_COORDS = {
    "model": ("model", "model_a", "model_b"),
    "dimension": ("dimension",),
    "prefix": ("prefix",),
    "item": ("item",),
    "variant": ("variant",),
}


def _selected(results: "Results", coords: Mapping[str, str | Sequence[str]]) -> "Results":
    """Leave out what is not among the coordinates; rows about all of them stay."""
    data, tables = results.responses, dict(results.tables)
    check_known("coordinate", *coords, known=_COORDS, where="coords")
    for name, given in coords.items():
        wanted = [given] if isinstance(given, str) else list(given)
        values = data[name].values.astype(str)
        check_known(name, *wanted, known=set(values) - {""}, where=f"coords['{name}']")
        along = data[name].dims[0]
        data = data.isel({along: np.flatnonzero(np.isin(values, wanted))})
        for key, table in tables.items():
            for column in set(_COORDS[name]) & set(table):
                table = table[table[column].isin(wanted) | table[column].isna()]
            tables[key] = table
    return replace(results, responses=data, tables=tables) if coords else results


def _show_in_notebooks() -> None:
    """Have IPython show figures that pyplot does not know, unless it does so already."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return
    from IPython.core.pylabtools import select_figure_formats
    from matplotlib.figure import Figure

    formatters = shell.display_formatter.formatters
    if not any(Figure in formatters[kind] for kind in ("image/png", "image/svg+xml")):
        select_figure_formats(shell, {"png"}, bbox_inches=None)


def _pictures(results: "Results") -> "Iterator[Picture]":
    """Make the figures of a report in its order."""
    from polbayes.report.answer import answer
    from polbayes.report.blocks import pictures
    from polbayes.report.sections import in_order

    yield from pictures(answer(results))
    for maker in in_order():
        section = maker.make(results)
        if section is not None:
            yield from pictures(section.blocks)
