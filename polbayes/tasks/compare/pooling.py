"""Several runs on paired requests as one dataset of verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr

from polbayes.data.dataset import CELL_DIMS
from polbayes.errors import UserError
from polbayes.report.prose import plural
from polbayes.run.pairs.verdicts import STATUSES
from polbayes.tasks.compare.align import Aligned, align
from polbayes.tasks.compare.finished import FinishedRun

_NOTHING = STATUSES["nothing_to_judge"]
# Results of judges, and which status says that there is one.
_JUDGED = {
    "verdict_prob": "verdict_status",
    "verdict_status": "verdict_status",
    "rating": "rating_status",
    "rating_status": "rating_status",
}
# Settings of a judge that do not change what it says.
_IDLE = ("family", "instruct", "attributes", "device")


@dataclass(frozen=True)
class Pooled:
    """Runs on paired requests, put together."""

    aligned: Aligned
    verdicts: xr.Dataset  # as of `polbayes.run.pairs.verdicts`, of all runs
    designs: tuple[str, ...]  # how the designs of the runs differ

    @property
    def compared(self) -> tuple[tuple[str, str], ...]:
        """The pairs of respondents to compare: snapshots of a model, else those of two runs."""
        if self.aligned.snapshots:
            return self.aligned.snapshots
        of_run: dict[str, list[str]] = {}
        for (run, _), name in self.aligned.models.items():
            of_run.setdefault(run, []).append(name)
        runs = list(of_run.values())
        return tuple(
            (before, after)
            for k, earlier in enumerate(runs)
            for later in runs[k + 1 :]
            for before in earlier
            for after in later
            if before != after
        )


def pool(runs: Sequence[FinishedRun], verdicts: Mapping[str, xr.Dataset]) -> Pooled:
    """Put the verdicts of runs together, under the names that `align` gives their parts.

    A judge is the same in two runs if its name and its settings are. An answer that is in two runs
    is judged once by each judge; the first run's verdict counts.
    """
    aligned = align(runs, item="pair")
    judges, notes = _judges(runs, verdicts)
    named = {}
    for run in runs:
        own, part = verdicts[run.label], aligned.parts[run.label]
        for dim in CELL_DIMS:
            if own[dim].values.tolist() != run.responses[dim].values.tolist():
                raise UserError(
                    f"runs: {run.folder}: its verdicts are not of its answers; run the stage code "
                    "again."
                )
        labels = {dim: part[dim].values for dim in CELL_DIMS}
        names = np.array([judges[run.label][str(j)] for j in own["judge"].values], dtype=object)
        named[run.label] = own.reset_coords(drop=True).assign_coords({"judge": names, **labels})
    joined = _joined(list(named.values()), aligned.data)
    of_items = [name for name in ("topic", "section", "dimension") if name in aligned.data.coords]
    about = [*of_items, "keying", "statement", "family", "checkpoint"]
    joined = joined.assign_coords(
        {name: aligned.data.coords[name] for name in about if name in aligned.data.coords}
    )
    designs = (*_sizes(runs, verdicts), *notes, *_ways(runs), *_panels(named))
    return Pooled(aligned, joined, designs)


def _judges(
    runs: Sequence[FinishedRun], verdicts: Mapping[str, xr.Dataset]
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return what every judge of every run is called, those that differ with their run."""
    known: dict[str, list[tuple[Any, str]]] = {}
    numbers: dict[tuple[str, str], int] = {}
    for run in runs:
        for judge in map(str, verdicts[run.label]["judge"].values):
            versions = known.setdefault(judge, [])
            about = _identity(run, judge)
            found = [n for n, (other, _) in enumerate(versions) if other == about]
            if not found:
                versions.append((about, run.label))
            numbers[run.label, judge] = found[0] if found else len(versions) - 1
    names: dict[str, dict[str, str]] = {run.label: {} for run in runs}
    for (label, judge), number in numbers.items():
        several = len(known[judge]) > 1
        names[label][judge] = f"{judge} @ {known[judge][number][1]}" if several else judge
    differing = [judge for judge, versions in known.items() if len(versions) > 1]
    if not differing:
        return names, []
    return names, [
        "Judges that are not the same in all runs, though they have the same name, are treated as "
        f"different ones: {', '.join(differing)}."
    ]


def _identity(run: FinishedRun, judge: str) -> Any:
    declared = {**run.config.respondents, **run.config.judges}.get(judge)
    if declared is None:
        return None
    return {name: value for name, value in asdict(declared).items() if name not in _IDLE}


def _joined(parts: Sequence[xr.Dataset], data: xr.Dataset) -> xr.Dataset:
    """Put renamed datasets of verdicts on the union of their labels."""
    union: dict[str, Any] = {dim: data[dim].values for dim in CELL_DIMS}
    for dim in ("judge", "outcome"):
        found = dict.fromkeys(str(label) for part in parts for label in part[dim].values)
        union[dim] = np.array(list(found), dtype=object)
    fill = {
        **dict.fromkeys(("verdict_status", "rating_status"), np.int8(_NOTHING)),
        "self_judged": np.int8(0),
        "outcomes": 0,
    }
    whole, *others = (part.reindex(union, fill_value={**fill, "words": np.nan}) for part in parts)
    for other in others:
        found = {}
        for name, status in _JUDGED.items():
            own = whole[name]
            chosen: xr.DataArray = xr.where(whole[status] != _NOTHING, own, other[name])
            found[name] = chosen.transpose(*own.dims).assign_attrs(own.attrs)
        found["words"] = whole["words"].fillna(other["words"])
        found["self_judged"] = np.maximum(whole["self_judged"], other["self_judged"])
        found["outcomes"] = whole["outcomes"] + other["outcomes"]
        whole = whole.assign(found)
    return whole


def _ways(runs: Sequence[FinishedRun]) -> list[str]:
    ways = {run.label: run.config.judging.verdict for run in runs}
    if len(set(ways.values())) == 1:
        return []
    said = ", ".join(f"{way} in {label}" for label, way in ways.items())
    return [f"Verdicts were not given in one way ({said}), which may move them."]


def _panels(named: Mapping[str, xr.Dataset]) -> list[str]:
    """Say what panels have in common if they differ."""
    panels = {label: [str(j) for j in part["judge"].values] for label, part in named.items()}
    shared = set.intersection(*(set(judges) for judges in panels.values()))
    if all(set(judges) == shared for judges in panels.values()):
        return []
    said = "; ".join(f"{label}: {', '.join(judges)}" for label, judges in panels.items())
    if shared:
        return [
            f"The runs were not judged alike ({said}). What those in common "
            f"({', '.join(sorted(shared))}) say of all runs tells the other judges' preferences "
            "from the models' tilts."
        ]
    return [
        f"The runs have no judge in common ({said}): whether their judges favour different sides "
        "cannot be told from a difference of tilt, and only the prior of such preferences is in "
        "the intervals. Judge the answers of one run by the judges of another (answers_from)."
    ]


def _sizes(runs: Sequence[FinishedRun], verdicts: Mapping[str, xr.Dataset]) -> list[str]:
    """Say how designs differ."""
    sizes = {}
    for run in runs:
        one = verdicts[run.label]
        counts = {
            "pair": one.sizes["item"],
            "topic": len(set(one["topic"].values.tolist())),
            "template": len(set(one["section"].values.tolist())),
            "prefix": one.sizes["prefix"],
            "run": one.sizes["run"],
            "judge": one.sizes["judge"],
        }
        sizes[run.label] = counts
    first = next(iter(sizes.values()))
    unequal = [name for name in first if len({one[name] for one in sizes.values()}) > 1]
    if not unequal:
        return []
    said = "; ".join(
        f"{label}: {', '.join(plural(one[name], name) for name in unequal)}"
        for label, one in sizes.items()
    )
    return [f"The designs of the runs are not equal ({said})."]
