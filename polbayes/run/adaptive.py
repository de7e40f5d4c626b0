"""Adaptive probing: only the questions that tell most about where the models stand.

After a start in which every model has both keys of each dimension and all prefixes, batches of
questions are chosen by what they are expected to tell about theta, and about differences of theta
between models, per cost (`polbayes.fit.posterior.information`). Between batches the analysis is
fitted quickly (`polbayes.fit.sampling.laplace`); the report compares the last quick fit with the
final one. Each batch is chosen from the answers before it and the seed alone, so that what was not
asked is missing at random (Rubin 1976) and the likelihood of what was asked is all that the
posterior needs.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import ProbingConfig
from polbayes.data.dataset import ASKED, CELL_DIMS, MISSING, NOT_CHOSEN, STANCE, STATUS
from polbayes.data.files import write_text
from polbayes.data.progress import say
from polbayes.data.prose import plural
from polbayes.data.provenance import json_digest
from polbayes.errors import UserError
from polbayes.fit.posterior.information import most_informative
from polbayes.fit.spec.answers import STANCE_POINTS
from polbayes.fit.spec.cells import Cells, gather_cells, keyed
from polbayes.fit.spec.spec import Spec

# The choices, one batch a line, in a run's folder.
CHOICES = "adaptive.jsonl"

# Of a model and dimension, at least this part of the questions has either key, if any has.
_EITHER_KEY = 0.25

# So many answers to a statement count as much as all others of the model, for the proportion of
# usable ones.
_WEIGHT = 4

# Transitions of the fits between batches, whose draws are compared with each other.
_TUNE, _DRAWS = 100, 100


@dataclass(frozen=True)
class Policy:
    """How questions are chosen."""

    settings: ProbingConfig
    spec: Spec
    level: float  # of the intervals of theta
    seed: int


# Puts the pending questions of a design, and returns it with the coded answers.
Put = Callable[[xr.Dataset], xr.Dataset]


def check_adaptive(settings: ProbingConfig, spec: Any, models: list[str]) -> None:
    """Refuse an unknown kind of probing, and analyses that cannot choose questions.

    Raises
    ------
    UserError
        Naming the key.
    """
    if settings.kind not in ("full", "adaptive"):
        raise UserError(f"probing.kind: '{settings.kind}' is unknown; use full or adaptive.")
    if settings.kind == "full":
        return
    if not isinstance(spec, Spec) or spec.response != "stance" or spec.misclassification:
        raise UserError(
            "probing.kind: adaptive chooses questions by the ideology model of stances; use an "
            "analysis with response: stance and without misclassification."
        )
    for model, cost in settings.cost.items():
        if model not in models:
            raise UserError(f"probing.cost: there is no model '{model}' in this run.")
        if not cost > 0:
            raise UserError(f"probing.cost.{model}: must be above 0, not {cost}.")


def probe_adaptively(design: xr.Dataset, policy: Policy, put: Put, folder: Path) -> xr.Dataset:
    """Choose questions in batches and put them, until theta is known or the budget is spent.

    Choices are recorded before they are put: a run that was interrupted goes on with them.

    Returns
    -------
    xarray.Dataset
        The design in which other questions have the status `NOT_CHOSEN`, and whose attribute
        ``adaptive`` says how questions were chosen, why that ended, and where theta is by the last
        quick fit, as JSON.
    """
    settings, questions = policy.settings, _questions(keyed(design, policy.spec))
    total, path = len(questions), folder / CHOICES
    own = json_digest(questions[list(CELL_DIMS)].astype(str).to_numpy().tolist())
    batches, widths = _recorded(path, own)
    most = max(1, int(settings.budget * total))
    if not batches:
        batches = [_start(questions, max(1, round(settings.start * total)), policy.seed)]
        _record(path, batches[0], {"design": own})
    size, why = max(1, round(settings.batch * total)), ""
    while True:
        taken = np.concatenate(batches)
        data = put(_with_chosen(design, questions, taken))
        fitted = _fit(design, data, policy, len(batches))
        widths.append(fitted.width)
        say(
            f"probe: {len(taken):,} of {plural(total, 'question')} put; the widest interval of "
            f"a theta is {fitted.width:.2f}"
        )
        if settings.width is not None and fitted.width <= settings.width:
            why = f"no interval of a theta is wider than {settings.width:g}"
        elif len(taken) >= most:
            why = "the budget is spent"
        else:
            left = min(size, most - len(taken))
            batch = _choose(questions, taken, fitted, left, settings.cost)
            if len(batch) == 0:
                why = "no other question is expected to tell anything"
            else:
                batches.append(batch)
                _record(path, batch, {"width": fitted.width})
        if why:
            break
    about = {
        "questions": total,
        "put": len(taken),
        "batches": [len(batch) for batch in batches],
        "widths": [round(width, 4) for width in widths],
        "level": policy.level,
        "wanted": settings.width,
        "ended": why,
        "theta": _rows(fitted.ends),
    }
    return _with_chosen(design, questions, taken).assign_attrs(adaptive=json.dumps(about))


def _rows(ends: xr.DataArray) -> list[dict[str, str | float]]:
    """Return the intervals ``[end, model, dimension]`` of theta as rows, for JSON."""
    return [
        {
            "model": str(model),
            "dimension": str(dimension),
            "lower": round(float(ends[0, m, d]), 4),
            "upper": round(float(ends[1, m, d]), 4),
        }
        for m, model in enumerate(ends["model"].values)
        for d, dimension in enumerate(ends["dimension"].values)
    ]


def marked(table: pd.DataFrame) -> pd.DataFrame:
    """Say in a table of measures that questions were chosen by earlier answers, as a last note."""
    said = "questions chosen by earlier answers"
    if "note" not in table:
        return table.assign(note=said)
    notes = table["note"].fillna("").astype(str)
    return table.assign(note=np.where(notes == "", said, notes + "; " + said))


def _questions(design: xr.Dataset) -> pd.DataFrame:
    """Return one row per question of a design: labels, places, dimension and keying."""
    status = design["status"].transpose(*CELL_DIMS)
    at = np.argwhere(status.values >= ASKED)
    table = pd.DataFrame({f"{d}_at": at[:, k] for k, d in enumerate(CELL_DIMS)})
    for k, d in enumerate(CELL_DIMS):
        table[d] = design[d].values[at[:, k]]
    keying = design["keying"].transpose("item", "variant").values
    table["keying"] = keying[at[:, 1], at[:, 2]]
    table["dimension"] = design["dimension"].values[at[:, 1]].astype(str)
    return table


def _start(questions: pd.DataFrame, size: int, seed: int) -> np.ndarray:
    """Draw the first questions: in turn from each model, dimension, key and prefix.

    At least one for every model, dimension and key, and for every model and prefix.
    """
    order = np.random.default_rng(seed).permutation(len(questions))
    shuffled = questions.iloc[order]
    shuffled = shuffled[shuffled["keying"] != 0]  # others say nothing about theta
    by_key = shuffled.groupby(["model", "dimension", "keying"]).cumcount()
    by_prefix = shuffled.groupby(["model", "prefix"]).cumcount()
    must = shuffled.index[(by_key == 0) | (by_prefix == 0)]
    ranked = shuffled.index[np.argsort((by_key + by_prefix).to_numpy(), kind="stable")]
    rest = [n for n in ranked if n not in set(must)]
    return np.array([*must, *rest[: max(0, size - len(must))]], dtype=int)


def _with_chosen(design: xr.Dataset, questions: pd.DataFrame, taken: np.ndarray) -> xr.Dataset:
    """Return a design in which only some questions are pending."""
    status = design["status"].transpose(*CELL_DIMS)
    values = np.where(status.values >= ASKED, NOT_CHOSEN, status.values).astype(np.int8)
    at = questions.iloc[taken][[f"{d}_at" for d in CELL_DIMS]].to_numpy()
    values[tuple(at.T)] = STATUS["pending"]
    return design.assign(status=status.copy(data=values))


@dataclass(frozen=True)
class _Fitted:
    """What a fit says about the questions of a design."""

    frame: pd.DataFrame  # [cell] model, item, variant and prefix
    expected: np.ndarray  # [draw, cell] expected answers
    noise: np.ndarray  # [cell]
    usable: np.ndarray  # [cell] probability that an answer can be used
    wanted: np.ndarray  # [draw, quantity] thetas and their differences between models
    ends: xr.DataArray  # [end, model, dimension] of the intervals of theta

    @property
    def width(self) -> float:
        """The width of the widest interval of a theta."""
        return float((self.ends[1] - self.ends[0]).max())


def _fit(design: xr.Dataset, data: xr.Dataset, policy: Policy, number: int) -> _Fitted:
    """Fit the analysis to the answers so far, with the cells of all questions in the model."""
    from polbayes.fit.density import kernel
    from polbayes.fit.density.model import build
    from polbayes.fit.posterior.intervals import flat, tails
    from polbayes.fit.posterior.naming import name_posterior
    from polbayes.fit.posterior.pointwise import draws_of
    from polbayes.fit.sampling.imputation import with_integrated
    from polbayes.fit.sampling.laplace import QUICK, laplace
    from polbayes.fit.spec.reduction import reduced
    from polbayes.fit.spec.terms import bind

    cells = _all_cells(design, data, policy.spec)
    spec, _ = reduced(policy.spec, cells)
    built = build(spec, cells, bind(spec, cells))
    seed = policy.seed + number
    drawn, _ = laplace(built, replace(QUICK, tune=_TUNE, draws=_DRAWS), seed=seed)
    drawn = with_integrated(built, drawn, seed=seed)
    theta = name_posterior(built, drawn)["theta"]
    ends = theta.quantile(tails(policy.level), ["chain", "draw"]).rename(quantile="end")
    draws, plain = draws_of(drawn), built.layout.answers.plain
    expected, noise = [], np.zeros(len(cells.frame))
    for effects, gaps in zip(draws.effects, draws.gaps, strict=True):
        eta, own = kernel.forward(effects, *plain)
        moments = spec.observation.moments(eta, own, gaps)
        expected.append(moments.net)
        noise = noise + moments.variance / len(draws.effects)
    return _Fitted(
        cells.frame,
        np.array(expected),
        noise,
        _usable(data, cells.frame),
        _wanted(flat(theta)),
        ends.transpose("end", "model", "dimension"),
    )


def _wanted(theta: np.ndarray) -> np.ndarray:
    """Return ``[draw, quantity]`` thetas ``[draw, model, dimension]`` and their differences."""
    first, second = np.triu_indices(theta.shape[1], 1)
    apart = theta[:, first] - theta[:, second]
    both = (theta.reshape(len(theta), -1), apart.reshape(len(theta), -1))
    return np.concatenate(both, axis=1)


def _usable(data: xr.Dataset, frame: pd.DataFrame) -> np.ndarray:
    """Return ``[cell]`` the probability that an answer has a stance which the model can use.

    It is the proportion of such answers to the statement, drawn towards that of the model.
    """
    status, stance = (data[name].transpose(*CELL_DIMS).values for name in ("status", "stance"))
    put = (status >= ASKED) & (status != STATUS["pending"])
    good = put & np.isin(stance, [STANCE[point] for point in STANCE_POINTS])
    put_to, used = (found.sum(axis=(2, 3, 4)) for found in (put, good))
    of_model = (used.sum(axis=1) + 1) / (put_to.sum(axis=1) + 2)
    share = (used + _WEIGHT * of_model[:, None]) / (put_to + _WEIGHT)
    at = [data.indexes[name].get_indexer(frame[name].astype(str)) for name in ("model", "item")]
    return np.asarray(share[tuple(at)])


def _all_cells(design: xr.Dataset, data: xr.Dataset, spec: Spec) -> Cells:
    """Return the cells of all questions of a design, with the answers to those that were put."""
    asked = design["status"] >= ASKED
    ready = design.assign(
        status=design["status"].where(~asked, STATUS["ok"]).astype(np.int8),
        stance=xr.where(asked, STANCE["neutral"], MISSING).astype(np.int8),
    )
    for name in data.coords:
        if name not in ready.coords:
            ready = ready.assign_coords({name: data[name]})
    every, given = gather_cells(ready, spec), gather_cells(data, spec)
    keys = list(given.frame.columns)
    place = every.frame.reset_index().merge(given.frame.reset_index(), on=keys, how="left")
    place = place.sort_values("index_x")["index_y"].to_numpy()
    there = np.isfinite(place)
    counts = np.zeros((len(every.frame), given.counts.shape[1]))
    counts[there] = given.counts[place[there].astype(int)]
    put = np.zeros(len(counts))
    put[there] = given.asked[place[there].astype(int)]
    return replace(
        every,
        counts=counts,
        asked=put,
        points=given.points,
        notes=(),
        copies=given.copies,
        once=given.once,
    )


def _choose(
    questions: pd.DataFrame,
    taken: np.ndarray,
    fitted: _Fitted,
    number: int,
    cost: Mapping[str, float],
) -> np.ndarray:
    """Choose the next batch: the lowest runs of the cells that tell most."""
    cell_keys = ["model", "item", "variant", "prefix"]
    left = questions.drop(index=questions.index[taken])
    left = left[left["keying"] != 0]
    frame = fitted.frame[cell_keys].astype(str).reset_index(names="cell")
    left = left.assign(**{k: left[k].astype(str) for k in cell_keys}, number=left.index)
    left = left.sort_values("run_at").merge(frame, on=cell_keys, how="inner")
    if left.empty:
        return np.empty(0, dtype=int)
    by_side = ["model", "dimension", "keying"]
    count = questions.iloc[taken].groupby(by_side).size().to_dict()
    side = list(left[by_side].itertuples(index=False, name=None))
    there = set(questions[by_side].itertuples(index=False, name=None))

    def allowed(k: int) -> bool:
        model, dimension, key = side[k]
        if (model, dimension, -key) not in there:
            return True
        own, other = count.get((model, dimension, key), 0), count.get((model, dimension, -key), 0)
        return (own + 1) * _EITHER_KEY <= (other + 1) * (1 - _EITHER_KEY)

    def chosen(k: int) -> None:
        count[side[k]] = count.get(side[k], 0) + 1

    cells = left["cell"].to_numpy()
    found = most_informative(
        fitted.expected[:, cells],
        fitted.noise[cells],
        fitted.usable[cells],
        fitted.wanted,
        number=number,
        cost=np.array([cost.get(m, 1.0) for m in left["model"]]),
        allowed=allowed,
        chosen=chosen,
    )
    return np.asarray(left["number"].to_numpy()[found], dtype=int)


def _record(path: Path, batch: np.ndarray, about: Mapping[str, float | str]) -> None:
    """Add a batch to the record of the choices."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"questions": batch.tolist(), **about}) + "\n")
        file.flush()


def _recorded(path: Path, own: str) -> tuple[list[np.ndarray], list[float]]:
    """Return the recorded batches, and the widths before all but the first of them.

    A line that was cut off is dropped. `own` identifies the questions of the design.
    """
    if not path.exists():
        return [], []
    lines, kept = path.read_text(encoding="utf-8").split("\n"), []
    for line in lines:
        try:
            kept.append(json.loads(line))
        except ValueError:
            break
    write_text(path, "".join(line + "\n" for line in lines[: len(kept)]))
    if kept and kept[0].get("design") != own:
        raise UserError(
            f"{path}: its questions were chosen from another design; adaptive probing cannot add "
            "to a run, so choose another run_dir."
        )
    batches = [np.array(one["questions"], dtype=int) for one in kept]
    return batches, [float(one["width"]) for one in kept[1:]]
