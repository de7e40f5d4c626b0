"""Comparing analysis specs on the answers of a finished run (``task=compare_specs``)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.compose import with_analysis
from polbayes.config.schema import RunConfig
from polbayes.data.dataset import open_responses
from polbayes.data.files import write_text
from polbayes.data.progress import say
from polbayes.data.tables import read_csv, write_csv
from polbayes.errors import UserError
from polbayes.fit.mixed.spec import MixedSpec
from polbayes.fit.posterior.compare_specs import aligned, compare_specs, comparison_text
from polbayes.fit.spec.spec import Spec
from polbayes.report.assemble import SPECS_TABLE
from polbayes.run.manifest import Manifest, check_config
from polbayes.run.run import fit_into, keys_of, report_again

if TYPE_CHECKING:
    from polbayes.fit.posterior.loo import Loo

_RECORD = "fit.json"
_CELLS = "loo_cells.csv"


@dataclass(frozen=True)
class Candidate:
    """A spec to be compared."""

    name: str  # of its file in conf/analysis
    config: RunConfig  # the run's, with this analysis
    spec: Spec | MixedSpec
    key: str  # hash of everything that the fit depends on


def compare_specs_of_run(
    config: RunConfig, text: str, overrides: Sequence[str], config_dir: str | None
) -> str:
    """Fit several specs to the answers of a run and compare how well they predict."""
    folder = Path(config.run_dir).expanduser()
    manifest = Manifest(folder)
    check_config(folder, text, ["fit", "report"])
    coded = keys_of(config, text)["code"]
    if not manifest.is_done("code", coded):
        raise UserError(
            f"run_dir: {folder} has no coded answers of this config; leave out task=compare_specs "
            "and specs to make the run first."
        )
    candidates = _candidates(config, overrides, config_dir)
    data = open_responses(folder)
    _check_same_answers(candidates, data)
    fitted = {}
    for number, one in enumerate(candidates, start=1):
        say(f"compare_specs: {one.name} ({number} of {len(candidates)})")
        fitted[one.name] = _fitted(one, data, folder, manifest)
    loos = {one.name: _loos(one, data, fitted[one.name][0], folder) for one in candidates}
    tables = []
    for part in ("answers", "validity"):
        if all(part in found for found in loos.values()):
            table = compare_specs({name: found[part] for name, found in loos.items()})
            tables.append(table.assign(part=part))
    verdicts = {name: verdict for name, (_, verdict) in fitted.items()}
    whole = pd.concat(tables, ignore_index=True)
    whole = whole.assign(verdict=whole["spec"].map(verdicts), answers=coded)
    write_csv(folder / SPECS_TABLE, whole)
    texts = [f"{table['part'].iloc[0]}\n{comparison_text(table)}" for table in tables]
    report = report_again(config, text)
    where = [f"table: {folder / SPECS_TABLE}", *([f"report: {report}"] if report else [])]
    return "\n\n".join([*texts, *_warnings(verdicts), "\n".join(where)])


def _candidates(
    config: RunConfig, overrides: Sequence[str], config_dir: str | None
) -> list[Candidate]:
    from polbayes.fit.analysis import parse_analysis

    names = config.specs or []
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise UserError(
            "specs: name at least two different files of conf/analysis to be compared, e.g. "
            "specs=[ideology,mine]."
        )
    found = []
    for name in names:
        own, text = with_analysis(overrides, config_dir, name)
        spec = parse_analysis(own.analysis, own.sampler, own.features)
        found.append(Candidate(name, own, spec, keys_of(own, text)["fit"]))
    _check_kinds(found)
    return found


def _check_kinds(candidates: Sequence[Candidate]) -> None:
    """Refuse specs that predict different things."""
    mixed = [one.name for one in candidates if isinstance(one.spec, MixedSpec)]
    other = [one.name for one in candidates if not isinstance(one.spec, MixedSpec)]
    if mixed and other:
        raise UserError(
            f"specs: {mixed[0]} is a mixed model, which predicts single answers, and {other[0]} is "
            "an ideology model, which predicts cells; compare specs of one kind."
        )
    for one in candidates:
        if isinstance(one.spec, MixedSpec) and one.spec.distribution.counted:
            raise UserError(
                f"specs: {one.name} has family binomial, which adds up answers with the same "
                "predictors, so that other specs have other rows; use family bernoulli, which is "
                "the same model of single answers."
            )


def _check_same_answers(candidates: Sequence[Candidate], data: xr.Dataset) -> None:
    """Refuse specs of different answers before any of them is fitted."""
    loos = [_unfitted(one.spec, data) for one in candidates]
    for one, loo in zip(candidates[1:], loos[1:], strict=True):
        aligned(loo, loos[0], one.name, candidates[0].name)


def _unfitted(spec: Spec | MixedSpec, data: xr.Dataset) -> "Loo":
    """Return the cells of a spec, checked, without predictions."""
    from polbayes.fit.posterior.loo import Loo, observations
    from polbayes.fit.spec.cells import gather_cells
    from polbayes.fit.spec.reduction import reduced

    if isinstance(spec, MixedSpec):
        from polbayes.fit.mixed.pointwise import rows_to_leave_out

        return Loo("answers", rows_to_leave_out(data, spec).assign(elpd=0.0))
    cells = gather_cells(data, spec)
    reduced(spec, cells)
    every = cells.every
    at = np.flatnonzero(every.answered > 0)
    frame = every.frame.iloc[at].reset_index(drop=True)
    return Loo("answers", frame.assign(observed=observations(every, "answers", at), elpd=0.0))


def _fitted(one: Candidate, data: xr.Dataset, folder: Path, manifest: Manifest) -> tuple[Path, str]:
    """Return the folder of a spec's fit, and its verdict; fit it if needed."""
    if manifest.is_done("fit", one.key):
        return folder, str(manifest.stages["fit"]["verdict"])
    where = folder / "comparisons" / "fits" / one.key
    record = where / _RECORD
    if not record.is_file():
        where.mkdir(parents=True, exist_ok=True)
        _, about = fit_into(where, one.spec, data, one.config)
        # Written last: if it exists, the fit is complete.
        write_text(record, json.dumps({"analysis": one.name, **about}, indent=2) + "\n")
    about = _read(record)
    return where, str(about["verdict"])


def _read(record: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        content["verdict"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{record}: cannot be read ({error}); remove {record.parent} to fit this spec again."
        ) from error
    return content


def _loos(one: Candidate, data: xr.Dataset, where: Path, folder: Path) -> "dict[str, Loo]":
    """Read the results of leaving out cells, by part; for mixed models compute them once."""
    from polbayes.fit.posterior.loo import from_table

    path = where / "estimates" / _CELLS
    if isinstance(one.spec, MixedSpec):
        path = folder / "comparisons" / "fits" / one.key / _CELLS
        if not path.is_file():
            _leave_out(one.spec, data, where / "posterior.nc", path)
    text = dict.fromkeys(("model", "item", "variant", "prefix", "observed", "part"), str)
    try:
        cells = read_csv(path, text)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); fit this spec again.") from error
    return {loo.part: loo for loo in from_table(cells)}


def _leave_out(spec: MixedSpec, data: xr.Dataset, posterior: Path, path: Path) -> None:
    from polbayes.fit.fit import load_posterior
    from polbayes.fit.mixed.pointwise import leave_out_rows
    from polbayes.fit.posterior.loo import loo_tables

    loo = leave_out_rows(data, spec, load_posterior(posterior))
    write_csv(path, loo_tables([loo])["loo_cells"])


def _warnings(verdicts: Mapping[str, str]) -> list[str]:
    bad = [name for name, verdict in verdicts.items() if verdict == "bad"]
    if not bad:
        return []
    return [
        f"The sampler's draws of {', '.join(bad)} failed the diagnostics: what is said of them "
        "above must not be used."
    ]
