"""``task=validate_coder``: coders compared with labels: tables, figures and a page."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding import get_coder
from polbayes.config.schema import CoderConfig, RunConfig
from polbayes.data.dataset import opened_responses, responses_path, write_dataset
from polbayes.data.progress import conclude, say
from polbayes.data.prose import plural
from polbayes.data.provenance import versions
from polbayes.errors import UserError
from polbayes.instrument.poles import POLITICAL, Poles, poles_in
from polbayes.judging.costs import write_judges_usage
from polbayes.measures.resampling import Bootstrap
from polbayes.probing.journal import CODING
from polbayes.report.numbers import interval, number
from polbayes.tasks.annotation.task import LABELLED
from polbayes.tasks.validation.coded import CASCADE, Coded, cascade, code_labelled
from polbayes.tasks.validation.confidence import calibration_table, curve_table
from polbayes.tasks.validation.errors_by import errors_table, keying_table
from polbayes.tasks.validation.labelled import NOT_CODED, read_labelled
from polbayes.tasks.validation.scores import confusion, score_table
from polbayes.tasks.validation.temperature import temperature_table
from polbayes.tasks.validation.thresholds import threshold_table

FOLDER, CONFUSION = "validation", "confusion.nc"


def validate_coder(config: RunConfig, text: str, *, command: Sequence[str]) -> Path:
    """Compare coders with labels, and write the results."""
    from polbayes.report.write import write_page
    from polbayes.tasks.validation.page import front, sections

    settings, run = config.validation, Path(config.run_dir).expanduser()
    coders = list(dict.fromkeys(settings.coders or config.coding.coders))
    _checked(settings.confidences)
    models = config.coding.models
    _check_coders(coders, models, "validation.coders" if settings.coders else "coding.coders")
    given = settings.table
    path = Path(given).expanduser() if given else run / config.annotation.folder / LABELLED
    poles = _poles(run)
    answers = read_labelled(path, columns=settings.columns, merge=settings.merge, poles=poles)
    read = []
    try:
        for name in coders:
            say(f"validate_coder: {name} reads {plural(len(answers.labels), 'answer')}")
            read.append(code_labelled(answers, name, models, journal_dir=run / CODING))
    finally:
        for name, used in write_judges_usage(run, coders, models).items():
            say(f"validate_coder: {name}: {used}")
    if len(read) > 1:
        read.append(cascade(read))
    bootstrap = Bootstrap(config.measures.bootstrap, config.measures.level, config.seed)
    tables = validation_tables(read, bootstrap, thresholds=settings.thresholds, bins=settings.bins)
    counts = confusion_dataset(read, settings.confidences).assign_attrs(
        table=path.name, created=datetime.now(UTC).isoformat(timespec="seconds"), config=text
    )
    page = write_page(
        front(answers, read, config.title, path),
        sections(tables, answers, command=command, text=text, versions=versions(), poles=poles),
        tables,
        run / FOLDER,
        also=lambda folder: write_dataset(counts, folder / CONFUSION),
    )
    for row in tables["scores"].query("label == ''").to_dict(orient="records"):
        if row["measure"] != "cohen_kappa":
            conclude(f"validate_coder: {row['coder']}: {_scored(row)}")
    conclude(f"validate_coder: {page}")
    return page


def _poles(run: Path) -> Poles:
    """Return the words for the poles of the run in the folder; left and right if there is none."""
    if not run.is_dir() or not responses_path(run).is_file():
        return POLITICAL
    with opened_responses(run) as data:
        return poles_in(data)


def _scored(row: Mapping[str, Any]) -> str:
    """Format a score with its interval, and the answers it is based on."""
    of = "of those coded" if row["answers"] == "coded" else "of all"
    within = interval(row["lower"], row["upper"], 3)
    bounds = f"({row['note']})" if row["note"] else within
    of += ", those not coded taken as wrong" * (of == "of all" and row["measure"] != "share_coded")
    return f"{row['measure']} {number(row['estimate'], 3)} {bounds}, {of}"


def _check_coders(coders: Sequence[str], models: Mapping[str, CoderConfig], key: str) -> None:
    """Refuse an unknown coder before anything is read; `key` is its config key."""
    if CASCADE in coders:
        raise UserError(f"{key}: '{CASCADE}' means all coders in order; choose another name.")
    for name in coders:
        try:
            get_coder(name, models)
        except UserError as error:
            raise UserError(str(error).replace("coding.coders", key, 1)) from error


def validation_tables(
    read: Sequence[Coded],
    bootstrap: Bootstrap,
    *,
    thresholds: Sequence[float] | None = None,
    bins: int = 10,
) -> dict[str, pd.DataFrame]:
    """Compute all tables of a validation."""

    def joined(parts: Sequence[pd.DataFrame | None]) -> pd.DataFrame:
        there = [part for part in parts if part is not None and len(part)]
        return pd.concat(there, ignore_index=True) if there else pd.DataFrame()

    counts = confusion_dataset(read)
    tables = {
        "scores": joined([score_table(coded, bootstrap) for coded in read]),
        "confusion": counts["confusion"].to_series().rename("count").reset_index(),
        "thresholds": joined([threshold_table(c, bootstrap, thresholds) for c in read]),
        "calibration_curve": joined([curve_table(c, bootstrap, bins) for c in read]),
        "calibration": joined([calibration_table(c, bootstrap, bins) for c in read]),
        "temperature": joined([temperature_table(c, bootstrap, bins) for c in read]),
        "errors": joined([errors_table(coded, bootstrap) for coded in read]),
        "keying": joined([keying_table(coded, bootstrap) for coded in read]),
    }
    if "confusion_by_model" in counts:
        by_model = counts["confusion_by_model"].to_series().rename("count").reset_index()
        tables["confusion_by_model"] = by_model
    return {name: table for name, table in tables.items() if len(table)}


def confusion_dataset(read: Sequence[Coded], confidences: Sequence[float] = ()) -> xr.Dataset:
    """Return the confusion counts for models of the coders' errors."""
    names = list(read[0].answers.classes.names)
    coords = {
        "coder": np.array([coded.coder for coded in read], dtype=object),
        "label": np.array(names, dtype=object),
        "coded_as": np.array([*names, NOT_CODED], dtype=object),
    }
    whole = np.stack([confusion(coded) for coded in read])
    starts = np.array([0.0, *_checked(confidences)])
    sure = np.stack([_by_confidence(coded, starts) for coded in read])
    data = xr.Dataset(
        {
            "confusion": (("coder", "label", "coded_as"), whole),
            "confidence": (("coder", "label", "coded_as", "bin"), sure),
            "bin_start": (("bin",), starts, {"long_name": "least confidence in the bin"}),
        },
        coords,
    )
    if "model" in read[0].answers.groups:
        known = list(dict.fromkeys(read[0].answers.groups["model"].tolist()))
        by_model = np.stack([_by_model(coded, known) for coded in read])
        data = data.assign_coords(model=np.array(known, dtype=object))
        data["confusion_by_model"] = (("coder", "model", "label", "coded_as"), by_model)
    return data


def _by_confidence(coded: Coded, starts: np.ndarray) -> np.ndarray:
    """Count over ``label, coded_as, bin``."""
    at = np.searchsorted(starts, coded.confidence, side="right") - 1
    return np.stack([confusion(coded, at == k) for k in range(len(starts))], axis=-1)


def _by_model(coded: Coded, known: Sequence[str]) -> np.ndarray:
    """Count over ``model, label, coded_as``."""
    models = coded.answers.groups["model"]
    return np.stack([confusion(coded, models == name) for name in known])


def _checked(confidences: Sequence[float]) -> list[float]:
    edges = [0.0, *confidences, 1.0]
    if not all(low < high for low, high in pairwise(edges)):
        raise UserError(
            f"validation.confidences: must be rising numbers between 0 and 1, not "
            f"{list(confidences)}."
        )
    return list(confidences)
