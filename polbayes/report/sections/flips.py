"""What would change the conclusions: another prompt, run, coder or prior."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from polbayes.report import show
from polbayes.report.blocks import (
    Block,
    Bullets,
    Column,
    Fold,
    Grid,
    Paragraph,
    Picture,
    Section,
    folded_grid,
    grid,
)
from polbayes.report.conclusions import (
    AT_RISK,
    at_risk,
    by_conclusion,
    change_words,
    in_words,
)
from polbayes.report.figures.single_prompt import plot_single_prompt
from polbayes.report.labels import labels_of
from polbayes.report.numbers import chance, number
from polbayes.report.prose import plural
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

_MOST = 10
_READING = (
    "A study often asks each question once, in one wording and after one prefix. This section says "
    "how often such a study would contradict this report. A conclusion flips where the study's "
    "bias is on the other side of the centre, or of the other {who}'s; “stands at the centre” "
    "and “equal in practice” flip where it differs by more than the margin. An open verdict "
    "concludes nothing and is not listed.",
    "The studies ask the same statements. They are drawn from the fitted model: “one of these” "
    "prefixes or wordings is one of those asked, a “new” one has effects drawn from the "
    "distribution of such effects in the same model. “Same study again” is this run repeated, and "
    "says how much the draw of answers alone does. Changes of the prior are of another kind: the "
    "probability is that of the contrary under the posterior which that prior gives.",
)


def flips(results: Results) -> Section | None:
    """Show what would change the conclusions, and the prompts that move most."""
    table = results.table("flips")
    if table is None:
        return None
    risky = list(at_risk(table, results.dimensions))
    concluded = by_conclusion(table)
    blocks: list[Block] = [Paragraph(_summary(concluded, len(risky)))]
    if risky:
        some = tuple((f"{said}: ", f"not so with {why}.") for said, why in risky[:_MOST])
        blocks.append(Bullets(some))
    blocks += _studies(results)
    if not concluded.empty:
        fold = Fold("Every conclusion, and how probably it flips", (_table(concluded, results),))
        blocks.append(fold)
    blocks += _prompts(results)
    reading = tuple(text.format(who=results.who) for text in _READING)
    return Section("flips", "What another study would conclude", reading, tuple(blocks))


def _summary(concluded: pd.DataFrame, risky: int) -> str:
    if concluded.empty:
        return "All verdicts are open: there is no conclusion that could flip."
    return (
        f"Of {plural(len(concluded), 'conclusion')} of this report, {risky} would be contradicted "
        f"with a probability of {AT_RISK:.0%} or more by a study with other prompts, by another "
        "coder or under another prior."
    )


def _studies(results: Results) -> list[Block]:
    """Draw what studies with a single prompt would publish."""
    listed, posterior = results.table("single_prompt_studies"), results.table("bias_posterior")
    summary = results.table("single_prompt")
    if listed is None or posterior is None or summary is None:
        return []
    asked, words = listed[listed["prompts"] == "asked"], labels_of(results.dimensions)
    told = "; ".join(
        f"{row['model']}, {words.get(row['dimension'], row['dimension'])}: "
        f"{number(row['lower'])} to {number(row['upper'])}"
        for row in summary[summary["prompts"] == "asked"].head(30).to_dict("records")
    )
    picture = Picture(
        name="single_prompt",
        caption="Bias that a study would publish that asks each statement once, in one of these "
        "wordings and after one of these prefixes. Below the dots: the bias from all prompts, "
        f"with its {results.level:.0%} interval. Far apart dots mean that the prompt decides.",
        alt=f"Dot plot of twenty studies for each {results.who}, "
        f"{results.level:.0%} of them: {told}.",
        figure=plot_single_prompt(asked, posterior, results.poles),
        csv=("single_prompt", "single_prompt_studies"),
    )
    columns = [
        *show.texts("model", "dimension", "prompts"),
        *show.estimate("Published bias, mean", results.level),
        show.chance("p_left", f"P({results.poles.negative.word})"),
    ]
    caption = "What a study with a single prompt would publish."
    return [
        picture,
        folded_grid("As a table", summary, columns, caption=caption, csv="single_prompt"),
    ]


def _table(concluded: pd.DataFrame, results: Results) -> Grid:
    columns = [Column("Conclusion", partial(in_words, dimensions=results.dimensions), False)]
    columns += [
        Column(change_words(*by)[0], partial(_chance, by=by))
        for by in concluded.columns
        if isinstance(by, tuple)
    ]
    caption = "Probability that a conclusion flips, the one that a single prompt flips most first."
    return grid(concluded, columns, caption=caption, csv="flips")


def _chance(row: Mapping[Any, Any], *, by: tuple[str, str]) -> str:
    return chance(row[by])


def _prompts(results: Results) -> list[Block]:
    """Show the prompts that move most."""
    table = results.table("prompt_shifts")
    if table is None:
        return []
    low, high = results.poles.negative, results.poles.positive
    ends = f"from −1 ({low.word}) to 1 ({high.word})"
    blocks: list[Block] = []
    texts = {
        "prefix": ("The prefixes that move most", ["model", "dimension", "prefix"]),
        "wording": ("The wordings that move most", ["model", "dimension", "item", "variant"]),
    }
    of = {"prefix": f"the {results.who}'s bias", "wording": "the answer to its statement"}
    for kind, (title, names) in texts.items():
        rows = table[table["kind"] == kind]
        if len(rows):
            columns = [
                *show.texts(*names),
                *show.estimate("Moves it by", results.level),
                show.chance("p_left", f"P({low.to})"),
            ]
            caption = f"{title}: how far each moves {of[kind]}, {ends}."
            blocks.append(folded_grid(title, rows, columns, caption=caption, csv="prompt_shifts"))
    return blocks


SECTION = SectionMaker("What another study would conclude", flips, analysis="ideology", joint=True)
