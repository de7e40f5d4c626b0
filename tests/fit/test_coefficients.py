"""Group effects on the leaning: read off, and with honest intervals."""

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.posterior.coefficients import coefficient_tables
from polbayes.fit.posterior.summary import summarise
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

ITEMS = tuple(
    (f"{d[0]}{k}", d, ("left", "right")[k % 2], ("original", "opposite"))
    for d in ("economic", "cultural")
    for k in range(2)
)
MODELS = tuple(f"m{k:02d}" for k in range(12))
INSTRUCT = np.arange(12) % 2 == 1
FAMILY = np.arange(12) // 3
SHIFT = {"economic": -0.8, "cultural": 0.6}
ORDER = ("economic", "cultural")


@pytest.fixture(scope="module")
def planted(coded):
    """Answer probabilities of models with a normal residual, and what was planted in them."""
    rng = np.random.default_rng(8)
    theta = rng.normal(0, 0.3, (12, 2)) + rng.normal(0, 0.4, (4, 2))[FAMILY]
    theta += INSTRUCT[:, None] * np.array([SHIFT[d] for d in ORDER])
    empty = coded(items=ITEMS, models=MODELS)
    keying = empty["keying"].transpose("item", "variant").values
    dimension = [ORDER.index(d) for d in empty["dimension"].values]
    believed = theta[:, dimension][:, :, None] * keying
    logit = 0.2 + believed[..., None] + rng.normal(0, 0.2, (12, *keying.shape, 2))
    data = coded(
        items=ITEMS,
        models=MODELS,
        r_plus=(1 / (1 + np.exp(-logit)))[..., None],
        instruct=INSTRUCT.tolist(),
    )
    family = np.array([f"f{f}" for f in FAMILY], dtype=object)
    return data.assign_coords(family=("model", family)), theta


@pytest.fixture(scope="module")
def fitted(planted):
    spec = parse_spec(
        AnalysisConfig(
            response="r_plus",
            family="logit_normal",
            parts={
                "theta": "~ 0 + dimension + instruct:dimension + (1 | model:dimension)",
                "acquiescence": "~ 1 + (1 | family)",
                "sigma": "~ 1",
            },
            priors={"common": "Normal(0, 5)", "theta": {"sd": "HalfNormal(2)"}},
        )
    )
    config = SamplerConfig(chains=4, tune=500, draws=2500)
    return fit(spec, gather_cells(planted[0], spec), config, seed=2).posterior


def test_every_common_term_is_read_off(fitted):
    assert fitted["coefficient"].dims == ("chain", "draw", "term")
    assert fitted["term"].values.tolist() == [
        *(f"theta: dimension[{d}]" for d in ("cultural", "economic")),
        *(f"theta: instruct:dimension[{d}]" for d in ("cultural", "economic")),
        "acquiescence: Intercept",
        "sigma: Intercept",
    ]
    assert fitted["coefficient_part"].values.tolist() == ["theta"] * 4 + ["acquiescence", "sigma"]


def test_effects_of_families_are_read_off_under_their_names(fitted):
    assert fitted["group_name"].values.tolist() == ["f0", "f1", "f2", "f3"]
    assert set(fitted["part"].values) == {"acquiescence"}
    assert float(np.abs(fitted["group_effect"].sum("group_level")).max()) < 1e-9


@pytest.mark.parametrize("dimension", ORDER)
def test_a_difference_between_kinds_is_as_uncertain_as_that_of_two_samples(
    fitted, planted, dimension
):
    """In a balanced design it is the difference of two means of models, with its standard error."""
    # The two dimensions share one standard deviation of the models.
    groups = planted[1][INSTRUCT], planted[1][~INSTRUCT]
    difference = (groups[0] - groups[1]).mean(axis=0)[ORDER.index(dimension)]
    variance = np.mean([g.var(axis=0, ddof=1) for g in groups])
    error = np.sqrt(variance * (1 / 6 + 1 / 6))
    draws = fitted["coefficient"].sel(term=f"theta: instruct:dimension[{dimension}]")
    # The residual of the answers makes the means of the models differ a little from theta.
    assert float(draws.mean()) == pytest.approx(difference, abs=0.4 * error)
    assert float(draws.std()) == pytest.approx(error, rel=0.25)
    low, high = draws.quantile([0.025, 0.975]).values
    assert low < SHIFT[dimension] < high


def test_theta_is_still_the_whole_leaning_of_a_model(fitted, planted):
    mean = fitted["theta"].mean(("chain", "draw")).sel(dimension=list(ORDER))
    np.testing.assert_allclose(mean.values, planted[1], atol=0.25)
    assert float(np.abs(mean.values - planted[1]).mean()) < 0.1


def test_the_tables_say_what_the_draws_say(fitted):
    tables = summarise(fitted, level=0.8)
    coefficients = tables["coefficients"]
    assert list(coefficients.columns[:4]) == ["part", "term", "estimate", "sd"]
    row = coefficients[coefficients["term"] == "instruct:dimension[economic]"].iloc[0]
    draws = fitted["coefficient"].sel(term="theta: instruct:dimension[economic]").values.ravel()
    assert row["estimate"] == pytest.approx(draws.mean())
    expected = np.quantile(draws, [0.1, 0.9]).tolist()
    assert row[["lower", "upper"]].tolist() == pytest.approx(expected)
    assert row["p_positive"] == pytest.approx((draws > 0).mean())
    assert row["coverage"] == 0.8
    assert tables["group_effects"]["level"].tolist() == ["f0", "f1", "f2", "f3"]


def test_there_are_no_tables_without_terms():
    assert coefficient_tables(xr.Dataset(), 0.9) == {}
