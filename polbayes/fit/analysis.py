"""The two kinds of analysis, the ideology model and mixed models, behind one set of functions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr

from polbayes.errors import UserError
from polbayes.fit.mixed.spec import MixedSpec, is_mixed, parse_mixed
from polbayes.fit.spec.spec import Spec, parse_spec, without_errors, without_part
from polbayes.instrument.questionnaires import agreeing_is_right

if TYPE_CHECKING:
    from polbayes.config.schema import AnalysisConfig, FeatureConfig, PrecisionConfig, SamplerConfig
    from polbayes.fit.fit import Fit
    from polbayes.fit.sampling.diagnose import Diagnosis
    from polbayes.fit.sampling.draws_cache import DrawsCache
    from polbayes.fit.spec.cells import Cells

_EXACT = "exact"
_UNKEYED = (
    "How far another study or another prompt might differ is not computed: that is scored by the "
    "statements' keys, which analysis.anchor leaves to the answers."
)


@dataclass(frozen=True)
class Fitted:
    """The result of a fit of either kind of analysis."""

    posterior: xr.Dataset
    sample_stats: xr.Dataset
    tables: Mapping[str, pd.DataFrame]  # summaries by name
    diagnosis: "Diagnosis"  # whether the draws are usable
    notes: tuple[str, ...]  # sentences about what was left out, and how much
    equation: str
    priors: tuple[str, ...]
    from_cache: bool = False  # whether the draws come from the cache
    groups: Mapping[str, xr.Dataset] = field(default_factory=dict)  # further ones of posterior.nc

    def save(self, path: Path) -> None:
        """Write ``posterior.nc`` atomically, in ArviZ's format."""
        from polbayes.fit.fit import save_posterior

        save_posterior(self.posterior, self.sample_stats, path, self.groups)


def parse_analysis(
    config: "AnalysisConfig", sampler: "SamplerConfig", features: "FeatureConfig | None" = None
) -> Spec | MixedSpec:
    """Parse a spec, and check that the sampler supports it.

    Parameters
    ----------
    config
        The spec, as in ``conf/analysis``.
    sampler
        How to sample it.
    features
        How to compute text features for a mixed model.

    Raises
    ------
    UserError
        Naming the key that is unknown or does not fit.
    """
    from polbayes.fit.posterior.d_study import check_precision
    from polbayes.fit.sampling.sample import check_sampler

    if not is_mixed(config):
        for key in ("by", "table"):
            if getattr(config, key) is not None:
                raise UserError(
                    f"analysis.{key}: is for mixed models, whose one part is mu; the ideology "
                    "model has all models and the instrument's own variables."
                )
        if sampler.backend == _EXACT:
            raise UserError(
                "sampler.backend: 'exact' is for Gaussian mixed models, whose one part is mu; use "
                "sampler=nutpie."
            )
        check_sampler(sampler)
        check_precision(config.precision)
        return parse_spec(config)
    spec = parse_mixed(config, features)
    if sampler.backend == _EXACT:
        from polbayes.fit.mixed.exact import check_exact

        check_exact(spec)
        sampler = replace(sampler, backend="nutpie")
    if sampler.backend == "laplace":
        raise UserError(
            "sampler.backend: 'laplace' is for the ideology model, not for mixed models, whose one "
            "part is mu; use sampler=nutpie, or sampler=exact if the family is gaussian."
        )
    check_sampler(sampler)
    return spec


def check_analysis(spec: Spec | MixedSpec, design: xr.Dataset) -> None:
    """Check that a design could identify a spec if every question were answered."""
    if isinstance(spec, MixedSpec):
        from polbayes.fit.mixed import fit as mixed

        mixed.reduced(design, spec, answered=False)
        return
    from polbayes.fit.spec.cells import check_coder, gather_cells, keyed
    from polbayes.fit.spec.reduction import reduced

    check_coder(design, spec)
    spec = without_errors(spec)
    if not bool((keyed(design, spec)["keying"] != 0).any()):
        why = "is scored, so that nothing can be fitted"
        if bool((agreeing_is_right(design)["keying"] != 0).any()):
            why = (
                "has a known direction; name a model on the positive side of each dimension under "
                "analysis.anchor, and the answers tell"
            )
        raise UserError(f"items: none of the items to ask {why}.")
    reduced(spec, gather_cells(design, spec))


def explain_analysis(spec: Spec | MixedSpec, data: xr.Dataset, *, answered: bool) -> str:
    """Return the equation and the priors of a spec, bound to data."""
    if isinstance(spec, MixedSpec):
        from polbayes.fit.mixed.fit import explain

        text, priors = explain(data, spec, answered=answered)
    else:
        from polbayes.fit.spec.cells import gather_cells
        from polbayes.fit.spec.equation import equation, prior_lines
        from polbayes.fit.spec.reduction import reduced
        from polbayes.fit.spec.terms import bind
        from polbayes.instrument.poles import poles_in

        plain = without_errors(spec)
        cells = gather_cells(data, plain)
        plain, notes = reduced(plain, cells)
        spec = replace(spec, parts=plain.parts)
        parts = bind(plain, cells)
        text = equation(spec, parts, poles_in(data)) + "".join(f"\n{note}" for note in notes)
        priors = prior_lines(spec, parts)
    return "\n".join([text, "", "priors", *priors])


def prior_analysis(spec: Spec | MixedSpec, data: xr.Dataset, *, level: float, seed: int) -> str:
    """Return the implications of a spec's priors for the answers."""
    if isinstance(spec, MixedSpec):
        raise UserError(
            "task: prior is for the ideology model; task=explain prints the priors of a mixed one."
        )
    from polbayes.fit.density.model import build
    from polbayes.fit.posterior.prior_check import prior_predictive, prior_text
    from polbayes.fit.spec.cells import gather_cells
    from polbayes.fit.spec.reduction import reduced
    from polbayes.fit.spec.terms import bind
    from polbayes.instrument.poles import poles_in

    spec = without_errors(spec)
    cells = gather_cells(data, spec)
    spec = reduced(spec, cells)[0]
    built = build(spec, cells, bind(spec, cells))
    return prior_text(prior_predictive(built, level=level, seed=seed, poles=poles_in(data)))


def fit_analysis(
    spec: Spec | MixedSpec,
    data: xr.Dataset,
    sampler: "SamplerConfig",
    *,
    level: float,
    seed: int,
    rope: float = 0.1,
    dif: float = 0.5,
    precision: "PrecisionConfig | None" = None,
    cache: "DrawsCache | None" = None,
) -> Fitted:
    """Fit a spec to a coded dataset, diagnose and summarise.

    Parameters
    ----------
    spec
        From `parse_analysis`.
    data
        A coded response dataset.
    sampler
        How to sample.
    level
        Probability of the equal-tailed intervals, in (0, 1).
    seed
        Fixes the draws.
    rope
        The largest difference of ``lean`` that does not matter, above 0; for the ideology model.
    dif
        The largest effect of a statement on a group that does not matter, above 0.
    precision
        The target precision of the D-study, for the ideology model.
    cache
        Where the draws are stored.

    Raises
    ------
    UserError
        If the data cannot identify the spec.
    """
    if isinstance(spec, MixedSpec):
        return _fit_mixed(spec, data, sampler, level=level, seed=seed, cache=cache)
    from polbayes.config.schema import PrecisionConfig
    from polbayes.fit.fit import fit
    from polbayes.fit.posterior.arviz_groups import arviz_groups
    from polbayes.fit.posterior.derived_quantities import derived_quantities
    from polbayes.fit.posterior.flips import flip_tables
    from polbayes.fit.posterior.loo import leave_one_out, loo_tables, sampling_notes
    from polbayes.fit.posterior.power_scaling import power_scaling
    from polbayes.fit.posterior.predictive import coverage, posterior_predictive
    from polbayes.fit.posterior.summary import summarise
    from polbayes.fit.sampling.diagnose import diagnose
    from polbayes.fit.spec.cells import gather_cells
    from polbayes.fit.spec.equation import equation, prior_lines
    from polbayes.fit.spec.reduction import check_scatter, reduced
    from polbayes.instrument.poles import poles_in

    cells = gather_cells(data, spec)
    spec, left_out = reduced(spec, cells)
    check_scatter(spec, cells)
    precision = precision or PrecisionConfig()
    result = fit(spec, cells, sampler, seed=seed, cache=cache)
    predictive = posterior_predictive(result.built, result.drawn, level=level, seed=seed)
    checks = {"predictive": predictive, "predictive_coverage": coverage(predictive)}
    loos = leave_one_out(result.built, result.drawn)
    checks |= loo_tables(loos)
    moved = power_scaling(result.built, result.drawn, result.posterior, loos)
    checks["prior_sensitivity"] = moved
    about_items = data[["dimension", "direction"]].reset_coords()[["dimension", "direction"]]
    items = about_items.to_dataframe().reset_index()[["item", "dimension", "direction"]]
    shown = _on_scale(result.posterior, spec, cells)
    tables = summarise(shown, level=level, items=items)
    tables |= derived_quantities(
        result.posterior,
        shown,
        spec,
        result.parts,
        cells,
        level=level,
        rope=rope,
        precision=precision,
    )
    if spec.signed:
        left_out = (*left_out, _UNKEYED)
    else:
        each = result.built, result.drawn, result.posterior, tables["contrasts"]
        tables |= flip_tables(*each, level=level, seed=seed)
    tables |= _dif_tables(
        result, spec, cells, sampler, size=dif, level=level, seed=seed, cache=cache
    )
    return Fitted(
        posterior=shown,
        sample_stats=result.sample_stats,
        tables=tables | checks,
        diagnosis=diagnose(result.posterior, result.sample_stats),
        notes=(*cells.notes, *left_out, *sampling_notes(checks["loo"])),
        equation=equation(spec, result.parts, poles_in(data)),
        priors=tuple(prior_lines(spec, result.parts)),
        from_cache=result.from_cache,
        groups=arviz_groups(result.built, result.drawn, loos[0], seed=seed),
    )


def _on_scale(posterior: xr.Dataset, spec: Spec, cells: "Cells") -> xr.Dataset:
    """Return the posterior on the scale that is reported."""
    from polbayes.fit.posterior.scale import on_population, on_reference
    from polbayes.fit.spec.reference import reference_models, the_population
    from polbayes.fit.spec.spec import POPULATION, STATEMENTS

    if spec.scale == STATEMENTS:
        return posterior
    items = cells.frame.drop_duplicates("item")
    dimension_of = dict(zip(items["item"].astype(str), items["dimension"].astype(str), strict=True))
    if spec.scale == POPULATION:
        one = the_population(cells, spec.populations)
        return on_population(posterior, one, dimension_of, held=spec.held_decisiveness)
    return on_reference(posterior, reference_models(cells, spec.reference), dimension_of)


def _dif_tables(
    result: "Fit",
    spec: Spec,
    cells: "Cells",
    sampler: "SamplerConfig",
    *,
    size: float,
    level: float,
    seed: int,
    cache: "DrawsCache | None",
) -> dict[str, pd.DataFrame]:
    """Summarise effects of statements on groups, and fit again without them."""
    from polbayes.fit.fit import fit
    from polbayes.fit.posterior.dif import dif_positions, dif_table
    from polbayes.fit.spec.dif import DIF

    if DIF not in result.posterior:
        return {}
    if cache:
        path = cache.path.with_stem(f"{cache.path.stem}_without_dif")
        cache = replace(cache, path=path, key=f"{cache.key} without {DIF}")
    other = fit(without_part(spec, DIF), cells, sampler, seed=seed, cache=cache)
    return {
        "dif": dif_table(result.posterior, size=size, level=level),
        "dif_positions": dif_positions(
            *(_on_scale(each, spec, cells) for each in (result.posterior, other.posterior)),
            level=level,
        ),
    }


def _fit_mixed(
    spec: MixedSpec,
    data: xr.Dataset,
    sampler: "SamplerConfig",
    *,
    level: float,
    seed: int,
    cache: "DrawsCache | None",
) -> Fitted:
    from polbayes.fit.mixed.fit import fit_classical, fit_mixed
    from polbayes.fit.mixed.tables import summarise
    from polbayes.fit.sampling.diagnose import diagnose

    result = fit_mixed(data, spec, sampler, seed=seed, cache=cache)
    tables = summarise(result.posterior, level=level)
    classical = fit_classical(data, spec, level=level)
    if classical is not None:
        tables["classical"] = classical
    diagnosis = diagnose(result.posterior, result.sample_stats)
    return Fitted(tables=tables, diagnosis=diagnosis, **vars(result))
