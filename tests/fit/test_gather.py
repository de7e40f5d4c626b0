import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polbayes.fit.gather import (
    ASKED,
    BELIEVED,
    DISCRIMINATED,
    LOG_DISCRIMINATION,
    OWN,
    Gather,
    backward,
    forward,
)

ROLES = (ASKED, DISCRIMINATED, BELIEVED, LOG_DISCRIMINATION, OWN)


def case(seed, *, effects=7, cells=11, terms=6, by_cell=True):
    """Return random input; every role occurs where there are terms enough."""
    rng = np.random.default_rng(seed)
    role = np.concatenate([rng.permutation(5), rng.integers(0, 5, max(terms - 5, 0))])[:terms]
    return (
        rng.normal(0, 0.7, effects),
        rng.integers(0, effects, (cells, terms)),
        rng.normal(0, 1, (cells if by_cell else 1, terms)),
        role,
        rng.choice([-1.0, 1.0], cells),
    )


def plain(effects, index, weight, role, keying):
    """The formula of `Gather`, with numpy's broadcasting."""
    entering = weight * effects[index]
    total = {r: entering[:, role == r].sum(axis=1) for r in ROLES}
    belief = np.exp(total[LOG_DISCRIMINATION]) * total[DISCRIMINATED] + total[BELIEVED]
    return total[ASKED] + keying * belief, total[OWN]


cases = st.builds(
    case,
    st.integers(0, 2**32 - 1),
    effects=st.integers(1, 9),
    cells=st.integers(1, 12),
    terms=st.integers(1, 9),
    by_cell=st.booleans(),
)


@settings(deadline=None)
@given(cases)
def test_forward_is_the_formula(given_case):
    for found, expected in zip(forward(*given_case), plain(*given_case), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(cases, st.integers(0, 2**32 - 1))
def test_backward_is_the_slope_of_the_formula(given_case, seed):
    effects, *rest = given_case
    rng = np.random.default_rng(seed)
    d_eta, d_own = rng.normal(size=(2, len(rest[0])))

    def scalar(values):
        eta, own = plain(values, *rest)
        return d_eta @ eta + d_own @ own

    steps = 1e-6 * np.eye(len(effects))
    slope = [(scalar(effects + h) - scalar(effects - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(backward(*given_case, d_eta, d_own), slope, rtol=1e-5, atol=1e-6)


def test_a_cell_by_hand():
    """eta = 0.5 - (exp(0.1) * (1.5 - 0.25) + 2 * 0.3), own = 3 * 0.2."""
    effects = np.array([0.5, 1.5, 0.25, 0.3, 0.1, 0.2])
    role = np.array([ASKED, DISCRIMINATED, DISCRIMINATED, BELIEVED, LOG_DISCRIMINATION, OWN])
    weight = np.array([[1.0, 1.0, -1.0, 2.0, 1.0, 3.0]])
    eta, own = forward(effects, np.arange(6)[None], weight, role, np.array([-1.0]))
    assert eta == pytest.approx([0.5 - (np.exp(0.1) * 1.25 + 0.6)])
    assert own == pytest.approx([0.6])


@pytest.fixture(scope="module", params=["FAST_COMPILE", "NUMBA"])
def compiled(request):
    """Compile Gather and the gradient of a smooth function of both its outputs."""
    import pytensor
    import pytensor.tensor as pt

    inputs = [pt.dvector(), pt.lmatrix(), pt.dmatrix(), pt.lvector(), pt.dvector()]
    eta, own = Gather()(*inputs)
    cost = pt.sin(eta).sum() + (pt.cos(own) * eta).sum()
    lone = eta.sum()  # the other output is disconnected from it
    outputs = [eta, own, pytensor.grad(cost, inputs[0]), pytensor.grad(lone, inputs[0])]
    return pytensor.function(inputs, outputs, mode=request.param)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by_cell", [True, False])
def test_through_pytensor(compiled, seed, by_cell):
    """Python's `perform` and the numba-compiled graph both give the formula and its slope."""
    effects, *rest = case(seed, by_cell=by_cell)
    eta, own, gradient, lone = compiled(effects, *rest)
    expected_eta, expected_own = plain(effects, *rest)
    np.testing.assert_allclose(eta, expected_eta, rtol=1e-12)
    np.testing.assert_allclose(own, expected_own, rtol=1e-12)

    def cost(values):
        e, o = plain(values, *rest)
        return np.sin(e).sum() + (np.cos(o) * e).sum()

    steps = 1e-6 * np.eye(len(effects))
    slope = [(cost(effects + h) - cost(effects - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-6)
    alone = [
        (plain(effects + h, *rest)[0] - plain(effects - h, *rest)[0]).sum() / 2e-6 for h in steps
    ]
    np.testing.assert_allclose(lone, alone, rtol=1e-5, atol=1e-6)


def test_shapes_are_known_before_anything_is_computed():
    import pytensor
    import pytensor.tensor as pt

    effects, *rest = case(0, cells=11)
    variable = pt.dvector()
    eta, own = Gather()(variable, *rest)
    shape = pytensor.function([variable], [eta.shape[0], own.shape[0]], mode="FAST_COMPILE")
    assert [int(n) for n in shape(effects)] == [11, 11]
