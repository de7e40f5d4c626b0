"""``task=compare``: finished runs side by side, and on one scale if possible."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import xarray as xr
import yaml

from polbayes.config.schema import RunConfig
from polbayes.data.dataset import opened_responses, write_dataset
from polbayes.data.files import one_writer, write_text
from polbayes.data.progress import say
from polbayes.data.provenance import digest
from polbayes.data.tables import write_csv
from polbayes.errors import UserError
from polbayes.run.manifest import Manifest, draws_key
from polbayes.run.pipeline import write_tables
from polbayes.run.run import fit_inputs, fit_into
from polbayes.tasks.compare.align import Aligned, align
from polbayes.tasks.compare.finished import FinishedRun, check_finished, digests, load_finished
from polbayes.tasks.compare.modes import in_modes
from polbayes.tasks.compare.paired import all_paired, compare_paired
from polbayes.tasks.compare.settings import as_text, for_several, settle
from polbayes.tasks.compare.tables import comparison_table, drift_table, run_table

if TYPE_CHECKING:
    from polbayes.fit.spec.spec import Spec

_VERDICTS = ("good", "caution", "bad")


@dataclass(frozen=True)
class _Job:
    """A comparison in progress."""

    config: RunConfig
    folder: Path
    manifest: Manifest
    keys: Mapping[str, str]
    runs: tuple[FinishedRun, ...]
    aligned: Aligned
    spec: "Spec"
    command: str


def compare(config: RunConfig, *, command: Sequence[str]) -> None:
    """Compare finished runs; repeat nothing."""
    folders = check_finished(config.runs)
    folder = Path(config.run_dir).expanduser()
    manifest = _manifest(folder, list(folders))
    if all_paired(folders):
        compare_paired(config, folders, manifest, command=command)
        return
    loaded: dict[str, FinishedRun] = {}
    first, path = next(iter(folders.items()))
    loaded[first] = load_finished(first, path)
    if loaded[first].posterior is None:
        raise UserError(
            f"runs: {path} was not analysed; name a run first whose analysis the others can share."
        )
    config = settle(config, loaded[first].config, command[1:])
    keys = _keys(config, digests(folders))
    if manifest.is_done("report", keys["report"]):
        say(f"{folder}: finished before, nothing to do; see {folder / 'report' / 'index.html'}")
        return
    for label, path in folders.items():
        loaded.setdefault(label, load_finished(label, path))
    runs = tuple(loaded.values())
    if config.modes:
        runs = in_modes(runs, config.modes)
    aligned = align(runs, by_name=bool(config.modes))
    analysis, sentence = for_several(config.analysis, aligned.data.sizes["model"])
    if sentence:
        config = replace(config, analysis=analysis)
        aligned = replace(aligned, notes=(*aligned.notes, sentence))
    spec = _analysis(config, aligned)
    with one_writer(folder):
        # The process that had the folder may have done some of it.
        manifest = _manifest(folder, list(folders))
        _do(_Job(config, folder, manifest, keys, runs, aligned, spec, shlex.join(command)))


def _do(job: _Job) -> None:
    """Do what has not been done yet."""
    text = yaml.safe_dump(as_text(job.config), sort_keys=False, allow_unicode=True)
    write_text(job.folder / ".hydra" / "config.yaml", text)
    if not job.manifest.is_done("merge", job.keys["merge"]):
        _merge(job)
    if not job.manifest.is_done("measure", job.keys["measure"]):
        _measure(job)
    posterior = None
    if job.aligned.linked:
        posterior = _fit(job)
    else:
        _unfitted(job)
    _report(job, posterior, text)


def _manifest(folder: Path, labels: list[str]) -> Manifest:
    """Open the manifest of the comparison's folder, and refuse a folder of something else."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"run_dir: {folder} is a file; name a folder.")
    manifest = Manifest(folder)
    if "probe" in manifest.stages:
        raise UserError(f"run_dir: {folder} holds a run; name another folder for the comparison.")
    before = manifest.stages.get("merge", {}).get("runs", labels)
    if before != labels:
        raise UserError(
            f"run_dir: {folder} holds a comparison of {', '.join(before)}; name another folder."
        )
    return manifest


def _keys(config: RunConfig, files: Mapping[str, list[str]]) -> dict[str, str]:
    """Return for every stage a hash of what determines its result."""
    modes = [config.modes] if config.modes else []
    keys = {"merge": digest([*files.items(), *modes])}
    analysis, sampler = asdict(config.analysis), asdict(config.sampler)
    fitted = digest([keys["merge"], fit_inputs(config)])
    keys["fit"] = digest([fitted, [analysis, sampler, config.seed]])
    keys["draws"] = draws_key(fitted, analysis, sampler, config.seed)
    own = [asdict(config.measures), asdict(config.features)]
    keys["measure"] = digest([keys["merge"], own, config.seed])
    keys["report"] = digest([keys["fit"], keys["measure"], config.title, config.description])
    return keys


def _analysis(config: RunConfig, aligned: Aligned) -> "Spec":
    """Return the spec, checked against the answers before anything is written."""
    from polbayes.features import check_features
    from polbayes.fit.analysis import parse_analysis
    from polbayes.fit.spec.cells import gather_cells
    from polbayes.fit.spec.reduction import reduced
    from polbayes.fit.spec.spec import Spec

    spec = parse_analysis(config.analysis, config.sampler)
    if not isinstance(spec, Spec):
        raise UserError(
            "analysis: task=compare compares leanings, which a mixed model (its part is mu) does "
            "not have; add analysis=ideology."
        )
    check_features((), config.features)
    if aligned.linked:
        reduced(spec, gather_cells(aligned.data, spec))
    return spec


def _merge(job: _Job) -> None:
    say("merge: putting the answers of the runs together")
    started = time.monotonic()
    write_dataset(job.aligned.data, job.folder / "responses.nc")
    labels = [run.label for run in job.runs]
    seconds = round(time.monotonic() - started, 1)
    job.manifest.finish("merge", job.keys["merge"], ["responses.nc"], seconds=seconds, runs=labels)


def _measure(job: _Job) -> None:
    from polbayes.measures import measure_all

    settings = job.config.measures
    say("measure: computing the classical measures")
    tables = measure_all(
        job.aligned.data,
        draws=settings.bootstrap,
        level=settings.level,
        seed=job.config.seed,
        strong=settings.strong,
        paraphrase_sets=settings.paraphrase_sets,
        features=job.config.features,
    )
    outputs = write_tables(tables, job.folder / "measures")
    job.manifest.finish("measure", job.keys["measure"], outputs)


def _fit(job: _Job) -> xr.Dataset:
    """Fit the merged answers, or load an earlier fit."""
    from polbayes.fit.fit import load_posterior
    from polbayes.fit.sampling.draws_cache import DrawsCache

    path = job.folder / "posterior.nc"
    if job.manifest.is_done("fit", job.keys["fit"]):
        say("fit: loaded, not sampled again")
        return load_posterior(path)
    config = job.config
    say("fit: sampling the posterior of all answers together")
    started = time.monotonic()
    cache = DrawsCache(job.folder / "draws.nc", job.keys["draws"])
    outputs, about = fit_into(job.folder, job.spec, job.aligned.data, config, cache=cache)
    seconds = round(time.monotonic() - started, 1)
    job.manifest.finish("fit", job.keys["fit"], outputs, seconds=seconds, **about)
    return load_posterior(path)


def _unfitted(job: _Job) -> None:
    """Remove an earlier joint fit that the runs no longer allow."""
    write_tables({}, job.folder / "estimates")
    (job.folder / "posterior.nc").unlink(missing_ok=True)
    job.manifest.stages.pop("fit", None)


def _report(job: _Job, posterior: xr.Dataset | None, text: str) -> None:
    from polbayes.report.assemble import assemble
    from polbayes.report.write import write_report

    config = job.config
    tables = _tables(job, posterior)
    outputs = []
    for name in ("comparison", "drift"):
        if name in tables:
            write_csv(job.folder / f"{name}.csv", tables[name])
            outputs.append(f"{name}.csv")
        else:
            (job.folder / f"{name}.csv").unlink(missing_ok=True)
    of_runs = {"code": {"notes": _notes(job.runs, "code")}, "fit": _own_verdicts(job.runs)}
    stages = {"measure": {}, **of_runs, **job.manifest.stages}
    labels = " and ".join(run.label for run in job.runs)
    with opened_responses(job.folder) as responses:
        results = assemble(
            job.folder,
            responses,
            replace(config, title=config.title or f"Comparison of {labels}"),
            stages=stages,
            text=text,
            command=job.command,
            citations=list(
                dict.fromkeys(str(r.responses.attrs.get("instruments", r.label)) for r in job.runs)
            ),
        )
        results = replace(
            results,
            tables={**results.tables, **tables},
            notes=[*job.aligned.notes, _scale_sentence(job.aligned)],
        )
        write_report(results, job.folder / "report")
    job.manifest.finish("report", job.keys["report"], ["report/index.html", *outputs])


def _tables(job: _Job, posterior: xr.Dataset | None) -> dict[str, pd.DataFrame]:
    level, rope = job.config.analysis.level, job.config.analysis.rope
    tables = {"compared_runs": run_table(job.runs)}
    tables["comparison"] = comparison_table(job.runs, job.aligned.models, posterior, level=level)
    if posterior is not None and job.aligned.snapshots:
        tables["drift"] = drift_table(job.aligned, posterior, level=level, rope=rope)
    return tables


def _scale_sentence(aligned: Aligned) -> str:
    if aligned.linked:
        return (
            "What the runs share puts them on one scale: the joint estimates are of one analysis "
            "of all answers together."
        )
    return (
        "The runs share neither statements nor respondents in every dimension, so their scales "
        "are not linked: each run's estimates are its own, the midpoint of its statements is its "
        "own 0, and a difference between runs is as likely one between their statements."
    )


def _notes(runs: Sequence[FinishedRun], stage: str) -> list[str]:
    """Return what a stage of each run noted, with the run."""
    notes = [
        (run.label, note) for run in runs for note in run.stages.get(stage, {}).get("notes", [])
    ]
    return [f"{label}: {note}" for label, note in notes]


def _own_verdicts(runs: Sequence[FinishedRun]) -> dict[str, Any]:
    """Return the record that replaces that of a joint fit: the worst verdict of the runs."""
    verdicts = {
        run.label: str(run.stages["fit"].get("verdict", "bad"))
        for run in runs
        if "fit" in run.stages
    }
    worst = max(verdicts.values(), key=_VERDICTS.index)
    return {
        "verdict": worst,
        "sentences": [
            f"{label}: the verdict of its own fit is {v}." for label, v in verdicts.items()
        ],
        "notes": _notes(runs, "fit"),
        "equation": "",
        "priors": [],
    }
