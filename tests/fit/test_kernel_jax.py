"""The likelihood in JAX against the one in numba, which is checked against scipy."""

import numpy as np
import pytest
from test_kernel import KINDS, case, observed

from polbayes.fit.kernel import evaluate
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
    total, slopes, of_gaps = evaluate(effects, gaps, KINDS[name], *rest)
    found = jax.value_and_grad(
        lambda e, g: log_likelihood(KINDS[name], e, g, *rest), argnums=(0, 1)
    )(jax.numpy.asarray(effects), jax.numpy.asarray(gaps))
    assert float(found[0]) == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(found[1][0], slopes, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found[1][1], of_gaps, rtol=1e-8, atol=1e-10)
