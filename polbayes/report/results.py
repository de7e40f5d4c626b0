"""The inputs of a report."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
import xarray as xr

from polbayes.fit.sampling.diagnose import BEYOND
from polbayes.instrument.dimensions import Dimension, dimensions_of, named
from polbayes.instrument.poles import Poles, poles_of
from polbayes.measures.registry import MEASURES
from polbayes.report.asked import respondents_of, size
from polbayes.report.numbers import count
from polbayes.report.prose import MODEL, Noun

VERDICTS = ("good", "caution", "bad", "preview")

_INTERVAL = ("estimate", "lower", "upper")
_SAMPLED: Mapping[str, tuple[str, ...]] = {
    "theta": ("model", "dimension", *_INTERVAL, "p_left"),
    "theta_asked": ("model", "dimension", *_INTERVAL, "p_left"),
    "lean": ("model", "dimension", *_INTERVAL, "p_left"),
    "decisiveness": ("model", "measure", *_INTERVAL),
    "bias_posterior": ("model", "dimension", *_INTERVAL, "p_left"),
    "bias_by_item": ("model", "item", *_INTERVAL, "p_left"),
    "pairwise": ("model_a", "model_b", "dimension", "p_left"),
    "ranks": ("model", "dimension", "rank", "probability"),
    "neighbours": ("among", "dimension", "place", "model", "next", "p_left", *_INTERVAL),
    "acquiescence": ("model", *_INTERVAL),
    "prefix_effects": ("model", "prefix", "effect", *_INTERVAL),
    "sensitivity": ("model", "effect", *_INTERVAL),
    "items": ("item", "dimension", "difficulty", "difficulty_lower", "difficulty_upper"),
    "contrasts": ("measure", "dimension", "against", "model_a", "model_b", *_INTERVAL, "decision"),
    "prefix_contrasts": ("model", "prefix", *_INTERVAL, "p_inside", "decision"),
    "correlation": ("first", "second", "of", "n_models", *_INTERVAL),
    "over_time": ("who", "time", "model", "dimension", *_INTERVAL),
    "changes": (
        *("who", "dimension", "span", "before", "after", *_INTERVAL, "p_left"),
        *("rope", "p_left_of_rope", "p_inside", "p_right_of_rope", "decision"),
    ),
    "reference_scale": ("model", "dimension", "reference", *_INTERVAL),
    "nearest": ("model", "reference", "p_nearest", *_INTERVAL, "agreement", "n_items"),
    "dif": ("item", "by", "group", "against", *_INTERVAL, "p_differs", "direction", "size"),
    "dif_positions": ("model", "dimension", *_INTERVAL, "without", "shift"),
    "populations": ("population", "dimension", "quantity", *_INTERVAL),
    "population_shares": ("model", "population", "dimension", *_INTERVAL),
    "modes": ("mode", "dimension", "quantity", *_INTERVAL),
    "mode_pairs": ("dimension", "first", "second", "quantity", *_INTERVAL),
    "mode_positions": ("model", "dimension", "mode", *_INTERVAL, "p_left"),
    "languages": ("language", "dimension", "quantity", *_INTERVAL),
    "language_pairs": ("dimension", "first", "second", "quantity", *_INTERVAL),
    "language_positions": ("model", "dimension", "language", *_INTERVAL, "p_left"),
    "variance_shares": ("model", "dimension", "component", *_INTERVAL, "variance"),
    "reliability": ("dimension", "measure", "model", *_INTERVAL, "balanced"),
    "d_study": ("dimension", "questions", "cost", "own", "cheapest", "p_reached"),
    "coefficients": ("term", *_INTERVAL),
    "group_sds": ("group", "varying", *_INTERVAL),
    "group_effects": ("group", "varying", "level", *_INTERVAL),
    "predictive": (
        *("statistic", "model", "prefix", "item", "keying", "observed"),
        *(*_INTERVAL, "lower_50", "upper_50"),
    ),
    "predictive_coverage": ("statistic", "groups", "inside_50", "inside"),
    "loo": (
        *("part", "elpd_loo", "se", "p_loo", "cells", "answers", "integrated"),
        *("k_good", "k_ok", "k_bad", "k_very_bad", "probability", "guess"),
    ),
    "loo_cells": ("model", "item", "variant", "prefix", "elpd", "pareto_k", "part"),
    "by_instrument": ("model", "dimension", "instrument", "quantity", *_INTERVAL),
    "instrument_differences": ("model", "dimension", "first", "second", "quantity", *_INTERVAL),
    "instrument_correlations": ("dimension", "first", "second", "quantity", *_INTERVAL),
    "comparison": ("respondent", "model", "run", "quantity", "dimension", *_INTERVAL),
    "drift": (
        *("before", "after", "quantity", "dimension", *_INTERVAL, "p_left", "p_right"),
        *("rope", "p_left_of_rope", "p_inside", "p_right_of_rope", "decision"),
    ),
    "prior_sensitivity": ("measure", "model", "dimension", "prior", "likelihood", "diagnosis"),
    "validity_posterior": ("model", *_INTERVAL),
    "flips": (
        *("against", "dimension", "model_a", "model_b", "decision", "change", "prompts"),
        *("p_left_of_rope", "p_inside", "p_right_of_rope", "p_flip"),
    ),
    "single_prompt": ("model", "dimension", "prompts", *_INTERVAL, "p_left"),
    "single_prompt_studies": ("model", "dimension", "prompts", "study", "estimate"),
    "prompt_shifts": ("kind", "model", "dimension", "item", "variant", "prefix", *_INTERVAL),
}
COLUMNS: Mapping[str, tuple[str, ...]] = {
    **_SAMPLED,
    "classical": ("term", *_INTERVAL, "p", "p_bonferroni", "tests", "coverage"),
    "specs": ("spec", "part", "elpd_loo", "difference", "se_difference", "reading", "verdict"),
    "compared_runs": ("run", "folder", "title", "models", "items", "answers", "asked", "verdict"),
    "diagnostics": ("quantity", "r_hat", "ess_bulk", "ess_tail"),
    "coder_scores": ("coder", "label", "measure", *_INTERVAL),
    "coder_thresholds": ("coder", "threshold", "measure", *_INTERVAL),
    "match_proportion": ("item", *_INTERVAL),
    "ablation": ("model", "kind", "measure", *_INTERVAL),
    "ablation_differences": ("model", "kind", "measure", *_INTERVAL),
}
"""Required columns of tables other than measures; further ones are kept in the CSV."""

POSTERIOR = frozenset(_SAMPLED)
"""The tables that depend on the sampler's diagnostics."""


def columns_of(name: str) -> Sequence[str]:
    """Return the required columns of a table; for a measure's, those that it names."""
    measured = (measure.tables[name] for measure in MEASURES.values() if name in measure.tables)
    return COLUMNS[name] if name in COLUMNS else next(measured, ())


def facts_of(counts: Mapping[str, int]) -> Mapping[str, str]:
    """Return counts by name in the plural, or in the singular for one."""
    ends = (("ies", "y"), ("xes", "x"), ("s", ""), ("", ""))
    one = {
        name: next(name.removesuffix(end) + new for end, new in ends if name.endswith(end))
        for name in counts
    }
    return {one[name] if n == 1 else name: count(n) for name, n in counts.items()}


@dataclass(frozen=True, kw_only=True)
class Reported(ABC):
    """The inputs of a run's report, however it measures."""

    # Title and subject of the run; `name` is the experiment's.
    title: str
    description: str
    name: str
    command: str  # the command line that makes this report again
    created: str  # when, in ISO 8601
    tables: Mapping[str, pd.DataFrame]  # tidy tables by name; each may be absent
    level: float = 0.9  # coverage of the intervals in the posterior tables, in (0, 1)
    # Whether the draws can be used, one of VERDICTS; empty where nothing was sampled.
    verdict: str = ""
    verdict_sentences: list[str] = field(default_factory=list)
    # Sentences about what was not asked, failed or could not be coded.
    exclusions: list[str] = field(default_factory=list)
    # What is needed to rerun, and further remarks.
    config_yaml: str = ""
    provenance: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    duration: str = ""

    @property
    @abstractmethod
    def kicker(self) -> str:
        """What the page is about, above its title."""

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """Counts that the report rests on, by name."""

    @property
    def fitted(self) -> bool:
        """Whether the report shows estimates that rest on a sampler."""
        return bool(self.verdict)

    @property
    def but_for_statements(self) -> bool:
        """Whether the draws passed the checks, but for those of some single statements."""
        return self.verdict == "good" and any(BEYOND in said for said in self.verdict_sentences)

    def table(self, name: str) -> pd.DataFrame | None:
        """Return the table of that name, or None where it is absent or empty."""
        table = self.tables.get(name)
        return None if table is None or table.empty else table


@dataclass(frozen=True, kw_only=True)
class Results(Reported):
    """Finished results of one run with questionnaires.

    Latent scales and bias are negative on the side of the negative pole, such as the left; for the
    columns of tables see `columns_of`.
    `responses` is the response dataset (`polbayes.data.dataset`, `polbayes.instrument.design`),
    `equation` and `priors` are the fitted model as text, `study` is one of
    `polbayes.config.schema.STUDIES` to show, or empty, and `maps` are pairs of dimensions to map,
    by default the first two. A verdict or level out of range or a missing column is a ValueError.
    """

    responses: xr.Dataset
    equation: str = ""
    priors: list[str] = field(default_factory=list)
    citations: list[str] = field(default_factory=list)
    study: str = ""
    maps: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        """Check what the sections rely on."""
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {VERDICTS}, not '{self.verdict}'.")
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie between 0 and 1, not {self.level}.")
        for name, table in self.tables.items():
            missing = [c for c in columns_of(name) if c not in table.columns]
            if missing:
                raise ValueError(f"table '{name}' lacks the column '{missing[0]}'.")

    @property
    def kicker(self) -> str:
        """What the page is about: politics, if a dimension goes from left to right."""
        political = any(one.political for one in self.dimensions)
        of = "language models" if self.who == MODEL else self.who.many
        return f"{'Political leaning' if political else 'Leaning'} of {of}"

    @property
    def who(self) -> Noun:
        """What the respondents are: models, unless their attribute `who` says otherwise."""
        return respondents_of(self.responses)

    @property
    def facts(self) -> Mapping[str, str]:
        """Counts of what was asked."""
        counts = size(self.responses)
        return facts_of({self.who.many if n == "models" else n: k for n, k in counts.items()})

    @property
    def fitted(self) -> bool:
        """Whether there are estimates that rest on a sampler."""
        return any(self.table(name) is not None for name in POSTERIOR)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions that the instruments declare."""
        return dimensions_of(self.responses)

    @property
    def poles(self) -> Poles:
        """Words for the two ends of the dimensions."""
        return poles_of(self.dimensions)

    def about(self, dimension: str) -> str:
        """Return what questions of a dimension are about, as an adjective in a sentence."""
        return named(self.dimensions, dimension).label.lower()

    @property
    def unlinked(self) -> bool:
        """Whether the scales of compared runs are not linked, so that nothing was fitted."""
        return self.table("comparison") is not None and self.table("theta") is None

    @property
    def mixed(self) -> bool:
        """Whether an ordinary mixed model was fitted, and not the ideology model."""
        parts = (self.table("coefficients"), self.table("group_sds"))
        return self.table("theta") is None and any(part is not None for part in parts)
