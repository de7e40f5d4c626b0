"""The exact prompts and examples of answers."""

from collections.abc import Mapping, Sequence

import pandas as pd
import xarray as xr

from polbayes.instrument.prompts import said_before
from polbayes.instrument.scales import FIELD
from polbayes.report import show
from polbayes.report.asked import (
    MASK,
    Prompt,
    example_answers,
    example_masses,
    extra_texts,
    prompts,
    sampled_answers,
    statements,
)
from polbayes.report.blocks import Block, Column, Fold, Paragraph, Section, Verbatim, grid
from polbayes.report.prose import Noun, listed, plural
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

MOST_CHARACTERS = 1500
# With more wordings the page shows the first of every item, so that browsers can open it.
MOST_STATEMENTS = 2000
# So much of the answers is on the page, behind the figures.
MOST_ANSWERS = 1500
MOST_TEXT = 1_000_000


def asked(results: Results) -> Section:
    """Show what was asked, word for word, and the answers."""
    data = results.responses
    sheets: dict[str, pd.DataFrame] = {}
    blocks = [
        *_prefixes(data, sheets),
        *_prompts(data, sheets, results.who),
        *_statements(data, sheets),
        *_answers(data, sheets, results.who),
        *_behind(data, sheets, results.who),
    ]
    reading = (
        f"This is what the {results.who.many} were asked, word for word, and what some of them "
        "answered. Answers are shown as they came; signs such as ⟨U+202E⟩ stand for characters "
        "that cannot be seen.",
    )
    return Section("prompts", "What was asked, exactly", reading, tuple(blocks), sheets)


def _prefixes(data: xr.Dataset, sheets: dict[str, pd.DataFrame]) -> list[Block]:
    texts = [name for name in ("prefix_text", "prefix_context") if name in data.coords]
    if not any(any(map(str, data[name].values)) for name in texts):
        return []
    table = pd.DataFrame(
        {"prefix": data["prefix"].values, "text": data["prefix_text"].values}
    ).astype(str)
    if "prefix_context" in data.coords and any(data["prefix_context"].values):
        unfilled = {"statement": "{statement}", "model_name": "{model_name}"}
        contexts = map(str, data["prefix_context"].values)
        table["before"] = [said_before(context, **unfilled) for context in contexts]
    known = {"prefix", "prefix_text", "prefix_answer", "prefix_context", "prefix_options"}
    further = [str(n) for n, c in data.coords.items() if c.dims == ("prefix",) and n not in known]
    for name in further:
        table[name] = data[name].values.astype(str)
    sheets["prefixes"] = table
    columns = [
        show.text("prefix"),
        *([_before()] if "before" in table else []),
        Column("Text before the statement", _put, numeric=False),
        *show.texts(*further),
    ]
    caption = "The prefixes."
    if table["text"].str.contains(FIELD, regex=False).any():
        caption += f" At {FIELD} stand the options, in the order that the prompts show."
    return [grid(table, columns, caption=caption, csv="prefixes")]


def _before() -> Column:
    """Show the system prompt and the turns of a conversation."""
    return Column(
        "System prompt and earlier turns", lambda row: row["before"] or "–", numeric=False
    )


def _put(row: Mapping[str, str]) -> str:
    """Show the text of a prefix; that there is none only where nothing at all is said before."""
    return row["text"] or ("–" if row.get("before") else "(nothing)")


def _prompts(data: xr.Dataset, sheets: dict[str, pd.DataFrame], who: Noun) -> list[Block]:
    shown = prompts(data)
    known = {model for prompt in shown for model in prompt.models}
    absent = [m for m in map(str, data["model"].values) if m not in known]
    if not shown and "prompt_example" in data.coords:
        return _examples(data, sheets)
    if not shown:
        return [
            Paragraph(
                "The prompts were collected elsewhere, together with the answers; the data do "
                "not say how they were put together."
            )
        ]
    sheets["prompts"] = pd.DataFrame(
        [
            {"prefix": p.prefix, "model": model, "chat_template": p.chat, "prompt": p.text}
            for p in shown
            for model in p.models
        ]
    )
    masked = any(MASK in prompt.text for prompt in shown)
    blocks: list[Block] = [
        Paragraph(
            f"Below is one whole prompt for every {who} and prefix, with the first statement in "
            f"it; {who.many} that got the same text stand together. "
            + (f"{MASK} is the place that a masked model fills in. " if masked else ""),
            csv="prompts",
        )
    ]
    blocks += [_of_prefix(name, shown) for name in dict.fromkeys(p.prefix for p in shown)]
    if absent:
        blocks.append(
            Paragraph(f"The prompts of {listed(absent)} were collected elsewhere and are unknown.")
        )
    return blocks


def _examples(data: xr.Dataset, sheets: dict[str, pd.DataFrame]) -> list[Block]:
    """Show one prompt of each prefix from the imported table."""
    pairs = [
        (str(prefix), str(text))
        for prefix, text in zip(data["prefix"].values, data["prompt_example"].values, strict=True)
    ]
    sheets["prompts"] = pd.DataFrame(pairs, columns=["prefix", "prompt"])
    about = (
        "The prompts were collected elsewhere, together with the answers. Below is one of each "
        "prefix as the table has it, the first there is."
    )
    folds = [
        Fold(f"A prompt with the prefix “{prefix}”", (Verbatim("Prompt", text),))
        for prefix, text in pairs
        if text
    ]
    return [Paragraph(about, csv="prompts"), *folds]


def _of_prefix(prefix: str, shown: list[Prompt]) -> Fold:
    inside = tuple(
        Verbatim(
            listed(list(p.models), most=30)
            + (", as the user's turn through the chat template" if p.chat else ""),
            p.text,
        )
        for p in shown
        if p.prefix == prefix
    )
    return Fold(f"Prompts with the prefix “{prefix}”", inside)


def _statements(data: xr.Dataset, sheets: dict[str, pd.DataFrame]) -> list[Block]:
    table = statements(data)
    if table.empty:
        return [Paragraph("The data hold no texts of the statements, only their ids.")]
    sheets["statements"] = table
    columns = [
        *show.texts("item", "variant", "statement", "dimension", "kind", "agreeing_is", "source")
    ]
    title, caption, shown = (
        "The wording of the statement"
        if len(table) == 1
        else f"All {len(table)} wordings of the statements",
        "Every wording asked.",
        table,
    )
    if len(table) > MOST_STATEMENTS:
        each = max(MOST_STATEMENTS // table["item"].nunique(), 1)
        shown = table[table.groupby("item", sort=False).cumcount() < each]
        title = f"{len(shown)} of the {len(table)} wordings of the statements"
        first = "The first wording" if each == 1 else f"The first {each} wordings"
        caption = f"{first} of every item; the CSV has all."
    layout = grid(shown, columns, caption=caption, csv="statements", searchable=True)
    return [Fold(title, (layout,))]


def _answers(data: xr.Dataset, sheets: dict[str, pd.DataFrame], who: Noun) -> list[Block]:
    blocks: list[Block] = []
    texts, masses = example_answers(data), example_masses(data)
    if not texts.empty:
        sheets["example_answers"] = texts
        inside = tuple(
            Fold(
                str(model),
                tuple(
                    b
                    for row in rows.to_dict(orient="records")
                    for b in _answer(row, extra_texts(data))
                ),
            )
            for model, rows in texts.groupby("model", sort=False)
        )
        title = f"Examples of raw answers, one for every outcome of every {who}"
        blocks.append(Fold(title, (Paragraph("As a table:", csv="example_answers"), *inside)))
    if not masses.empty:
        sheets["example_probabilities"] = masses
        blocks.append(_masses(data, masses, who))
    return blocks


def _behind(data: xr.Dataset, sheets: dict[str, pd.DataFrame], who: Noun) -> list[Block]:
    """Show the prompts and answers behind the figures, a sample of them where they are many."""
    if "status" not in data or "statement" not in data.coords:
        return []
    table, total = sampled_answers(data, most=MOST_ANSWERS, room=MOST_TEXT)
    if table.empty:
        return []
    sheets["answers"] = table
    columns = [
        _chosen("Model", "model"),
        _chosen("Item", "item"),
        Column("Statement", lambda row: row["statement"], numeric=False),
        _chosen("Wording", "variant"),
        _chosen("Prefix", "prefix"),
        show.text("run", "Repetition"),
        _chosen("Counted as", "counted"),
        Column("Answer", lambda row: _cut(row["answer"]), numeric=False),
        Column("Prompt", lambda row: _cut(row["prompt"]), numeric=False, folded=True),
    ]
    sample = len(table) < total
    about = "A click on a point of a figure leads here and shows its answers"
    if sample:
        about = (
            f"A sample of {len(table)} of the {plural(total, 'answer')}, spread evenly over "
            f"{who.many} and items. {about}, or those nearest to it that are in the sample"
        )
    about += ". responses.nc has all answers."
    layout = grid(
        table,
        columns,
        caption=about,
        csv="answers",
        searchable=True,
        long=True,
        id="answers",
        sample=sample,
    )
    return [Fold("Prompts and answers, to be searched", (layout,))]


def _chosen(header: str, name: str) -> Column:
    """Show a column that is filtered by a list."""
    return Column(header, lambda row: row[name] or "–", numeric=False, filter=name)


def _answer(row: Mapping[str, str], further: Sequence[str]) -> list[Verbatim]:
    """Show an answer after its further columns."""
    where = (
        f"{row['item']}, wording {row['variant']}, prefix {row['prefix']}, repetition {row['run']}"
    )
    return [
        *(Verbatim(f"{name} ({where})", _cut(row[name])) for name in further if row[name]),
        Verbatim(f"Counted as: {row['outcome']} ({where})", _cut(row["completion"])),
    ]


def _cut(text: str) -> str:
    cut = len(text) - MOST_CHARACTERS
    if cut <= 0:
        return text
    return f"{text[:MOST_CHARACTERS]} … ({plural(cut, 'more character')} in the CSV)"


def _masses(data: xr.Dataset, masses: pd.DataFrame, who: Noun) -> Block:
    options = [str(o) for o in data["option"].values] if "option" in data.coords else []
    about = "These answers were read as probabilities of answer options, not as text."
    if options:
        about += f" The options: {listed(options, most=60)}."
    columns = [
        *show.texts("model", "item", "variant", "prefix"),
        show.number("p_agree", "Probability of agreeing options", 3),
        show.number("p_disagree", "Probability of disagreeing options", 3),
    ]
    caption = f"One example for every {who}."
    layout = grid(masses, columns, caption=caption, csv="example_probabilities")
    return Fold("Examples of answer probabilities", (Paragraph(about), layout))


SECTION = SectionMaker("What was asked", asked)
