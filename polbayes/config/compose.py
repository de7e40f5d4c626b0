"""Composition of a run's config with Hydra, and comparison of configs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from polbayes.config.languages import localise
from polbayes.config.overrides import check_contradictions
from polbayes.config.ranges import check_ranges
from polbayes.config.resources import folder
from polbayes.config.schema import PAIRED, ROLEPLAY, STAGES, STUDIES, RunConfig
from polbayes.config.tasks import TASKS, Task
from polbayes.config.yaml_checks import printable
from polbayes.errors import UserError, check_known, unknown

# The stage that every key of the config belongs to; a stage is done again when one of its own
# keys, or one of an earlier stage, has changed.
STAGE_OF_KEY: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "seed",
            "language",
            "instruments",
            "items",
            "variants",
            "wordings",
            "models",
            "prefixes",
            "elicitation",
            "respondents",
            "roleplay",
            "pairs",
            "imported",
            "probing",
        ),
        "probe",
    ),
    "coding": "code",
    "judges": "code",
    "judging": "code",
    "measures": "measure",
    "features": "measure",
    "analysis": "fit",
    "sampler": "fit",
    "name": "report",
    "title": "report",
    "description": "report",
    "report": "report",
}


# Errors that a user's file can cause and that Hydra and OmegaConf let through.
_UNUSABLE = (
    *(ValueError, TypeError, AttributeError, LookupError, AssertionError, RecursionError),
    yaml.YAMLError,
)


def compose(overrides: Sequence[str], config_dir: str | None = None) -> tuple[RunConfig, str]:
    """Compose and check the config of a run; return it with the resolved config as YAML.

    `overrides` are Hydra's, e.g. ``["+experiment=wvs_prefixes", "seed=2"]``; `config_dir` is a
    folder of the user's own configs, searched besides the shipped ones.
    """
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from polbayes.config.own_source import search_path

    check_contradictions(overrides)
    own = _own_folder(config_dir)
    searched = [f"hydra.searchpath=[{_quoted(search_path(own))}]"] if own else []
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(version_base="1.3", config_dir=str(folder("conf").resolve())):
            given = [*overrides, *searched]
            composed, choices = _composed(given)
            fitting = _fitting_analysis(composed.get("imported"))
            if fitting is not None and choices["analysis"] == "default":
                composed, _ = _composed([*given, f"analysis={fitting}"])
        localise(composed)
        merged = OmegaConf.merge(OmegaConf.structured(RunConfig), composed)
        if OmegaConf.is_missing(composed, "name"):
            merged.name = _name_of(composed)
        if choices.get("api"):
            _call_served(composed, merged)
        config = OmegaConf.to_object(merged)
        text = OmegaConf.to_yaml(merged, resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise _readable(error, overrides, own) from None  # Hydra's own traceback says no more
    except _UNUSABLE as error:
        # Hydra passes on errors of invalid YAML and of groups that are not names.
        said = " ".join(str(error).split())[:500].rstrip(".") or type(error).__name__
        found = re.match(r"invalid literal for int\(\) with base 10: '(\w+)'", said)
        keys = (text.partition("=")[0].lstrip("+") for text in overrides)
        if found and (key := next((key for key in keys if key.endswith(f".{found[1]}")), None)):
            raise UserError(_no_keys(key)) from None
        raise UserError(
            f"the config cannot be composed: {said} (given: {' '.join(overrides)})."
        ) from None
    assert isinstance(config, RunConfig)
    _check(config)
    return config, text


def _name_of_model(checkpoint: str) -> str | None:
    """Return a checkpoint without its owner or folder; None if there is none."""
    return checkpoint.rstrip("/").rpartition("/")[2] or None


def _call_served(composed: Any, merged: Any) -> None:
    """Have prompts call the model of a profile as those of `respondents=served` do."""
    declared = composed.respondents.get("served")
    if declared is not None and "called" not in declared:
        served = merged.respondents.served
        served.called = _name_of_model(served.checkpoint)


def _composed(overrides: list[str]) -> tuple[Any, Mapping[str, str]]:
    """Compose a config, and return the chosen files; known keys that are not set need no plus."""
    from hydra import compose as hydra_compose
    from hydra.errors import HydraException
    from omegaconf import OmegaConf, open_dict

    OmegaConf.register_new_resolver("name_of", _name_of_model, replace=True)
    while True:
        try:
            config = hydra_compose("config", overrides=overrides, return_hydra_config=True)
        except HydraException as error:
            found = re.search(r"Could not override '([^']+)'", str(error))
            places = [
                n for n, one in enumerate(overrides) if found and one.split("=")[0] == found[1]
            ]
            missing = getattr(error.__cause__, "full_key", None) or ""
            parent, _, last = missing.rpartition(".")
            # The importer checks the keys that users choose, such as columns.
            if not places or not (last in _known_keys(parent) or parent.startswith("imported.")):
                raise
            overrides = [f"++{x}" if n in places else x for n, x in enumerate(overrides)]
        else:
            with open_dict(config):
                return config, dict(config.pop("hydra").runtime.choices)


def _fitting_analysis(imported: Any) -> str | None:
    """Return the analysis that fits an imported table's scale, if not the usual one."""
    from omegaconf import DictConfig, ListConfig

    if not isinstance(imported, DictConfig):
        return None
    if "p_agree" in (imported.get("columns") or ()):
        return "ideology_probabilities"
    points, options, stances = (imported.get(key) for key in ("points", "options", "stances"))
    labels = list(points) if isinstance(points, ListConfig) else []
    if not labels and isinstance(options, DictConfig):
        labels = list({*map(str, options.values())})
    if len(labels) == 2:
        return "ideology_binary"
    sides = ("disagree", "neutral", "agree")
    usual = len(labels) == 3 and stances in (None, [*sides])
    return None if not labels or usual else "ideology_ratings"


def with_analysis(
    overrides: Sequence[str], config_dir: str | None, name: str
) -> tuple[RunConfig, str]:
    """Compose the config of a run again with another analysis."""
    others = [one for one in overrides if not one.startswith("analysis=")]
    return compose([*others, f"analysis={name}"], config_dir)


def _own_folder(config_dir: str | None) -> Path | None:
    if config_dir is None:
        return None
    own = Path(config_dir).expanduser().resolve()
    if not own.is_dir():
        raise UserError(f"--config-dir: '{config_dir}' is not a folder.")
    return own


def _quoted(text: str) -> str:
    """Quote a text for Hydra, in whose grammar commas and spaces have a meaning."""
    return '"' + text.replace('"', '\\"') + '"'


def experiments() -> dict[str, str]:
    """Return the shipped experiments with their one-line descriptions."""
    found = {}
    for path in sorted((folder("conf") / "experiment").glob("*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        comments = [x[1:].strip() for x in lines if x.startswith("#") and "@package" not in x]
        found[path.stem] = comments[0] if comments else ""
    return found


def _name_of(composed: Any) -> str:
    """Name a task after the folders it works on; a run needs a name."""
    works_on = TASKS.chosen(str(composed.task), where="task").works_on
    if works_on == "run":
        return _name_of_folder(composed)
    if works_on == "runs":
        words = [re.sub(r"[^\w.-]+", "_", Path(str(run)).name) for run in composed.runs]
        return "_".join(["compare", *words])
    raise UserError(
        "no experiment was chosen; add +experiment=NAME with one of "
        f"{', '.join(sorted(experiments()))}, or give your own run a name=NAME."
    )


def _name_of_folder(composed: Any) -> str:
    """Name a task after its run's folder, which is required without an experiment."""
    from omegaconf import OmegaConf

    unresolved: Any = OmegaConf.to_container(composed, resolve=False)
    folder_of_run = str(unresolved["run_dir"])
    if "${" in folder_of_run:
        raise UserError(
            f"run_dir: task={composed.task} works in a run's folder; name it as run_dir=FOLDER, or "
            "add the run's +experiment=NAME."
        )
    return Path(folder_of_run).expanduser().resolve().name


def _check(config: RunConfig) -> None:
    _check_lists(config)
    _check_texts(asdict(config))
    check_ranges(config)
    task = TASKS.chosen(config.task, where="task")
    if config.runs and task.works_on != "runs":
        raise UserError("runs: is for task=compare, which compares finished runs.")
    check_known("stage", *config.stages, known=STAGES, where="stages")
    if not config.run_dir.strip():
        raise UserError("run_dir: is empty; name the folder that the results go to.")
    if not config.stages:
        raise UserError(f"stages: the list is empty; name some of {', '.join(STAGES)}.")
    if task.works_on == "config":
        _check_asked(config, task)
    if config.report.study is not None and config.report.study not in STUDIES:
        raise unknown("study", config.report.study, STUDIES, where="report.study")


def _check_asked(config: RunConfig, task: Task) -> None:
    """Check that there are questions and respondents."""
    if config.elicitation.kind in (ROLEPLAY, PAIRED):
        if not task.judged:
            others = " and ".join(name for name, one in TASKS.items() if one.judged)
            raise UserError(
                f"task: {config.task} is for questionnaires; "
                f"elicitation={config.elicitation.kind} has {others}."
            )
    elif not config.instruments and (config.imported is None or config.task == "paraphrase"):
        raise UserError("instruments: the list is empty; name at least one, e.g. [wvs].")
    if config.task == "paraphrase" and config.paraphrase.table is not None:
        return
    if config.imported is None and not config.respondents:
        raise UserError("respondents: there is none; choose e.g. respondents=embedded.")
    if config.models is not None:
        if not config.models:
            raise UserError("models: the list is empty; name at least one.")
        if len(set(config.models)) < len(config.models):
            raise UserError("models: a model is named twice.")
        if config.imported is None:
            check_known("model", *config.models, known=config.respondents, where="models")


def _check_texts(value: Any, key: str = "") -> None:
    """Refuse unreadable characters, which no file or folder may have in its name."""
    if isinstance(value, str):
        printable(value, key)
    elif isinstance(value, dict):
        for name, one in value.items():
            printable(str(name), key)
            _check_texts(one, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for one in value:
            _check_texts(one, key)


def _check_lists(section: Any, where: str = "") -> None:
    """Refuse a list of anything but names, which the schema lets through."""
    for field, hint in get_type_hints(type(section)).items():
        key, value = f"{where}{field}", getattr(section, field)
        if is_dataclass(value):
            _check_lists(value, f"{key}.")
        elif hint in (list[str], list[str] | None):
            for name in value or ():
                if not isinstance(name, str):
                    raise UserError(f"{key}: '{name}' is not a name; write {key}=[NAME,NAME].")


def _readable(error: Exception, overrides: Sequence[str], own: Path | None) -> UserError:
    """Turn an error of Hydra or OmegaConf into one sentence."""
    text = str(error)
    found = re.search(r"(?:Could not (?:find|load)|Unable to find or open) '([^']+)'", text)
    if found and "/" in found[1]:
        group, name = found[1].rsplit("/", 1)
        places = (folder("conf"), own) if own else (folder("conf"),)
        return unknown(group, name, {p.stem for at in places for p in (at / group).glob("*.yaml")})
    found = re.search(r"Could not override '([^']+)'\.?\s*No match in the defaults list", text)
    if found:
        return UserError(f"'{found[1]}' must be added with a plus sign: +{found[1]}=NAME.")
    found = re.search(r"Could not append to config. An item is already at '([^']+)'", text)
    if found:
        return UserError(f"'{found[1]}' is there already; write it without the plus sign.")
    found = re.search(r"Could not override '([^']+)'", text)
    cause = error.__cause__
    if found:
        return _unknown_key(getattr(cause, "full_key", None) or found[1], cause)
    key = getattr(error, "full_key", None)
    found = re.search(r"full_key: (\S+)", text)
    key = key or (found[1] if found else None)
    if key and re.search(r"Key '.*' (is not in struct|not in )", text):
        return _unknown_key(str(key))
    return UserError(_wrong_value(error, str(key) if key else "", " ".join(overrides)))


def _wrong_value(error: Exception, key: str, shown: str) -> str:
    """Say what is wrong with a value."""
    text, cause, place = str(error), error.__cause__, f"{key}: " if key else ""
    if "is not a ListConfig" in text:
        if key.isdigit():  # where in the only list of lists
            return f"report.maps: must be a list of pairs, e.g. [[A,B],[A,C]] (given: {shown})."
        elsewhere = " and ".join(_elsewhere(key))
        other = f"{elsewhere} would be something else; " if elsewhere else ""
        return f"{key}: must be a list, e.g. {key}=[...] ({other}given: {shown})."
    found = re.search(r"\w+ is not a subclass of \w+Config\. value: (.*)", text)
    if found:
        named = re.search(rf"(?:^| )\+*([^ =]+)={re.escape(found[1])}(?: |$)", shown)
        place = f"{named[1]}: " if named else place
        return f"{place}'{found[1]}' stands where keys with values are expected (given: {shown})."
    found = re.match(r"(?:Lexer|Parser)?\w*Exception: ([^=\s]+)=(.+)", text)
    found = found or re.match(r"Error parsing override '\+*([^=']+)=(.*)'$", _first_line(error))
    if found:
        return (
            f"{found[1]}: the value '{found[2].strip()}' cannot be read; put a text with spaces or "
            f"signs in double quotes inside single ones: '{found[1]}=\"...\"'."
        )
    found = re.search(r"Error merging override \+*([^=]+)=(.*)", text)
    if found and "Cannot merge DictConfig with ListConfig" in str(cause):
        return (
            f"{found[1]}: '{found[2].strip()}' stands where keys with values are expected, "
            f"such as {found[1]}.KEY=VALUE (given: {shown})."
        )
    first = _first_line(error)
    if cause is not None and str(cause).strip() and "Error merging" in first:
        first = str(cause).strip().splitlines()[0]
    return f"{place}{first.rstrip('.')} (given: {shown})."


def _no_keys(key: str) -> str:
    """Say that a key is one of a list."""
    parent = key.rpartition(".")[0]
    return f"{key}: {parent} is a list, as in '{parent}=[...]'; it has no keys."


def _first_line(error: BaseException) -> str:
    """Return the first line of an error, or of its cause if it has none."""
    lines = str(error).strip().splitlines()
    if lines and not lines[0].endswith(":"):
        return lines[0]
    inner = error.__cause__ or error.__context__
    return type(error).__name__ if inner is None else _first_line(inner)


def _unknown_key(key: str, cause: BaseException | None = None) -> UserError:
    """Name the known keys beside an unknown one."""
    parent, _, last = key.rpartition(".")
    if elsewhere := _elsewhere(key):
        return UserError(f"config: unknown key '{key}'; write {' or '.join(elsewhere)}.")
    known = _known_keys(parent)
    if known:
        return unknown("key", last, known, where=parent or "config")
    hint = get_type_hints(RunConfig).get(parent)
    if list[str] in (hint, *get_args(hint)):
        return UserError(_no_keys(key))
    present = getattr(cause, "parent_node", None) or ()
    there = str(unknown("key", last, map(str, present), where=parent)).removesuffix(".")
    return UserError(f"{there}; to add a new one, write +{key}=VALUE with a plus sign.")


def _elsewhere(key: str) -> list[str]:
    """Return the keys of sections that end like a key without a section."""
    return [f"{one}.{key}" for one in _known_keys("") if key in _known_keys(one)]


def _known_keys(parent: str) -> list[str]:
    """Return the possible keys under `parent`; none if the user chooses them."""
    schema: Any = RunConfig
    chosen = False
    for name in parent.split(".") if parent else ():
        if chosen:
            chosen = False
            continue
        hint = get_type_hints(schema).get(name)
        schema = next((t for t in (hint, *get_args(hint)) if is_dataclass(t)), None)
        if schema is None:
            return []
        chosen = get_origin(hint) is dict
    return [] if chosen else [field.name for field in fields(schema)]


def differences(old: Any, new: Any, prefix: str = "") -> list[tuple[str, Any, Any]]:
    """List the keys in which two configs differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in [*old, *(k for k in new if k not in old)]:
            found += differences(old.get(key), new.get(key), f"{prefix}{key}.")
        return found
    return [] if old == new else [(prefix.rstrip("."), old, new)]
