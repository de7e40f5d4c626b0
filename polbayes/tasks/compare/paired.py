"""Comparison of finished runs on paired requests: their verdicts in one model, and differences."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
import yaml

from polbayes.config.schema import PAIRED, RunConfig
from polbayes.data.dataset import open_responses, read_dataset, write_dataset
from polbayes.data.files import one_writer, write_text
from polbayes.data.progress import say
from polbayes.data.provenance import digest, file_digest, versions
from polbayes.data.tables import write_csv
from polbayes.errors import UserError
from polbayes.measures.resampling import Bootstrap
from polbayes.run.manifest import Manifest, read_config
from polbayes.run.pairs.stages import fit_verdicts, measure_verdicts
from polbayes.run.pairs.verdicts import FILE
from polbayes.tasks.compare.finished import FinishedRun
from polbayes.tasks.compare.paired_tables import (
    paired_comparison,
    paired_differences,
    paired_runs,
    share_differences,
)
from polbayes.tasks.compare.pooling import Pooled, pool
from polbayes.tasks.compare.settings import as_text, settle

TABLES = ("comparison", "differences", "shares")


@dataclass(frozen=True)
class _Job:
    """A comparison in progress."""

    config: RunConfig
    folder: Path
    manifest: Manifest
    keys: Mapping[str, str]
    runs: tuple[FinishedRun, ...]
    verdicts: dict[str, xr.Dataset]  # of each run by itself
    pooled: Pooled
    command: str


def all_paired(folders: Mapping[str, Path]) -> bool:
    """Return whether all runs are on paired requests; a mixture is a `UserError`."""
    kinds = {
        p: read_config(p / ".hydra" / "config.yaml").elicitation.kind for p in folders.values()
    }
    paired = [path for path, kind in kinds.items() if kind == PAIRED]
    others = [path for path in kinds if path not in paired]
    if paired and others:
        raise UserError(
            f"runs: {paired[0]} is on paired requests and {others[0]} is not; compare runs of one "
            "kind, or show positions beside tilts with report.positions."
        )
    return bool(paired)


def compare_paired(
    config: RunConfig, folders: Mapping[str, Path], manifest: Manifest, *, command: Sequence[str]
) -> None:
    """Compare finished runs on paired requests; repeat nothing."""
    if config.modes:
        raise UserError("modes: runs on paired requests have none; leave it out.")
    folder = Path(config.run_dir).expanduser()
    first = read_config(next(iter(folders.values())) / ".hydra" / "config.yaml")
    config = settle(config, first, command[1:])
    keys = _keys(config, folders)
    if manifest.is_done("report", keys["report"]):
        say(f"{folder}: finished before, nothing to do; see {folder / 'report' / 'index.html'}")
        return
    runs = tuple(_loaded(label, path) for label, path in folders.items())
    verdicts = {run.label: read_dataset(run.folder / FILE) for run in runs}
    pooled = pool(runs, verdicts)
    with one_writer(folder):
        # The process that had the folder may have done some of it.
        manifest = Manifest(folder)
        _do(_Job(config, folder, manifest, keys, runs, verdicts, pooled, shlex.join(command)))


def _loaded(label: str, folder: Path) -> FinishedRun:
    from polbayes.fit.fit import load_posterior

    stages, path = Manifest(folder).stages, folder / "posterior.nc"
    return FinishedRun(
        label,
        folder,
        read_config(folder / ".hydra" / "config.yaml"),
        open_responses(folder),
        load_posterior(path) if "fit" in stages and path.is_file() else None,
        stages,
    )


def _keys(config: RunConfig, folders: Mapping[str, Path]) -> dict[str, str]:
    """Return for every stage a hash of what determines its result."""
    found = {}
    for label, folder in folders.items():
        needed = [folder / "responses.nc", folder / FILE]
        for path in needed:
            if not path.is_file():
                raise UserError(f"{path}: no such file; run the command of {folder} again.")
        fitted = [folder / "posterior.nc"] if (folder / "posterior.nc").is_file() else []
        found[label] = [file_digest(path) for path in (*needed, *fitted)]
    keys = {"merge": digest([*found.items()])}
    keys["measure"] = digest([keys["merge"], asdict(config.measures), config.seed])
    analysis = config.analysis
    fit = [analysis.joint, analysis.level, analysis.rope, asdict(config.sampler), config.seed]
    keys["fit"] = digest([keys["merge"], fit])
    keys["report"] = digest([keys["fit"], keys["measure"], config.title, config.description])
    return keys


def _do(job: _Job) -> None:
    """Do what has not been done yet."""
    # It is reported as a run on paired requests is.
    content = as_text(job.config) | {"elicitation": {"kind": PAIRED}}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    write_text(job.folder / ".hydra" / "config.yaml", text)
    done = {stage: job.manifest.is_done(stage, key) for stage, key in job.keys.items()}
    if not done["merge"]:
        say("merge: putting the verdicts of the runs together")
        write_dataset(job.pooled.aligned.data, job.folder / "responses.nc")
        write_dataset(job.pooled.verdicts, job.folder / FILE)
        labels = [run.label for run in job.runs]
        job.manifest.finish("merge", job.keys["merge"], ["responses.nc", FILE], runs=labels)
    if not done["measure"]:
        say("measure: computing the measures of the verdicts")
        files = measure_verdicts(job.folder, job.config)
        job.manifest.finish("measure", job.keys["measure"], files)
    if not done["fit"]:
        say("fit: fitting the model of the verdicts to all runs together")
        files, about = fit_verdicts(job.folder, job.config)
        job.manifest.finish("fit", job.keys["fit"], files, **about)
    _report(job, text)


def _tables(job: _Job) -> dict[str, pd.DataFrame]:
    from polbayes.fit.fit import load_posterior

    analysis, settings = job.config.analysis, job.config.measures
    path = job.folder / "posterior.nc"
    posterior = load_posterior(path) if path.is_file() else None
    found = {
        "compared_runs": paired_runs(job.runs, job.verdicts),
        "comparison": paired_comparison(job.runs, job.pooled, posterior, level=analysis.level),
        "shares": share_differences(
            job.pooled, Bootstrap(settings.bootstrap, settings.level, job.config.seed)
        ),
    }
    if posterior is not None:
        found["differences"] = paired_differences(
            job.pooled, posterior, level=analysis.level, rope=analysis.rope
        )
    return {name: table for name, table in found.items() if len(table)}


def _report(job: _Job, text: str) -> None:
    from polbayes.report.assemble import read_tables
    from polbayes.run.pairs.report.results import PairsResults
    from polbayes.run.pairs.report.write import exclusions, write_pairs_page
    from polbayes.tasks.compare.paired_page import paired_section

    config, tables, fit = job.config, _tables(job), job.manifest.stages["fit"]
    outputs = []
    for name in TABLES:
        (job.folder / f"{name}.csv").unlink(missing_ok=True)
        if name in tables:
            write_csv(job.folder / f"{name}.csv", tables[name])
            outputs.append(f"{name}.csv")
    estimates = read_tables(job.folder / "measures") | read_tables(job.folder / "estimates")
    labels = " and ".join(run.label for run in job.runs)
    ways: dict[str, Any] = {run.config.judging.verdict: None for run in job.runs}
    results = PairsResults(
        title=config.title or f"Comparison of {labels}",
        description=config.description,
        name=config.name,
        command=job.command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        verdicts=job.pooled.verdicts,
        responses=job.pooled.aligned.data,
        way=next(iter(ways)),
        rope=config.analysis.rope,
        tables=estimates,
        level=config.analysis.level,
        exclusions=[*exclusions(job.pooled.aligned.data, job.pooled.verdicts), *fit["notes"]],
        verdict=fit.get("verdict", ""),
        verdict_sentences=list(fit.get("sentences", [])),
        config_yaml=text,
        provenance={name: str(n) for name, n in versions().items()} | {"seed": str(config.seed)},
    )
    first = paired_section(tables, job.pooled, level=config.analysis.level, verdict=results.verdict)
    write_pairs_page(results, job.folder / "report", first=[first])
    job.manifest.finish("report", job.keys["report"], ["report/index.html", *outputs])
