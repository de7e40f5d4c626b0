"""Wordings checked by people: blinded sheets in random order, and reading them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from polbayes.errors import UserError
from polbayes.tasks.annotation.adjudicate import OPEN, adjudicate
from polbayes.tasks.annotation.blind import shown
from polbayes.tasks.annotation.export import KEY, keyed_rows, shuffled, write_new
from polbayes.tasks.annotation.labels import read_annotators
from polbayes.tasks.annotation.sheet import read_sheet
from polbayes.tasks.paraphrasing.check import EXPECTED, VERDICTS
from polbayes.tasks.paraphrasing.sample import sampled

_KEYED = ("item", "variant", "kind", "set", "statement", "text")


def hand_out(
    wordings: pd.DataFrame, folder: Path, *, per_item: int, annotators: Sequence[str], seed: int
) -> list[Path]:
    """Draw wordings and write a sheet for each annotator, the key and the guidelines."""
    drawn = wordings[
        sampled(wordings, wordings["text"].notna().to_numpy(), wanted=per_item, seed=seed)
    ]
    rows = keyed_rows(drawn[list(_KEYED)])
    if (folder / KEY).exists() and _without_rows(_read_key(folder)) != rows:
        raise UserError(
            f"{folder} holds sheets of other wordings, which somebody may be checking; choose "
            "another paraphrase.human.folder, or move it away if nobody is."
        )
    visible = [
        {"id": r["id"], "first": shown(r["statement"]), "second": shown(r["text"])} for r in rows
    ]
    header = ("id", "first", "second", "label", "note")
    sheets = shuffled(visible, header, annotators, seed=seed, task="paraphrase")
    whole = (("id", *_KEYED), rows)
    return write_new(folder, {KEY: whole, **sheets}, guidelines="paraphrase.md")


def take_in(
    sheets: Sequence[str], folder: Path, wordings: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the returned sheets."""
    key = _without_rows(_read_key(folder))
    now = dict(
        zip(zip(wordings["item"], wordings["variant"], strict=True), wordings["text"], strict=True)
    )
    for row in key:
        if now.get((row["item"], row["variant"])) != row["text"]:
            raise UserError(
                f"{folder / KEY}: wording '{row['variant']}' of item '{row['item']}' is not "
                "what it was when the sheets were written; go back to those settings, or check "
                "again in another paraphrase.human.folder."
            )
    labels = read_annotators(
        sheets, [row["id"] for row in key], key="paraphrase.human.sheets", labels=VERDICTS
    )
    outcome = adjudicate(labels)
    decided = (outcome["by"] != OPEN).to_numpy()
    found = outcome["label"].to_numpy()
    match = [
        bool(label == EXPECTED[row["kind"]]) if sure else None
        for row, label, sure in zip(key, found, decided, strict=True)
    ]
    columns = {name: [row[name] for row in key] for name in ("id", *_KEYED)}
    checked = pd.DataFrame({**columns, "label": found, "match": match}, dtype=object)
    return checked, labels


def _read_key(folder: Path) -> list[dict[str, str]]:
    return read_sheet(folder / KEY, ("id", *_KEYED), key="paraphrase.human.folder")


def _without_rows(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    return [{name: row[name] for name in ("id", *_KEYED)} for row in rows]
