"""Finished runs: what their folders hold, gathered as their reports have it."""

from dataclasses import replace
from pathlib import Path

import xarray as xr

from polbayes.config.schema import PAIRED
from polbayes.config.tasks import Answer
from polbayes.data.dataset import opened_responses
from polbayes.errors import UserError
from polbayes.report.assemble import assemble, read_tables
from polbayes.report.results import Results
from polbayes.report.terminal import answer_lines, as_values
from polbayes.run.manifest import Manifest, read_config
from polbayes.run.pipeline import pipeline_of

_UNFITTED = {"verdict": "caution", "sentences": [], "notes": [], "equation": "", "priors": []}


def results_of(folder: Path, responses: xr.Dataset) -> Results:
    """Gather the results of a finished run, or of a comparison of runs, with its answers.

    Raises
    ------
    UserError
        If there is none in the folder, or none with questionnaires.
    """
    manifest, path = Manifest(folder), folder / ".hydra" / "config.yaml"
    if "measure" not in manifest.stages or not (folder / "responses.nc").is_file():
        raise UserError(f"{folder}: holds no finished run with questionnaires.")
    if "fit" not in manifest.stages and "merge" not in manifest.stages:
        raise UserError(f"{folder}: its posterior is missing; run the stage fit first.")
    config = read_config(path)
    if config.elicitation.kind == PAIRED:
        raise UserError(f"{folder}: holds no finished run with questionnaires.")
    manifest.check_tables("measure", "fit")
    results = assemble(
        folder,
        responses,
        config,
        stages={"code": {}, "fit": _UNFITTED, **manifest.stages},
        text=path.read_text(encoding="utf-8"),
        command="",
        citations=[],
    )
    compared = ("comparison", "drift") if "merge" in manifest.stages else ()
    more = read_tables(folder) if compared else {}
    return replace(
        results, tables={**results.tables, **{n: more[n] for n in compared if n in more}}
    )


def answer_of_folder(folder: Path) -> Answer | None:
    """Return what a finished run found, in a few lines; None if it was not reported."""
    page = folder / "report" / "index.html"
    if "report" not in Manifest(folder).stages or not page.is_file():
        return None
    return pipeline_of(read_config(folder / ".hydra" / "config.yaml")).answer(folder, page)


def answer_of_questionnaire(folder: Path, page: Path) -> Answer:
    """Return where the models of a finished run stand, in a few lines."""
    with opened_responses(folder) as responses:
        results = results_of(folder, responses)
        text = "\n".join([*answer_lines(results), f"Report: {page}"])
        return Answer(text, {**as_values(results), "report": str(page)})
