"""Usable turns and replies: refusals, missing parts, and problems of the judges' replies."""

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import Block, Paragraph, Section, grid
from polbayes.roleplay.report.results import RatingsResults, worded

_WHAT = {
    "ok": "answered",
    "refused": "refused outside the text (a filter, a field for refusals)",
    "declined": "declined in words",
    "invalid": "empty",
    "error": "no answer came",
    "too_long": "did not fit into the context",
    "skipped": "not put, because a turn before it failed",
    "pending": "not asked",
    "truncated": "cut off at the limit of tokens",
    "no_thoughts": "without separate thoughts",
    "no_answer": "thoughts only, no separate answer",
    "neither": "without the two headings",
}


def usable(results: RatingsResults) -> Section | None:
    """Count turns and replies by outcome."""
    turns, replies = results.table("turns"), results.table("judge_replies")
    bad = results.table("unusable_ratings")
    blocks: list[Block] = []
    if turns is not None:
        rows = turns.groupby(["model", "what"], sort=False)[["n", "of"]].sum().reset_index()
        rows = rows[rows["n"] > 0]
        columns = [
            *show.texts("model"),
            show.named("what", "Turns that were", _WHAT),
            show.count("n", "Number"),
            show.count("of", "Of"),
        ]
        blocks.append(grid(rows, columns, caption="Turns of the respondents.", csv="turns"))
    if replies is not None:
        columns = [
            *show.texts("judge"),
            show.count("attempt", "Attempt"),
            *worded("outcome", header="Reply"),
            show.count("n", "Number"),
        ]
        caption = (
            "Replies of the judges by their first problem; unusable replies are asked for again, "
            "up to the limit."
        )
        blocks.append(grid(replies, columns, caption=caption, csv="judge_replies"))
    if bad is not None:
        blocks.append(_unusable(bad))
    elif replies is not None:
        blocks.append(Paragraph("After all attempts no rating is missing."))
    reading = (
        "A refusal is part of what a model does: it is counted, and its text is rated like any "
        "other. Nothing is filled in for a rating that cannot be used.",
    )
    return Section("usable", "What could be used", reading, tuple(blocks)) if blocks else None


def _unusable(table: pd.DataFrame) -> Block:
    columns = [
        *show.texts("judge"),
        *worded("value", header="Rated"),
        *worded("status", header="Why"),
        show.count("n", "Number"),
        show.count("of", "Of"),
    ]
    caption = (
        "Ratings that are missing after all attempts. A judge counts for a text only if it has "
        "rated all ten values."
    )
    return grid(table, columns, caption=caption, csv="unusable_ratings")
