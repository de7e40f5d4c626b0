"""Likelihood and expansion in JAX against those in numba, which are checked on their own."""

import numpy as np
import pytest
from test_kernel import KINDS, case, observed, read

from polbayes.fit.kernel import ORDINAL, READ, evaluate
from polbayes.fit.layout import Gathering

jax = pytest.importorskip("jax", reason="NumPyro is an extra")


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("by_cell", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_value_and_slopes_are_those_of_the_loop(name, by_cell):
    from polbayes.fit.kernel_jax import log_likelihood

    effects, index, weight, roles, keying = case(8, terms=9, by_cell=by_cell)
    gaps, answers = observed(KINDS[name], len(keying), 8)
    rest = (answers, *Gathering(index, weight, roles, keying).arrays.values())
    none = np.empty(0)
    total, slopes, of_gaps, _ = evaluate(effects, gaps, none, KINDS[name], *rest)
    found = jax.value_and_grad(
        lambda e, g: log_likelihood(KINDS[name], e, g, none, *rest), argnums=(0, 1)
    )(jax.numpy.asarray(effects), jax.numpy.asarray(gaps))
    assert float(found[0]) == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(found[1][0], slopes, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found[1][1], of_gaps, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["logit_normal", "beta"])
def test_a_cell_without_a_number_is_left_out(name):
    from polbayes.fit.kernel_jax import log_likelihood

    effects, index, weight, roles, keying = case(3, terms=6)
    _, answers = observed(KINDS[name], len(keying), 3)
    answers[0] = np.nan
    none = np.empty(0)
    rest = (answers, *Gathering(index, weight, roles, keying).arrays.values())
    total, slopes, *_ = evaluate(effects, none, none, KINDS[name], *rest)
    assert np.isfinite(slopes).all()
    without = (answers[1:], *Gathering(index[1:], weight[1:], roles, keying[1:]).arrays.values())
    if len(weight) == 1:
        without = (answers[1:], *Gathering(index[1:], weight, roles, keying[1:]).arrays.values())
    expected = evaluate(effects, none, none, KINDS[name], *without)
    assert total == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(slopes, expected[1], rtol=1e-10, atol=1e-12)
    found = jax.value_and_grad(lambda e: log_likelihood(KINDS[name], e, none, none, *rest))(
        jax.numpy.asarray(effects)
    )
    assert float(found[0]) == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(found[1], slopes, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("points", [2, 3])
def test_answers_that_a_coder_read(points):
    from polbayes.fit.kernel_jax import log_likelihood

    effects, index, weight, roles, keying = case(8, terms=9)
    gaps, _ = observed(ORDINAL, 1, 8, points)
    tables, answers = read(len(keying), points, 2, 8)
    rest = (answers, *Gathering(index, weight, roles, keying).arrays.values())
    given = effects, gaps, tables.ravel()
    total, *slopes = evaluate(*given, READ, *rest)
    value, of = jax.value_and_grad(
        lambda *sampled: log_likelihood(READ, *sampled, *rest), argnums=(0, 1, 2)
    )(*map(jax.numpy.asarray, given))
    assert float(value) == pytest.approx(total, rel=1e-10)
    estimated = tables[:2].size  # the last one is known
    for found, expected in zip(of, slopes, strict=True):
        np.testing.assert_allclose(found[:estimated], expected[:estimated], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("bins", [1, 3])
def test_confusion_is_that_of_the_loop(bins):
    import pytensor.tensor as pt
    from pytensor.link.jax.dispatch import jax_funcify

    from polbayes.fit.confusion import expand
    from polbayes.fit.operation import Confusion

    numbers = np.random.default_rng(1).gamma(2, 1, 2 * 16 + (12 * bins if bins > 1 else 0))
    op = Confusion(2, 3, bins)
    found = jax_funcify(op, op.make_node(pt.dvector()))(jax.numpy.asarray(numbers))
    np.testing.assert_allclose(found, expand(numbers, 2, 3, bins), rtol=1e-12)


def test_effects_and_their_density_are_those_of_the_loop(coded, bound, full_parts):
    from polbayes.fit.coordinates import known_of, places_of
    from polbayes.fit.expansion import KNOWN, PLACES, pull_back
    from polbayes.fit.expansion import expand as in_numba
    from polbayes.fit.kernel_jax import expand
    from polbayes.fit.model import build

    rng = np.random.default_rng(3)
    data = coded(rng.choice([-1, 0, 1], (2, 4, 4, 2, 9)), runs=9)
    built = build(*bound(full_parts, data))
    arrays = known_of(built.layout, built.start) | places_of(built.layout)
    assert (arrays["weight"] != 0).any()
    rest = [arrays[name] for name in (*KNOWN, *PLACES)]
    sizes = [arrays["matrix"].shape[1], len(built.layout.scales)]
    sizes += [len(arrays["place"]), len(arrays["correlated"])]
    given = [rng.normal(size=n) for n in sizes]
    effects, logp = in_numba(*given, *rest)
    found = expand(*given, *rest)
    np.testing.assert_allclose(found[0], effects, rtol=1e-10, atol=1e-12)
    assert float(found[1]) == pytest.approx(float(logp), rel=1e-10)
    slope = rng.normal(size=len(effects))

    def weighted(*given):
        effects, logp = expand(*given, *rest)
        return effects @ slope + 0.3 * logp

    theirs = jax.grad(weighted, argnums=(0, 1, 2, 3))(*map(jax.numpy.asarray, given))
    for mine, other in zip(pull_back(*given, *rest, slope, np.array(0.3)), theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10)
