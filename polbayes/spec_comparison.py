"""Comparing analysis specs on the answers of a finished run (``task=compare_specs``)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polbayes.compose import with_analysis
from polbayes.config import RunConfig
from polbayes.dataset import open_responses
from polbayes.errors import UserError
from polbayes.fit.spec import Spec
from polbayes.manifest import Manifest, check_config, write_text
from polbayes.run import fit_into, keys_of, manifest_of
from polbayes.terminal import say

if TYPE_CHECKING:
    import xarray as xr

    from polbayes.fit.loo import Loo

_RECORD = "fit.json"
_TABLE = Path("comparisons") / "specs.csv"


@dataclass(frozen=True)
class Candidate:
    """A spec to be compared.

    Parameters
    ----------
    name
        Of its file in ``conf/analysis``.
    config
        The run's config with this analysis.
    spec
        The spec.
    key
        Hash of everything that its fit depends on.
    """

    name: str
    config: RunConfig
    spec: Spec
    key: str


def compare_specs_of_run(
    config: RunConfig, text: str, overrides: Sequence[str], config_dir: str | None
) -> str:
    """Fit several specs to the answers of a run and compare how well they predict.

    Fits are kept in ``comparisons/fits`` of the run's folder, and none is done twice; the run's
    own fit is used where it is one of them. The table goes to ``comparisons/specs.csv``.

    Parameters
    ----------
    config, text
        The checked config, and the same as YAML.
    overrides, config_dir
        What it was composed from, to compose it with each of the analyses.

    Returns
    -------
    str
        The comparison, to be printed.

    Raises
    ------
    UserError
        If the run is not there, or the specs cannot be compared on its answers.
    """
    import pandas as pd

    from polbayes.fit.compare_specs import compare_specs, comparison_text

    folder = Path(config.run_dir).expanduser()
    manifest = manifest_of(config, text)
    check_config(folder, text, ["fit", "report"])
    if not manifest.is_done("code", keys_of(config, text)["code"]):
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
    loos = {name: _loos(where) for name, (where, _) in fitted.items()}
    tables = []
    for part in ("answers", "validity"):
        if all(part in found for found in loos.values()):
            table = compare_specs({name: found[part] for name, found in loos.items()})
            tables.append(table.assign(part=part))
    verdicts = {name: verdict for name, (_, verdict) in fitted.items()}
    whole = pd.concat(tables, ignore_index=True)
    whole = whole.assign(verdict=whole["spec"].map(verdicts))
    write_text(folder / _TABLE, whole.to_csv(index=False))
    texts = [f"{table['part'].iloc[0]}\n{comparison_text(table)}" for table in tables]
    return "\n\n".join([*texts, *_warnings(verdicts), f"table: {folder / _TABLE}"])


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
        spec = parse_analysis(own.analysis, own.sampler)
        if not isinstance(spec, Spec):
            raise UserError(
                f"specs: {name} is a mixed model; only specs of the ideology model can be compared."
            )
        found.append(Candidate(name, own, spec, keys_of(own, text)["fit"]))
    return found


def _check_same_answers(candidates: Sequence[Candidate], data: "xr.Dataset") -> None:
    """Refuse specs of different answers before any of them is fitted."""
    from polbayes.fit.cells import gather_cells
    from polbayes.fit.compare_specs import aligned
    from polbayes.fit.loo import Loo, observations
    from polbayes.fit.terms import bind

    loos = []
    for one in candidates:
        cells = gather_cells(data, one.spec)
        bind(one.spec, cells)
        frame = cells.frame.assign(observed=observations(cells, "answers"), elpd=0.0)
        loos.append(Loo("answers", frame[cells.answered > 0].reset_index(drop=True)))
    for one, loo in zip(candidates[1:], loos[1:], strict=True):
        aligned(loo, loos[0], one.name, candidates[0].name)


def _fitted(
    one: Candidate, data: "xr.Dataset", folder: Path, manifest: Manifest
) -> tuple[Path, str]:
    """Return the folder that a spec's fit is in, and its verdict; fit it if need be."""
    if manifest.is_done("fit", one.key) and (folder / "estimates" / "loo_cells.csv").is_file():
        return folder, str(manifest.stages["fit"]["verdict"])
    where = folder / "comparisons" / "fits" / one.key
    record = where / _RECORD
    if not record.is_file():
        where.mkdir(parents=True, exist_ok=True)
        _, about = fit_into(where, one.spec, data, one.config)
        # Written last: where it is, the fit is whole.
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


def _loos(where: Path) -> "dict[str, Loo]":
    import pandas as pd

    from polbayes.fit.loo import from_table

    path = where / "estimates" / "loo_cells.csv"
    text = dict.fromkeys(("model", "item", "variant", "prefix", "observed", "part"), str)
    try:
        cells: pd.DataFrame = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=text)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); fit this spec again.") from error
    return {loo.part: loo for loo in from_table(cells)}


def _warnings(verdicts: Mapping[str, str]) -> list[str]:
    bad = [name for name, verdict in verdicts.items() if verdict == "bad"]
    if not bad:
        return []
    return [
        f"The sampler's draws of {', '.join(bad)} failed the diagnostics: what is said of them "
        "above must not be used."
    ]
