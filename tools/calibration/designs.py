"""The calibrated cases: a spec, and a small design that involves all of its terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.data.dataset import NOT_ASKED, STANCE, STATUS
from polbayes.errors import unknown
from polbayes.fit.spec.priors import flatten
from polbayes.fit.spec.spec import Spec, parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import POLARITY, Instrument, Item, Variant

if TYPE_CHECKING:
    import xarray as xr

# Dimension, direction and kinds of wording of each item; each dimension has both keyings.
_ITEMS = (
    ("economic", -1, ("original", "opposite")),
    ("economic", 1, ("original", "paraphrase")),
    ("economic", 1, ("original", "opposite")),
    ("cultural", 1, ("original", "opposite")),
    ("cultural", -1, ("original", "negation")),
    ("cultural", -1, ("original", "paraphrase")),
)
_RATING_POINTS = "strongly disagree; disagree; agree; strongly agree"


@dataclass(frozen=True)
class Case:
    """A spec and the size of its design.

    Parameters
    ----------
    analysis
        Name of a shipped spec in ``conf/analysis``.
    models, prefixes, runs, instruments
        Numbers of each; every instrument has six items.
    wordings
        Wordings per item: 1 for the original only, above 2 for further paraphrases.
    parts, priors
        Parts and priors that differ from the shipped spec's.
    response, family
        If different from the shipped spec's.
    administered
        Whether a model's answers under one prefix in one run form one administration.
    attributes
        Values of attributes of the prefixes, in their order.
    """

    analysis: str
    models: int = 4
    wordings: int = 2
    prefixes: int = 3
    runs: int = 2
    instruments: int = 1
    parts: Mapping[str, str | None] = field(default_factory=dict)
    priors: Mapping[str, Any] = field(default_factory=dict)
    response: str | None = None
    family: str | None = None
    administered: bool = False
    attributes: Mapping[str, Sequence[str | float]] = field(default_factory=dict)


# The shipped prior includes models that never waver. Data sets with several of these have
# step-like likelihoods, and take long to fit. A prior with fewer of them reveals errors as well.
_WAVERING = {"decisiveness": {"Intercept": "Normal(0.5, 0.5)", "model": {"sd": "Constant(0.5)"}}}
_WAVERING_ALONE = {"decisiveness": {"Intercept": "Normal(0.5, 0.7)"}}
# Under the shipped prior many probabilities are closer to 0 or 1 than floating point can represent,
# so that the fit does not see what was drawn. Under these hardly any are.
_REPRESENTABLE = {
    "decisiveness": {"Intercept": "Normal(0, 0.5)", "model": {"sd": "HalfNormal(0.3)"}}
}
_LESS_DECIDED = {
    "decisiveness": {"Intercept": "Normal(-0.7, 0.3)", "model": {"sd": "HalfNormal(0.2)"}}
}

CASES: Mapping[str, Case] = {
    "ideology": Case("ideology", priors=_WAVERING),
    # Many answers per cell.
    "ideology_many_runs": Case("ideology", runs=15, priors=_WAVERING),
    "ideology_one_model": Case("ideology_one_model", models=1, runs=3, priors=_WAVERING_ALONE),
    "ideology_administrations": Case(
        "ideology_administrations", prefixes=2, administered=True, priors=_WAVERING
    ),
    "ideology_few_models": Case("ideology_few_models", models=2, priors=_WAVERING),
    "ideology_binary": Case("ideology_binary", runs=3, priors=_WAVERING),
    "ideology_logit": Case("ideology_logit"),
    "option_order": Case(
        "option_order",
        prefixes=4,
        attributes={"agree_first": (1.0, 0.0, 1.0, 0.0)},
        priors=_WAVERING,
    ),
    "sycophancy": Case(
        "sycophancy",
        prefixes=5,
        attributes={
            "user_leaning": (0.0, -1.0, 1.0, 0.0, 0.0),
            "user_agrees": (0.0, 0.0, 0.0, -1.0, 1.0),
        },
        priors=_WAVERING,
    ),
    "ideology_languages": Case(
        "ideology_languages",
        wordings=1,
        attributes={"language": ("de", "en", "fr")},
        priors=_WAVERING,
    ),
    "ideology_modes": Case(
        "ideology_modes",
        wordings=1,
        attributes={"mode": ("choice", "open", "role")},
        priors=_WAVERING,
    ),
    "heavy_tails": Case(
        "ideology",
        prefixes=2,
        parts={"quirk": "~ (1 | gr(model:item, dist = student))"},
        priors=_WAVERING,
    ),
    "ideology_probabilities": Case("ideology_probabilities", wordings=4, prefixes=1, runs=1),
    "probabilities_inside": Case(
        "ideology_probabilities", wordings=4, prefixes=1, runs=1, priors=_REPRESENTABLE
    ),
    "ideology_probabilities_one_model": Case(
        "ideology_probabilities_one_model", models=1, wordings=4, prefixes=1, runs=1
    ),
    "probabilities_validity": Case(
        "ideology_probabilities",
        prefixes=1,
        runs=1,
        parts={
            "validity": "~ 1 + (1 | model)",
            "validity_sigma": "~ 1 + (1 | model)",
            "discrimination": None,
        },
        priors=_REPRESENTABLE,
    ),
    "ideology_ratings": Case("ideology_ratings", wordings=1, runs=2, priors=_WAVERING),
    "ideology_ratings_logit": Case("ideology_ratings_logit", wordings=1),
    "ideology_instruments": Case(
        "ideology_instruments", prefixes=1, instruments=2, priors=_WAVERING
    ),
    "beta": Case(
        "ideology_probabilities",
        wordings=3,
        prefixes=1,
        runs=1,
        family="beta",
        parts={"sigma": None, "phi": "~ 1 + (1 | model)", "discrimination": None},
        priors={
            "phi": {"Intercept": "Normal(3.5, 0.5)", "model": {"sd": "HalfNormal(0.2)"}},
            **_LESS_DECIDED,
        },
    ),
    "bernoulli": Case(
        "ideology_one_model",
        models=1,
        runs=4,
        family="bernoulli",
        response="agree",
        priors=_WAVERING_ALONE,
    ),
    "validity": Case(
        "ideology_one_model",
        models=1,
        runs=4,
        parts={"validity": "~ 1 + (1 | item) + (1 | model:prefix)"},
        priors=_WAVERING_ALONE,
    ),
}


def case_named(name: str) -> Case:
    """Return a case.

    Raises
    ------
    UserError
        If the name is unknown.
    """
    if name not in CASES:
        raise unknown("case", name, CASES, where="calibration")
    return CASES[name]


def spec_of(case: Case) -> Spec:
    """Return the parsed spec of a case."""
    from dataclasses import replace

    from polbayes.config.compose import compose

    # A run needs an experiment; its analysis is replaced.
    config = compose(["+experiment=wvs_prefixes", f"analysis={case.analysis}"])[0].analysis
    return parse_spec(
        replace(
            config,
            parts={**config.parts, **case.parts},
            priors={**flatten(config.priors), **flatten(case.priors)},
            response=case.response or config.response,
            family=case.family or config.family,
        )
    )


def lay_out_design(case: Case) -> "xr.Dataset":
    """Return the design of a case, with an arbitrary answer in every cell.

    Returns
    -------
    xarray.Dataset
        A coded response dataset with ``stance``, ``rating``, ``r_plus``, ``p_agree`` and
        ``p_disagree``.
    """
    instruments = []
    for n in range(case.instruments):
        items = tuple(_item(k, case.wordings, "ijk"[n]) for k in range(len(_ITEMS)))
        instruments.append(Instrument(f"made_up_{n}", "made up", "made up", items))
    data = design(
        instruments,
        [Prefix(f"p{k}", f"prefix {k}", "open") for k in range(case.prefixes)],
        [ModelInfo(f"m{k}", "{statement}") for k in range(case.models)],
        runs=case.runs,
    )
    asked = data["status"] != NOT_ASKED
    data["status"] = data["status"].where(~asked, np.int8(STATUS["ok"]))
    # Runs differ: copies of one answer would be bound to other terms.
    agrees = data["run"].copy(data=np.arange(data.sizes["run"]) % 2 == 0)
    stance = np.where(agrees, np.int8(STANCE["agree"]), np.int8(STANCE["disagree"]))
    data["stance"] = asked.astype(np.int8) * agrees.copy(data=stance)
    data["rating"] = asked.astype(np.int8) * (1 + agrees.astype(np.int8))
    data["rating"].attrs["rating_points"] = _RATING_POINTS
    data["r_plus"] = asked.astype(np.float32) / 2
    data["p_agree"] = data["p_disagree"] = asked.astype(np.float32) / 3
    data = data.assign_coords({k: ("prefix", list(v)) for k, v in case.attributes.items()})
    if case.administered:
        dims = ("model", "prefix", "run")
        labels = [
            [[f"{m}.{p}.{r}" for r in data["run"].values] for p in data["prefix"].values]
            for m in data["model"].values
        ]
        data = data.assign_coords(administration=(dims, np.array(labels, dtype=object)))
    return data


def _item(number: int, wordings: int, letter: str) -> Item:
    dimension, direction, kinds = _ITEMS[number]
    chosen = (*kinds, *("paraphrase", "opposite") * wordings)[:wordings]
    variants = tuple(
        Variant(f"w{k}", f"statement {number}, wording {k}", kind, POLARITY[kind])
        for k, kind in enumerate(chosen)
    )
    return Item(f"{letter}{number}", dimension, direction, "made up", variants, {})
