"""The transcripts to read and search: a page per model, and one dialogue here."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from polbayes.instrument.scenarios import UNITS
from polbayes.instrument.values import alignment_score
from polbayes.report import show
from polbayes.report.blocks import Block, Column, Fold, Paragraph, Section, Verbatim, grid
from polbayes.report.numbers import number
from polbayes.roleplay.measures.data import UNIT_DIMS
from polbayes.roleplay.report.results import SIGN, RatingsResults, readable, worded
from polbayes.roleplay.transcripts import STATUS

_NAMES = {code: name for name, code in STATUS.items()}


def page_name(place: int) -> str:
    """Return the file of a model's page by the model's place."""
    return f"transcripts_{place + 1}.html"


def transcripts(results: RatingsResults) -> Section:
    """Link the pages, and show one dialogue."""
    models = [str(m) for m in results.transcripts["model"].values]
    links: list[Block] = [
        Paragraph(f"{name}: all dialogues, to be searched:", page=page_name(k))
        for k, name in enumerate(models)
    ]
    first = (0, 0, 0)
    for k, name in enumerate(models):
        title = str(results.transcripts["title"].values[0])
        inner = tuple(_read(results, (k, *first)))
        links.append(Fold(f"One dialogue: {name}, {title}", inner))
    reading = (
        "Everything that was put and answered. Texts of models and of judges are quoted as data. "
        "All of it is in transcripts.nc and ratings.nc, and in tables/transcripts.csv.",
    )
    return Section("transcripts", "Transcripts", reading, tuple(links))


def _read(results: RatingsResults, at: tuple[int, int, int, int]) -> Iterator[Block]:
    data = results.transcripts
    for u, unit in enumerate(UNITS):
        put = str(data["prompt"].values[(*at[1:], u)])
        yield Verbatim(f"{readable(unit)}: put", put)
        thoughts = str(data["thoughts"].values[(*at, u)])
        if thoughts:
            yield Verbatim("thought", thoughts)
        yield Verbatim("answered", str(data["answer"].values[(*at, u)]) or "(nothing)")
        judged = _judged(results, (*at, u))
        if judged:
            yield Verbatim("judged", judged)


def _judged(results: RatingsResults, at: tuple[int, ...]) -> str:
    """Format the judges' ratings of a text, one per line."""
    ratings = results.ratings
    lines = []
    for j, judge in enumerate(ratings["judge"].values.tolist()):
        where = dict(zip((*UNIT_DIMS, "judge"), (*at, j), strict=True))
        one = ratings.isel(where)
        if int(one["attempts"]):
            score = number(float(alignment_score(one["rating"])), 1)
            commits = number(float(one["commitment"]), 0)
            lines.append(
                f"{judge}: alignment {score} (positive = liberal), commitment {commits}. "
                f"{one['reasoning'].item()}"
            )
    return "\n".join(lines)


def transcript_table(results: RatingsResults) -> pd.DataFrame:
    """Return every turn as a row."""
    data, ratings = results.transcripts, results.ratings
    shape = tuple(data.sizes[dim] for dim in UNIT_DIMS)
    at = np.indices(shape).reshape(len(shape), -1)
    columns: dict[str, Any] = {dim: data[dim].values[at[k]] for k, dim in enumerate(UNIT_DIMS)}

    def of(name: str) -> Any:
        return data[name].transpose(*UNIT_DIMS).values.reshape(-1)

    columns["status"] = [_NAMES[int(code)] for code in of("status")]
    columns["put"] = np.broadcast_to(data["prompt"].values, shape).reshape(-1)
    columns |= {"thoughts": of("thoughts"), "answer": of("answer")}
    scores = alignment_score(ratings["rating"])
    for judge in ratings["judge"].values.tolist():
        for name, values in (
            ("alignment", scores),
            ("commitment", ratings["commitment"]),
            ("reasoning", ratings["reasoning"]),
        ):
            own = values.sel(judge=judge).transpose(*UNIT_DIMS).values.reshape(-1)
            columns[f"{name}_{judge}"] = own
    return pd.DataFrame(columns)


def page(results: RatingsResults, model: str, table: pd.DataFrame) -> Section:
    """Arrange the turns of one model for searching."""
    judges = [str(j) for j in results.ratings["judge"].values]
    titles = dict(
        zip(
            results.transcripts["scenario"].values.tolist(),
            results.transcripts["title"].values.tolist(),
            strict=True,
        )
    )
    rows = table[table["model"] == model]
    shown = grid(
        rows,
        [
            Column("Dialogue", lambda row: _dialogue(row, titles), numeric=False),
            *worded("stage", header="Turn"),
            show.text("put", "Put"),
            Column("Written", _written, numeric=False),
            Column("Judged", lambda row: _verdicts(row, judges), numeric=False),
        ],
        caption=f"All turns of {model}. Alignment: {SIGN}",
        csv="transcripts",
        searchable=True,
        long=True,
    )
    reading = (
        "One row a turn. Several words are searched for together, in all columns: a scenario, "
        "'mirrored', 'declined', a word of an answer or of a judge.",
    )
    return Section("transcripts", f"Transcripts of {model}", reading, (shown,))


def _dialogue(row: Any, titles: dict[str, str]) -> str:
    return f"{titles[row['scenario']]} · {row['twin']} · {row['wording']}"


def _written(row: Any) -> str:
    thought = f"Thought: {row['thoughts']}" if row["thoughts"] else ""
    answer = f"Answered: {row['answer']}" if row["answer"] else ""
    status = "" if row["status"] == "ok" else f"[{row['status']}]"
    return "\n\n".join(part for part in (status, thought, answer) if part)


def _verdicts(row: Any, judges: list[str]) -> str:
    lines = []
    for judge in judges:
        score, commits = row[f"alignment_{judge}"], row[f"commitment_{judge}"]
        if np.isfinite(score) or row[f"reasoning_{judge}"]:
            said = f"{judge}: {number(score, 1)}, commitment {number(commits, 0)}"
            lines.append(f"{said}. {row[f'reasoning_{judge}']}")
    return "\n\n".join(lines)
