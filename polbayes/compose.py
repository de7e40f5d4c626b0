"""Composing the config of a run with Hydra, and telling two configs apart."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from polbayes.config import STAGES, TASKS, RespondentConfig, RunConfig
from polbayes.errors import UserError, unknown
from polbayes.resources import folder

# The stage that every key of the config belongs to; a stage is done again when one of its own
# keys, or one of an earlier stage, has changed.
STAGE_OF_KEY: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "seed",
            "instruments",
            "items",
            "variants",
            "models",
            "prefixes",
            "elicitation",
            "respondents",
            "imported",
        ),
        "probe",
    ),
    "coding": "code",
    "measures": "measure",
    "analysis": "fit",
    "sampler": "fit",
    "name": "report",
    "title": "report",
    "description": "report",
}


def compose(overrides: Sequence[str], config_dir: str | None = None) -> tuple[RunConfig, str]:
    """Compose and check the config of a run.

    Parameters
    ----------
    overrides
        Hydra overrides, e.g. ``["+experiment=wvs_prefixes", "seed=2"]``.
    config_dir
        Folder of the user's own configs, searched beside the shipped ones.

    Returns
    -------
    config : RunConfig
    text : str
        The resolved config as YAML.

    Raises
    ------
    UserError
        If an experiment, a group or a key is unknown, or a value has the wrong type.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    given = list(overrides)
    if config_dir is not None:
        own = Path(config_dir).expanduser().resolve()
        if not own.is_dir():
            raise UserError(f"--config-dir: '{config_dir}' is not a folder.")
        given.append(f"hydra.searchpath=[file://{own}]")
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(version_base="1.3", config_dir=str(folder("conf").resolve())):
            composed = hydra_compose("config", overrides=given)
        merged = OmegaConf.merge(OmegaConf.structured(RunConfig), composed)
        if OmegaConf.is_missing(composed, "name"):
            raise UserError(
                "no experiment was chosen; add +experiment=NAME with one of "
                f"{', '.join(sorted(experiments()))}, or give your own run a name=NAME."
            )
        config = OmegaConf.to_object(merged)
        text = OmegaConf.to_yaml(merged, resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise _readable(error, given) from error
    assert isinstance(config, RunConfig)
    _check(config)
    return config, text


def experiments() -> dict[str, str]:
    """Return the shipped experiments with their one-line descriptions."""
    found = {}
    for path in sorted((folder("conf") / "experiment").glob("*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        comments = [x[1:].strip() for x in lines if x.startswith("#") and "@package" not in x]
        found[path.stem] = comments[0] if comments else ""
    return found


def _check(config: RunConfig) -> None:
    if config.task not in TASKS:
        raise unknown("task", config.task, TASKS, where="task")
    for stage in config.stages:
        if stage not in STAGES:
            raise unknown("stage", stage, STAGES, where="stages")
    if not config.stages:
        raise UserError(f"stages: the list is empty; name some of {', '.join(STAGES)}.")
    if not config.instruments:
        raise UserError("instruments: the list is empty; name at least one, e.g. [wvs].")
    if config.imported is None and not config.respondents:
        raise UserError("respondents: there is none; choose e.g. respondents=embedded.")
    if config.models is not None:
        if not config.models:
            raise UserError("models: the list is empty; name at least one.")
        if config.imported is None:
            for model in config.models:
                if model not in config.respondents:
                    raise unknown("model", model, config.respondents, where="models")
    if config.measures.bootstrap < 100:
        raise UserError("measures.bootstrap: at least 100 draws are needed for an interval.")
    for key, level in (("measures", config.measures.level), ("analysis", config.analysis.level)):
        if not 0 < level < 1:
            raise UserError(f"{key}.level: must be between 0 and 1, not {level}.")


def _readable(error: Exception, overrides: Sequence[str]) -> UserError:
    """Turn what Hydra and OmegaConf say into one sentence."""
    text = str(error)
    found = re.search(
        r"(?:Could not find|Unable to find or open|In '[^']*': Could not find) '([^']+)'", text
    )
    if found and "/" in found[1]:
        group, name = found[1].rsplit("/", 1)
        known = (p.stem for p in (folder("conf") / group).glob("*.yaml"))
        return unknown(group, name, known)
    found = re.search(r"Could not override '([^']+)'\.?\s*No match in the defaults list", text)
    if found:
        return UserError(f"'{found[1]}' must be added with a plus sign: +{found[1]}=NAME.")
    found = re.search(r"Could not override '([^']+)'", text)
    if found:
        return _unknown_key(found[1])
    key = getattr(error, "full_key", None)
    found = re.search(r"full_key: (\S+)", text)
    key = key or (found[1] if found else None)
    if key and re.search(r"Key '.*' (is not in struct|not in )", text):
        return _unknown_key(str(key))
    first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    cause = error.__cause__
    if cause is not None and str(cause).strip() and "Error merging" in first:
        first = str(cause).strip().splitlines()[0]
    place = f"{key}: " if key else ""
    shown = " ".join(overrides)
    return UserError(f"{place}{first.rstrip('.')} (given: {shown}).")


def _unknown_key(key: str) -> UserError:
    """Say which keys there are beside the one that is not."""
    from omegaconf import OmegaConf

    parent, _, last = key.rpartition(".")
    if parent.startswith("respondents."):
        known = [field.name for field in fields(RespondentConfig)]
    elif parent:
        at = OmegaConf.select(OmegaConf.structured(RunConfig), parent)
        known = [str(name) for name in at] if OmegaConf.is_config(at) else []
    else:
        known = [field.name for field in fields(RunConfig)]
    where = parent or "config"
    return unknown("key", last, known, where=where)


def differences(old: Any, new: Any, prefix: str = "") -> list[tuple[str, Any, Any]]:
    """List the keys in which two configs differ, with both values.

    Parameters
    ----------
    old, new
        Nested mappings, as read from YAML.
    prefix
        Dotted key of the two.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in [*old, *(k for k in new if k not in old)]:
            found += differences(old.get(key), new.get(key), f"{prefix}{key}.")
        return found
    return [] if old == new else [(prefix.rstrip("."), old, new)]
