"""``task=plan``: what a study needs to reach a precision, from a finished pilot run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
import yaml

from polbayes.config.schema import PlanConfig, RunConfig
from polbayes.config.tasks import Answer
from polbayes.data.dataset import open_responses
from polbayes.data.files import replacing, write_text
from polbayes.errors import UserError, check_known
from polbayes.fit.posterior.measurement_design import TOTAL
from polbayes.instrument.of_run import instrument_named
from polbayes.instrument.prompts import load_prefixes
from polbayes.report.assemble import read_table
from polbayes.report.figures.planning import plot_plan
from polbayes.report.numbers import count
from polbayes.run.manifest import Manifest, read_config
from polbayes.tasks.planning.designs import Price, chosen, designs, nearest
from polbayes.tasks.planning.experiment import balanced_items, write_experiment

_FOLDER = "plan"
_WORDS = {"items": "statement", "wordings": "wording", "prefixes": "prefix", "runs": "run"}


def plan(config: RunConfig) -> Answer:
    """Plan a study from the run in ``run_dir``."""
    wanted, pilot = config.plan, Path(config.run_dir).expanduser()
    check_known("scale", wanted.scale, known=("bias", "theta"), where="plan.scale")
    if wanted.width is None and wanted.difference is None and wanted.order is None:
        raise UserError(
            "plan: nothing is wanted; give plan.width=0.4 (of the interval of a position), "
            "plan.difference=0.4 (of two models) or plan.order=0.9 (probability of their order)."
        )
    table, own, verdict = _pilot(pilot)
    data = open_responses(pilot)
    about = _items(own, data)
    prices = _prices(pilot, own, wanted, data.sizes["model"])
    if wanted.budget is not None and np.isnan([price.money for price in prices]).any():
        raise UserError(
            "plan.budget: the price of a question is not known; give plan.price_input and "
            "plan.price_output (of a million tokens) and, if the pilot asked no server, "
            "plan.tokens_input and plan.tokens_output."
        )
    labels = _labels(own, data)
    fewest = int(about.groupby("dimension", sort=False).size().min())
    available = {"items": fewest} | {name: len(labels[name]) for name in labels}
    found = designs(table, wanted, available=available, prices=prices)
    best = chosen(found)
    lines = _lines(found, best, wanted, float(table["level"].iloc[0]))
    if verdict == "bad":
        lines.insert(0, "Do not use this: the draws of the pilot's sampler failed the checks.")
    folder = pilot / _FOLDER
    write_text(folder / "plan.csv", found.to_csv(index=False))
    _save_figure(plot_plan(found, wanted), folder)
    lines.append(f"Designs: {folder / 'plan.csv'}, figure: {folder / 'plan.png'}")
    if wanted.write is not None:
        own_best = chosen(found, there=True)
        lines.append(_write(Path(wanted.write).expanduser(), pilot, own, about, labels, own_best))
    facts = {"wanted": asdict(wanted), "design": None if best is None else _facts(best)}
    return Answer("\n".join(lines), facts)


def _pilot(pilot: Path) -> tuple[pd.DataFrame, RunConfig, str]:
    """Return the D-study of a finished run, its config, and the verdict on its draws."""
    manifest, path = Manifest(pilot), pilot / "estimates" / "d_study.csv"
    if "fit" not in manifest.stages:
        raise UserError(
            f"run_dir: {pilot} holds no run with a posterior; name the folder of a finished run."
        )
    own = read_config(pilot / ".hydra" / "config.yaml")
    table = read_table(path) if path.is_file() else pd.DataFrame()
    if table.empty or "se_theta" not in table:
        raise UserError(
            f"run_dir: {pilot} has no D-study of positions, which needs two models or more and an "
            "analysis with leanings; make a pilot with analysis=ideology."
        )
    # The mean over dimensions has no statements of its own.
    return table[table["dimension"] != TOTAL], own, str(manifest.stages["fit"]["verdict"])


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


def _prices(pilot: Path, own: RunConfig, wanted: PlanConfig, models: int) -> list[Price]:
    """Return the price of a question to each model; not known for those that no server answers."""
    path = pilot / "usage.csv"
    usage = read_table(path).to_dict("records") if path.is_file() else []
    found = [_price(own, wanted, row) for row in usage] or [_price(own, wanted, {})] * models
    number = wanted.models or len(found)
    mean = Price(*np.mean([[one.tokens, one.money] for one in found], axis=0).tolist())
    return found if number == len(found) else [mean] * number


def _price(own: RunConfig, wanted: PlanConfig, row: Mapping[str, Any]) -> Price:
    answers = max(int(row.get("answers", 0)), 1)
    asked = wanted.tokens_input or row.get("input_tokens", np.nan) / answers
    said = wanted.tokens_output or row.get("output_tokens", np.nan) / answers
    respondent = own.respondents.get(str(row.get("model", "")))
    api = respondent.api if respondent else None
    price_in, price_out = (
        given if given is not None else getattr(api, name, None)
        for name, given in (
            ("price_input", wanted.price_input),
            ("price_output", wanted.price_output),
        )
    )
    if price_in is None or price_out is None:
        return Price(asked + said)
    return Price(asked + said, (asked * price_in + said * price_out) / 1e6)


def _lines(
    found: pd.DataFrame, best: pd.Series | None, wanted: PlanConfig, level: float
) -> list[str]:
    """Say what is wanted, and which design reaches it."""
    lines = [f"Wanted: {_wanted(wanted, level)}."]
    if best is not None:
        lines.append(f"The cheapest design: {_in_words(best)}.")
        if not best["surely"]:
            sure = found[found["surely"] & found["affordable"]]
            safer = f"; to be sure of it: {_in_words(sure.iloc[0])}" if len(sure) else ""
            lines.append(f"The pilot leaves open whether that suffices{safer}.")
        if not best["there"]:
            lines.append("It needs more statements, wordings or prefixes than there are.")
            own = chosen(found, there=True)
            if own is not None:
                lines.append(f"With those that there are: {_in_words(own)}.")
        return lines
    near = nearest(found, wanted)
    if near is None:
        least = found.iloc[0]
        lines.append(f"The limits allow no design; the smallest is {_in_words(least)}.")
    else:
        lines.append(
            f"No design that was looked at reaches it; the nearest within the limits: "
            f"{_in_words(near)}."
        )
    return lines


def _wanted(wanted: PlanConfig, level: float) -> str:
    parts = []
    if wanted.width is not None:
        parts.append(f"{level:.0%} intervals of positions no wider than {wanted.width:g}")
    if wanted.difference is not None:
        parts.append(
            f"{level:.0%} intervals of differences of two models no wider than "
            f"{wanted.difference:g}"
        )
    if wanted.order is not None:
        parts.append(
            f"two models that are {wanted.apart:g} apart in the right order with a probability of "
            f"{wanted.order:g}"
        )
    scale = "from −1 to 1" if wanted.scale == "bias" else "in units of θ"
    return f"{', '.join(parts)} ({scale}; on statements, wordings and prefixes like these)"


def _in_words(row: pd.Series) -> str:
    numbers = [
        f"{int(row[name])} {word if row[name] == 1 else _plural(word)}"
        for name, word in _WORDS.items()
    ]
    cost = "" if np.isnan(row["cost"]) else f", {row['cost']:.4g} in money"
    return (
        f"{numbers[0]} on each dimension, {', '.join(numbers[1:])}: "
        f"{count(row['questions'])} questions in all{cost}; width {row['width']:.2f} (at worst "
        f"{row['width_worst']:.2f}), of a difference {row['difference']:.2f} (at worst "
        f"{row['difference_worst']:.2f}), right order {row['order']:.2f}"
    )


def _plural(word: str) -> str:
    return "prefixes" if word == "prefix" else f"{word}s"


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
    pilot: Path,
    own: RunConfig,
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
    if own.imported is not None:
        raise UserError(f"plan.write: {pilot} was imported, so that there is nothing to ask.")
    if path.suffix != ".yaml" or path.parent.name != "experiment":
        raise UserError(
            f"plan.write: {path} must be a YAML file in a folder 'experiment', such as "
            "conf/experiment/main_study.yaml."
        )
    overrides = yaml.safe_load((pilot / ".hydra" / "overrides.yaml").read_text(encoding="utf-8"))
    write_experiment(
        path,
        overrides,
        items=balanced_items(about, int(best["items"]), seed=own.seed),
        variants=labels["wordings"][: int(best["wordings"])],
        prefixes=labels["prefixes"][: int(best["prefixes"])],
        runs=int(best["runs"]),
        name=path.stem,
    )
    return f"Run it: polbayes --config-dir {path.parent.parent} +experiment={path.stem}"
