"""Families of other packages: one file, which everything asks."""

import numpy as np
import pytest
from scipy import special, stats

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.density import kernel, scores
from polbayes.fit.families import FAMILIES
from polbayes.fit.families.base import Family, scored
from polbayes.fit.families.logit_normal import LogitNormal
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.equation import equation
from polbayes.fit.spec.spec import parse_spec

DF = 4


@scored
def t_density(eta, sigma, log_y, log_rest):
    z = (log_y - log_rest - eta) / sigma
    tail = 1.0 + z * z / 4.0
    value = np.log(0.375 / sigma) - 2.5 * np.log(tail) - log_y - log_rest
    slope = 2.5 * (z / 2.0) / tail
    return value, slope / sigma, slope * z - 1.0


class LogitStudent(LogitNormal):
    name = "logit_student"
    link = "logit({response}) ~ t(4, η, σ)"
    sharp_link = "logit({response}) ~ t(4, κ · η, κ · σ)"
    kind = t_density.address
    nodes = stats.t(DF).ppf((np.arange(400) + 0.5) / 400)
    weights = np.full(400, 1 / 400)
    residual = DF / (DF - 2)

    def constant(self, answers):
        return np.zeros(len(answers))

    def mean_net(self, eta, variance, own, gaps):
        wide = np.sqrt(variance + np.exp(2 * own) * self.residual)
        return np.tanh((eta[:, None] + wide[:, None] * LogitNormal.nodes) / 2) @ LogitNormal.weights

    def simulate(self, eta, own, gaps, rng):
        return special.expit(eta + np.exp(own) * rng.standard_t(DF, eta.shape))


@pytest.fixture
def student(monkeypatch):
    monkeypatch.setitem(FAMILIES, "logit_student", LogitStudent())


def test_its_density_and_slopes_enter_the_likelihood():
    rng = np.random.default_rng(1)
    eta, own, y = rng.normal(0, 1, 50), rng.normal(-0.5, 0.3, 50), rng.uniform(0.02, 0.98, 50)
    answers = np.stack([np.log(y), np.log1p(-y)], axis=1)
    answers[7] = np.nan
    none, kind = np.empty(0), t_density.address

    def found(eta, own):
        return kernel.pointwise(eta, own, none, none, kind, answers)

    expected = stats.t(DF, eta, np.exp(own)).logpdf(special.logit(y)) - np.log(y * (1 - y))
    expected[7] = 0.0
    np.testing.assert_allclose(found(eta, own), expected, rtol=1e-12)
    cuts, slopes, ready, _ = scores.workspace(none, none)
    step = 1e-6
    by_eta = (found(eta + step, own) - found(eta - step, own)) / (2 * step)
    by_own = (found(eta, own + step) - found(eta, own - step)) / (2 * step)
    for cell in range(50):
        scores.prepare(kind, own[cell], none, cuts, ready)
        scores.cell_logp(kind, eta[cell], ready, none, cuts, none, answers, cell, slopes)
        np.testing.assert_allclose(slopes[:2], [by_eta[cell], by_own[cell]], rtol=1e-5, atol=1e-7)


def spec_of():
    parts = {"theta": "~ 0 + dimension + (0 + dimension || model)", "sigma": "~ 1"}
    return parse_spec(AnalysisConfig(response="r_plus", family="logit_student", parts=parts))


def planted(coded, seed=3):
    rng = np.random.default_rng(seed)
    items = [
        (f"{d[0]}{k}", d, "right" if k % 2 else "left", ("original",))
        for d in ("economic", "cultural")
        for k in range(30)
    ]
    models = ("left", "right")
    keying = np.array([1 if side == "right" else -1 for _, _, side, _ in items])
    logit = np.array([-1.0, 1.0])[:, None] * keying
    answers = special.expit(logit + 0.4 * rng.standard_t(DF, logit.shape))
    return coded(
        1,
        items=items,
        models=models,
        prefixes=("baseline",),
        runs=1,
        r_plus=answers[:, :, None, None, None],
    )


def test_it_is_fitted_and_read_off(coded, student):
    spec = spec_of()
    assert "r_plus) ~ t(4, η, σ)" in equation(spec)
    config = SamplerConfig(chains=2, tune=300, draws=300)
    posterior = fit(spec, gather_cells(planted(coded), spec), config, seed=1).posterior
    theta = posterior["theta"].mean(("chain", "draw"))
    np.testing.assert_allclose(theta.sel(model="left"), -1, atol=0.3)
    np.testing.assert_allclose(theta.sel(model="right"), 1, atol=0.3)
    bias = posterior["bias"].mean(("chain", "draw"))
    expected = np.tanh((1 + 0.4 * stats.t(DF).rvs(200_000, random_state=1)) / 2).mean()
    np.testing.assert_allclose(bias.sel(model="right"), expected, atol=0.08)


def test_a_sampler_of_several_processes_refuses_it(coded, student):
    spec = spec_of()
    cells = gather_cells(planted(coded), spec)
    with pytest.raises(UserError, match=r"pymc cannot sample family logit_student.*sampler=nutpie"):
        fit(spec, cells, SamplerConfig(backend="pymc", chains=2, tune=50, draws=50), seed=1)


def test_a_family_that_lacks_something_cannot_be_made():
    class Silent(Family):
        name = "silent"

    with pytest.raises(TypeError, match="abstract"):
        Silent()


@pytest.mark.parametrize("sd", [0.01, 0.6, 1.0, 1.01, 1.5, 2.4])
def test_means_over_the_residual_are_those_of_a_fine_grid_whatever_its_width(sd):
    eta = np.linspace(-8, 8, 33)
    z = np.linspace(-9, 9, 20_001)
    density = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    sides = np.tanh((eta[:, None] + sd * z) / 2)
    moments = LogitNormal().moments(eta, np.full(33, np.log(sd)), np.empty(0))
    np.testing.assert_allclose(moments.net, sides @ density, atol=1e-7)
    expected = sides**2 @ density - (sides @ density) ** 2
    np.testing.assert_allclose(moments.variance, expected, atol=2e-7)
