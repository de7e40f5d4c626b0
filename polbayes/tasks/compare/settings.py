"""The analysis of a comparison: that of its first run, unless the command says otherwise."""

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from polbayes.config.schema import AnalysisConfig, RunConfig
from polbayes.errors import UserError

# The keys that a comparison takes from its first run.
_TAKEN = ("analysis", "sampler", "measures", "features", "seed")

# Response -> the shipped analysis of several models.
_SEVERAL = {
    "stance": "ideology",
    "agree": "ideology",
    "rating": "ideology_ratings",
    "r_plus": "ideology_probabilities",
}


def settle(config: RunConfig, first: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """Complete the config of a comparison from that of its first run."""
    keys = [text.lstrip("+~").partition("=")[0] for text in overrides]
    for text, key in zip(overrides, keys, strict=True):
        if key in ("experiment", "experiments"):
            raise UserError("task=compare analyses the runs that it names; leave +experiment out.")
        if text.startswith("~") and key.split(".")[0] in _TAKEN:
            raise UserError(f"'{text}': task=compare cannot take keys away; set {key}=null.")
    chosen = {name: getattr(config if name in keys else first, name) for name in _TAKEN}
    dotted = [
        text.lstrip("+")
        for text, key in zip(overrides, keys, strict=True)
        if "." in key and key.split(".")[0] in _TAKEN and key.split(".")[0] not in keys
    ]
    settled = replace(config, **chosen)
    settled = _with(settled, dotted) if dotted else settled
    if first.measures.level == first.analysis.level and "measures.level" not in keys:
        return replace(settled, measures=replace(settled.measures, level=settled.analysis.level))
    return settled


def _with(config: RunConfig, dotted: Sequence[str]) -> RunConfig:
    """Set keys of a config as the command does."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from polbayes.fit.spec.priors import flatten

    # The keys of priors may be nested in YAML, but the type of the config has texts.
    analysis = replace(config.analysis, priors=flatten(config.analysis.priors))
    config = replace(config, analysis=analysis)
    try:
        merged = OmegaConf.merge(OmegaConf.structured(config), OmegaConf.from_dotlist(list(dotted)))
        found = OmegaConf.to_object(merged)
    except (OmegaConfBaseException, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"{reason} (given: {' '.join(dotted)}).") from error
    assert isinstance(found, RunConfig)
    return found


def for_several(analysis: AnalysisConfig, respondents: int) -> tuple[AnalysisConfig, str]:
    """Return an analysis of several respondents, and a sentence if it is another one."""
    theta = analysis.parts.get("theta") or ""
    if respondents < 2 or not theta or "model" in re.findall(r"\w+", theta):
        return analysis, ""
    from polbayes.config.compose import compose

    name = _SEVERAL.get(analysis.response, "ideology")
    other = compose(["+experiment=wvs_prefixes", f"analysis={name}"])[0].analysis
    return replace(other, level=analysis.level, select=analysis.select), (
        f"The first run's analysis is for one model; the {respondents} respondents here are "
        f"analysed with analysis={name}."
    )


def as_text(config: RunConfig) -> dict[str, Any]:
    """Return the part of the config that a comparison uses."""
    keys = ("task", "runs", "modes", "name", "title", "run_dir", *_TAKEN)
    return {key: value for key, value in asdict(config).items() if key in keys}
