"""Conclusions from fabricated draws, whatever the spec and the design."""

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import AnalysisConfig, PrecisionConfig, SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.analysis import parse_analysis
from polbayes.fit.density.model import build
from polbayes.fit.posterior.components import with_variances
from polbayes.fit.posterior.derived_quantities import derived_quantities
from polbayes.fit.posterior.naming import name_posterior

ITEMS = tuple(
    (f"{d[0]}{k}", d, "left" if k % 2 else "right", ("original", "opposite"))
    for d in ("economic", "cultural")
    for k in range(3)
)
THETA = "~ 0 + dimension + (0 + dimension | model)"
CHAINS, DRAWS = 2, 20


def concluded(coded, bound, parts, *, models, data=None, seed=0, **settings):
    """Draw everything from normal distributions and derived_quantities from that."""
    rng = np.random.default_rng(seed)
    if data is None:
        stance = rng.integers(-1, 2, (len(models), len(ITEMS), 2, 2, 2))
        data = coded(stance, items=ITEMS, models=models, prefixes=("p", "q"), runs=2)
    wanted = settings.pop("precision", PrecisionConfig())
    spec, cells, parts = bound(parts, data, precision=wanted, **settings)
    built = build(spec, cells, parts)
    layout = built.layout
    drawn = {"effects": rng.normal(0, 0.8, (CHAINS, DRAWS, layout.blocks[-1].stop))}
    drawn["b"] = rng.normal(size=(CHAINS, DRAWS, len(layout.coefficients)))
    if layout.scales:
        drawn["sd"] = rng.uniform(0.1, 1, (CHAINS, DRAWS, len(layout.scales)))
    if cells.counts.size and cells.counts.shape[1] > 2:
        drawn["gap"] = rng.uniform(0.3, 2, (CHAINS, DRAWS, cells.counts.shape[1] - 2))
    variables = {name: (("chain", "draw", f"{name}_dim"), v) for name, v in drawn.items()}
    if parts["theta"].groups:
        variables["cor_theta_model"] = (("chain", "draw"), rng.uniform(-1, 1, (CHAINS, DRAWS)))
    vectors = xr.Dataset(variables, coords={"chain": range(CHAINS), "draw": range(DRAWS)})
    posterior = with_variances(name_posterior(built, vectors), built, vectors)
    about = (spec, parts, cells)
    return derived_quantities(posterior, posterior, *about, level=0.9, rope=0.1, precision=wanted)


def test_all_tables_of_a_full_spec(coded, bound, full_parts):
    tables = concluded(coded, bound, full_parts, models=("a", "b", "c"))
    assert set(tables) == {
        "contrasts",
        "prefix_contrasts",
        "correlation",
        "variance_shares",
        "reliability",
        "d_study",
        "neighbours",
    }
    assert len(tables["neighbours"]) == 3 * 2  # pairs, on both dimensions and in total
    assert tables["correlation"]["of"].tolist() == ["population", "models"]
    assert len(tables["prefix_contrasts"]) == 3 * 2
    reliability = tables["reliability"]
    assert set(reliability["dimension"]) == {"economic", "cultural", "total"}
    of_all = reliability[reliability["model"].isna()]
    assert np.isfinite(of_all["estimate"]).all()
    coefficients = of_all[of_all["measure"].isin(["dependability", "generalizability"])]
    assert coefficients[["lower", "upper"]].stack().between(0, 1).all()
    designs = tables["d_study"]
    assert designs["own"].sum() == 3
    assert designs.groupby("dimension")["cheapest"].sum().max() <= 1


def test_the_run_s_own_design_is_one_of_those_planned(coded, bound, full_parts):
    """In a balanced design with equal numbers the exact and the planned precision agree."""
    tables = concluded(coded, bound, full_parts, models=("a", "b", "c"))
    own = tables["d_study"][tables["d_study"]["own"]].set_index("dimension")
    exact = tables["reliability"]
    exact = exact[exact["model"].isna()].set_index(["dimension", "measure"])["estimate"]
    for dimension in ("economic", "cultural", "total"):
        assert own.loc[dimension, "questions"] == (48 if dimension == "total" else 24)
        for measure in ("dependability", "generalizability", "se_bias", "se_theta_relative"):
            assert own.loc[dimension, measure] == pytest.approx(exact[dimension, measure])


def test_fixed_prefixes_measure_better(coded, bound, full_parts):
    fixed, random = (
        concluded(
            coded, bound, full_parts, models=("a", "b", "c"), precision=PrecisionConfig(prefixes=p)
        )["reliability"].set_index(["dimension", "measure", "model"])["estimate"]
        for p in ("fixed", "random")
    )
    for name in ("generalizability", "dependability"):
        assert (fixed.xs(name, level="measure") > random.xs(name, level="measure")).all()
    assert (fixed.xs("se_bias", level="measure") < random.xs("se_bias", level="measure")).all()


def test_one_model_alone_is_not_compared(coded, bound):
    parts = {"theta": "~ 0 + dimension", "difficulty": "~ (1 | item)", "acquiescence": "~ 1"}
    tables = concluded(coded, bound, parts, models=("a",))
    assert set(tables) == {"contrasts", "variance_shares"}
    assert set(tables["contrasts"]["against"]) == {"centre"}
    shares = tables["variance_shares"]
    assert set(shares["component"]) == {"difficulty: item", "repetition"}


def test_a_spec_without_effects_of_items(coded, bound):
    tables = concluded(coded, bound, {"theta": THETA, "acquiescence": "~ 1"}, models=("a", "b"))
    shares = tables["variance_shares"]
    assert set(shares.loc[shares["model"].isna(), "component"]) == {"theta: model", "repetition"}
    # Only more runs of the same questions are known to help.
    assert tables["d_study"].groupby("dimension")["items"].nunique().eq(1).all()
    assert tables["d_study"].groupby("dimension")["runs"].nunique().gt(1).all()


def test_probabilities_are_not_asked_for_again(coded, bound):
    rng = np.random.default_rng(2)
    values = rng.uniform(0.1, 0.9, (3, len(ITEMS), 2, 2, 1))
    models = ("a", "b", "c")
    data = coded(1, items=ITEMS, models=models, prefixes=("p", "q"), r_plus=values)
    parts = {
        "theta": THETA,
        "difficulty": "~ (1 | item)",
        "quirk": "~ (1 | model:item)",
        "steer": "~ (1 | model:prefix)",
        "acquiescence": "~ 1 + (1 | model)",
    }
    for family, own in (("logit_normal", "sigma"), ("beta", "phi")):
        parts_of = {**parts, own: "~ 1 + (1 | model)"}
        tables = concluded(
            coded, bound, parts_of, models=models, data=data, response="r_plus", family=family
        )
        assert tables["d_study"]["runs"].unique().tolist() == [1]
        assert tables["d_study"]["wordings"].unique().tolist() == [2]
        assert np.isfinite(tables["reliability"]["estimate"]).all()


def test_a_dimension_asked_of_one_model_alone(coded, bound, full_parts):
    """Nothing is said about differences on it, nor on both together, and nothing warns."""
    rng = np.random.default_rng(4)
    stance = rng.integers(-1, 2, (3, len(ITEMS), 2, 2, 2))
    stance[1:, 3:] = -128
    data = coded(stance, items=ITEMS, models=("a", "b", "c"), prefixes=("p", "q"), runs=2)
    data["status"] = data["status"].where(data["stance"] != -128, np.int8(-128))
    tables = concluded(coded, bound, full_parts, models=("a", "b", "c"), data=data)
    assert set(tables["reliability"]["dimension"]) == {"economic"}
    assert set(tables["d_study"]["dimension"]) == {"economic"}
    shares = tables["variance_shares"]
    cultural = shares[(shares["dimension"] == "cultural") & shares["model"].isna()]
    assert "theta: model" not in set(cultural["component"])
    assert cultural["estimate"].sum() == pytest.approx(1)


def test_what_is_wanted_is_checked_with_the_spec():
    precision = PrecisionConfig(measure="dependabilty")
    config = AnalysisConfig(parts={"theta": "~ 0 + dimension"}, precision=precision)
    with pytest.raises(UserError, match="did you mean 'dependability'"):
        parse_analysis(config, SamplerConfig())
