"""The stages of a run on paired requests: asking, judging, measuring, fitting, reporting."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xarray as xr

from polbayes.config.schema import RespondentConfig, RunConfig
from polbayes.config.tasks import Answer
from polbayes.data.dataset import open_responses, read_dataset, write_dataset
from polbayes.data.progress import say
from polbayes.data.provenance import file_digest
from polbayes.instrument.pairs import pairs_file
from polbayes.instrument.prompts import prefix_file
from polbayes.judging.declared import check_judges_ready
from polbayes.judging.pairs import load_texts
from polbayes.probing.remarks import as_attributes, remarks_in
from polbayes.run.judged_fit import fit_judged
from polbayes.run.pairs.plan import PairsPlan, dry_run, plan_pairs
from polbayes.run.pairs.verdicts import FILE
from polbayes.run.pipeline import Job, Pipeline, Stage, provenance, write_tables

_Job = Job[PairsPlan]


def _probe(job: _Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.probing.consolidation import consolidate
    from polbayes.probing.costs import usage_in_words, write_usage
    from polbayes.probing.first_answers import Screening
    from polbayes.probing.probe import ask

    config, started = job.plan.config, datetime.now(UTC)
    if "code" in config.stages:
        check_judges_ready(job.plan.judges, config)
    earlier = Path(config.answers_from).expanduser() / "journal" if config.answers_from else None
    try:
        journals = ask(
            job.plan.design,
            config.respondents,
            elicitation=config.elicitation,
            lexicon=None,
            prefixes=job.plan.prefixes,
            seed=config.seed,
            journal_dir=job.folder / "journal",
            answers_from=earlier,
            launcher=config.launcher,
            journal=config.journal,
            screening=Screening(config.give_up_after) if config.give_up_after else None,
        )
    finally:
        used = write_usage(job.folder, config.respondents)
    usage = {row["model"]: usage_in_words(row) for row in used.to_dict("records")}
    data = job.plan.design.assign_attrs(provenance(job, started))
    consolidate(data, journals, None, job.folder / "responses.nc")
    return ["responses.nc"], {"usage": usage} if usage else {}


def _judge(job: _Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.run.pairs.verdicts import JUDGES, journals, judge_all

    config, started = job.plan.config, datetime.now(UTC)
    other = Path(config.answers_from).expanduser() if config.answers_from else None
    paths = journals(job.plan, job.folder / JUDGES)
    try:
        data = judge_all(
            job.plan, open_responses(job.folder), folder=job.folder, answers_from=other
        )
    finally:
        used = _usage(job, paths)
    remarks = {name: remarks_in(some) for name, some in paths.items()}
    about = provenance(job, started) | as_attributes(remarks, _notes(job.plan))
    write_dataset(data.assign_attrs(about), job.folder / FILE)
    told = _told(data)
    for judge, text in told.items():
        say(f"code: {judge}: {text}")
    return [FILE], {"replies": told, **({"usage": used} if used else {})}


def _told(data: xr.Dataset) -> dict[str, str]:
    """Describe for every judge how much of what it was asked can be used."""
    out = {}
    for judge in data["judge"].values.tolist():
        one = data.sel(judge=judge)
        said = [
            f"{int((one[name] == 0).sum()):,} of {int((one[name] > -128).sum()):,} {what}"
            for name, what in (("verdict_status", "verdicts"), ("rating_status", "ratings"))
        ]
        out[str(judge)] = f"{' and '.join(said)} can be used"
    return out


def _notes(plan: PairsPlan) -> list[str]:
    respondents = plan.config.respondents
    models = map(str, plan.design["model"].values)
    others = [name for name in models if respondents[name].backend != "planted_writer"]
    planted = [name for name, judge in plan.judges.items() if judge.backend == "planted_grader"]
    if not (others and planted):
        return []
    return [
        f"{', '.join(planted)}: an embedded judge knows no sentence of what {', '.join(others)} "
        "wrote, and goes by its length alone; name other judges."
    ]


def _usage(job: _Job, paths: Mapping[str, list[Path]]) -> dict[str, str]:
    """Write and print the usage of judges behind servers."""
    import pandas as pd

    from polbayes.data.tables import write_csv
    from polbayes.probing.costs import usage_in_words, usage_table

    numbers = range(max(map(len, paths.values()), default=0))
    parts = [
        usage_table(
            {name: some[k] for name, some in paths.items() if k < len(some)}, job.plan.judges
        )
        for k in numbers
    ]
    table = pd.concat([part for part in parts if len(part)]) if any(map(len, parts)) else None
    if table is None:
        return {}
    write_csv(job.folder / "usage_judges.csv", table)
    used: dict[str, str] = {}
    for row in table.to_dict("records"):
        before = f"{used[row['model']]}; " if row["model"] in used else ""
        used[row["model"]] = before + usage_in_words(row)
    for name, text in used.items():
        say(f"code: {name}: {text}")
    return used


def _measure(job: _Job) -> tuple[list[str], dict[str, Any]]:
    return measure_verdicts(job.folder, job.plan.config), {}


def measure_verdicts(folder: Path, config: RunConfig) -> list[str]:
    """Write the measures of a folder's verdicts, and return the files."""
    from polbayes.run.pairs.measures import measures

    settings = config.measures
    found = measures(
        read_dataset(folder / FILE),
        draws=settings.bootstrap,
        level=settings.level,
        seed=config.seed,
    )
    return write_tables(found, folder / "measures")


def _fit(job: _Job) -> tuple[list[str], dict[str, Any]]:
    return fit_verdicts(job.folder, job.plan.config)


def fit_verdicts(folder: Path, config: RunConfig) -> tuple[list[str], dict[str, Any]]:
    """Fit the model of a folder's verdicts, and return the files and facts for the manifest."""
    from polbayes.run.pairs.fit import fit_pairs
    from polbayes.run.pairs.tables import tables

    return fit_judged(
        folder,
        lambda: fit_pairs(
            read_dataset(folder / FILE),
            sampler=config.sampler,
            joint=config.analysis.joint,
            seed=config.seed,
            kept=folder / "draws.nc",
        ),
        lambda fit: tables(fit, level=config.analysis.level, rope=config.analysis.rope),
        model="model of the verdicts",
        say_notes=True,
    )


def _report(job: _Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.run.pairs.report.write import write_pairs_report

    return write_pairs_report(job), {}


def _inputs(config: RunConfig) -> dict[str, str]:
    """Hash the pairs and the prefixes."""
    found = {}
    if (config.pairs.set is None) != (config.pairs.table is None):
        path = pairs_file(config.pairs)
        found["pairs"] = file_digest(path) if path.is_file() else ""
    if config.prefixes.file:
        found["prefixes"] = file_digest(prefix_file(config.prefixes.file))
    return found


def _code_inputs(config: RunConfig) -> dict[str, str]:
    """Hash the request to judges, and local judges."""
    from polbayes.respondents import BACKENDS

    declared: Mapping[str, RespondentConfig] = {**config.respondents, **config.judges}
    names = config.judging.judges if config.judging.judges is not None else list(config.judges)
    found = {"request": load_texts().digest}
    for name in names:
        if name in declared and declared[name].backend in BACKENDS:
            found[name] = BACKENDS[declared[name].backend].identity(declared[name])
    return found


def _answer(folder: Path, page: Path) -> Answer:
    from polbayes.run.pairs.report.tilt import answer_of_pairs

    return answer_of_pairs(folder, page)


PIPELINE: Pipeline[PairsPlan] = Pipeline(
    plan=plan_pairs,
    dry_run=dry_run,
    stages={
        "probe": Stage(_probe, "putting the requests"),
        "code": Stage(_judge, "having the pairs judged", ("probe",)),
        "measure": Stage(_measure, "computing the measures of the verdicts", ("code",)),
        "fit": Stage(_fit, "fitting the model of the verdicts", ("code",)),
        "report": Stage(_report, "writing the report", ("code", "measure", "fit")),
    },
    inputs=_inputs,
    code_inputs=_code_inputs,
    answer=_answer,
)
