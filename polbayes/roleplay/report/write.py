"""The report of a roleplay as files: the page, and a page of transcripts per model."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from polbayes.data.dataset import read_dataset
from polbayes.data.prose import form, plural
from polbayes.data.provenance import versions
from polbayes.report.assemble import read_tables, took, used_by
from polbayes.report.blocks import Section
from polbayes.report.page import front_of, render_page
from polbayes.report.sections.facets import freed_profiles, judge_effects, judge_precision
from polbayes.report.write import write_page
from polbayes.roleplay.plan import RoleplayPlan
from polbayes.roleplay.rated import FILE
from polbayes.roleplay.report.agreement import agreement
from polbayes.roleplay.report.alignment import alignment, answer
from polbayes.roleplay.report.judges import judges
from polbayes.roleplay.report.method import method, rerun
from polbayes.roleplay.report.pressure import pressure
from polbayes.roleplay.report.profiles import profiles
from polbayes.roleplay.report.results import RatingsResults
from polbayes.roleplay.report.robustness import robustness
from polbayes.roleplay.report.symmetry import symmetry
from polbayes.roleplay.report.transcripts import page, page_name, transcript_table, transcripts
from polbayes.roleplay.report.usable import usable
from polbayes.roleplay.transcripts import STATUS, open_transcripts
from polbayes.run.pipeline import Job

# In the order of the page.
SECTIONS: Mapping[str, Callable[[RatingsResults], Section | None]] = {
    "Where the models stand": alignment,
    "Judge-adjusted": freed_profiles,
    "Profiles of ten values": profiles,
    "What pressure does": pressure,
    "Mirrored twins": symmetry,
    "The judges": judges,
    "Rater effects": judge_effects,
    "How many judges are enough": judge_precision,
    "Agreement between judges": agreement,
    "Wordings and weights": robustness,
    "What could be used": usable,
    "Transcripts": transcripts,
    "How it was done": method,
    "Cite and rerun": rerun,
}


def write_ratings_report(job: Job[RoleplayPlan]) -> list[str]:
    """Write the report of a roleplay."""
    results = assemble(job)
    made = {name: section(results) for name, section in SECTIONS.items()}
    present = [section for section in made.values() if section is not None]
    absent = [name for name, section in made.items() if section is None]
    table = transcript_table(results)
    models = [str(m) for m in results.transcripts["model"].values]

    def pages(folder: Path) -> None:
        for k, model in enumerate(models):
            front = front_of(results, [], title=f"{results.title}: transcripts of {model}")
            text = render_page(front, [page(results, model, table)], {}, {})
            (folder / page_name(k)).write_text(text, encoding="utf-8")

    tables = {**results.tables, "transcripts": table}
    front = front_of(results, absent, answer=answer(results))
    write_page(front, present, tables, job.folder / "report", also=pages)
    return ["report/index.html", *(f"report/{page_name(k)}" for k in range(len(models)))]


def assemble(job: Job[RoleplayPlan]) -> RatingsResults:
    """Gather the results of a roleplay."""
    config, stages = job.plan.config, job.manifest.stages
    data, ratings = open_transcripts(job.folder), read_dataset(job.folder / FILE)
    notes = [str(one.attrs.get("notes", "")) for one in (data, ratings)]
    return RatingsResults(
        title=config.title or config.name,
        description=config.description,
        name=config.name,
        command=job.command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        transcripts=data,
        ratings=ratings,
        tables=read_tables(job.folder / "measures") | read_tables(job.folder / "estimates"),
        level=config.measures.level,
        rope=config.analysis.rope,
        texts=job.plan.texts,
        exclusions=[*_exclusions(data, ratings), *stages["fit"]["notes"]],
        verdict=stages["fit"].get("verdict", ""),
        verdict_sentences=list(stages["fit"].get("sentences", [])),
        notes=[line for text in notes for line in text.splitlines() if line],
        config_yaml=job.text,
        provenance={name: str(n) for name, n in versions().items()}
        | {"seed": str(config.seed), "asked": str(data.attrs.get("finished", ""))}
        | used_by(stages),
        duration=took(stages),
    )


# What turns without a rating have in common, of one and of several, by their status.
_LEFT_OUT = {
    "invalid": (
        "was answered with nothing, and is not rated",
        "were answered with nothing, and are not rated",
    ),
    "error": ("could not be answered",) * 2,
    "too_long": ("did not fit into the context of the model",) * 2,
    "skipped": (
        "was not put, because a turn before it had no answer",
        "were not put, because a turn before them had no answer",
    ),
}


def _exclusions(data: Any, ratings: Any) -> list[str]:
    """Describe what the numbers exclude."""
    counts = {name: int((data["status"] == code).sum()) for name, code in STATUS.items()}
    sentences = [
        f"{plural(counts[name], 'turn')} {form(counts[name], *said)}."
        for name, said in _LEFT_OUT.items()
        if counts[name]
    ]
    refused = counts["refused"] + counts["declined"]
    if refused:
        rated = form(
            refused,
            "is a refusal; if it has a text, that is rated as it is",
            "are refusals; those with a text are rated as it is",
        )
        sentences.append(f"{plural(refused, 'turn')} {rated}.")
    asked = ratings["attempts"] > 0
    lacking = int((asked & ratings["rating"].isnull().any("value")).sum())
    if lacking:
        times = form(lacking, "Once", f"{lacking:,} times")
        sentences.append(
            f"{times} a judge left a rating of a text out, or gave one that cannot be used, after "
            "all attempts; its other ratings of that text do not count."
        )
    if ratings.sizes["judge"] == 1:
        sentences.append("There is one judge only: how far judges agree cannot be said.")
    if ratings.sizes["model"] == 1:
        sentences.append("There is one model only: there is no order of models.")
    return sentences
