"""The page of a validation, made of the report's blocks."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.data.prose import form
from polbayes.instrument.poles import POLITICAL, Poles
from polbayes.report import show
from polbayes.report.blocks import Block, Bullets, Column, Fold, Picture, Section, Verbatim, grid
from polbayes.report.figures.coder_calibration import plot_coder_calibration
from polbayes.report.figures.coder_confusion import plot_coder_confusion
from polbayes.report.figures.coder_thresholds import plot_coder_thresholds
from polbayes.report.figures.forest import Panel, plot_forest
from polbayes.report.keying_errors import keying_sentences
from polbayes.report.numbers import count, interval
from polbayes.report.page import Front, moment
from polbayes.report.prose import plural
from polbayes.tasks.annotation.sheet import read_sheet
from polbayes.tasks.annotation.task import LABELLED, TIES
from polbayes.tasks.validation.coded import Coded
from polbayes.tasks.validation.errors_by import SIDES
from polbayes.tasks.validation.labelled import NOT_CODED, Labelled
from polbayes.tasks.validation.scores import SCORES

_MEASURES = {
    **SCORES,
    "ece": "expected calibration error",
    "ece_if_calibrated": "the same, of a calibrated coder",
    "overconfidence": "mean confidence minus share right",
    "temperature": "temperature",
    "log_loss": "log loss",
    "log_loss_scaled": "log loss, scaled",
    "log_loss_change": "log loss, scaled minus before",
    "ece_scaled": "expected calibration error, scaled",
    "error_rate": "coded wrongly, of those coded",
    "share_not_coded": "not coded",
    "error_rate_difference": "coded wrongly, {positive} minus {negative}",
    "not_coded_difference": "not coded, {positive} minus {negative}",
    "bias_labels": "bias by the labels",
    "bias_coded": "bias by the codes",
    "bias_shift": "codes minus labels",
}
_MEASURE = Column("Measure", lambda row: _MEASURES[row["measure"]], numeric=False)
_CODER = show.text("coder")
_N = Column("Answers", lambda row: count(row["n"]))


def sections(
    tables: Mapping[str, pd.DataFrame],
    answers: Labelled,
    *,
    command: Sequence[str],
    text: str,
    versions: Mapping[str, str],
    poles: Poles = POLITICAL,
) -> list[Section]:
    """Make the sections of the page, in the words for the two poles."""
    level = float(tables["scores"]["level"].iloc[0])
    made = [
        _keying(tables, level, poles),
        _scores(tables, level),
        _confusion(tables, answers),
        _thresholds(tables, level),
        _calibration(tables, level),
        _errors(tables, level, poles),
    ]
    entries = tuple((f"{name}:", version) for name, version in versions.items())
    again = Section(
        "rerun",
        "Rerun",
        ("The command makes this page again; every table is also in tables/ as CSV.",),
        (
            Verbatim("Command", shlex.join(command)),
            Fold("The whole config", (Verbatim("YAML", text),)),
            Fold("Versions", (Bullets(entries),)),
        ),
    )
    return [*(section for section in made if section is not None), again]


def _left_out(answers: Labelled, read: Sequence[Coded], path: Path) -> list[str]:
    """Describe the answers excluded from all or some scores."""
    out = []
    if answers.n_unlabelled:
        have = "has" if answers.n_unlabelled == 1 else "have"
        out.append(f"{plural(answers.n_unlabelled, 'row')} of {path.name} {have} no label.")
    ties = path.parent / TIES
    if path.name == LABELLED and ties.is_file():
        rows = read_sheet(ties, ("id", "label"), key="annotation.folder")
        undecided = sum(not row["label"].strip() for row in rows)
        if undecided:
            out.append(
                f"{plural(undecided, 'answer')} on which the annotators did not agree and no third "
                "person has decided."
            )
    for coded in read:
        silent = int((~coded.is_coded).sum())
        if silent:
            out.append(
                f"{count(silent)} of {plural(len(coded.coded_as), 'answer')} that {coded.coder} "
                f"did not code {form(silent, 'is', 'are')} in the scores “of all”, as wrong, and "
                "in no other."
            )
    return out


def front(answers: Labelled, read: Sequence[Coded], title: str, path: Path) -> Front:
    """Make the front of the page."""
    table, coders = path.name, [coded.coder for coded in read]
    merged = [
        f"{name} stands for "
        + ", ".join(
            stance
            for stance, at in zip(STANCE_CLASSES, answers.classes.of_stance, strict=True)
            if answers.classes.names[at] == name
        )
        + ", which the labels do not tell apart."
        for k, name in enumerate(answers.classes.names)
        if answers.classes.of_stance.count(k) > 1
    ]
    return Front(
        title=title
        or (f"How well {coders[0]} reads" if len(coders) == 1 else "How well coders read"),
        description="",
        kicker="Validation of coders",
        made=f"Labelled answers from {table}, page made {moment()}.",
        facts={
            "labelled answers": count(len(answers.labels)),
            "coders": count(len(coders)),
            "classes": count(len(answers.classes.names)),
        },
        exclusions=_left_out(answers, read, path),
        notes=merged,
    )


def _keying(tables: Mapping[str, pd.DataFrame], level: float, poles: Poles) -> Section | None:
    table = tables.get("keying")
    if table is None:
        return None
    low, high = poles.negative, poles.positive
    sentences = keying_sentences(table, poles)
    reading = (
        "A coder that errs more on statements of one side moves the bias measure, whatever its "
        f"precision. Bias is half the net agreement with {high.word}-keyed wordings minus half "
        f"that with {low.word}-keyed ones, negative on the side of {low.noun}, here of these very "
        "answers: by their labels and by what was coded, answers not coded left out.",
    )
    words = {"negative": low.word, "positive": high.word}
    named = {name: text.format(**words) for name, text in _MEASURES.items()}
    columns = [_CODER, show.named("measure", "Measure", named)]
    columns += [*show.estimate("Estimate", level, digits=3), _N, *show.texts("interval", "note")]
    numbers = grid(table, columns, caption="Errors by keying.", csv="keying")
    blocks: tuple[Block, ...] = (Bullets(tuple(sentences)), numbers)
    return Section("keying", "Do the errors move the bias measure?", reading, blocks)


def _scores(tables: Mapping[str, pd.DataFrame], level: float) -> Section:
    table = tables["scores"]
    reading = (
        "Of the answers coded as a class, precision is the share labelled so; of those labelled "
        "so, recall is the share coded so; F1 is the harmonic mean of the two. “Coded” leaves out "
        "what the coder abstained from, “all” takes it as wrong. Macro F1 and κ are over the "
        f"labels that occur. Lines and brackets are {level:.0%} intervals that take the answers as "
        "independent.",
    )
    columns = [_CODER, _MEASURE, *show.texts("label", "answers")]
    columns += [*show.estimate("Estimate", level, digits=3)]
    columns += [Column("Of", lambda row: count(row["n"])), show.text("note")]
    whole = grid(table[table["label"] == ""], columns, caption="All labels together.", csv="scores")
    each = grid(table[table["label"] != ""], columns, caption="Label by label.", csv="scores")
    blocks: list[Block] = [whole]
    for coder, rows in table.groupby("coder", sort=False):
        figure = plot_forest(
            [
                Panel(_MEASURES[m], _named(rows[at], "label"))
                for m in ("precision", "recall")
                if (at := (rows["measure"] == m) & (rows["answers"] == "coded")).any()
            ],
            centre=None,
            dress=_from_0_to_1,
        )
        blocks.append(
            Picture(
                name=f"scores_{stem(str(coder))}",
                caption=f"Precision and recall of {coder} by label, of the answers it coded.",
                alt="Dot plot of precision and recall by label; the numbers are in the table.",
                figure=figure,
                csv=("scores",),
            )
        )
    blocks.append(Fold("Label by label, as a table", (each,)))
    return Section("scores", "How often the coders are right", reading, tuple(blocks))


def _confusion(tables: Mapping[str, pd.DataFrame], answers: Labelled) -> Section:
    table = tables["confusion"]
    names = list(answers.classes.names)
    blocks: list[Block] = []
    for coder, rows in table.groupby("coder", sort=False):
        matrix = rows.pivot(index="label", columns="coded_as", values="count")
        blocks.append(
            Picture(
                name=f"confusion_{stem(str(coder))}",
                caption=f"What {coder} made of the answers: counts, coloured by the share of the "
                "row. Rows without any answer are hatched.",
                alt="Confusion matrix; the counts are in the table.",
                figure=plot_coder_confusion(
                    matrix.loc[names, [*names, NOT_CODED]], coder=str(coder)
                ),
                csv=("confusion",),
            )
        )
    reading = (
        "Each row is a label, each column what the coder made of it. The counts are also in "
        "confusion.nc, with those of every model where the table names models.",
    )
    return Section("confusion", "What is taken for what", reading, tuple(blocks))


def _thresholds(tables: Mapping[str, pd.DataFrame], level: float) -> Section:
    table = tables["thresholds"]
    reading = (
        "Where answers below a confidence are dropped, those kept are fewer and should be read "
        f"better. Shaded: {level:.0%} intervals. What is dropped is no random part of the answers.",
    )
    picture = Picture(
        name="thresholds",
        caption="Macro F1 of the answers kept, and the share that these are of all.",
        alt="Two line plots over the confidence threshold; the numbers are in the table.",
        figure=plot_coder_thresholds(table),
    )
    wide = table.pivot(index=["coder", "threshold"], columns="measure").sort_index()
    columns = [_CODER, show.number("threshold", "Confidence at least")]
    wide.columns = [f"{measure}_{what}" for what, measure in wide.columns]
    for name, header in (("macro_f1", "Macro F1"), ("share_kept", "Share kept")):
        columns.append(show.number(f"{name}_estimate", header, 3))
        columns.append(_interval_of(name, level))
    numbers = grid(wide.reset_index(), columns, caption="By threshold.", csv="thresholds")
    blocks: tuple[Block, ...] = (picture, Fold("As a table", (numbers,)))
    return Section("thresholds", "What a threshold keeps", reading, blocks)


def _interval_of(name: str, level: float) -> Column:
    return Column(
        f"{level:.0%} interval", lambda row: interval(row[f"{name}_lower"], row[f"{name}_upper"], 3)
    )


def _calibration(tables: Mapping[str, pd.DataFrame], level: float) -> Section:
    reading = (
        "A calibrated coder is right as often as it is sure: its points lie on the dashed line; "
        "below it, it is too sure. The expected calibration error is the mean distance from that "
        "line. It is never 0 in a sample, so that it is to be compared with what a calibrated "
        "coder would have in as many answers.",
        "The temperature is fitted on one random half of the answers and tried on the other: above "
        "1 the coder is too sure, below 1 not sure enough. Scaling lowers the log loss where it "
        "helps.",
    )
    columns = [_CODER, _MEASURE, *show.estimate("Estimate", level, digits=3), _N]
    blocks: list[Block] = []
    if "calibration_curve" in tables:
        blocks.append(
            Picture(
                name="calibration",
                caption=f"Share right by confidence, with {level:.0%} intervals; larger points "
                "stand for more answers.",
                alt="Reliability diagram of each coder; the numbers are in the table.",
                figure=plot_coder_calibration(tables["calibration_curve"]),
                csv=("calibration_curve",),
            )
        )
    blocks.append(grid(tables["calibration"], columns, caption="Calibration.", csv="calibration"))
    scaled = [*columns, *show.texts("half", "note")]
    blocks.append(
        grid(tables["temperature"], scaled, caption="Temperature scaling.", csv="temperature")
    )
    return Section("calibration", "Is the confidence to be believed?", reading, tuple(blocks))


def _errors(tables: Mapping[str, pd.DataFrame], level: float, poles: Poles) -> Section | None:
    table = tables.get("errors")
    if table is None:
        return None
    of_poles = {SIDES[-1]: poles.negative.word, SIDES[1]: poles.positive.word}
    keyed = table["group"] == "keying"
    table = table.assign(value=table["value"].where(~keyed, table["value"].replace(of_poles)))
    blocks: list[Block] = []
    for coder, rows in table[table["measure"] == "error_rate"].groupby("coder", sort=False):
        panels = [
            Panel(f"by {group}", _named(part, "value"))
            for group, part in rows.groupby("group", sort=False)
        ]
        blocks.append(
            Picture(
                name=f"errors_{stem(str(coder))}",
                caption=f"Share of the answers coded by {coder} that are coded wrongly.",
                alt="Dot plot of error rates by group; the numbers are in the table.",
                figure=plot_forest(panels, centre=None, dress=_from_0_to_1),
                csv=("errors",),
            )
        )
    columns = [_CODER, *show.texts("group", "value"), _MEASURE]
    columns += [*show.estimate("Share", level, digits=3), _N]
    numbers = grid(table, columns, caption="Errors by group.", csv="errors")
    reading = (
        "Where error rates differ between models, prefixes or sides, part of what is found between "
        f"these is the coder's. Lines are {level:.0%} intervals.",
    )
    return Section("errors", "On whom and what they err", reading, (*blocks, numbers))


def _named(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    named = rows[[column, "estimate", "lower", "upper"]].rename(columns={column: "model"})
    return named.astype({"model": str}).reset_index(drop=True)


def _from_0_to_1(axes: Axes) -> None:
    axes.set_xlim(-0.02, 1.02)


def stem(name: str) -> str:
    """Turn a coder's name into a part of a file name."""
    return re.sub(r"[^\w.-]+", "_", name)
