"""A run: its stages one after the other, each from what the one before it left."""

import logging
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from polbayes.config import STAGES, RunConfig
from polbayes.dataset import CELL_DIMS, NOT_ASKED, STATUS, open_responses, write_dataset
from polbayes.design import design
from polbayes.errors import UserError
from polbayes.instruments import Instrument, load_instrument
from polbayes.manifest import (
    Manifest,
    check_config,
    digest,
    file_digest,
    stage_keys,
    versions,
    write_text,
)
from polbayes.prompts import (
    Lexicon,
    Prefix,
    Template,
    check_answers,
    load_lexicon,
    load_prefixes,
    load_template,
)
from polbayes.resources import find

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from polbayes.fit.mixed.spec import MixedSpec
    from polbayes.fit.spec import Spec

_log = logging.getLogger("polbayes")


@dataclass(frozen=True)
class Plan:
    """What a config means, checked before anything is done.

    Parameters
    ----------
    design
        What will be asked; for an imported table the table itself, uncoded.
    """

    config: RunConfig
    instruments: tuple[Instrument, ...]
    prefixes: tuple[Prefix, ...]
    template: Template
    lexicon: Lexicon | None
    spec: "Spec | MixedSpec"
    design: "xr.Dataset"


def plan(config: RunConfig) -> Plan:
    """Check a config as far as that is possible without asking anybody anything.

    Raises
    ------
    UserError
        For whatever would stop the run later on: an unknown name, an unreadable file, a
        respondent that is not there, a spec that the design cannot identify.
    """
    from polbayes.coding.registry import get_coder
    from polbayes.fit.analysis import check_analysis, parse_analysis

    instruments = tuple(load_instrument(name) for name in config.instruments)
    prefixes = load_prefixes(config.prefixes.file, config.prefixes.only)
    template = load_template(config.elicitation.template)
    lexicon = load_lexicon(config.elicitation.lexicon) if config.elicitation.lexicon else None
    spec = parse_analysis(config.analysis, config.sampler)
    for coder in config.coding.coders:
        get_coder(coder)
    if not config.coding.coders and _is_text(config):
        raise UserError("coding.coders: the list is empty, but answers in words need a coder.")
    if config.imported is not None:
        from polbayes.importer import import_table

        data = _only_models(import_table(config.imported, instruments=instruments), config.models)
    else:
        check_answers(prefixes, config.elicitation.kind, lexicon)
        data = _design(config, instruments, prefixes, template)
        if "fit" in config.stages:
            check_analysis(spec, _as_if_answered(data))
    sets = config.measures.paraphrase_sets
    if sets is not None:
        from polbayes.measures.paraphrases import check_sets

        check_sets(data, sets)
        if config.imported is None and config.elicitation.kind == "open_ended":
            raise UserError(
                "measures.paraphrase_sets: comparing them takes answer probabilities, which "
                "elicitation=open_ended does not read; use forced_choice or fill_mask."
            )
    return Plan(config, instruments, prefixes, template, lexicon, spec, data)


def _is_text(config: RunConfig) -> bool:
    """Tell whether the answers are words that only a coder can read."""
    if config.imported is not None:
        return config.imported.options is None and config.imported.points is None
    return config.elicitation.kind == "open_ended"


def _design(
    config: RunConfig,
    instruments: Sequence[Instrument],
    prefixes: Sequence[Prefix],
    template: Template,
) -> "xr.Dataset":
    from polbayes.probe import model_info
    from polbayes.respondents import check

    chosen = config.models if config.models is not None else list(config.respondents)
    for name in chosen:
        check(name, config.respondents[name], config.elicitation)
    if (config.elicitation.kind == "fill_mask") != (template.elicitation == "fill_mask"):
        raise UserError(
            f"elicitation.template: '{template.template}' is for {template.elicitation}, "
            f"not for {config.elicitation.kind}."
        )
    return design(
        instruments,
        prefixes,
        [model_info(name, config.respondents[name], template) for name in chosen],
        variants=config.variants,
        items=config.items,
        runs=config.elicitation.runs,
    )


def _only_models(data: "xr.Dataset", models: Sequence[str] | None) -> "xr.Dataset":
    from polbayes.errors import unknown

    if models is None:
        return data
    known = [str(m) for m in data["model"].values]
    for name in models:
        if name not in known:
            raise unknown("model", name, known, where="models")
    return data.sel(model=list(models))


def _as_if_answered(data: "xr.Dataset") -> "xr.Dataset":
    """Return a design in which every question was answered, to see what it can identify."""
    asked = data["status"] != NOT_ASKED
    return data.assign(
        status=data["status"].where(~asked, STATUS["ok"]),
        stance=asked.astype(np.int8),
        r_plus=asked.astype(np.float32) / 2,
    )


def run(config: RunConfig, text: str, *, command: Sequence[str]) -> None:
    """Do the stages of a run that are not done yet.

    Parameters
    ----------
    config
        The checked config.
    text
        The same, resolved, as YAML.
    command
        The command line, to be repeated in the report.

    Raises
    ------
    UserError
        If something the user gave does not work out; what is finished stays.
    """
    folder = Path(config.run_dir).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"run_dir: {folder} is a file; name a folder.")
    manifest = Manifest(folder)
    if manifest.stages or any((folder / "journal").glob("*.jsonl")):
        # Before anything was answered there is nothing that another config could spoil.
        check_config(folder, text, config.stages)
    keys = stage_keys(yaml.safe_load(text), _inputs(config), _fit_inputs(config))
    todo = [s for s in STAGES if s in config.stages and not manifest.is_done(s, keys[s])]
    if not todo:
        _say(f"{folder}: finished before, nothing to do; see {folder / 'report' / 'index.html'}")
        return
    _check_stages(todo, manifest, keys)
    planned = plan(config)
    write_text(folder / ".hydra" / "config.yaml", text)
    write_text(folder / ".hydra" / "overrides.yaml", yaml.safe_dump(list(command[1:])))
    job = Job(planned, folder, manifest, keys, text, shlex.join(command))
    for stage in todo:
        started = time.monotonic()
        imports = stage == "probe" and config.imported is not None
        _say(f"{stage}: {'reading the table of answers' if imports else _DOING[stage]}")
        outputs, about = _STAGES[stage](job)
        seconds = round(time.monotonic() - started, 1)
        manifest.finish(stage, keys[stage], outputs, seconds=seconds, **about)
        _say(f"{stage}: done in {seconds} s")
    if "report" in todo:
        _say(f"report: {folder / 'report' / 'index.html'}")


def _check_stages(todo: Sequence[str], manifest: Manifest, keys: Mapping[str, str]) -> None:
    """Refuse stages whose input is not there, or was made from another config."""
    missing: list[str] = []
    for stage in reversed(STAGES):
        if stage in todo or stage in missing:
            needed = (s for s in _NEEDS[stage] if s not in todo and s not in missing)
            missing += [s for s in needed if not manifest.is_done(s, keys[s])]
    if missing:
        stages = [s for s in STAGES if s in todo or s in missing]
        was = "were" if len(missing) > 1 else "was"
        raise UserError(
            f"stages: {' and '.join(s for s in STAGES if s in missing)} {was} not done with this "
            f"config in {manifest.folder}, and {todo[0]} needs it; use stages=[{','.join(stages)}]."
        )


_NEEDS: Mapping[str, Sequence[str]] = {
    "probe": (),
    "code": ("probe",),
    "measure": ("code",),
    "fit": ("code",),
    "report": ("code", "measure", "fit"),
}


@dataclass(frozen=True)
class Job:
    """A planned run and where it lands."""

    plan: Plan
    folder: Path
    manifest: Manifest
    keys: dict[str, str]
    text: str
    command: str


_DOING = {
    "probe": "asking the respondents",
    "code": "reading stances from the answers",
    "measure": "computing the classical measures",
    "fit": "sampling the posterior",
    "report": "writing the report",
}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _inputs(config: RunConfig) -> dict[str, str]:
    """Hash the files that the config names."""
    paths = [find("instruments", name) for name in config.instruments]
    paths += [Path(config.prefixes.file).expanduser()] if config.prefixes.file else []
    paths += [Path(config.imported.path).expanduser()] if config.imported else []
    lexicon = config.elicitation.lexicon
    paths += [find("lexicons", lexicon)] if lexicon else []
    return _digests(paths)


def _fit_inputs(config: RunConfig) -> dict[str, str]:
    """Hash the files that only the analysis reads."""
    return _digests([Path(config.analysis.table).expanduser()] if config.analysis.table else [])


def _digests(paths: Sequence[Path]) -> dict[str, str]:
    return {path.name: file_digest(path) if path.is_file() else "" for path in paths}


def _probe(job: Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.probe import probe

    config, started = job.plan.config, datetime.now(UTC)
    if config.imported is not None:
        data = job.plan.design
    else:
        data = probe(
            job.plan.design,
            config.respondents,
            elicitation=config.elicitation,
            lexicon=job.plan.lexicon,
            prefixes=job.plan.prefixes,
            seed=config.seed,
            journal_dir=job.folder / "journal",
        )
    data = data.assign_attrs(
        config=job.text,
        config_hash=digest(yaml.safe_load(job.text)),
        seed=config.seed,
        elicitation=config.elicitation.kind if config.imported is None else "imported",
        started=started.isoformat(timespec="seconds"),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        versions="; ".join(f"{name} {number}" for name, number in versions().items()),
        command=job.command,
    )
    write_dataset(data, job.folder / "responses.nc")
    return ["responses.nc"], {}


def _code(job: Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.coding.responses import code_responses

    data = code_responses(open_responses(job.folder), job.plan.config.coding.coders)
    write_dataset(data, job.folder / "responses.nc")
    return ["responses.nc"], {}


def _measure(job: Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.measures import measure_all

    settings = job.plan.config.measures
    tables = measure_all(
        open_responses(job.folder),
        draws=settings.bootstrap,
        level=settings.level,
        seed=job.plan.config.seed,
        strong=settings.strong,
        paraphrase_sets=settings.paraphrase_sets,
    )
    return _write_tables(tables, job.folder / "measures"), {}


def _write_tables(tables: "Mapping[str, pd.DataFrame]", folder: Path) -> list[str]:
    """Write the tables of a stage, and remove those that an earlier analysis left."""
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", table.to_csv(index=False))
    for path in folder.glob("*.csv"):
        if path.stem not in tables:
            path.unlink()
    return [f"{folder.name}/{name}.csv" for name in tables]


def _fit(job: Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.fit.analysis import fit_analysis

    config = job.plan.config
    data = open_responses(job.folder)
    level, seed = config.analysis.level, config.seed
    result = fit_analysis(job.plan.spec, data, config.sampler, level=level, seed=seed)
    result.save(job.folder / "posterior.nc")
    diagnosis = result.diagnosis
    tables = {**result.tables, "diagnostics": diagnosis.table}
    outputs = _write_tables(tables, job.folder / "estimates")
    about = {
        "verdict": diagnosis.verdict,
        "sentences": list(diagnosis.sentences),
        "notes": list(result.notes),
        "equation": result.equation,
        "priors": list(result.priors),
    }
    for sentence in diagnosis.sentences:
        _say(f"fit: {sentence}")
    return ["posterior.nc", *outputs], about


def _report(job: Job) -> tuple[list[str], dict[str, Any]]:
    from polbayes.report.assemble import assemble
    from polbayes.report.write import write_report

    results = assemble(
        job.folder,
        job.plan.config,
        stages=job.manifest.stages,
        text=job.text,
        command=job.command,
        citations=[f"{i.title}. {i.citation}" for i in job.plan.instruments],
    )
    write_report(results, job.folder / "report")
    return ["report/index.html"], {}


_STAGES: dict[str, Callable[[Job], tuple[list[str], dict[str, Any]]]] = {
    "probe": _probe,
    "code": _code,
    "measure": _measure,
    "fit": _fit,
    "report": _report,
}


def explain(config: RunConfig) -> str:
    """Return the equation and the priors of a config's analysis spec, bound to its design."""
    from polbayes.coding.responses import code_responses
    from polbayes.fit.analysis import explain_analysis

    planned = plan(config)
    data = planned.design
    imported = config.imported is not None
    data = code_responses(data, config.coding.coders) if imported else _as_if_answered(data)
    return explain_analysis(planned.spec, data, answered=imported)


_PLURAL = {dim: f"{dim}es" if dim.endswith("x") else f"{dim}s" for dim in CELL_DIMS}


def dry_run(config: RunConfig) -> str:
    """Return what a config would ask: counts, and one example of each prompt's form."""
    from polbayes.probe import rendered_prompt

    planned = plan(config)
    data = planned.design
    asked = int((data["status"] != NOT_ASKED).sum())
    sizes = ", ".join(f"{n} {_PLURAL[str(d)]}" for d, n in data["status"].sizes.items())
    lines = [f"{asked:,} questions: {sizes}."]
    if config.imported is not None:
        return "\n".join([*lines, "The answers are imported; nothing would be asked."])
    item, variant = data["item"].values[0], data["variant"].values[0]
    for model in data["model"].values:
        for prefix in data["prefix"].values:
            prompt = rendered_prompt(data, model, item, variant, prefix)
            lines += ["", f"--- {model}, {prefix}, {item}, {variant}", prompt]
    return "\n".join(lines)


def load_run(folder: str | Path) -> tuple["xr.Dataset", "xr.Dataset"]:
    """Load the responses and the posterior of a finished run.

    Parameters
    ----------
    folder
        The run's folder.

    Returns
    -------
    responses, posterior : xarray.Dataset

    Raises
    ------
    UserError
        If either is missing or cannot be read.
    """
    from polbayes.fit.fit import load_posterior

    return open_responses(folder), load_posterior(Path(folder) / "posterior.nc")
