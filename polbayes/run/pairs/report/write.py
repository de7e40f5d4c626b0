"""The report of a run on paired requests as files."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from polbayes.data.dataset import STATUS, open_responses, read_dataset
from polbayes.data.prose import form, plural
from polbayes.data.provenance import versions
from polbayes.errors import UserError
from polbayes.instrument.dimensions import dimensions_of
from polbayes.report.assemble import read_tables, took, used_by
from polbayes.report.blocks import Section
from polbayes.report.labels import in_labels, labels_of
from polbayes.report.page import front_of
from polbayes.report.write import write_page
from polbayes.run.manifest import Manifest
from polbayes.run.pairs.plan import PairsPlan
from polbayes.run.pairs.positions import positions, positions_of_run
from polbayes.run.pairs.report.examples import examples
from polbayes.run.pairs.report.judges import enough, judges
from polbayes.run.pairs.report.method import method, rerun
from polbayes.run.pairs.report.positions import beliefs
from polbayes.run.pairs.report.results import PairsResults
from polbayes.run.pairs.report.tilt import answer, by_side, parts, published, tilt
from polbayes.run.pairs.verdicts import FILE
from polbayes.run.pipeline import Job

# In the order of the page.
SECTIONS: Mapping[str, Callable[[PairsResults], Section | None]] = {
    "Which side is helped more": tilt,
    "What the tilt consists of": parts,
    "As published": published,
    "Hedging, compliance and length by side": by_side,
    "The judges": judges,
    "How many pairs and judges": enough,
    "What models say, and how they treat others": beliefs,
    "The pairs": examples,
    "How it was done": method,
    "Cite and rerun": rerun,
}
# Shown on request only, and not listed as absent otherwise.
_OPTIONAL = "What models say, and how they treat others"


def write_pairs_report(job: Job[PairsPlan]) -> list[str]:
    """Write the report of a run on paired requests."""
    write_pairs_page(assemble(job), job.folder / "report")
    return ["report/index.html"]


def write_pairs_page(results: PairsResults, folder: Path, *, first: Sequence[Section] = ()) -> None:
    """Write the page of results on paired requests, with further sections first."""
    made = {name: section(results) for name, section in SECTIONS.items()}
    labels = labels_of(dimensions_of(results.responses))
    present = [section for section in made.values() if section is not None]
    absent = [name for name, section in made.items() if section is None and name != _OPTIONAL]
    front = front_of(results, absent, answer=answer(results))
    shown = [in_labels(section, labels) for section in (*first, *present)]
    write_page(front, shown, results.tables, folder)


def assemble(job: Job[PairsPlan]) -> PairsResults:
    """Gather the results of a run on paired requests."""
    config, stages = job.plan.config, job.manifest.stages
    responses, verdicts = open_responses(job.folder), read_dataset(job.folder / FILE)
    notes = [str(one.attrs.get("notes", "")) for one in (responses, verdicts)]
    fit = stages["fit"]
    return PairsResults(
        title=config.title or config.name,
        description=config.description,
        name=config.name,
        command=job.command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        verdicts=verdicts,
        responses=responses,
        way=config.judging.verdict,
        rope=config.analysis.rope,
        tables=read_tables(job.folder / "measures")
        | read_tables(job.folder / "estimates")
        | _positions(job),
        level=config.analysis.level,
        exclusions=[*exclusions(responses, verdicts), *fit["notes"]],
        verdict=fit.get("verdict", ""),
        verdict_sentences=list(fit.get("sentences", [])),
        notes=[line for text in notes for line in text.splitlines() if line],
        config_yaml=job.text,
        provenance={name: str(n) for name, n in versions().items()}
        | {"seed": str(config.seed), "asked": str(responses.attrs.get("finished", ""))}
        | used_by(stages),
        duration=took(stages),
        positions_verdict=_verdict_on_positions(config.report.positions),
    )


def _positions(job: Job[PairsPlan]) -> dict[str, pd.DataFrame]:
    """Relate the tilts to the positions of the same models in another run."""
    from polbayes.fit.fit import load_posterior

    config = job.plan.config
    path = job.folder / "posterior.nc"
    if config.report.positions is None or not path.is_file():
        return {}
    folder = Path(config.report.positions).expanduser()
    theta = positions_of_run(folder)
    try:
        found, correlation = positions(
            load_posterior(path)["tilt"], theta, level=config.analysis.level, seed=config.seed
        )
    except UserError as error:
        raise UserError(f"report.positions: {folder}: {error}") from error
    return {"positions": found, "position_correlation": correlation}


def _verdict_on_positions(folder: str | None) -> str:
    """Return what the checks said of the run that the positions are of."""
    if folder is None:
        return ""
    fit = Manifest(Path(folder).expanduser()).stages.get("fit", {})
    return str(fit.get("verdict", ""))


def exclusions(responses: xr.Dataset, verdicts: xr.Dataset) -> list[str]:
    """Describe what the numbers exclude."""
    status = responses["status"]
    failed = int((status == STATUS["error"]).sum())
    silent = int(status.isin([STATUS["empty"], STATUS["refused"]]).sum())
    sentences = []
    if failed:
        pairs = form(failed, "its pair is", "their pairs are")
        sentences.append(f"{plural(failed, 'request')} could not be answered; {pairs} not judged.")
    if silent:
        were, judged = (
            form(silent, "is empty or was", "are empty or were"),
            form(silent, "it is judged as it is", "they are judged as they are"),
        )
        sentences.append(
            f"{plural(silent, 'answer')} {were} refused by the server; {judged}, as help that was "
            "not given."
        )
    lacking: Any = (verdicts["verdict_status"] != 0) & (verdicts["verdict_status"] > -128)
    if count := int(lacking.sum()):
        sentences.append(f"{plural(count, 'verdict')} could not be read after all attempts.")
    if verdicts.sizes["model"] == 1:
        sentences.append("There is one model only: models are not compared.")
    return sentences
