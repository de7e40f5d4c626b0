"""The page of an ablation."""

import shlex
from collections.abc import Mapping, Sequence

import pandas as pd

from polbayes.config.schema import RunConfig
from polbayes.data.prose import form
from polbayes.report.blocks import Fold, Section, Verbatim
from polbayes.report.numbers import count, number
from polbayes.report.page import Front, moment
from polbayes.report.prose import plural
from polbayes.report.sections.ablation import PANELS, ablation, which
from polbayes.report.visible import visible


def front(config: RunConfig, own: tuple[str, str], tables: Mapping[str, pd.DataFrame]) -> Front:
    """Make the front of the page from the title and the lead of the run."""
    table = tables["ablation"]
    labels = [name for name in ("decoding", "coder", "size", "composition") if name in table]
    once = table["kind"].isin(PANELS) & (table["measure"] == "consistent_4")
    left_out = table[once]
    pairs, excluded = int(left_out["n"].sum()), int(left_out["n_excluded"].sum())
    return Front(
        title=f"Ablations: {own[0]}",
        description=own[1],
        kicker="Political leaning of language models",
        made=f"Experiment {config.name}, page made {moment()}.",
        facts={
            "settings": count(len(table[labels].drop_duplicates())),
            "models": count(table["model"].nunique()),
        },
        exclusions=[
            f"{count(excluded)} of {plural(pairs + excluded, 'pair')} of answers, over all "
            f"settings, {form(excluded, 'was', 'were')} left out, because an answer has no level: "
            "neutral, unrelated, refused or not read."
        ],
    )


_LINES = 30


def answer_lines(table: pd.DataFrame) -> list[str]:
    """Say by model between which settings its consistency lies, and what it is there."""
    known = (table["measure"] == "consistent_4") & table["estimate"].notna()
    rows, said = table[known & table["kind"].isin(PANELS)], []
    for (model, kind), own in rows.groupby(["model", "kind"], sort=False):
        ends = [own.loc[own["estimate"].idxmin()], own.loc[own["estimate"].idxmax()]]
        texts = [f"{number(end['estimate'])} ({_setting(end)})" for end in ends]
        what = PANELS[str(kind)].partition(":")[0].lower()
        said.append(f"{visible(model)}, {what} consistency: {' to '.join(dict.fromkeys(texts))}")
    rest = len(said) - _LINES
    return [*said[:_LINES], f"and {rest} more in the report's tables"] if rest > 0 else said


def _setting(row: pd.Series) -> str:
    """Name a setting of the table."""
    if "decoding" in row:
        return f"{row['decoding']}, coders: {row['coder']}"
    return f"{plural(row['size'], 'option')}, {which(row['composition'])}"


def sections(
    tables: Mapping[str, pd.DataFrame], *, text: str, command: Sequence[str]
) -> list[Section]:
    """Make the sections: results, and how to reproduce them."""
    rerun = Section(
        "rerun",
        "Make it again",
        ("The command and the config that made this page.",),
        (Verbatim("Command", shlex.join(command)), Fold("Config", (Verbatim("YAML", text),))),
    )
    return [ablation(tables["ablation"], tables.get("ablation_differences")), rerun]
