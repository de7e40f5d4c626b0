"""What may be added to a run without changing the meaning of what is in it.

More runs, prefixes, models, wordings, items and instruments leave every cell that was asked as it
is. That its text is still the same is checked where the journal is opened, cell by cell.
"""

from collections.abc import Mapping
from typing import Any

_LISTS = ("instruments", "wordings")
# Where nothing is named, all there are.
_SELECTIONS = ("items", "variants")


def without_additions(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config as it would be if nothing had been added to an earlier one."""
    out = dict(new)
    if old.get("imported") is not None or new.get("imported") is not None:
        return out
    if _chosen(old) <= _chosen(new):
        out["models"] = old["models"]
        added = new["respondents"].keys() - old["respondents"].keys()
        out["respondents"] = {k: v for k, v in new["respondents"].items() if k not in added}
    for key in _LISTS:
        if set(old[key]) <= set(new[key]):
            out[key] = old[key]
    for key in _SELECTIONS:
        out[key] = _narrowed(old[key], new[key])
    only = _narrowed(old["prefixes"]["only"], new["prefixes"]["only"])
    out["prefixes"] = {**new["prefixes"], "only": only}
    runs = (old["elicitation"]["runs"], new["elicitation"]["runs"])
    if runs[0] < runs[1]:
        out["elicitation"] = {**new["elicitation"], "runs": runs[0]}
    return out


def _chosen(config: Mapping[str, Any]) -> set[str]:
    """Return the names of the models that are asked."""
    return set(config["respondents"] if config["models"] is None else config["models"])


def _narrowed(old: Any, new: Any) -> Any:
    """Return the earlier of two selections by name if the later one has all of it."""
    if old is None:
        return new
    return old if new is None or set(old) <= set(new) else new
