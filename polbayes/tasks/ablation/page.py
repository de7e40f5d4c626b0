"""The page of an ablation."""

import shlex
from collections.abc import Mapping, Sequence

import pandas as pd

from polbayes.config.schema import RunConfig
from polbayes.report.blocks import Fold, Section, Verbatim
from polbayes.report.numbers import count
from polbayes.report.page import Front, moment
from polbayes.report.sections.ablation import PANELS, ablation


def front(config: RunConfig, tables: Mapping[str, pd.DataFrame]) -> Front:
    """Make the front of the page."""
    table = tables["ablation"]
    labels = [name for name in ("decoding", "coder", "size", "composition") if name in table]
    once = table["kind"].isin(PANELS) & (table["measure"] == "consistent_4")
    left_out = table[once]
    pairs, excluded = int(left_out["n"].sum()), int(left_out["n_excluded"].sum())
    return Front(
        title=f"Ablations: {config.title or config.name}",
        description=config.description,
        kicker="Political leaning of language models",
        made=f"Experiment {config.name}, page made {moment()}.",
        facts={
            "settings": count(len(table[labels].drop_duplicates())),
            "models": count(table["model"].nunique()),
        },
        exclusions=[
            f"{count(excluded)} of {count(pairs + excluded)} pairs of answers, over all settings, "
            "were left out, because an answer has no level: neutral, unrelated, refused or not "
            "read."
        ],
    )


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
