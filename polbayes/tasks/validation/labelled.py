"""Answers with human labels, read from a table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.data.dataset import STANCE_CLASSES
from polbayes.data.tables import read_table
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.poles import POLITICAL, Poles

_NEEDED = ("statement", "response", "label")
GROUPS = ("model", "prefix")
COLUMNS = (*_NEEDED, *GROUPS, "item", "keying")
_SIDES = {"-1": -1, "1": 1, "+1": 1, "0": 0, "": 0}


@dataclass(frozen=True)
class Classes:
    """The classes that labels distinguish: those of stance, some perhaps merged."""

    names: tuple[str, ...]
    of_stance: tuple[int, ...]  # for each of STANCE_CLASSES the position of its class in `names`

    def scores(self) -> np.ndarray | None:
        """Return the contribution of each class to net agreement: -1, 0, 1, or NaN if unusable.

        None if a class merges agreeing or disagreeing with something else. A class that merges
        neutral with unusable answers counts as neutral.
        """
        out = np.full(len(self.names), np.nan)
        for score, stance in ((-1.0, "disagree"), (1.0, "agree"), (0.0, "neutral")):
            at = self.of_stance[STANCE_CLASSES.index(stance)]
            if score and self.of_stance.count(at) > 1:
                return None
            out[at] = score
        return out


@dataclass(frozen=True)
class Labelled:
    """Labelled answers."""

    statements: list[str]
    responses: list[str]
    labels: np.ndarray  # positions in the classes
    classes: Classes
    # By name (model, prefix) a text per answer, for columns that the table has.
    groups: Mapping[str, np.ndarray]
    items: np.ndarray | None
    # -1 if agreeing is for the negative pole, such as the left, 1 for the positive, 0 otherwise.
    keying: np.ndarray | None
    n_unlabelled: int  # rows of the table without a label, which are left out

    def take(self, rows: np.ndarray) -> "Labelled":
        """Return a subset of the answers by position."""
        return replace(
            self,
            statements=[self.statements[k] for k in rows],
            responses=[self.responses[k] for k in rows],
            labels=self.labels[rows],
            groups={name: values[rows] for name, values in self.groups.items()},
            items=None if self.items is None else self.items[rows],
            keying=None if self.keying is None else self.keying[rows],
        )


def merged_classes(merge: Mapping[str, Sequence[str]], *, section: str = "validation") -> Classes:
    """Merge classes of stance."""
    taken: dict[str, str] = {}
    for name, stances in merge.items():
        if not isinstance(stances, Sequence) or isinstance(stances, str) or not len(stances):
            raise UserError(f"{section}.merge.{name}: must be a list of classes of stance.")
        for stance in stances:
            check_known("class", stance, known=STANCE_CLASSES, where=f"{section}.merge.{name}")
            if stance in taken:
                raise UserError(f"{section}.merge: '{stance}' is there twice.")
            taken[stance] = name
    for name, stances in merge.items():
        if name in STANCE_CLASSES and name not in stances:
            raise UserError(f"{section}.merge: '{name}' is a class itself; choose another name.")
        if name == NOT_CODED:
            raise UserError(f"{section}.merge: '{name}' means that a coder abstains.")
    of = [taken.get(stance, stance) for stance in STANCE_CLASSES]
    names = tuple(dict.fromkeys(of))
    return Classes(names, tuple(names.index(name) for name in of))


NOT_CODED = "not_coded"


def read_labelled(
    path: Path,
    *,
    columns: Mapping[str, str | None],
    merge: Mapping[str, Sequence[str]],
    section: str = "validation",
    poles: Poles = POLITICAL,
) -> Labelled:
    """Read a table of labelled answers.

    `columns` maps `COLUMNS` to columns of the table; missing or None stands for the same name.
    `section` is the config's section, for errors. Keying may name the `poles`, or left and right.
    """
    classes = merged_classes(merge, section=section)
    if not path.is_file():
        raise UserError(
            f"{section}.table: {path}: no such file; name a table of labelled answers, or take in "
            "annotators' sheets first (task=annotate annotation.labels=[...])."
        )
    table = read_table(path)
    found = _found_columns(table, columns, section)
    for name in _NEEDED:
        if name not in found:
            raise UserError(
                f"{path}: has no column '{name}'; say which one it is as "
                f"{section}.columns.{name}=COLUMN."
            )
    texts = {name: table[column].tolist() for name, column in found.items()}
    labelled = np.array([bool(x and x.strip()) for x in texts["label"]])
    if not labelled.any():
        raise UserError(f"{path}: no row has a label.")
    rows = np.flatnonzero(labelled)
    _check_statements(texts["statement"], rows, path)
    kept = {name: [values[k] or "" for k in rows] for name, values in texts.items()}
    return Labelled(
        statements=kept["statement"],
        responses=kept["response"],
        labels=_labels(kept["label"], rows, classes, path, section),
        classes=classes,
        groups={n: np.array(kept[n], dtype=object) for n in GROUPS if n in kept},
        items=np.array(kept["item"], dtype=object) if "item" in kept else None,
        keying=_keying(kept["keying"], rows, path, poles) if "keying" in kept else None,
        n_unlabelled=int((~labelled).sum()),
    )


def _found_columns(
    table: pd.DataFrame, columns: Mapping[str, str | None], section: str
) -> dict[str, str]:
    for name, column in columns.items():
        check_known("column", name, known=COLUMNS, where=f"{section}.columns")
        if column is not None and column not in table:
            raise unknown("column", column, table.columns, where=f"{section}.columns.{name}")
    own = {name: name for name in COLUMNS if name in table}
    return own | {name: column for name, column in columns.items() if column is not None}


def _check_statements(statements: Sequence[str | None], rows: np.ndarray, path: Path) -> None:
    for k in rows:
        if not (statements[k] or "").strip():
            raise UserError(f"{path}: row {k + 1}: has a label but no statement.")


def _labels(
    texts: Sequence[str], rows: np.ndarray, classes: Classes, path: Path, section: str
) -> np.ndarray:
    position = dict(zip(STANCE_CLASSES, classes.of_stance, strict=True))
    position |= {name: k for k, name in enumerate(classes.names)}
    out = np.empty(len(texts), dtype=np.int64)
    for k, (row, text) in enumerate(zip(rows, texts, strict=True)):
        label = re.sub(r"\s+", " ", text).strip().lower()
        if label not in position:
            wrong = unknown("label", text.strip(), position, where=f"{path}: row {row + 1}")
            raise UserError(
                f"{str(wrong).removesuffix('.')}; where it stands for several classes, say so as "
                f"'+{section}.merge.NAME=[CLASS,CLASS]'."
            )
        out[k] = position[label]
    return out


def _keying(texts: Sequence[str], rows: np.ndarray, path: Path, poles: Poles) -> np.ndarray:
    words: dict[str, int] = {}
    for one in (POLITICAL, poles):
        words |= {one.negative.word.lower(): -1, one.positive.word.lower(): 1}
    sides = _SIDES | words
    out = np.zeros(len(texts), dtype=np.int64)
    for k, (row, text) in enumerate(zip(rows, texts, strict=True)):
        side = text.strip().lower()
        if side not in sides:
            raise UserError(
                f"{path}: row {row + 1}: the keying '{text.strip()}' is none of -1, 0, 1, "
                f"{poles.negative.word} and {poles.positive.word}."
            )
        out[k] = sides[side]
    return out
