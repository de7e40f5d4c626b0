"""Gathering the contents of a run's folder into the results of a report."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from polbayes.config.schema import RunConfig
from polbayes.data.provenance import versions
from polbayes.data.tables import read_csv
from polbayes.errors import UserError
from polbayes.instrument.poles import poles_in
from polbayes.report.heading import heading_in
from polbayes.report.keying_errors import coder_warnings
from polbayes.report.results import Results
from polbayes.report.sections.validity import MOSTLY

# The comparison of specs in a run's folder.
SPECS_TABLE = Path("comparisons") / "specs.csv"
# What its conclusions would be with single coders.
CODERS_TABLE = Path("comparisons") / "coders.csv"

_STUDIES = (
    "Bias measure, prefixes and design: Faulborn, Sen, Pellert, Spitz and Garcia (2025), Only a "
    "Little to the Left: A Theory-grounded Measure of Political Bias in Large Language Models.",
    "Answer probabilities, validity and stability: Haller, Vamvas and Jäger (2024), Yes, no, "
    "maybe? Revisiting language models' response stability under paraphrasing for the assessment "
    "of political leaning.",
    "Negations and opposites: Lunardi, La Barbera and Roitero (2024), The Elusiveness of Detecting "
    "Political Bias in Language Models.",
)


def assemble(
    folder: Path,
    responses: xr.Dataset,
    config: RunConfig,
    *,
    stages: Mapping[str, Mapping[str, Any]],
    text: str,
    command: str,
    citations: Sequence[str],
) -> Results:
    """Gather the results of a run from its answers, ``measures/`` and ``estimates/``.

    Of `responses`, those of ``responses.nc``, it is enough that they are opened. `stages` are the
    records of the finished stages, `command` is the command line that makes this report again. A
    missing stage that the report needs is a `UserError`.
    """
    for stage in ("code", "measure", "fit"):
        if stage not in stages:
            raise UserError(f"report: stage '{stage}' was not run in {folder}; add it to stages.")
    fit, coded = stages["fit"], stages["code"]
    title, description = heading_in(folder, config, stages)
    notes = [line for line in str(responses.attrs.get("notes", "")).splitlines() if line]
    measures = read_tables(folder / "measures")
    return Results(
        title=title,
        description=description,
        name=config.name,
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        responses=responses,
        tables=measures
        | _with_coders(read_tables(folder / "estimates"), folder, coded.get("key", ""))
        | _added("specs", folder / SPECS_TABLE, coded.get("key", ""))
        | {name: read_csv(path) for name, path in study_inputs(folder, config).items()},
        verdict=fit["verdict"],
        verdict_sentences=list(fit["sentences"]),
        exclusions=[*fit["notes"], *notes, *coded.get("notes", []), *mass_elsewhere(measures)],
        equation=fit["equation"],
        priors=list(fit["priors"]),
        level=config.analysis.level,
        config_yaml=text,
        provenance={name: str(number) for name, number in versions().items()}
        | {"seed": str(config.seed), "asked": str(responses.attrs.get("finished", ""))}
        | used_by(stages)
        | _coders(responses),
        citations=[*citations, *_STUDIES],
        notes=coder_warnings(
            folder,
            config.coding.coders,
            modelled=config.analysis.misclassification is not None,
            poles=poles_in(responses),
        ),
        duration=took(stages),
        study=config.report.study or "",
        maps=config.report.maps or (),
    )


def mass_elsewhere(measures: Mapping[str, pd.DataFrame]) -> list[str]:
    """Describe the models with most of their probability on answers other than the options."""
    if "validity" not in measures or "measure" not in measures["validity"]:
        return []
    validity = measures["validity"]
    rows = validity[(validity["measure"] == "mass") & (validity["estimate"] < MOSTLY)]
    return [
        f"{model}: {100 * (1 - mass):.1f} % of the probability was not on options that agree or "
        "disagree, and is in no number but the probability on the options."
        for model, mass in zip(rows["model"], rows["estimate"], strict=True)
    ]


def used_by(stages: Mapping[str, Any]) -> dict[str, str]:
    """Describe the usage of respondents and judges behind servers."""
    used = [stages.get(stage, {}).get("usage", {}) for stage in ("probe", "code")]
    return {f"used by {name}": text for one in used for name, text in one.items()}


def _coders(responses: xr.Dataset) -> dict[str, str]:
    """Return the coders' descriptions."""
    said = str(responses["coder"].attrs.get("about", "")) if "coder" in responses else ""
    pairs = [line.split(": ", 1) for line in said.splitlines()]
    return {f"coder {name}": text for name, text in pairs}


def study_inputs(folder: Path, config: RunConfig) -> dict[str, Path]:
    """Return the files that a study's section shows, besides those of the run's stages."""
    if config.report.study is None:
        return {}
    ablation = folder / "ablation" / "report" / "tables"
    wordings = [Path(path).expanduser().parent for path in config.wordings]
    places = {
        "coder_scores": [folder / "validation" / "tables" / "scores.csv"],
        "coder_thresholds": [folder / "validation" / "tables" / "thresholds.csv"],
        "annotators": [folder / config.annotation.folder / "agreement.csv"],
        "match_proportion": [place / "match_proportion.csv" for place in wordings],
        "ablation": [ablation / "ablation.csv"],
        "ablation_differences": [ablation / "ablation_differences.csv"],
    }
    return {
        name: next(path for path in paths if path.is_file())
        for name, paths in places.items()
        if any(path.is_file() for path in paths)
    }


def read_tables(folder: Path) -> dict[str, Any]:
    """Read all tables of a folder, by name."""
    return {path.stem: read_csv(path) for path in sorted(folder.glob("*.csv"))}


def _added(name: str, path: Path, coded: str) -> dict[str, Any]:
    """Read a task's table, unless that was of other answers than those there are now."""
    if not path.is_file():
        return {}
    table = read_csv(path, {"spec": str})
    if "answers" not in table or set(table["answers"]) != {coded}:
        return {}
    return {name: table.drop(columns="answers")}


def _with_coders(tables: dict[str, Any], folder: Path, coded: str) -> dict[str, Any]:
    """Add what single coders would conclude to what other studies would."""
    coders = _added("flips", folder / CODERS_TABLE, coded)
    if not coders or "flips" not in tables:
        return tables
    return tables | {"flips": pd.concat([tables["flips"], coders["flips"]], ignore_index=True)}


def took(stages: Mapping[str, Mapping[str, Any]]) -> str:
    """Say how long the stages took together."""
    seconds = sum(float(record.get("seconds", 0)) for record in stages.values())
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
