"""``task=annotate``: a sample of a run's answers for annotators, and their labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from polbayes.config.schema import RunConfig
from polbayes.data.dataset import open_responses
from polbayes.data.files import replacing
from polbayes.data.progress import conclude
from polbayes.data.prose import form, plural
from polbayes.data.tables import write_csv
from polbayes.errors import UserError
from polbayes.report.numbers import interval, number
from polbayes.tasks.annotation.adjudicate import OPEN, adjudicate
from polbayes.tasks.annotation.blind import names_to_hide, shown
from polbayes.tasks.annotation.export import export, read_key
from polbayes.tasks.annotation.labels import normalised, read_annotators, read_labels
from polbayes.tasks.annotation.sample import sample_answers
from polbayes.tasks.annotation.sheet import read_sheet, write_sheet

LABELLED, AGREEMENT, TIES = "labelled.parquet", "agreement.csv", "ties.csv"
# Refused and unrelated answers are not on the scale from disagreeing to agreeing.
SCALE = ("disagree", "neutral", "agree")
_NUMBERS = ("run", "keying", "stratum_size", "weight")


def annotate(config: RunConfig) -> None:
    """Export a sample of a run's answers or, if labels are given, read them."""
    folder = Path(config.run_dir).expanduser() / config.annotation.folder
    if config.annotation.labels:
        take_in(config, folder)
    else:
        hand_out(config, folder)


def hand_out(config: RunConfig, folder: Path) -> list[Path]:
    """Draw the sample and write sheets, key and guidelines."""
    settings = config.annotation
    check_annotators(settings.annotators)
    run = Path(config.run_dir).expanduser()
    if not run.is_dir():
        raise UserError(f"run_dir: {run}: no such folder; name the folder of a run.")
    data = open_responses(run)
    sample = sample_answers(
        data, strata=settings.strata, per_stratum=settings.per_stratum, seed=config.seed
    )
    about = dict(sample.attrs)
    written = export(
        sample,
        folder,
        annotators=settings.annotators,
        hide=names_to_hide(_names(sample.to_dict(orient="records")), settings.hide),
        show_prefix=settings.show_prefix,
        seed=config.seed,
    )
    conclude(
        f"annotate: {len(sample)} of {plural(about['n_answers'], 'answer')}, up to "
        f"{settings.per_stratum} from each of {_strata(about['n_strata'])} "
        f"({', '.join(settings.strata) or 'all in one'})"
    )
    if short := about["n_short"]:
        are = form(short, "is", "are")
        conclude(f"annotate: {_strata(short)} had fewer answers, and {are} in it whole")
    if empty := about["n_empty"]:
        need = form(empty, "needs no annotator and is", "need no annotator and are")
        conclude(f"annotate: {plural(empty, 'empty answer')} {need} not in it")
    if not written:
        conclude(f"annotate: {folder} has this sample already; nothing was changed")
    for path in written:
        conclude(f"annotate: wrote {path}")
    return written


def take_in(config: RunConfig, folder: Path) -> pd.DataFrame:
    """Read annotators' sheets, compute their agreement, and decide the labels."""
    key = read_key(folder)
    ids = [row["id"] for row in key]
    labels = read_annotators(config.annotation.labels, ids)
    for name, n in labels.count().items():
        if n < len(ids):
            conclude(f"annotate: {name} has a label for {n} of {plural(len(ids), 'answer')}")
    decided = _decided(config, folder, ids)
    outcome = adjudicate(labels, decided)
    open_ids = outcome.index[outcome["by"] == OPEN].tolist()
    if len(labels.columns) > 1:
        table = _agreement_of(config, labels)
        write_csv(folder / AGREEMENT, table)
        for row in table[table["first"] == "all"].to_dict(orient="records"):
            conclude(
                f"annotate: {row['measure'].replace('_', ' ')} {number(row['estimate'])} "
                f"{interval(row['lower'], row['upper'])} of {plural(row['n'], 'answer')}"
            )
    frame = pd.DataFrame([{k: v for k, v in row.items() if k != "row"} for row in key])
    for name in _NUMBERS:
        if name in frame:
            frame[name] = pd.to_numeric(frame[name])
    frame = frame.assign(label=outcome["label"].to_numpy(), by=outcome["by"].to_numpy())
    frame = frame.assign(**{f"label_{n}": labels[n].to_numpy() for n in labels.columns})
    with replacing(folder / LABELLED) as temporary:
        frame[frame["by"] != OPEN].to_parquet(temporary, index=False)
    of = plural(len(ids), "label")
    conclude(f"annotate: {len(ids) - len(open_ids)} of {of} in {folder / LABELLED}")
    _write_ties(folder / TIES, key, outcome, config)
    if open_ids:
        conclude(
            f"annotate: {plural(len(open_ids), 'answer')} without a majority "
            f"{form(len(open_ids), 'is', 'are')} left to a third person in "
            f"{folder / TIES}; fill in its labels and give this command again"
        )
    return frame


def _strata(number_of: int) -> str:
    return f"{number_of} {form(number_of, 'stratum', 'strata')}"


def _agreement_of(config: RunConfig, labels: pd.DataFrame) -> pd.DataFrame:
    """Compute every measure of agreement of annotators."""
    from polbayes.measures.kappa import annotator_agreement
    from polbayes.measures.krippendorff import alpha_table

    how: dict[str, Any] = {
        "draws": config.measures.bootstrap,
        "level": config.measures.level,
        "seed": config.seed,
    }
    kappas = annotator_agreement(labels, **how)
    return pd.concat([kappas, alpha_table(labels, order=SCALE, **how)], ignore_index=True)


def _decided(config: RunConfig, folder: Path, ids: Sequence[str]) -> dict[str, str]:
    """Read the third person's labels, from the given file or the folder."""
    given = config.annotation.adjudicated
    if given:
        return read_labels(Path(given).expanduser(), ids, key="annotation.adjudicated")
    path = folder / TIES
    return read_labels(path, ids, key="annotation.folder") if path.is_file() else {}


def _write_ties(
    path: Path, key: Sequence[Mapping[str, str]], outcome: pd.DataFrame, config: RunConfig
) -> None:
    """Write the third person's sheet, and keep what is filled in."""
    before: dict[str, Mapping[str, str]] = {}
    if path.is_file():
        rows = read_sheet(path, ("id", "label"), key="annotation.folder")
        before = {normalised(row["id"]): row for row in rows}
    begun = {n for n, row in before.items() if row["label"].strip() or row.get("note", "").strip()}
    wanted = begun | set(outcome.index[outcome["by"] == OPEN])
    if wanted == set(before):
        return
    hide = names_to_hide(_names(key), config.annotation.hide)
    votes = outcome["votes"].to_dict()
    rows = [
        {
            "id": row["id"],
            "question": shown(row.get("prefix_text", ""), hide),
            "statement": shown(row.get("statement", ""), hide),
            "answer": shown(row["response"], hide),
            "votes": votes[row["id"]],
            "label": before.get(row["id"], {}).get("label", ""),
            "note": before.get(row["id"], {}).get("note", ""),
        }
        for row in key
        if row["id"] in wanted
    ]
    write_sheet(path, ("id", "question", "statement", "answer", "votes", "label", "note"), rows)


def _names(rows: Sequence[Mapping[str, str]]) -> list[str]:
    return [str(row[name]) for row in rows for name in ("model", "checkpoint") if row.get(name)]


def check_annotators(annotators: Sequence[str], *, key: str = "annotation.annotators") -> None:
    """Refuse names that cannot each name a sheet."""
    if not annotators:
        raise UserError(f"{key}: the list is empty; name at least one.")
    for name in annotators:
        if not name.strip() or any(not (c.isalnum() or c in "_-") for c in name):
            raise UserError(f"{key}: '{name}' cannot name a file; use letters, digits, _ and -.")
    if len({name.lower() for name in annotators}) < len(annotators):
        raise UserError(f"{key}: a name is there twice.")
