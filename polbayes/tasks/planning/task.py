"""``task=plan``: what a study needs to reach a precision, from a pilot run or from assumptions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.config.schema import PlanConfig, RunConfig
from polbayes.config.tasks import Answer, Call
from polbayes.data.files import replacing
from polbayes.data.progress import say
from polbayes.data.prose import plural
from polbayes.data.tables import write_csv
from polbayes.errors import UserError, check_known
from polbayes.fit.posterior.d_study import NUMBERS
from polbayes.instrument.of_run import instrument_named
from polbayes.instrument.prompts import load_prefixes
from polbayes.report.figures.planning import plot_plan
from polbayes.tasks.planning.basis import Basis, basis_of
from polbayes.tasks.planning.designs import MEASURES, chosen, designs
from polbayes.tasks.planning.experiment import balanced_items, write_experiment
from polbayes.tasks.planning.power import prefix_power
from polbayes.tasks.planning.prices import prices_of
from polbayes.tasks.planning.search import FEWEST, Reach, reach, searched, settled
from polbayes.tasks.planning.simulation import Outcome, Simulator, steering, unsimulated
from polbayes.tasks.planning.words import WORDS, cautions, lines_of

_FOLDER = "plan"


def plan(call: Call) -> Answer:
    """Plan a study from the run in ``run_dir``, or from the priors of the study itself."""
    wanted = call.config.plan
    _check(wanted)
    basis = basis_of(call.config, call.overrides)
    level = float(basis.table["level"].iloc[0])
    prices = prices_of(basis, wanted)
    if wanted.budget is not None and np.isnan([price.money for price in prices]).any():
        raise UserError(
            "plan.budget: the price of a question is not known; give plan.price_input and "
            "plan.price_output (of a million tokens) and, if the pilot asked no server, "
            "plan.tokens_input and plan.tokens_output."
        )
    about, labels = _items(basis.config, basis.data), _labels(basis.config, basis.data)
    fewest = int(about.groupby("dimension", sort=False).size().min())
    available = {"items": fewest} | {name: len(labels[name]) for name in labels}
    power = _power(basis, wanted, level)
    found = designs(basis.table, wanted, available=available, prices=prices, power=power)
    found, notes = _simulated(found, basis, wanted, len(prices), level)
    caution = " ".join(cautions(basis))
    found = found.assign(based_on=basis.kind, note=caution)
    folder, best = basis.folder / _FOLDER, chosen(found)
    lines = [*lines_of(found, basis, wanted, level), *notes]
    write_csv(folder / "plan.csv", found)
    if len(basis.assumed):
        write_csv(folder / "assumptions.csv", basis.assumed)
    _save_figure(plot_plan(found, wanted), folder)
    lines.append(f"Designs: {folder / 'plan.csv'}, figure: {folder / 'plan.png'}")
    if wanted.write is not None:
        own_best = chosen(found, there=True)
        lines.append(_write(Path(wanted.write).expanduser(), basis, about, labels, own_best))
    facts = {"wanted": asdict(wanted), "design": None if best is None else _facts(best)}
    return Answer("\n".join(lines), {**facts, "based_on": basis.kind, "note": caution})


def _check(wanted: PlanConfig) -> None:
    check_known("scale", wanted.scale, known=("bias", "theta"), where="plan.scale")
    check_known("rule", wanted.found, known=("interval", "verdict"), where="plan.found")
    if all(getattr(wanted, name) is None for name in MEASURES):
        raise UserError(
            "plan: nothing is wanted; give plan.width=0.4 (of the interval of a position), "
            "plan.difference=0.4 (of two models), plan.order=0.9 (probability of their order) or "
            "plan.power=0.8 (probability of finding the effect of a prefix)."
        )
    if wanted.found == "verdict" and wanted.scale == "theta":
        raise UserError(
            "plan.found: verdicts are about leanings from -1 to 1, not about θ; use "
            "plan.scale=bias or plan.found=interval."
        )


def _power(basis: Basis, wanted: PlanConfig, level: float) -> Callable[..., np.ndarray] | None:
    """Return what computes the chance of finding the effect of a prefix, if that is wanted."""
    if wanted.power is None:
        return None
    if not steering(basis.population.built):
        raise UserError(
            "plan.power: there is no effect of prefixes on leaning to find; it takes an analysis "
            "whose part steer has the term (1 | gr(model:prefix, by = model)) and, if there is a "
            "pilot, two prefixes in it."
        )
    rope = basis.config.analysis.rope
    return partial(prefix_power, basis.scores, wanted=wanted, level=level, rope=rope)


def _simulated(
    found: pd.DataFrame, basis: Basis, wanted: PlanConfig, models: int, level: float
) -> tuple[pd.DataFrame, list[str]]:
    """Simulate the designs that matter, or say why they are not."""
    why = unsimulated(basis.spec) if wanted.simulate else ""
    if why or not wanted.simulate:
        because = f", because the analysis has {why}" * bool(why)
        note = f"Not simulated{because}: the numbers are those of the D-study alone."
        return searched(found, wanted, None), [note]
    own = basis.config
    simulator = Simulator(
        basis.population, basis.spec, basis.base, level, own.analysis.rope, own.seed
    )
    return searched(found, wanted, partial(_simulate, simulator, models, wanted)), []


def _simulate(simulator: Simulator, models: int, wanted: PlanConfig, row: pd.Series) -> Reach:
    """Simulate studies of one design, until what is wanted is known well enough."""
    numbers = {name: int(row[name]) for name in NUMBERS}
    shown = ", ".join(plural(numbers[name], word) for name, word in WORDS.items())
    say(f"plan: studies of {plural(models, 'model')} with {shown} are simulated")
    studies = simulator.studies(numbers, models, wanted)
    planted: Iterator[Outcome] = iter(())
    if wanted.power is not None and numbers["prefixes"] > 1:
        planted = simulator.studies(numbers, models, wanted, planted=True)
    outcomes: list[Outcome] = []
    found: list[Outcome] = []
    while len(outcomes) < wanted.studies:
        outcomes.append(next(studies))
        found += islice(planted, 1)
        if len(outcomes) >= FEWEST and settled(said := reach(outcomes, wanted, found), wanted):
            return said
    return reach(outcomes, wanted, found)


def _items(own: RunConfig, data: xr.Dataset) -> pd.DataFrame:
    """Return the items that can be asked: those of the instruments, or of an imported table."""
    rows = [
        {"item": item.item, "dimension": item.dimension, "direction": item.direction}
        for name in own.instruments
        for item in instrument_named(name).items
    ]
    if not rows:
        columns = {name: data[name].values for name in ("item", "dimension", "direction")}
        rows = pd.DataFrame(columns).to_dict("records")
    about = pd.DataFrame(rows)
    return about[about["direction"] != 0].reset_index(drop=True)


def _labels(own: RunConfig, data: xr.Dataset) -> dict[str, list[str]]:
    """Return the wordings and prefixes that can be asked, those of the pilot first."""
    prefixes = [str(one) for one in data["prefix"].values]
    if own.imported is None:
        more = load_prefixes(own.prefixes.file)
        prefixes += [one.prefix for one in more if one.prefix not in prefixes]
    return {"wordings": [str(one) for one in data["variant"].values], "prefixes": prefixes}


def _facts(best: pd.Series) -> dict[str, Any]:
    plain = {
        name: value.item() if hasattr(value, "item") else value for name, value in best.items()
    }
    return {str(name): None if value != value else value for name, value in plain.items()}


def _save_figure(figure: Any, folder: Path) -> None:
    for kind in ("png", "svg"):
        about = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        with replacing(folder / f"plan.{kind}") as temporary:
            figure.savefig(temporary, format=kind, metadata=about)


def _write(
    path: Path,
    basis: Basis,
    about: pd.DataFrame,
    labels: Mapping[str, Sequence[str]],
    best: pd.Series | None,
) -> str:
    """Write the planned experiment, and say how to run it."""
    if best is None:
        raise UserError(
            "plan.write: no design of the statements, wordings and prefixes that there are reaches "
            "what is wanted; add some to the questionnaire, or want less."
        )
    if basis.config.imported is not None:
        raise UserError(
            f"plan.write: {basis.folder} was imported, so that there is nothing to ask."
        )
    if path.suffix != ".yaml" or path.parent.name != "experiment":
        raise UserError(
            f"plan.write: {path} must be a YAML file in a folder 'experiment', such as "
            "conf/experiment/main_study.yaml."
        )
    write_experiment(
        path,
        basis.overrides,
        items=balanced_items(about, int(best["items"]), seed=basis.config.seed),
        variants=labels["wordings"][: int(best["wordings"])],
        prefixes=labels["prefixes"][: int(best["prefixes"])],
        runs=int(best["runs"]),
        name=path.stem,
    )
    return f"Run it: polbayes --config-dir {path.parent.parent} +experiment={path.stem}"
