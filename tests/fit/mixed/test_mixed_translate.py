"""Translations between effects and coefficients, on draws whose distribution is known.

The prior is a posterior too, of no data: drawn from it with numpy and moved, draws must have
the same distribution, and every prediction must be what it was.
"""

import numpy as np
import pytest
import xarray as xr

from polbayes.fit.mixed.fit import reduced
from polbayes.fit.mixed.model import build
from polbayes.fit.mixed.translate import translate

DRAWS = 20_000
PRIORS = {"mu": {"common": "Normal(0.3, 0.8)", "Intercept": "Normal(-1, 0.5)"}}


@pytest.fixture(scope="module")
def data(coded):
    rng = np.random.default_rng(3)
    shape = (2, 4, 4, 2, 6)
    return coded(rng.choice([-1, 0, 1], shape), r_plus=rng.uniform(0.1, 0.9, shape), runs=6)


def prior_draws(model, taus, seed=1):
    """Draw every variable of a model from its prior, the scales being as given."""
    rng = np.random.default_rng(seed)
    found = {}
    for rv in model.model.free_RVs:
        name, size = rv.name, tuple(rv.shape.eval())
        if name.endswith(("_sigma", "_offset")) or "|" in name:
            continue
        if name == "threshold":
            draws = np.sort(np.array([-2.0, 2.0]) + rng.normal(size=(1, 4 * DRAWS, 2)), axis=-1)
            found[name] = draws[:, :DRAWS]
        elif name == "Intercept":
            found[name] = rng.normal(-1, 0.5, (1, DRAWS))
        elif name == "sigma":
            found[name] = np.ones((1, DRAWS))
        else:
            found[name] = rng.normal(0.3, 0.8, (1, DRAWS, *size))
    for group, tau in zip(model.groups, taus, strict=True):
        inner = tuple(model.model[f"{group.variable}_sigma"].shape.eval())
        found[f"{group.variable}_sigma"] = np.full((1, DRAWS, *inner), tau)
        shape = (1, DRAWS, len(group.levels), *inner)
        found[group.variable] = rng.normal(0, tau, shape)
    return xr.Dataset(
        {
            n: (("chain", "draw", *(f"{n}{k}" for k in range(v.ndim - 2))), v)
            for n, v in found.items()
        }
    )


def predictions(model, drawn):
    """Compute the predictor of some rows by the formula."""
    x = model.matrix - (model.matrix.mean(axis=0) if model.intercept else 0)
    beta = [drawn[t.variable].values[0].reshape(DRAWS, -1) for t in model.common]
    eta = np.zeros((DRAWS, len(x)))
    if beta:
        eta = eta + np.concatenate(beta, axis=1) @ x.T
    if model.intercept:
        eta = eta + drawn["Intercept"].values[0][:, None]
    for group in model.groups:
        term = model.mean.group_specific_terms[group.variable]
        effects = drawn[group.variable].values[0][:, np.asarray(term.group_index)]
        predictor = np.asarray(term.predictor, dtype=float)
        weighted = effects * predictor
        eta = eta + (weighted.sum(axis=2) if weighted.ndim == 3 else weighted)
    if "threshold" in drawn:
        return drawn["threshold"].values[0][:, None, :] - eta[:, ::24, None]
    return eta[:, ::24]


@pytest.mark.parametrize(
    ("formula", "settings", "moved"),
    [
        ("~ keying + (1 | item)", {}, {"Intercept"}),
        ("~ keying + (1 | item) + (1 | model:prefix)", {}, {"Intercept"}),
        ("~ keying + run + (run || model)", {}, {"Intercept", "run"}),
        ("~ 0 + run + (1 | item) + (0 + run | model)", {}, {"run"}),
        ("~ kind + (kind || model)", {}, {"Intercept", "kind"}),
        (
            "~ kind + (kind || model)",
            {"select": {"variant": ["original", "opposite"]}},
            {"Intercept", "kind"},
        ),
    ],
)
def test_prior_and_predictions_stay_what_they_are(data, mixed, formula, settings, moved):
    priors = PRIORS if "0 + run +" not in formula else {"mu": {"common": "Normal(0.3, 0.8)"}}
    spec = mixed(formula, priors=priors, **settings)
    _, ((_, rows),), _ = reduced(data, spec)
    model = build(rows, spec)
    before = prior_draws(model, [0.4] * len(model.groups))
    after = translate(model, before, seed=7)
    np.testing.assert_allclose(predictions(model, after), predictions(model, before), atol=1e-9)
    changed = {n for n in ("Intercept", "run", "kind") if n in before}
    changed = {n for n in changed if not np.allclose(after[n], before[n])}
    assert changed == moved
    _same_distribution(before, after)


def test_thresholds_move_with_the_effects(data, mixed):
    spec = mixed(
        "~ keying + (1 | item) + (0 + keying | model)",
        priors={"mu": {"common": "Normal(0.3, 0.8)"}},
        family="cumulative",
        response="stance",
    )
    _, ((_, rows),), _ = reduced(data, spec)
    model = build(rows, spec)
    before = prior_draws(model, [0.4, 0.4])
    after = translate(model, before, seed=7)
    np.testing.assert_allclose(predictions(model, after), predictions(model, before), atol=1e-9)
    assert not np.allclose(after["threshold"], before["threshold"])
    assert not np.allclose(after["keying"], before["keying"])
    gaps = [d["threshold"].diff(d["threshold"].dims[-1]) for d in (before, after)]
    np.testing.assert_allclose(*gaps)
    _same_distribution(before, after)


def _same_distribution(before, after):
    """Compare means and all covariances of two sets of independent draws."""
    a, b = (
        np.concatenate(
            [d[n].values[0].reshape(DRAWS, -1) for n in sorted(map(str, d)) if "sigma" not in n],
            axis=1,
        )
        for d in (before, after)
    )
    spread = a.std(axis=0)
    assert (np.abs(b.mean(axis=0) - a.mean(axis=0)) < 6 * spread / np.sqrt(DRAWS)).all()
    error = np.outer(spread, spread) * 6 / np.sqrt(DRAWS) * np.sqrt(2)
    assert (np.abs(np.cov(b.T) - np.cov(a.T)) < error).all()


def test_what_has_another_prior_stays_where_it_is(data, mixed):
    spec = mixed("~ (1 | item)", priors={"mu": {"Intercept": "StudentT(3, 0, 1)"}})
    _, ((_, rows),), _ = reduced(data, spec)
    model = build(rows, spec)
    before = prior_draws(model, [0.4])
    assert translate(model, before, seed=7).identical(before)
