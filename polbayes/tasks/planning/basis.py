"""What a plan is based on: the posterior of a pilot, or priors that are assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
import yaml

from polbayes.config.schema import RunConfig
from polbayes.data.dataset import open_responses
from polbayes.data.progress import say
from polbayes.data.tables import read_csv
from polbayes.errors import UserError
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.density.layout import lay_out
from polbayes.fit.density.model import Built, build
from polbayes.fit.fit import fit
from polbayes.fit.posterior.components import with_variances
from polbayes.fit.posterior.d_study import d_study
from polbayes.fit.posterior.generalizability import Scores, scores_of
from polbayes.fit.posterior.intervals import two_intervals
from polbayes.fit.posterior.measurement_design import TOTAL, measurement_design
from polbayes.fit.posterior.naming import name_posterior
from polbayes.fit.posterior.prior_check import prior_draws
from polbayes.fit.sampling.draws_cache import DrawsCache
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.priors import Prior, flatten
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.spec import Spec, parse_spec
from polbayes.fit.spec.terms import bind
from polbayes.run.manifest import Manifest, read_config
from polbayes.run.plan import plan
from polbayes.run.run import keys_of
from polbayes.tasks.planning.layouts import as_if_answered, laid_out
from polbayes.tasks.planning.populations import Likeness, Population, study_effects

PILOT, ASSUMPTIONS = "pilot", "assumptions"
# Statements on each dimension, wordings, prefixes and runs of the study that priors are drawn for:
# enough for every term of an analysis.
_NOMINAL: Mapping[str, int] = {"items": 8, "wordings": 2, "prefixes": 3, "runs": 2}
_DRAWS = 400


@dataclass(frozen=True)
class Basis:
    """What a plan is based on."""

    kind: str  # `PILOT` or `ASSUMPTIONS`
    folder: Path  # where the plan goes
    config: RunConfig  # of the pilot, or of the study
    overrides: tuple[str, ...]  # the command that it is from
    data: xr.Dataset  # the pilot's answers, or the study's questions
    table: pd.DataFrame  # the D-study of positions, by dimension
    verdict: str  # on the draws of the pilot
    # What was assumed, one row a quantity: ``part``, ``quantity``, ``prior``, whether it was
    # ``given`` in ``plan.assume``, and median and interval of the draws
    assumed: pd.DataFrame
    known: tuple[Spec, Population, Scores] | None = None  # None: still to be read from the pilot

    @property
    def spec(self) -> Spec:
        """The analysis, with the terms that the pilot has."""
        return self._known[0]

    @property
    def population(self) -> Population:
        """Positions, effects and their spreads."""
        return self._known[1]

    @property
    def scores(self) -> Scores:
        """The variances of scores and of their errors."""
        return self._known[2]

    @cached_property
    def base(self) -> xr.Dataset:
        """What questions of other studies are like."""
        if self.kind == ASSUMPTIONS:
            return _base(self.data)
        frame = self.population.built.cells.frame
        facets = ("model", "item", "prefix")
        asked = {name: self.data[name].isin(frame[name].unique()) for name in facets}
        return _base(self.data.isel(asked))

    @cached_property
    def _known(self) -> tuple[Spec, Population, Scores]:
        return self.known or _posterior(self.folder, self.config, self.data)


def basis_of(config: RunConfig, overrides: Sequence[str]) -> Basis:
    """Return the pilot in a config's folder, or what its priors say if there is none.

    Raises
    ------
    UserError
        If there is neither a pilot nor a study in the config.
    """
    folder = Path(config.run_dir).expanduser()
    if "fit" in Manifest(folder).stages:
        if config.plan.assume:
            raise UserError(
                f"plan.assume: {folder} has a posterior, so that nothing need be assumed; leave it "
                "out, or name another run_dir."
            )
        return _of_pilot(folder)
    if config.imported is not None or not config.instruments or not config.respondents:
        raise UserError(
            f"run_dir: {folder} holds no run with a posterior; name the folder of a finished run, "
            "or, to plan without a pilot, a study: +experiment=NAME."
        )
    return _of_priors(config, folder, overrides)


def _of_pilot(folder: Path) -> Basis:
    path = folder / "estimates" / "d_study.csv"
    own = read_config(folder / ".hydra" / "config.yaml")
    own.run_dir = str(folder)
    table = read_csv(path) if path.is_file() else pd.DataFrame()
    if table.empty or "se_theta" not in table:
        raise UserError(
            f"run_dir: {folder} has no D-study of positions, which needs two models or more and an "
            "analysis with leanings; make a pilot with analysis=ideology."
        )
    overrides = yaml.safe_load((folder / ".hydra" / "overrides.yaml").read_text(encoding="utf-8"))
    return Basis(
        kind=PILOT,
        folder=folder,
        config=own,
        overrides=tuple(overrides),
        data=open_responses(folder),
        # The mean over dimensions has no statements of its own.
        table=table[table["dimension"] != TOTAL],
        verdict=str(Manifest(folder).stages["fit"]["verdict"]),
        assumed=pd.DataFrame(),
    )


def _posterior(
    folder: Path, config: RunConfig, data: xr.Dataset
) -> tuple[Spec, Population, Scores]:
    """Return the draws of a pilot, or, if they are not there, those of a quick fit."""
    parsed = parse_analysis(config.analysis, config.sampler, config.features)
    assert isinstance(parsed, Spec)  # there is a D-study of positions
    text = (folder / ".hydra" / "config.yaml").read_text(encoding="utf-8")
    cells = gather_cells(data, parsed)
    spec, _ = reduced(parsed, cells)
    parts = bind(spec, cells)
    cache = DrawsCache(folder / "draws.nc", keys_of(config, text)["draws"])
    found = cache.load(lay_out(parts, cells))
    if found is None:
        say("plan: the pilot's draws are missing, so that it is fitted again")
    fitted = fit(spec, cells, config.sampler, seed=config.seed, cache=cache if found else None)
    models = tuple(dict.fromkeys(cells.frame["model"].astype(str)))
    scores = scores_of_fit(fitted.built, fitted.drawn)
    spec = replace(spec, select={}, drops=True)
    return spec, Population(fitted.built, fitted.drawn, models), scores


def scores_of_fit(built: Built, drawn: xr.Dataset) -> Scores:
    """Return the variances of scores and of their errors, with two models or more."""
    posterior = with_variances(name_posterior(built, drawn), built, drawn)
    spec, study = built.spec, measurement_design(built.parts, built.cells)
    found = scores_of(
        posterior, study, latent=spec.observation.latent, fixed_prefixes=spec.fixed_prefixes
    )
    assert found is not None  # there are two models
    return found


@dataclass(frozen=True)
class Assumption:
    """What priors say."""

    population: Population
    whole: xr.Dataset  # the draws, with all effects of a study
    scores: Scores


def assumption(spec: Spec, base: xr.Dataset, *, models: int, seed: int) -> Assumption:
    """Draw the parameters of a study from priors.

    Parameters
    ----------
    spec
        The analysis, with its priors.
    base
        The design that its questions are like.
    models
        Their number, at least two.
    seed
        Fixes the draws.
    """
    names, rng = [str(name) for name in base["model"].values], np.random.default_rng(seed)
    sources = {f"m{n}": names[n % len(names)] for n in range(models)}
    numbers = {**_NOMINAL, "runs": _NOMINAL["runs"] if spec.observation.counts else 1}
    data = as_if_answered(laid_out(base, numbers, sources, rng), spec)
    cells = gather_cells(data, spec)
    spec, _ = reduced(spec, cells)
    built = build(spec, cells, bind(spec, cells))
    population = Population(built, prior_draws(built, draws=_DRAWS, seed=seed), ())
    like = Likeness(sources, {name: name for name in sources}, frozenset())
    effects = [
        study_effects(population, k, built.layout, like, cells.frame, rng) for k in range(_DRAWS)
    ]
    drawn = population.drawn.drop_vars("effects")
    whole = drawn.assign(effects=(("chain", "draw", "effect"), np.array(effects)[None]))
    return Assumption(population, whole, scores_of_fit(built, whole))


def _of_priors(config: RunConfig, folder: Path, overrides: Sequence[str]) -> Basis:
    planned = plan(config)
    if not isinstance(planned.spec, Spec):
        raise UserError(
            "analysis: a plan without a pilot needs an analysis with leanings; use "
            "analysis=ideology."
        )
    analysis, base = config.analysis, _base(planned.design)
    models = max(2, config.plan.models or base.sizes["model"])
    found = assumption(_assumed_spec(config), base, models=models, seed=config.seed)
    built = found.population.built
    study = measurement_design(built.parts, built.cells)
    table = d_study(found.scores, study, analysis.precision, level=analysis.level)
    return Basis(
        kind=ASSUMPTIONS,
        folder=folder,
        config=config,
        overrides=tuple(overrides),
        data=planned.design,
        table=table[table["dimension"] != TOTAL],
        verdict="",
        assumed=_assumptions(found.population, config, level=analysis.level),
        # Studies are fitted with the priors of their analysis, whatever is assumed.
        known=(
            replace(built.spec, priors=planned.spec.priors, select={}, drops=True),
            found.population,
            found.scores,
        ),
    )


def _assumed_spec(config: RunConfig) -> Spec:
    """Return the study's analysis with the priors that are assumed."""
    given = {**flatten(config.analysis.priors), **flatten(config.plan.assume)}
    try:
        return parse_spec(replace(config.analysis, priors=given))
    except UserError as error:
        # The study's own priors were checked before.
        raise UserError(str(error).replace("analysis.priors", "plan.assume")) from None


def _assumptions(population: Population, config: RunConfig, *, level: float) -> pd.DataFrame:
    """Return what was assumed, with the distribution of the draws."""
    spec, layout, draws = population.built.spec, population.layout, population.draws
    given = set(flatten(config.plan.assume))
    rows: dict[tuple[str, str], tuple[str, bool]] = {}
    values: dict[tuple[str, str], list[np.ndarray]] = {}

    def add(part: str, quantity: str, prior: Prior, keys: set[str], drawn: np.ndarray) -> None:
        rows[part, quantity] = (str(prior), bool(keys & given))
        values.setdefault((part, quantity), []).append(drawn)

    for (part, term, name), drawn in population.coefficients.items():
        keys = {f"{part}.{term}", f"{part}.common", "common"}
        what = f"coefficient of {term}" if term == name else f"coefficients of {term}"
        add(part, what, spec.prior(part, term), keys, drawn)
    for at, (part, term, label) in enumerate(layout.scales):
        keys = {f"{part}.{term}.sd", f"{part}.sd", "sd"}
        prior = spec.prior(part, term, *([label] if label else []), "sd")
        add(part, f"standard deviation by {term}", prior, keys, draws.scales[:, at])
    for drawn in draws.gaps.T:
        add("cutpoints", "distance of neighbours", spec.cutpoint_prior, {"cutpoints"}, drawn)
    wanted = {n: at for n, at in two_intervals(level).items() if "50" not in n}
    found = []
    for (part, quantity), (text, mine) in rows.items():
        every = np.concatenate(values[part, quantity])
        ends = dict(zip(wanted, np.quantile(every, list(wanted.values())), strict=True))
        about = {"part": part, "quantity": quantity, "prior": text, "given": mine}
        found.append({**about, **ends, "level": level})
    return pd.DataFrame(found)


def _base(data: xr.Dataset) -> xr.Dataset:
    """Return a dataset of questions, with the points of ratings where `laid_out` keeps them."""
    for name in data.data_vars:
        if "rating_points" in data[name].attrs:
            return data.assign_attrs(rating_points=data[name].attrs["rating_points"])
    return data
