"""The plan of a run: a config checked and described before anything is asked."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from polbayes.config.schema import PAIRED, ElicitationConfig, RespondentConfig, RunConfig
from polbayes.data.dataset import ASKED, CELL_DIMS, MISSING, STATUS, open_responses
from polbayes.data.prose import plural
from polbayes.errors import UserError, check_known
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.dimensions import dimensions_of
from polbayes.instrument.of_run import instrument_named
from polbayes.instrument.prompts import (
    Lexicon,
    Prefix,
    Template,
    check_answers,
    load_lexicon,
    load_prefixes,
    load_template,
)
from polbayes.instrument.questionnaires import Instrument
from polbayes.instrument.wordings import with_wordings
from polbayes.probing.journal import CODING, journal_path, settings_of

if TYPE_CHECKING:
    from polbayes.fit.mixed.spec import MixedSpec
    from polbayes.fit.spec.spec import Spec
    from polbayes.judging.respondent import AskedJudge


@dataclass(frozen=True)
class Plan:
    """A checked config with everything it refers to."""

    config: RunConfig
    instruments: tuple[Instrument, ...]
    prefixes: tuple[Prefix, ...]
    template: Template
    lexicon: Lexicon | None
    spec: "Spec | MixedSpec"
    design: xr.Dataset  # what will be asked; for an imported table the table itself, uncoded


def plan(config: RunConfig) -> Plan:
    """Check a config as far as possible without asking anything."""
    from polbayes.coding.registry import check_coders
    from polbayes.features import check_features, to_measure
    from polbayes.fit.analysis import check_analysis, parse_analysis
    from polbayes.probing.launch.engine import check_launcher
    from polbayes.run.adaptive import check_adaptive

    check_launcher(config.launcher)
    _check_batches(config)
    instruments = with_wordings([instrument_named(n) for n in config.instruments], config.wordings)
    imported = config.imported is not None
    prefixes = () if imported else load_prefixes(config.prefixes.file, config.prefixes.only)
    template = load_template(config.elicitation.template)
    lexicon = _lexicon(config.elicitation)
    spec = parse_analysis(config.analysis, config.sampler, config.features)
    check_coders(config.coding, used="code" in config.stages)
    if not config.coding.coders and _is_text(config):
        raise UserError("coding.coders: the list is empty, but answers in words need a coder.")
    if config.imported is not None:
        if config.probing.kind != "full":
            raise UserError("probing.kind: adaptive is for questions that are put, not imported.")
        from polbayes.coding.importer import import_table
        from polbayes.coding.table_rows import Selection

        chosen = Selection(config.models, config.items, config.variants, config.prefixes.only)
        data = import_table(config.imported, instruments=instruments, selection=chosen)
    else:
        data = design_of(config, instruments, prefixes, template, lexicon)
        check_answers(prefixes, config.elicitation.kind, lexicon)
        if "fit" in config.stages or config.probing.kind != "full":
            check_analysis(spec, _as_if_answered(data))
        check_adaptive(config.probing, spec, [str(m) for m in data["model"].values])
    for pair in config.report.maps or ():
        known = [one.dimension for one in dimensions_of(data)]
        check_known("dimension", *pair, known=known, where="report.maps")
        if len(set(pair)) != 2:
            raise UserError(f"report.maps: {pair} is not a pair of two dimensions.")
    _check_sets(config, data)
    _check_answers_from(config)
    if "measure" in config.stages:
        probabilities = config.elicitation.kind != "open_ended" or config.imported is not None
        check_features(to_measure(config.features, probabilities=probabilities), config.features)
    return Plan(config, instruments, prefixes, template, lexicon, spec, data)


def _check_batches(config: RunConfig) -> None:
    """Refuse several processes for what is submitted at once."""
    for name, respondent in config.respondents.items():
        batch = respondent.api.batch if respondent.api else None
        if batch is not None and config.launcher.kind != "local":
            raise UserError(
                f"respondents.{name}.api.batch: a batch service answers in parallel by itself; use "
                "launcher=local."
            )


def _lexicon(elicitation: ElicitationConfig) -> Lexicon | None:
    if not elicitation.lexicon:
        return None
    whole = load_lexicon(elicitation.lexicon)
    return whole if elicitation.lexicon_size is None else whole.first(elicitation.lexicon_size)


def _check_sets(config: RunConfig, data: xr.Dataset) -> None:
    from polbayes.measures.paraphrases import wordings_of_sets

    settings = config.measures
    if settings.reformulation_sets is not None:
        wordings_of_sets(data, settings.reformulation_sets, key="measures.reformulation_sets")
    if settings.paraphrase_sets is None:
        return
    wordings_of_sets(data, settings.paraphrase_sets, key="measures.paraphrase_sets")
    if config.imported is None and config.elicitation.kind == "open_ended":
        raise UserError(
            "measures.paraphrase_sets: comparing them takes answer probabilities, which "
            "elicitation=open_ended does not read; use forced_choice or fill_mask."
        )


def _check_answers_from(config: RunConfig) -> None:
    if config.answers_from is None:
        return
    if config.imported is not None:
        raise UserError("answers_from: is for answers that are asked for; leave it out.")
    if not any((Path(config.answers_from).expanduser() / "journal").glob("*.jsonl")):
        raise UserError(
            f"answers_from: {config.answers_from} is not the folder of a run that asked something."
        )


def _is_text(config: RunConfig) -> bool:
    """Return whether the answers are texts that only a coder can read."""
    if config.imported is not None:
        given = config.imported
        return given.options is None and given.points is None and "p_agree" not in given.columns
    return config.elicitation.kind == "open_ended"


def design_of(
    config: RunConfig,
    instruments: Sequence[Instrument],
    prefixes: Sequence[Prefix],
    template: Template,
    lexicon: Lexicon | None = None,
) -> xr.Dataset:
    """Return the design of a config."""
    from polbayes.respondents import check, describe

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
        [
            _with_decoding(
                _with_name(describe(name, config.respondents[name], template), config),
                config.respondents[name],
                config.elicitation,
            )
            for name in chosen
        ],
        variants=config.variants,
        items=config.items,
        runs=config.elicitation.runs,
        seed=config.seed,
        lexicon=lexicon,
    )


def _with_name(info: ModelInfo, config: RunConfig) -> ModelInfo:
    """Let prompts call a checkpoint by its own name: without its owner, or that of its folder.

    Embedded models keep their key in the config, and so does whoever was called by it when its
    journal was begun, as before checkpoints were called by their own names.
    """
    from polbayes.respondents import CALLED

    one = config.respondents[info.model]
    if one.called is not None or one.backend not in ("causal", "masked"):
        return info
    if not one.checkpoint or one.checkpoint.startswith("embedded:"):
        return info
    folders = [folder for folder in (config.run_dir, config.answers_from) if folder]
    paths = [journal_path(Path(at).expanduser() / "journal", info.model) for at in folders]
    begun = next((path for path in paths if path.is_file()), None)
    if begun is not None and CALLED not in settings_of(begun):
        return info
    whole = os.path.abspath(Path(one.checkpoint).expanduser())
    return replace(info, called=Path(whole).name.removesuffix(".gguf"))


def _with_decoding(
    info: ModelInfo, config: RespondentConfig, elicitation: ElicitationConfig
) -> ModelInfo:
    """Add the decoding to a model's attributes if it makes all runs one answer."""
    if elicitation.kind not in ("open_ended", PAIRED) or config.backend == "simulated":
        return info
    how, omitted = elicitation.decoding, config.api.omit if config.api else ()
    if how == "sample" and elicitation.temperature == 0 and "temperature" not in omitted:
        how = "greedy"
    if how == "sample" or "decoding" in info.attributes:
        return info
    return replace(info, attributes={**info.attributes, "decoding": how})


def _judging(config: RunConfig, data: xr.Dataset) -> list[str]:
    """Estimate the cost of judging: of the existing answers, or of all expected ones."""
    from polbayes.judging.costs import estimate_judges
    from polbayes.probing.costs import estimate_in_words

    asked = _judges(config)
    if not asked:
        return []
    for folder in (config.run_dir, config.answers_from):
        path = Path(folder).expanduser() if folder is not None else None
        if config.imported is None and path and (path / "responses.nc").is_file():
            data = open_responses(path)
            break
    table = estimate_judges(
        data,
        config.coding,
        longest=config.elicitation.max_new_tokens,
        journal_dir=Path(config.run_dir).expanduser() / CODING,
    )
    respondents = {name: judge.respondent for name, judge in asked.items()}
    return ["", estimate_in_words(table, respondents, who="judge")]


def _judges(config: RunConfig) -> "dict[str, AskedJudge]":
    """Return the judges that will read answers."""
    from polbayes.coding.registry import judges
    from polbayes.judging.respondent import declared_judge

    found = judges(config.coding.coders, config.coding.models) if _is_text(config) else {}
    return {name: declared_judge(name, one) for name, one in found.items()}


def _as_if_answered(data: xr.Dataset) -> xr.Dataset:
    """Return a design with every question answered, to check what it can identify."""
    from polbayes.coding.rated import POINTS, rating_attributes

    asked = data["status"] >= ASKED
    sides = xr.DataArray(np.resize(np.array([1, -1], dtype=np.int8), data.sizes["run"]), dims="run")
    if points := str(data.attrs.get(POINTS, "")).split("; ")[1:]:
        rating = xr.where(asked, (sides > 0) * len(points), MISSING).astype(np.int8)
        attributes = rating_attributes((str(data.attrs[POINTS]).split("; ")[0], *points))
        data = data.assign(rating=rating.transpose(*CELL_DIMS).assign_attrs(attributes))
    return data.assign(
        status=data["status"].where(~asked, STATUS["ok"]),
        stance=asked.astype(np.int8) * sides,
        r_plus=asked.astype(np.float32) / 2,
        p_agree=asked.astype(np.float32) / 3,
        p_disagree=asked.astype(np.float32) / 3,
    )


def explain(config: RunConfig) -> str:
    """Return the equation and the priors of a config's analysis spec, bound to its design."""
    from polbayes.fit.analysis import explain_analysis

    planned = plan(config)
    return explain_analysis(planned.spec, _answers(planned), answered=_has_answers(planned))


def prior(config: RunConfig) -> str:
    """Return the implications of the priors of a config's analysis spec for its design."""
    from polbayes.fit.analysis import prior_analysis

    planned = plan(config)
    level, seed = config.analysis.level, config.seed
    return prior_analysis(planned.spec, _answers(planned), level=level, seed=seed)


def _has_answers(planned: Plan) -> bool:
    """Return whether some answers can be coded without asking anything, judges included."""
    from polbayes.coding.registry import judges

    coding = planned.config.coding
    return planned.config.imported is not None and not judges(coding.coders, coding.models)


def _answers(planned: Plan) -> xr.Dataset:
    """Return the imported answers, or a design in which every question was answered."""
    from polbayes.coding.responses import code_responses

    if not _has_answers(planned):
        return _as_if_answered(planned.design)
    coding = planned.config.coding
    journal_dir = Path(planned.config.run_dir).expanduser() / CODING
    return code_responses(
        planned.design, coding.coders, models=coding.models, journal_dir=journal_dir
    )


def _analysis_in_words(config: RunConfig) -> str:
    analysis = config.analysis
    return (
        f"The analysis is of the response '{analysis.response}' in the family '{analysis.family}'; "
        "task=explain shows it, with the terms that this table cannot identify."
    )


def dry_run(config: RunConfig) -> str:
    """Describe what a config would ask: counts, tokens, costs, and an example of each prompt."""
    from polbayes.probing.costs import estimate, estimate_in_words
    from polbayes.probing.lengths import lengths_in_words
    from polbayes.probing.probe import rendered_prompt

    planned = plan(config)
    data = planned.design
    asked = int((data["status"] >= ASKED).sum())
    sizes = ", ".join(plural(n, str(d)) for d, n in data["status"].sizes.items())
    lines = [f"{plural(asked, 'question')}: {sizes}."]
    judged = _judging(config, data)
    if config.imported is not None:
        lines.append("The answers are imported; no respondent would be asked.")
        lines += [*str(data.attrs["notes"]).splitlines(), _analysis_in_words(config)]
        return "\n".join([*lines, *judged])
    journal = Path(config.run_dir).expanduser() / "journal"
    table = estimate(data, config.respondents, config.elicitation, journal)
    lines += ["", estimate_in_words(table, config.respondents)]
    lines += lengths_in_words(data, config.respondents, config.elicitation, planned.lexicon)
    lines += judged
    item, variant = data["item"].values[0], data["variant"].values[0]
    for model in data["model"].values:
        api = config.respondents[model].api
        if api is not None and api.system:
            lines += ["", f"--- {model}, system prompt", api.system]
        for prefix in data["prefix"].values:
            prompt = rendered_prompt(data, model, item, variant, prefix)
            lines += ["", f"--- {model}, {prefix}, {item}, {variant}", prompt]
    statement = str(data["statement"].sel(item=item, variant=variant).item())
    for name, judge in _judges(config).items():
        lines += ["", f"--- {name}, as judge", judge.prompt(statement, "(an answer)")]
    return "\n".join(lines)
