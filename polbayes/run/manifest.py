"""The manifest of a run's folder: which stages are done, and from what.

`manifest.json` records for every finished stage a hash of everything that determines its result, so
that repeating a command does nothing, and a changed config is recognised.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from polbayes.config.compose import STAGE_OF_KEY, differences
from polbayes.config.extensions import departures, with_defaults, without_additions
from polbayes.config.schema import (
    API_MEANS,
    PAIRED,
    ROLEPLAY,
    STAGES,
    AnalysisConfig,
    ApiConfig,
    RunConfig,
    SamplerConfig,
)
from polbayes.data.dataset import check_whole
from polbayes.data.files import write_text
from polbayes.data.provenance import digest, file_digest, versions
from polbayes.errors import UserError, reason

# Keys of the analysis that affect how the posterior is reported, not the posterior itself.
CONCLUDING = ("level", "rope", "dif", "precision")


# Keys without meaning for questionnaires; older runs lack them.
_JUDGED = ("roleplay", "pairs", "judges", "judging")


class Manifest:
    """The record of one run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "manifest.json"
        self.stages: dict[str, dict[str, Any]] = {}
        if self.path.is_file():
            try:
                content = json.loads(self.path.read_text(encoding="utf-8"))
                self.stages = _stages(content)
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise UserError(
                    f"{self.path}: cannot be read ({reason(error)}); move it away and repeat the "
                    "run's command, which asks nothing again."
                ) from error

    def is_done(self, stage: str, key: str) -> bool:
        """Return whether a stage was finished from exactly these inputs.

        Raises
        ------
        UserError
            If one of its netCDF files or tables has been damaged since.
        """
        record = self.stages.get(stage)
        if record is None or record["key"] != key:
            return False
        if self.lost(stage, key):
            return False
        for path in (self.folder / output for output in record["outputs"]):
            if path.suffix == ".nc":
                check_whole(path)
        self.check_tables(stage)
        return True

    def check_tables(self, *stages: str) -> None:
        """Refuse tables of some stages that were changed or lost since they were written."""
        for stage in stages:
            for output, written in self.stages.get(stage, {}).get("tables", {}).items():
                path = self.folder / output
                if not path.is_file():
                    raise UserError(f"{path}: is gone; the run's command makes it again.")
                if file_digest(path) != written:
                    raise UserError(
                        f"{path}: is no longer the table that was written; delete it, and the "
                        "run's command makes it again."
                    )

    def lost(self, stage: str, key: str) -> list[Path]:
        """Return what a stage that was finished from these inputs wrote and is no longer there."""
        record = self.stages.get(stage)
        if record is None or record["key"] != key:
            return []
        outputs = [self.folder / output for output in record["outputs"]]
        return [path for path in outputs if not path.exists()]

    def finish(self, stage: str, key: str, outputs: Sequence[str], **about: Any) -> None:
        """Record that a stage was finished."""
        tables = [output for output in outputs if output.endswith(".csv")]
        self.stages[stage] = {
            "key": key,
            "outputs": list(outputs),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            **about,
            "tables": {output: file_digest(self.folder / output) for output in tables},
        }
        content = {"stages": self.stages, "versions": versions()}
        text = json.dumps(content, indent=2)
        write_text(self.path, text + "\n")


def _stages(content: Any) -> dict[str, dict[str, Any]]:
    """Return the records of the stages, checked for the required keys."""
    records: dict[str, dict[str, Any]] = content["stages"]
    for record in dict(records).values():
        record["key"], list(record["outputs"]), dict(record.get("tables", {}))
    return records


def read_config(path: Path) -> RunConfig:
    """Read the config that a run was made with."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        merged = OmegaConf.merge(OmegaConf.structured(RunConfig), OmegaConf.create(content))
        config = OmegaConf.to_object(merged)
    except (OSError, ValueError, TypeError, yaml.YAMLError, OmegaConfBaseException) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise UserError(f"{path}: is not the config of a run ({reason}).") from error
    assert isinstance(config, RunConfig)
    return config


def _config_at(path: Path) -> dict[str, Any]:
    """Return the config of a run, which may lack keys added since."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        with_defaults(config)
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise UserError(
            f"{path}: cannot be read ({reason(error)}); move it away and repeat the run's command."
        ) from error
    return dict(config)


def check_config(
    folder: Path,
    text: str,
    stages: Sequence[str],
    *,
    finished: Collection[str] = STAGES,
    adding: bool = False,
) -> list[str]:
    """Refuse a config other than the folder's, and say what it adds.

    A key may change if its stage is the first of those asked for, or comes later:
    ``stages=[fit,report]`` allows replacing an earlier fit. Answers are never replaced. A key that
    the earlier config lacks had its default. With `adding`, the new config may ask for more
    (`polbayes.config.extensions`).
    """
    path = folder / ".hydra" / "config.yaml"
    if not path.is_file():
        return []
    old, new = (
        _without_means(with_defaults(config)) for config in (_config_at(path), yaml.safe_load(text))
    )
    same = without_additions(old, new) if adding else new
    free = set() if set(stages) == set(STAGES) else set(STAGES[min(map(STAGES.index, stages)) :])
    changed = [(STAGE_OF_KEY.get(d[0].split(".")[0]), *d) for d in differences(old, same)]
    # First what matters most: another name is only the sign of another experiment.
    of_stages = (one for stage in STAGES for one in changed if one[0] == stage)
    for stage, key, before, now in of_stages:
        onwards = STAGES[STAGES.index(stage) :]
        if stage != "probe" and (stage in free or not set(onwards) & set(finished)):
            continue
        alone = ",".join(onwards)
        way_out = f"choose another run_dir or go back to {key}={_shown(before)}"
        if stage != "probe":
            way_out += f", or add stages=[{alone}] to replace that part of the results"
        raise UserError(
            f"{folder} holds a run with {key}={_shown(before)}, not {_shown(now)}; {way_out}."
        )
    return [
        f"{key}={_shown(now)} (was {_shown(before)})" for key, before, now in differences(same, new)
    ]


def _without_means(config: Any) -> Any:
    """Return a config without the keys that change neither questions nor answers."""
    if not isinstance(config, dict):
        return config
    asking = config.get("elicitation")
    judged = isinstance(asking, dict) and asking.get("kind") in (ROLEPLAY, PAIRED)
    out = {key: v for key, v in config.items() if judged or key not in _JUDGED}
    for group in ("respondents", "judges"):
        if isinstance(declared := out.get(group), dict):
            out[group] = {name: _of_answers(one) for name, one in declared.items()}
    for group in ("elicitation", "judging"):
        if isinstance(how := out.get(group), dict):
            out[group] = {key: v for key, v in how.items() if key != "batch_size"}
    if isinstance(coding := config.get("coding"), dict) and isinstance(coding.get("models"), dict):
        models = {name: _of_codes(coder) for name, coder in coding["models"].items()}
        out["coding"] = {**coding, "models": models}
    return out


def _of_codes(coder: Any) -> Any:
    """Return a coder's declaration, without the keys of judges unless it is one."""
    if not isinstance(coder, dict):
        return coder
    others = {key: value for key, value in coder.items() if key != "judge"}
    if not isinstance(judge := coder.get("judge"), dict):
        return others
    return {**others, "judge": _of_answers(judge)}


def _of_answers(respondent: Any) -> Any:
    if not isinstance(respondent, dict):
        return respondent
    others = {key: value for key, value in respondent.items() if key != "api"}
    if respondent.get("backend") != "chat_api":
        return others
    api = {**asdict(ApiConfig()), **(respondent.get("api") or {})}
    return {**others, "api": {key: v for key, v in api.items() if key not in API_MEANS}}


def _shown(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def stage_keys(
    config: Mapping[str, Any],
    inputs: Mapping[str, str],
    *,
    code_inputs: Mapping[str, str] = {},
    fit_inputs: Mapping[str, str] = {},
    measure_inputs: Mapping[str, str] = {},
    report_inputs: Mapping[str, str] = {},
) -> dict[str, str]:
    """Return for every stage a hash of what determines its result."""
    answering = departures(_without_means(config))
    seed = config.get("seed", RunConfig.seed)
    own = {
        stage: {k: v for k, v in answering.items() if STAGE_OF_KEY.get(k) == stage}
        for stage in STAGES
    }
    keys = {"probe": digest([dict(inputs), own["probe"]])}
    keys["code"] = digest([keys["probe"], own["code"], dict(code_inputs)])
    more = [dict(measure_inputs)] if measure_inputs else []
    keys["measure"] = digest([keys["code"], seed, own["measure"], *more])
    keys["fit"] = digest(
        [keys["code"], seed, own["fit"], dict(fit_inputs), *_fit_features(answering)]
    )
    fitted = digest([keys["code"], dict(fit_inputs), *_fit_features(answering)])
    keys["draws"] = draws_key(fitted, config["analysis"], config["sampler"], seed)
    shown = [dict(report_inputs)] if report_inputs else []
    keys["report"] = digest([keys["measure"], keys["fit"], own["report"], *shown])
    return keys


def _fit_features(config: Mapping[str, Any]) -> list[Any]:
    """Return how features are computed for a mixed model, whose formula may use them."""
    parts = config.get("analysis", {}).get("parts", {})
    if parts.get("mu") is None or "features" not in config:
        return []
    return [{name: value for name, value in config["features"].items() if name != "names"}]


def draws_key(
    answers: str, analysis: Mapping[str, Any], sampler: Mapping[str, Any], seed: int
) -> str:
    """Return a hash of what determines the sampler's draws of the ideology model."""
    own = departures(analysis, AnalysisConfig)
    spec = {name: value for name, value in own.items() if name not in CONCLUDING}
    # Effects of prefixes that are a sample need not sum to zero.
    spec |= {k: v for k, v in own.get("precision", {}).items() if k == "prefixes"}
    how = departures(sampler, SamplerConfig)
    return digest([answers, spec, how, seed, version("polbayes")])
