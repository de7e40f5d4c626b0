import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate, stats

from polbayes.config.schema import SamplerConfig
from polbayes.fit.fit import fit
from polbayes.fit.posterior.loo import leave_one_out
from polbayes.fit.posterior.power_scaling import log_likelihood_of, log_prior, power_scaling
from polbayes.fit.spec.priors import log_density, parse_prior

PARTS = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "decisiveness": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "quirk": "~ (1 | model:item)",
}
ITEMS = tuple(
    (f"{dimension[0]}{k}", dimension, ("left", "right")[k % 2], ("original",))
    for dimension in ("economic", "cultural")
    for k in range(12)
)


@pytest.mark.parametrize(
    "text",
    [
        *("Normal(0.3, 2)", "StudentT(3, 0.5, 2)", "Cauchy(1, 2)", "Laplace(0.5, 2)"),
        *("HalfNormal(0.5)", "HalfStudentT(4, 2)", "HalfCauchy(2)", "Exponential(2)"),
        *("Gamma(2, 0.1)", "LogNormal(0.3, 0.7)"),
    ],
)
def test_a_density_has_an_area_of_one(text):
    prior = parse_prior(text, where="here")
    low = 0.0 if prior.positive else -np.inf
    area, _ = integrate.quad(lambda x: np.exp(log_density(prior, x)), low, np.inf, limit=200)
    assert area == pytest.approx(1, abs=1e-6)


def answered(coded, theta, runs=6, seed=1):
    rng = np.random.default_rng(seed)
    keying = np.array([-1 if item[2] == "left" else 1 for item in ITEMS])
    eta = keying * (np.asarray(theta)[:, None] + rng.normal(0, 1, (len(theta), len(ITEMS))))
    latent = 3 * eta[..., None] + rng.logistic(size=(*eta.shape, runs))
    stance = np.sign(latent) * (abs(latent) > 1)
    return coded(
        stance[:, :, None, None].astype(int),
        items=ITEMS,
        models=[f"m{k}" for k in range(len(theta))],
        prefixes=["b"],
        runs=runs,
    )


@pytest.fixture(scope="module")
def found(bound, coded):
    def fitted(**priors):
        data = answered(coded, (-0.8, -0.3, 0.2, 0.6))
        spec, cells, _ = bound(PARTS, data, priors=priors)
        config = SamplerConfig(chains=2, tune=400, draws=500)
        return fit(spec, cells, config, seed=2)

    return fitted


def test_the_prior_is_that_of_the_numbers_at_the_top(found):
    result = found()
    drawn = result.drawn.isel(draw=[3, 40])
    b, sd, gap = (drawn[name].values for name in ("b", "sd", "gap"))
    layout = result.built.layout
    means = [1.0 if part == "decisiveness" else 0.0 for part, *_ in layout.coefficients]
    expected = stats.norm(means, 1).logpdf(b).sum(axis=-1)
    for k, (part, *_) in enumerate(layout.scales):
        if part in ("theta", "difficulty"):
            expected = expected + stats.halfnorm(0, 1).logpdf(sd[..., k])
    expected = expected + stats.lognorm(0.7).logpdf(gap).sum(axis=-1)
    r = drawn["cor_theta_model"].values.reshape(expected.shape)
    expected = expected + np.log(1 - r**2)  # LKJ(2)
    np.testing.assert_allclose(log_prior(result.built, drawn), expected)


def test_the_likelihood_is_that_of_all_answers(found):
    """The difference of two draws, with quirks integrated out by brute force."""
    result = found()
    drawn = result.drawn.isel(chain=[0], draw=[3, 40])
    totals = log_likelihood_of(result.built, drawn, "answers")[0]
    z = np.linspace(-9, 9, 4001)
    cells, layout = result.built.cells, result.built.layout
    expected = []
    for draw in range(2):
        at = drawn.isel(chain=0, draw=draw)
        named = result.posterior.isel(chain=0, draw=[3, 40]).isel(draw=draw)
        cut = float(at["gap"].values[0]) / 2
        total = 0.0
        for row, counts in zip(cells.frame.to_dict("records"), cells.counts, strict=True):
            kappa = np.exp(_log_kappa(at, layout, row["model"]))
            theta = float(named["theta"].sel(model=row["model"], dimension=row["dimension"]))
            theta -= float(named["difficulty"].sel(item=row["item"]))
            x = kappa * (row["keying"] * theta + z)
            p = np.diff(
                [0 * x, *(1 / (1 + np.exp(x - kappa * c)) for c in (-cut, cut)), 1 + 0 * x], axis=0
            )
            like = stats.multinomial.pmf(counts, counts.sum(), p.T)
            total += np.log(integrate.trapezoid(like * stats.norm.pdf(z), z))
        expected.append(total)
    assert totals[1] - totals[0] == pytest.approx(expected[1] - expected[0], abs=2e-3)


def _log_kappa(at, layout, model):
    block = next(b for b in layout.blocks if b.part == "decisiveness" and b.group is not None)
    place = block.group.levels["model"].tolist().index(model)
    common = next(k for k, (part, *_) in enumerate(layout.coefficients) if part == "decisiveness")
    return float(at["b"].values[common] + at["effects"].values[block.start + place])


def test_a_prior_that_contradicts_the_answers_is_found(found):
    def sensitivities(result):
        loos = leave_one_out(result.built, result.drawn)
        table = power_scaling(result.built, result.drawn, result.posterior, loos)
        assert set(table["measure"]) == {"theta", "theta_asked", "lean", "decisiveness"}
        return table[table["measure"] == "theta"].set_index(["model", "dimension"])

    mild = sensitivities(found())
    strong = sensitivities(found(**{"theta.dimension": "Normal(3, 0.3)"}))
    assert (strong["prior"] > 0.05).all()
    assert (strong["prior"] > 2 * mild["prior"]).all()
    assert (strong["diagnosis"] != "").all()


def test_what_has_no_estimate_is_left_out(found):
    result = found()
    blank = result.posterior["lean"].where(result.posterior["model"] != "m1")
    posterior = result.posterior.assign(lean=blank)
    sampled = leave_one_out(result.built, result.drawn, most=20)
    table = power_scaling(result.built, result.drawn, posterior, sampled)
    whole = leave_one_out(result.built, result.drawn)
    pd.testing.assert_frame_equal(
        table, power_scaling(result.built, result.drawn, posterior, whole)
    )
    assert "m1" not in set(table.loc[table["measure"] == "lean", "model"])
    assert isinstance(posterior, xr.Dataset)
