"""A run: its stages in order, each from the results of the one before."""

import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
import yaml

from polbayes.config.languages import referred
from polbayes.config.registry import added
from polbayes.config.resources import find
from polbayes.config.schema import STAGES, RunConfig
from polbayes.config.tasks import Answer
from polbayes.data.dataset import open_responses, opened, opened_responses, write_dataset
from polbayes.data.files import one_writer, replacing, write_text
from polbayes.data.out_of_core import portions, text_bytes, write_by_model
from polbayes.data.progress import detail, say
from polbayes.data.provenance import file_digest
from polbayes.errors import UserError
from polbayes.instrument.of_run import is_run
from polbayes.instrument.prompts import prefix_file
from polbayes.probing.consolidation import consolidate
from polbayes.probing.first_answers import Screening
from polbayes.probing.journal import CODING, DESIGN
from polbayes.run.manifest import Manifest, check_config, stage_keys
from polbayes.run.pipeline import Job, Pipeline, Stage, pipeline_of, provenance, write_tables
from polbayes.run.plan import Plan, dry_run, plan

if TYPE_CHECKING:
    from polbayes.fit.mixed.spec import MixedSpec
    from polbayes.fit.sampling.draws_cache import DrawsCache
    from polbayes.fit.spec.spec import Spec


# Number of cells coded at a time: some hundred megabytes.
_PORTION = 1_000_000
# Written by stages, whatever was there before.
_REPLACED = ("responses.nc", "posterior.nc", "draws.nc", "measures", "estimates", "report")


def run(config: RunConfig, text: str, *, command: Sequence[str]) -> None:
    """Run the unfinished stages of a run; `text` is the resolved config as YAML."""
    folder = Path(config.run_dir).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"run_dir: {folder} is a file; name a folder.")
    manifest, added = Manifest(folder), []
    _check_no_other_content(folder)
    if manifest.stages or any((folder / "journal").glob("*.jsonl")):
        # Before the first answer there is nothing that another config could spoil.
        adding, finished = "probe" in config.stages, manifest.stages
        added = check_config(folder, text, config.stages, finished=finished, adding=adding)
    keys, pipeline = keys_of(config, text), pipeline_of(config)
    if not any(s in pipeline.stages for s in config.stages):
        raise UserError(
            f"stages: elicitation={config.elicitation.kind} has {', '.join(pipeline.stages)}; "
            "name some of these."
        )
    todo = _left(config, manifest, keys)
    if not todo:
        report = folder / "report" / "index.html"
        see = f"; see {report}" if report.is_file() else ""
        say(f"{folder}: finished before, nothing to do{see}")
        return
    _check_stages(todo, manifest, keys, pipeline)
    planned = pipeline.plan(config)
    if "code" in todo:
        from polbayes.judging.stances import check_judges_ready

        check_judges_ready(config.coding, _coded_before(config, folder))
    with one_writer(folder):
        # The process that had the folder may have done some of it.
        job = Job(planned, folder, Manifest(folder), keys, text, shlex.join(command))
        for one in added:
            say(f"{folder}: is added to: {one}")
        _do(job, pipeline, _left(config, job.manifest, keys), command)


def _check_no_other_content(folder: Path) -> None:
    """Refuse a folder that is no run's, and holds what a run would replace."""
    if (folder / ".hydra" / "config.yaml").exists():
        return
    there = [name for name in _REPLACED if (folder / name).exists()]
    if there:
        raise UserError(
            f"run_dir: {folder} is not the folder of a run, and its {there[0]} would be replaced; "
            "name another folder."
        )


def _left(config: RunConfig, manifest: Manifest, keys: Mapping[str, str]) -> list[str]:
    stages = pipeline_of(config).stages
    wanted = [s for s in STAGES if s in config.stages and s in stages]
    return [s for s in wanted if not manifest.is_done(s, keys[s])]


def _do(
    job: Job[Any], pipeline: Pipeline[Any], todo: Sequence[str], command: Sequence[str]
) -> None:
    folder, manifest, keys = job.folder, job.manifest, job.keys
    write_text(folder / ".hydra" / "config.yaml", job.text)
    write_text(folder / ".hydra" / "overrides.yaml", yaml.safe_dump(list(command[1:])))
    for stage in todo:
        started = time.monotonic()
        imports = stage == "probe" and job.plan.config.imported is not None
        doing = "reading the table of answers" if imports else pipeline.stages[stage].doing
        say(f"{stage}: {doing}")
        outputs, about = pipeline.stages[stage].do(job)
        seconds = round(time.monotonic() - started, 1)
        manifest.finish(stage, keys[stage], outputs, seconds=seconds, **about)
        say(f"{stage}: done in {seconds} s")
        detail(f"{stage}: wrote {', '.join(outputs)}")


def report_again(config: RunConfig, text: str) -> Path | None:
    """Write the report of a finished run again, after something was added to the run."""
    folder, keys = Path(config.run_dir).expanduser(), keys_of(config, text)
    manifest = Manifest(folder)
    if not manifest.is_done("report", keys["report"]):
        return None
    command = yaml.safe_load((folder / ".hydra" / "overrides.yaml").read_text(encoding="utf-8"))
    job = Job(plan(config), folder, manifest, keys, text, shlex.join(["polbayes", *command]))
    _report(job)
    return folder / "report" / "index.html"


def fit_again(config: RunConfig, text: str) -> None:
    """Conclude once more from the draws that a finished run kept, with what this version adds."""
    folder, keys = Path(config.run_dir).expanduser(), keys_of(config, text)
    manifest = Manifest(folder)
    if not manifest.is_done("fit", keys["fit"]):
        raise UserError(
            f"run_dir: {folder} cannot be fitted again, since files that its config names are "
            "missing or changed; repeat the run's own command first."
        )
    job = Job(plan(config), folder, manifest, keys, text, "")
    outputs, about = _fit(job)
    manifest.finish("fit", keys["fit"], outputs, seconds=manifest.stages["fit"]["seconds"], **about)


def keys_of(config: RunConfig, text: str) -> dict[str, str]:
    """Return for every stage of a config a hash of what determines its result."""
    from polbayes.report.assemble import study_inputs
    from polbayes.report.keying_errors import KEYING

    pipeline, folder = pipeline_of(config), Path(config.run_dir).expanduser()
    validated = folder / KEYING
    shown = {name: file_digest(path) for name, path in study_inputs(folder, config).items()}
    return stage_keys(
        yaml.safe_load(text),
        pipeline.inputs(config),
        code_inputs=pipeline.code_inputs(config),
        fit_inputs=fit_inputs(config),
        measure_inputs=added("polbayes.measures"),
        report_inputs=_digests([validated] if validated.is_file() else [])
        | shown
        | _positions(config)
        | added("polbayes.sections"),
    )


def _positions(config: RunConfig) -> dict[str, str]:
    """Hash the posterior of the run whose positions are shown beside the tilt."""
    if config.report.positions is None:
        return {}
    return _digests([Path(config.report.positions).expanduser() / "posterior.nc"])


def _code_inputs(config: RunConfig) -> dict[str, str]:
    """Hash the checkpoints and rubrics of coders."""
    from polbayes.huggingface.identity import checkpoint_digest
    from polbayes.judging.rubric import rubric_digests

    return {
        name: checkpoint_digest(Path(model.checkpoint).expanduser())
        for name, model in config.coding.models.items()
        if model.checkpoint
    } | rubric_digests(config.coding.models)


def _coded_before(config: RunConfig, folder: Path) -> list[Path]:
    """Return the folders in which judges may have judged before."""
    places = [folder, *([Path(config.answers_from).expanduser()] if config.answers_from else [])]
    return [place / CODING for place in places]


def _check_stages(
    todo: Sequence[str], manifest: Manifest, keys: Mapping[str, str], pipeline: Pipeline[Any]
) -> None:
    """Refuse stages whose input is missing or was made from another config."""
    missing: list[str] = []
    for stage in reversed(STAGES):
        if stage in todo or stage in missing:
            needed = (s for s in pipeline.stages[stage].needs if s not in todo and s not in missing)
            missing += [s for s in needed if not manifest.is_done(s, keys[s])]
    if missing:
        stages = [s for s in STAGES if s in todo or s in missing]
        needing = next(s for s in todo if set(pipeline.stages[s].needs) & {*missing})
        lost = [path for s in missing for path in manifest.lost(s, keys[s])]
        if lost:
            what = f"{lost[0]} is no longer there"
        else:
            from polbayes.report.prose import listed

            was = "were" if len(missing) > 1 else "was"
            names = listed([s for s in STAGES if s in missing])
            what = f"{names} {was} not done with this config in {manifest.folder}"
        raise UserError(f"stages: {what}, and {needing} needs it; use stages=[{','.join(stages)}].")


def _inputs(config: RunConfig) -> dict[str, str]:
    """Hash the files that the config names."""
    from polbayes.coding.table_rows import source_files

    paths = [
        Path(name).expanduser() / "responses.nc" if is_run(name) else find("instruments", name)
        for name in config.instruments
    ]
    prefixes, lexicon = config.prefixes.file, config.elicitation.lexicon
    paths += [_file(prefixes, prefix_file)] if prefixes else []
    paths += source_files(config.imported) if config.imported else []
    paths += [_file(lexicon, partial(find, "lexicons"))] if lexicon else []
    # By their whole paths: two sets of wordings may be in files of the same name.
    wordings = {
        name: _digests([_file(name, lambda path: Path(path).expanduser())])
        for name in config.wordings
    }
    return _digests(paths) | {name: "".join(found.values()) for name, found in wordings.items()}


def _file(name: str, otherwise: Callable[[str], Path]) -> Path:
    """Return the file that a name is from: that of a language, or another."""
    found = referred(name)
    return found[0].path if found else otherwise(name)


def fit_inputs(config: RunConfig) -> dict[str, str]:
    """Hash the files that only the analysis reads."""
    analysis = config.analysis
    errors = analysis.misclassification.confusion if analysis.misclassification else None
    return _digests([Path(path).expanduser() for path in (analysis.table, errors) if path])


def _digests(paths: Sequence[Path]) -> dict[str, str]:
    return {path.name: file_digest(path) if path.is_file() else "" for path in paths}


def _probe(job: Job[Plan]) -> tuple[list[str], dict[str, Any]]:
    config, started = job.plan.config, datetime.now(UTC)
    journals: dict[str, Path] = {}
    usage: dict[str, str] = {}
    design = job.plan.design
    if config.imported is None:
        journals, usage, design = _asked(job)
    imported = {} if config.imported is None else {"elicitation": "imported"}
    data = design.assign_attrs(provenance(job, started) | imported)
    path = job.folder / "responses.nc"
    about = {"instruments": [one.title for one in job.plan.instruments]}
    if config.imported is not None:
        write_dataset(data, path)
        notes = str(data.attrs["notes"]).splitlines()
        for sentence in notes:
            say(f"probe: {sentence}")
        return ["responses.nc"], about | {"notes": notes}
    lexicon = None if config.elicitation.kind == "open_ended" else job.plan.lexicon
    consolidate(data, journals, lexicon, path)
    (job.folder / DESIGN).unlink(missing_ok=True)
    return ["responses.nc"], about | ({"usage": usage} if usage else {})


def _asked(job: Job[Plan]) -> tuple[dict[str, Path], dict[str, str], xr.Dataset]:
    """Ask, and print the usage of each respondent behind a server, even after an interruption.

    Returns the journals, the usage in words, and the design with the questions that were put.
    """
    from polbayes.probing.costs import usage_in_words, write_usage

    config, design = job.plan.config, job.plan.design
    try:
        if config.probing.kind == "adaptive":
            design = _chosen(job)
        journals = _put(job, design, begin=partial(_write_design, job))
    finally:
        if not any((job.folder / "journal").glob("**/*.jsonl")):
            (job.folder / DESIGN).unlink(missing_ok=True)
        table = write_usage(job.folder, config.respondents)
    usage = {row["model"]: usage_in_words(row) for row in table.to_dict("records")}
    for name, text in usage.items():
        say(f"probe: {name}: {text}")
    return journals, usage, design


def _put(
    job: Job[Plan], design: xr.Dataset, *, begin: Callable[[], None] | None = None
) -> dict[str, Path]:
    """Ask the pending questions of a design that have no answer yet; return the journals."""
    from polbayes.probing.probe import ask

    config = job.plan.config
    return ask(
        design,
        config.respondents,
        elicitation=config.elicitation,
        lexicon=job.plan.lexicon,
        prefixes=job.plan.prefixes,
        seed=config.seed,
        journal_dir=job.folder / "journal",
        answers_from=_taken_over(config, job.folder),
        launcher=config.launcher,
        journal=config.journal,
        screening=_screening(config, job.folder),
        begin=begin,
    )


def _chosen(job: Job[Plan]) -> xr.Dataset:
    """Ask adaptively; return the design with the questions that were put."""
    from polbayes.coding.responses import code_with, open_coders
    from polbayes.fit.spec.spec import Spec
    from polbayes.probing.consolidation import filled
    from polbayes.run.adaptive import Policy, probe_adaptively

    config, spec = job.plan.config, job.plan.spec
    assert isinstance(spec, Spec)  # the plan refuses others
    coding = config.coding
    coders = open_coders(coding.coders, models=coding.models, journal_dir=job.folder / CODING)
    lexicon = None if config.elicitation.kind == "open_ended" else job.plan.lexicon

    beginning = iter([partial(_write_design, job)])

    def put(design: xr.Dataset) -> xr.Dataset:
        journals = _put(job, design, begin=next(beginning, None))
        return code_with(filled(design, journals, lexicon), coders)

    policy = Policy(config.probing, spec, config.analysis.level, config.seed)
    return probe_adaptively(job.plan.design, policy, put, job.folder)


def _screening(config: RunConfig, folder: Path) -> Screening | None:
    """Return when asking stops because none of the first answers is usable."""
    from polbayes.coding.levels import RULES
    from polbayes.coding.readable import beside_asking, by_rules_alone, readable

    coding, most = config.coding, config.give_up_after
    if not most:
        return None
    if "code" in config.stages and by_rules_alone(coding):
        return Screening(most, partial(readable, coders=tuple(coding.coders)))
    # Workers would write to the journals of the coders at the same time.
    if "code" not in config.stages or config.launcher.kind != "local" or not beside_asking(coding):
        return Screening(most)
    coded = partial(
        readable,
        coders=tuple(coding.coders),
        models=coding.models,
        journal_dir=folder / CODING,
    )
    return Screening(most, partial(readable, coders=RULES), coded)


def _write_design(job: Job) -> None:
    """Write the design for those who inspect the run before it is finished."""
    data, lexicon = job.plan.design.assign_attrs(config=job.text), job.plan.lexicon
    if lexicon is not None:
        data = data.assign_coords(
            option=np.array(lexicon.options, dtype=object),
            option_stance=("option", np.array(lexicon.stance, dtype=np.int8)),
        )
    write_dataset(data, job.folder / DESIGN)


def _taken_over(config: RunConfig, folder: Path) -> Path | None:
    """Return the journals of the run whose answers are reused, and copy its coders' readings."""
    if config.answers_from is None:
        return None
    other = Path(config.answers_from).expanduser()
    for path in sorted((other / CODING).glob("*.jsonl")):
        own = folder / CODING / path.name
        if not own.exists():
            # The name identifies the way of reading, so that no other way takes it for its own.
            with replacing(own, alone=True) as temporary:
                shutil.copyfile(path, temporary)
    return other / "journal"


def _code(job: Job[Plan]) -> tuple[list[str], dict[str, Any]]:
    from polbayes.coding.responses import code_with, decided, open_coders
    from polbayes.judging.costs import judges_notes, write_judges_usage

    coding, read = job.plan.config.coding, Counter[str]()
    coders = open_coders(coding.coders, models=coding.models, journal_dir=job.folder / CODING)

    def coded() -> Iterator[xr.Dataset]:
        for data in portions(job.folder, cells=_PORTION):
            done = code_with(data, coders)
            read.update(decided(done))
            yield done

    path = job.folder / "responses.nc"
    try:
        with opened(path) as whole:
            write_by_model(whole, coded(), path, text_bytes=text_bytes(path))
    finally:
        usage = write_judges_usage(job.folder, coding.coders, coding.models)
        for name, text in usage.items():
            say(f"code: {name}: {text}")
    say(f"code: answers by what decided: {', '.join(f'{k} {n}' for k, n in read.items())}")
    about: dict[str, Any] = {"usage": usage} if usage else {}
    if notes := judges_notes(job.folder, coding.coders, coding.models):
        about["notes"] = notes
    return ["responses.nc"], {"answers_by_coder": read, **about}


def _measure(job: Job[Plan]) -> tuple[list[str], dict[str, Any]]:
    from polbayes.measures import measure_all

    settings = job.plan.config.measures
    tables = measure_all(
        job.folder,
        draws=settings.bootstrap,
        level=settings.level,
        seed=job.plan.config.seed,
        strong=settings.strong,
        paraphrase_sets=settings.paraphrase_sets,
        reformulation_sets=settings.reformulation_sets,
        features=job.plan.config.features,
    )
    if job.plan.config.probing.kind == "adaptive":
        from polbayes.run.adaptive import marked

        tables = {name: marked(table) for name, table in tables.items()}
    return write_tables(tables, job.folder / "measures"), {}


def _fit(job: Job[Plan]) -> tuple[list[str], dict[str, Any]]:
    from polbayes.fit.sampling.draws_cache import DrawsCache

    cache = DrawsCache(job.folder / "draws.nc", job.keys["draws"])
    with opened_responses(job.folder) as data:
        return fit_into(job.folder, job.plan.spec, data, job.plan.config, cache=cache)


def fit_into(
    folder: Path,
    spec: "Spec | MixedSpec",
    data: xr.Dataset,
    config: RunConfig,
    *,
    cache: "DrawsCache | None" = None,
) -> tuple[list[str], dict[str, Any]]:
    """Fit a spec to a coded dataset and write ``posterior.nc`` and ``estimates/``.

    Returns the files, relative to the folder, and verdict, notes and the model as text. With a
    cache, the draws are reused if only what is reported of them changes.
    """
    from polbayes.fit.analysis import fit_analysis

    result = fit_analysis(
        spec,
        data,
        config.sampler,
        level=config.analysis.level,
        seed=config.seed,
        rope=config.analysis.rope,
        dif=config.analysis.dif,
        precision=config.analysis.precision,
        cache=cache,
    )
    if result.from_cache:
        say("fit: the draws of an earlier fit are reused")
    result.save(folder / "posterior.nc")
    diagnosis = result.diagnosis
    tables = {**result.tables, "diagnostics": diagnosis.table}
    outputs = write_tables(tables, folder / "estimates")
    about = {
        "verdict": diagnosis.verdict,
        "sentences": list(diagnosis.sentences),
        "notes": list(result.notes),
        "equation": result.equation,
        "priors": list(result.priors),
    }
    for sentence in (*result.notes, *diagnosis.sentences):
        say(f"fit: {sentence}")
    return ["posterior.nc", *outputs], about


def _report(job: Job[Plan]) -> tuple[list[str], dict[str, Any]]:
    from polbayes.report.assemble import assemble
    from polbayes.report.write import write_report

    with opened_responses(job.folder) as responses:
        results = assemble(
            job.folder,
            responses,
            job.plan.config,
            stages=job.manifest.stages,
            text=job.text,
            command=job.command,
            citations=[f"{i.title}. {i.citation}" for i in job.plan.instruments],
        )
        write_report(results, job.folder / "report")
    return ["report/index.html"], {}


def _answer(folder: Path, page: Path) -> Answer:
    from polbayes.run.finished import answer_of_questionnaire

    return answer_of_questionnaire(folder, page)


PIPELINE = Pipeline(
    plan=plan,
    dry_run=dry_run,
    stages={
        "probe": Stage(_probe, "asking the respondents"),
        "code": Stage(_code, "reading stances from the answers", ("probe",)),
        "measure": Stage(_measure, "computing the classical measures", ("code",)),
        "fit": Stage(_fit, "sampling the posterior", ("code",)),
        "report": Stage(_report, "writing the report", ("code", "measure", "fit")),
    },
    inputs=_inputs,
    code_inputs=_code_inputs,
    answer=_answer,
)


def load_run(folder: str | Path) -> tuple[xr.Dataset, xr.Dataset]:
    """Load the responses and the posterior of a finished run.

    Parameters
    ----------
    folder
        The run's folder.

    Returns
    -------
    responses, posterior : xarray.Dataset
        The coded answers, and the draws over ``chain, draw`` and the dimensions of each estimate.

    Raises
    ------
    UserError
        If either is missing or cannot be read.
    """
    from polbayes.fit.fit import load_posterior

    return open_responses(folder), load_posterior(Path(folder) / "posterior.nc")
