"""The stages of a roleplay: playing, judging, measuring, fitting, reporting."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xarray as xr

from polbayes.config.resources import find, folder
from polbayes.config.schema import RespondentConfig, RunConfig
from polbayes.config.tasks import Answer
from polbayes.data.dataset import read_dataset, write_dataset
from polbayes.data.progress import say
from polbayes.data.prose import plural
from polbayes.data.provenance import file_digest
from polbayes.judging.declared import check_judges_ready
from polbayes.probing.journal import journal_path
from polbayes.probing.remarks import as_attributes, remarks_in
from polbayes.roleplay import texts
from polbayes.roleplay.plan import RoleplayPlan, dry_run, plan_roleplay
from polbayes.roleplay.transcripts import FILE as TRANSCRIPTS
from polbayes.roleplay.transcripts import STATUS, open_transcripts, transcripts
from polbayes.run.judged_fit import fit_judged
from polbayes.run.manifest import read_config
from polbayes.run.pipeline import Job, Pipeline, Stage, provenance, write_tables

_Job = Job[RoleplayPlan]


def _probe(job: _Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.probing.costs import usage_table
    from polbayes.roleplay.dialogues import play

    config, started = job.plan.config, datetime.now(UTC)
    journals = job.folder / "journal"
    other = Path(config.answers_from).expanduser() / "journal" if config.answers_from else None
    paths = {name: journal_path(journals, name) for name in config.respondents}
    if "code" in config.stages:
        check_judges_ready(job.plan.judges, config)
    try:
        play(job.plan, journal_dir=journals, answers_from=other)
    finally:
        used = _usage(job.folder / "usage.csv", usage_table(paths, config.respondents))
    data = transcripts(job.plan, journals).assign_attrs(provenance(job, started))
    write_dataset(data, job.folder / TRANSCRIPTS)
    counts = {name: int((data["status"] == code).sum()) for name, code in STATUS.items()}
    counts = {name: n for name, n in counts.items() if n}
    say(f"probe: turns: {', '.join(f'{n} {name}' for name, n in counts.items())}")
    return [TRANSCRIPTS], {"turns": counts, **({"usage": used} if used else {})}


def _judge(job: _Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.probing.costs import usage_table
    from polbayes.roleplay import rated
    from polbayes.roleplay.judging import JUDGES, journals

    config, started = job.plan.config, datetime.now(UTC)
    other = Path(config.answers_from).expanduser() if config.answers_from else None
    data = open_transcripts(job.folder)
    try:
        ratings, checks = rated.judge_all(job.plan, data, folder=job.folder, answers_from=other)
    finally:
        paths = journals(job.plan, job.folder / JUDGES)
        used = _usage(job.folder / "usage_judges.csv", usage_table(paths, job.plan.judges))
    remarks = {name: remarks_in([path]) for name, path in paths.items()}
    about = provenance(job, started) | as_attributes(remarks, _notes(job.plan))
    write_dataset(ratings.assign_attrs(about), job.folder / rated.FILE)
    outputs = [rated.FILE]
    if checks is not None:
        write_dataset(checks.assign_attrs(about), job.folder / rated.CHECKS_FILE)
        outputs.append(rated.CHECKS_FILE)
    else:
        (job.folder / rated.CHECKS_FILE).unlink(missing_ok=True)
    told = _told(ratings)
    for judge, text in told.items():
        say(f"code: {judge}: {text}")
    return outputs, {"replies": told, **({"usage": used} if used else {})}


def _told(ratings: xr.Dataset) -> dict[str, str]:
    """Describe for every judge how many texts it has rated completely, and what is left."""
    asked = ratings["attempts"] > 0
    complete = ratings["rating"].notnull().all("value") & ratings["commitment"].notnull()
    out = {}
    for judge in ratings["judge"].values.tolist():
        n, of = int(complete.sel(judge=judge).sum()), int(asked.sel(judge=judge).sum())
        again = int((ratings["attempts"].sel(judge=judge) > 1).sum())
        texts = plural(of, "text")
        out[str(judge)] = f"{n} of {texts} rated completely, {again} of them asked again"
    return out


def _notes(plan: RoleplayPlan) -> list[str]:
    respondents = plan.config.respondents
    others = [name for name in plan.models if respondents[name].backend != "planted_actor"]
    planted = [name for name, judge in plan.judges.items() if judge.backend == "planted_judge"]
    if not (others and planted):
        return []
    return [
        f"{', '.join(planted)}: an embedded judge finds nothing in what {', '.join(others)} "
        "wrote, and rates all of its values 10; name other judges."
    ]


def _measure(job: _Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.roleplay.rated import CHECKS_FILE, FILE
    from polbayes.roleplay.tables import tables

    checks = job.folder / CHECKS_FILE
    found = tables(
        open_transcripts(job.folder),
        read_dataset(job.folder / FILE),
        read_dataset(checks) if checks.is_file() else None,
        job.plan.config.measures,
        seed=job.plan.config.seed,
    )
    return write_tables(found, job.folder / "measures"), {}


def _fit(job: _Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.roleplay.fit.fit import check_facet_sampler, fit_ratings
    from polbayes.roleplay.fit.tables import facet_tables
    from polbayes.roleplay.rated import FILE

    config, ratings = job.plan.config, read_dataset(job.folder / FILE)
    check_facet_sampler(config.sampler)
    return fit_judged(
        job.folder,
        lambda: fit_ratings(
            ratings, sampler=config.sampler, seed=config.seed, kept=job.folder / "draws.nc"
        ),
        lambda fit: facet_tables(fit, level=config.measures.level),
        model="many-facet model",
        say_notes=False,
    )


def _report(job: _Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.roleplay.report.write import write_ratings_report

    return write_ratings_report(job), {}


def _usage(path: Path, table: Any) -> dict[str, str]:
    """Write and print the usage of respondents behind servers."""
    from polbayes.data.tables import write_csv
    from polbayes.probing.costs import usage_in_words

    if not len(table):
        return {}
    write_csv(path, table)
    used = {row["model"]: usage_in_words(row) for row in table.to_dict("records")}
    for name, text in used.items():
        say(f"{name}: {text}")
    return used


def _inputs(config: RunConfig) -> dict[str, str]:
    """Hash the scenarios and the texts around them."""
    names = config.roleplay.scenarios
    if names is None:
        names = sorted(path.stem for path in (folder("data") / "scenarios").glob("*.yaml"))
    paths = {name: find("scenarios", name) for name in names}
    turns = {"turns": texts.load_texts().digest_of_turns}
    return turns | {name: file_digest(path) for name, path in paths.items()}


def _code_inputs(config: RunConfig) -> dict[str, str]:
    """Hash the request to judges, and local judges."""
    from polbayes.respondents import BACKENDS

    declared: Mapping[str, RespondentConfig] = {**config.respondents, **config.judges}
    names = config.judging.judges if config.judging.judges is not None else list(config.judges)
    found = {"request": texts.load_texts().digest_of_request}
    for name in names:
        if name in declared and declared[name].backend in BACKENDS:
            found[name] = BACKENDS[declared[name].backend].identity(declared[name])
    return found


def _answer(folder: Path, page: Path) -> Answer:
    from polbayes.roleplay.report.alignment import answer_of_roleplay

    config = read_config(folder / ".hydra" / "config.yaml")
    return answer_of_roleplay(folder, page, rope=config.analysis.rope)


PIPELINE: Pipeline[RoleplayPlan] = Pipeline(
    plan=plan_roleplay,
    dry_run=dry_run,
    stages={
        "probe": Stage(_probe, "having the scenarios played"),
        "code": Stage(_judge, "having the transcripts judged", ("probe",)),
        "measure": Stage(_measure, "computing the measures of the ratings", ("code",)),
        "fit": Stage(_fit, "fitting the many-facet model", ("code",)),
        "report": Stage(_report, "writing the report", ("probe", "code", "measure", "fit")),
    },
    inputs=_inputs,
    code_inputs=_code_inputs,
    answer=_answer,
)
