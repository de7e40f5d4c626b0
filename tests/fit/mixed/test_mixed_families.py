"""Mixed models that are sampled: what was planted comes back, and lme4 says the same."""

import numpy as np
import pytest

from polbayes.config.schema import SamplerConfig
from polbayes.fit.mixed.fit import fit_mixed
from polbayes.fit.mixed.model import build
from polbayes.fit.mixed.readout import name_posterior
from polbayes.fit.mixed.tables import summarise
from polbayes.fit.sampling.diagnose import diagnose
from polbayes.fit.sampling.sample import sample

pytestmark = [
    pytest.mark.slow,
    # Numba says of some compiled functions that it does not keep them for the next process.
    pytest.mark.filterwarnings("ignore:Cannot cache compiled function"),
]

ITEMS = tuple(
    (f"i{k:02d}", "economic", "left" if k % 2 else "right", ("original", "opposite"))
    for k in range(20)
)
CONFIG = SamplerConfig(chains=2, tune=600, draws=800)
INTERCEPT, SLOPE, SD = 0.3, 0.7, 0.6
CUTS = (-0.6, 0.9)


def planted(coded, family, seed):
    """Draw answers with numpy alone: two models, four prefixes, three runs."""
    rng = np.random.default_rng(seed)
    shape = (2, len(ITEMS), 2, 4, 3)
    u = rng.normal(0, SD, len(ITEMS))
    keying = np.array([1, -1]) * np.array([-1 if i[2] == "left" else 1 for i in ITEMS])[:, None]
    eta = (u[:, None] + SLOPE * keying)[None, :, :, None, None] + np.zeros(shape)
    settings = {"items": ITEMS, "prefixes": ("a", "b", "c", "d"), "runs": 3}
    if family == "gaussian":
        return coded(1, r_plus=INTERCEPT + eta + rng.normal(0, 0.5, shape), **settings)
    p = 1 / (1 + np.exp(-(INTERCEPT + eta)))
    if family == "beta":
        return coded(1, r_plus=rng.beta(8 * p, 8 * (1 - p)), **settings)
    if family == "cumulative":
        latent = eta + rng.logistic(size=shape)
        return coded(np.digitize(latent, CUTS) - 1, **settings)
    return coded(np.where(rng.uniform(size=shape) < p, 1, -1), **settings)


RESPONSE = {"gaussian": "r_plus", "beta": "r_plus", "cumulative": "stance"}


@pytest.mark.parametrize("family", ["gaussian", "beta", "bernoulli", "binomial", "cumulative"])
def test_what_was_planted_comes_back(coded, mixed, family):
    data = planted(coded, family, 4)
    spec = mixed("~ keying + (1 | item)", family=family, response=RESPONSE.get(family, "agree"))
    result = fit_mixed(data, spec, CONFIG, seed=2)
    tables = summarise(result.posterior, level=0.99)
    truth = {"keying": SLOPE, "Intercept": INTERCEPT, "phi": 8.0}
    truth |= {"threshold disagree|neutral": CUTS[0], "threshold neutral|agree": CUTS[1]}
    for row in tables["coefficients"].to_dict(orient="records"):
        assert row["lower"] < truth[row["term"]] < row["upper"], row
    slope = tables["coefficients"].set_index("term").loc["keying"]
    assert 0 < slope["upper"] - slope["lower"] < 0.6  # so that covering it says something
    item = tables["group_sds"].iloc[0]
    assert (item["group"], item["varying"]) == ("item", "Intercept")
    assert item["lower"] < SD < item["upper"]
    diagnosis = diagnose(result.posterior, result.sample_stats)
    assert diagnosis.verdict != "bad", diagnosis.sentences
    assert {"coefficient", "group_sd", "group_effect"} <= {
        q.split("[")[0] for q in diagnosis.table["quantity"]
    }


def test_counts_say_the_same_as_single_answers(coded, mixed):
    data = planted(coded, "bernoulli", 5)
    one, other = (
        fit_mixed(data, mixed("~ keying + (1 | item)", family=f, response="agree"), CONFIG, seed=1)
        for f in ("bernoulli", "binomial")
    )
    for name in ("coefficient", "group_sd"):
        a, b = (r.posterior[name] for r in (one, other))
        error = 5 * a.std(("chain", "draw")) / np.sqrt(400)
        assert (abs(a.mean(("chain", "draw")) - b.mean(("chain", "draw"))) < error).all()


def drawn(data, spec, rows_from, response):
    model = build(rows_from(data, spec, response), spec)
    draws, _ = sample(model, SamplerConfig(chains=4, tune=800, draws=1500), seed=1)
    return name_posterior(model, draws)


def test_crossed_groups_agree_with_lme4(crossed_data, mixed, rows_from):
    posterior = drawn(crossed_data, mixed("~ x1 + (1 | item) + (1 | prefix)"), rows_from, "y")
    fixef, se = [0.0112444752105, 0.297882077969], [0.0711087927043, 0.00957771580245]
    off = np.abs(posterior["coefficient"].mean(("chain", "draw")).values - fixef) / se
    # The intercept mixes slowly with the means of its groups.
    assert off[1] < 0.1
    assert off[0] < 0.3
    tau = posterior["group_sd"].median(("chain", "draw")).values
    np.testing.assert_allclose(tau, [0.217589050944, 0.15589903945], rtol=0.2)
    assert float(posterior["sigma"].mean()) == pytest.approx(0.20942997453, rel=0.01)


def test_yes_or_no_agrees_with_lme4(crossed_data, mixed, rows_from):
    spec = mixed("~ x1 + x3 + (1 | item)", family="bernoulli", response="agree")
    posterior = drawn(crossed_data, spec, rows_from, "yes")
    fixef = [-0.264053819087, 0.860258627691, 0.0721294654737]
    se = [0.168113732106, 0.101019901028, 0.220111116383]
    off = np.abs(posterior["coefficient"].mean(("chain", "draw")).values - fixef) / se
    assert off.max() < 0.15
    assert float(posterior["group_sd"].median()) == pytest.approx(0.520467526259, rel=0.15)


def test_exact_draws_are_those_of_the_sampler(coded, mixed):
    data = planted(coded, "gaussian", 6)
    spec = mixed("~ keying + kind + (1 | item)", by="model")
    exact = fit_mixed(data, spec, SamplerConfig(backend="exact"), seed=1).posterior
    nuts = fit_mixed(data, spec, SamplerConfig(chains=4), seed=1).posterior
    assert exact.sizes["model"] == 2
    for name in ("coefficient", "group_sd", "sigma", "group_effect"):
        a, b = exact[name], nuts[name]
        sd = a.std(("chain", "draw"))
        assert (abs(a.mean(("chain", "draw")) - b.mean(("chain", "draw"))) < 0.2 * sd).all()
        np.testing.assert_allclose(b.std(("chain", "draw")), sd, rtol=0.15)
