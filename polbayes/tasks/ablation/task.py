"""``task=ablate``: a design answered and read in several ways: tables, figures and a page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from polbayes.config.schema import CodingConfig, ElicitationConfig, RunConfig
from polbayes.config.tasks import Answer
from polbayes.data.progress import say
from polbayes.errors import UserError
from polbayes.judging.costs import write_judges_usage
from polbayes.measures.consistency import has_pairs
from polbayes.measures.resampling import Bootstrap
from polbayes.probing.costs import write_usage
from polbayes.probing.journal import CODING
from polbayes.run.manifest import check_config
from polbayes.run.plan import Plan, plan
from polbayes.tasks.ablation.measure import by_item, differences, measured, with_lexicon
from polbayes.tasks.ablation.settings import Reading, coder_lists, decodings, readings

FOLDER, ANSWERS, PAGE = "ablation", "answers", "report"


def ablate(config: RunConfig, text: str, *, command: Sequence[str]) -> Answer:
    """Answer and read a run's questions with all settings of `config.ablation`, and compare."""
    from polbayes.report.heading import heading
    from polbayes.report.write import write_page
    from polbayes.tasks.ablation.page import answer_lines, front, sections

    run = Path(config.run_dir).expanduser()
    check_config(run, text, ["fit", "report"])
    if config.imported is not None:
        raise UserError("task=ablate: imported answers cannot be asked again in other ways.")
    # The analysis is not used here, so the design need not identify it.
    try:
        planned = plan(replace(config, stages=["probe", "code"]))
    except UserError as error:
        raise _without_coders(error) from error
    if not has_pairs(planned.design):
        raise UserError(
            "variants: an ablation compares consistency, which takes an original wording and "
            "another one; ask both."
        )
    found = _of_lexicons(planned) if planned.lexicon is not None else _of_answers(planned)
    tables = _tables(found, config)
    own = heading(config, command[1:], [one.title for one in planned.instruments])
    page = write_page(
        front(config, own, tables),
        sections(tables, text=text, command=command),
        tables,
        run / FOLDER / PAGE,
    )
    facts = tables["ablation"].query("measure == 'consistent_4'").drop(columns="note")
    said = facts.astype(object).where(facts.notna(), None).to_dict(orient="records")
    text = "\n".join([*answer_lines(tables["ablation"]), f"Report: {page}"])
    return Answer(text, {"consistency": said, "report": str(page)})


Measured = Iterator[tuple[Mapping[str, Any], xr.Dataset]]


def _without_coders(error: UserError, where: str = "") -> UserError:
    """Return an error whose way out, if it has one, compares no coders either."""
    add = (*error.add, "~ablation.coders") if error.add else ()
    return UserError(f"{where}{error.sentence}", add=add)


def _of_answers(planned: Plan) -> Measured:
    """Yield the coded answers of every decoding and list of coders."""
    from polbayes.coding.registry import check_coders
    from polbayes.respondents import check

    config = planned.config
    ways, lists = decodings(config), coder_lists(config)
    models = config.models if config.models is not None else list(config.respondents)
    for name, elicitation in ways.items():
        for model in models:
            try:
                check(model, config.respondents[model], elicitation)
            except UserError as error:
                raise UserError(f"ablation.decodings.{name}: {error}") from error
    for name, coders in lists.items():
        try:
            coding = CodingConfig(coders=list(coders), models=config.coding.models)
            check_coders(coding, used=True)
        except UserError as error:
            raise _without_coders(error, f"ablation.coders.{name}: ") from error
    every = list(dict.fromkeys(name for coders in lists.values() for name in coders))
    try:
        for name, elicitation in ways.items():
            data = _asked(planned, elicitation, name, own=elicitation == config.elicitation)
            for read_by, coders in lists.items():
                say(f"ablate: answers {name}, read by {', '.join(coders)}")
                yield {"decoding": name, "coder": read_by}, _coded(data, config, coders)
    finally:
        write_judges_usage(Path(config.run_dir).expanduser(), every, config.coding.models)


def _of_lexicons(planned: Plan) -> Measured:
    """Yield the masses of one run as read with every lexicon."""
    config, whole = planned.config, planned.lexicon
    assert whole is not None
    ways = readings(config, whole)
    data = _asked(planned, config.elicitation, "masses", own=True)
    for reading in ways:
        yield _labels(reading), _coded(with_lexicon(data, reading.lexicon), config, [])


def _labels(reading: Reading) -> Mapping[str, Any]:
    return {
        "size": reading.size,
        "composition": reading.composition,
        "options": ", ".join(reading.lexicon.options),
    }


def _asked(planned: Plan, elicitation: ElicitationConfig, name: str, *, own: bool) -> xr.Dataset:
    """Ask with one decoding, and return the answers; the run's own are reused."""
    from polbayes.probing.probe import probe
    from polbayes.run.plan import design_of

    config = replace(planned.config, elicitation=elicitation)
    run = Path(config.run_dir).expanduser()
    folder = run / FOLDER / ANSWERS / re.sub(r"[^\w.-]+", "_", name)
    say(f"ablate: asking, {name}")
    try:
        return probe(
            design_of(config, planned.instruments, planned.prefixes, planned.template),
            config.respondents,
            elicitation=elicitation,
            lexicon=planned.lexicon,
            prefixes=planned.prefixes,
            seed=config.seed,
            journal_dir=folder / "journal",
            answers_from=run / "journal" if own else None,
        )
    finally:
        write_usage(folder, config.respondents)


def _coded(data: xr.Dataset, config: RunConfig, coders: Sequence[str]) -> xr.Dataset:
    from polbayes.coding.responses import code_responses

    journal = Path(config.run_dir).expanduser() / CODING
    return code_responses(data, coders, models=config.coding.models, journal_dir=journal)


def _tables(found: Measured, config: RunConfig) -> dict[str, pd.DataFrame]:
    """Measure every setting, and compare each with the first."""
    bootstrap = Bootstrap(config.measures.bootstrap, config.measures.level, config.seed)
    rows, apart, first = [], [], None
    for labels, data in found:
        rows.append(_labelled(measured(data, config.measures, config.seed), labels))
        items = by_item(data, config.measures.strong)
        if first is None:
            first = items
        else:
            apart.append(_labelled(differences(items, first, bootstrap), labels))
    tables = {"ablation": pd.concat(rows, ignore_index=True)}
    if apart:
        tables["ablation_differences"] = pd.concat(apart, ignore_index=True)
    return tables


def _labelled(table: pd.DataFrame, labels: Mapping[str, Any]) -> pd.DataFrame:
    named = table.copy()
    for place, (name, value) in enumerate(labels.items()):
        named.insert(place, name, value)
    return named
