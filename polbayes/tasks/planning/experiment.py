"""The experiment file of a planned study: the pilot's, with other numbers of questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from polbayes.config.resources import folder
from polbayes.data.files import write_text
from polbayes.errors import UserError

# What belongs to the pilot, or to planning, and not to the study.
_LEFT_OUT = ("run_dir", "task", "runs", "stages", "plan", "items", "variants")


def write_experiment(
    path: Path,
    overrides: Sequence[str],
    *,
    items: Sequence[str],
    variants: Sequence[str],
    prefixes: Sequence[str],
    runs: int,
    name: str,
) -> None:
    """Write the experiment of a pilot's overrides with these items, wordings, prefixes and runs.

    Raises
    ------
    UserError
        If the pilot's command has something that a file cannot say.
    """
    defaults, values = _parsed(overrides)
    given: dict[str, Any] = {
        **values,
        "name": name,
        "items": list(items),
        "variants": list(variants),
        "prefixes": {**values.get("prefixes", {}), "only": list(prefixes)},
        "elicitation": {**values.get("elicitation", {}), "runs": runs},
    }
    text = yaml.safe_dump(
        {"defaults": [*defaults, "_self_"], **given}, sort_keys=False, allow_unicode=True
    )
    write_text(path, f"# @package _global_\n# Planned with task=plan.\n{text}")


def _parsed(overrides: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Divide overrides into a list of defaults and nested values."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    groups = {path.name for path in folder("conf").iterdir() if path.is_dir()}
    defaults: list[Any] = []
    values: dict[str, Any] = {}
    kept = [one for one in overrides if not one.startswith("--config-dir")]
    for one in OverridesParser.create().parse_overrides(kept):
        key = one.key_or_group
        if one.is_delete():
            raise UserError(
                f"plan.write: the pilot's command deletes {key}, which a file cannot; write the "
                "file by hand from the numbers above."
            )
        if key == "experiment":
            defaults.insert(0, one.value())
        elif key in groups:
            defaults.append({f"override /{key}": one.value()})
        elif key.split(".")[0] not in _LEFT_OUT:
            *above, last = key.split(".")
            inner = values
            for part in above:
                inner = inner.setdefault(part, {})
            inner[last] = one.value()
    return defaults, values


def balanced_items(about: pd.DataFrame, number: int, *, seed: int) -> list[str]:
    """Draw `number` items of each dimension, half of either side as far as there are so many.

    `about` has the columns ``item, dimension, direction``.
    """
    rng = np.random.default_rng(seed)
    taken: list[str] = []
    for _, own in about.groupby("dimension", sort=False):
        mixed = own.iloc[rng.permutation(len(own))]
        place = mixed.groupby("direction").cumcount()
        order = place.sort_values(kind="stable").index
        taken += mixed.loc[order, "item"].head(number).tolist()
    return [item for item in about["item"] if item in set(taken)]
