"""The one loop over all cells, against the same formulas in numpy and scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from polbayes.fit.density.kernel import (
    ASKED,
    BELIEVED,
    DECISIVENESS,
    DISCRIMINATED,
    DISCRIMINATION,
    LOG_DISCRIMINATION,
    OWN,
    evaluate,
    forward,
    pointwise,
)
from polbayes.fit.density.layout import Gathering
from polbayes.fit.density.operation import LogLikelihood
from polbayes.fit.families.kinds import BETA, BINOMIAL, LOGIT_NORMAL, ORDINAL, READ

NONE = np.empty(0)
ROLES = (ASKED, DISCRIMINATED, BELIEVED, LOG_DISCRIMINATION, DISCRIMINATION, OWN, DECISIVENESS)


def case(seed, *, effects=7, cells=11, terms=6, by_cell=True, stay=1):
    """Return random input; every role occurs where there are terms enough.

    Odd seeds have no discriminations of either sign. Every other term is the same in `stay` cells
    one after the other.
    """
    rng = np.random.default_rng(seed)
    own = np.setdiff1d(ROLES, DISCRIMINATION) if seed % 2 else np.array(ROLES)
    role = np.concatenate([rng.permutation(own), rng.choice(own, max(terms - len(own), 0))])[:terms]
    index = rng.integers(0, effects, (cells, terms)).astype(np.uint32)
    weight = rng.normal(0, 1, (cells if by_cell else 1, terms))
    for values in (index, weight):
        values[:, ::2] = np.repeat(values[::stay, ::2], stay, axis=0)[: len(values)]
    return (
        rng.normal(0, 0.7, effects),
        index,
        weight,
        np.searchsorted(np.sort(role), np.arange(9)),
        rng.choice([-1.0, 1.0], cells),
    )


def plain(effects, index, weight, roles, keying):
    """The formula of `forward`, with numpy's broadcasting."""
    entering = weight * effects[index]
    total = {r: entering[:, roles[r] : roles[r + 1]].sum(axis=1) for r in ROLES}
    scale = np.exp(total[LOG_DISCRIMINATION])
    if roles[DISCRIMINATION + 1] > roles[DISCRIMINATION]:
        scale = scale * total[DISCRIMINATION]
    belief = scale * total[DISCRIMINATED] + total[BELIEVED]
    return np.exp(total[DECISIVENESS]) * (total[ASKED] + keying * belief), total[OWN]


def observed(kind, cells, seed, points=4):
    """Return gaps and random answers of a family."""
    rng = np.random.default_rng(seed)
    if kind == ORDINAL:
        return rng.uniform(0.3, 2, points - 2), rng.integers(0, 4, (cells, points)).astype(float)
    if kind == BINOMIAL:
        return np.empty(0), rng.integers(0, 9, (cells, 2)).astype(float)
    value = rng.uniform(0.05, 0.95, cells)
    if kind == LOGIT_NORMAL:  # the number of answers, their mean logit and the squares around it
        n = rng.integers(0, 4, cells).astype(float)
        return np.empty(0), np.column_stack(
            [n, special.logit(value), n * rng.exponential(1, cells)]
        )
    return np.empty(0), np.stack([np.log(value), np.log1p(-value)], axis=1)


def by_scipy(kind, eta, own, gaps, answers):
    """The log-likelihood of every cell, without the multinomial coefficients."""
    if kind == ORDINAL:
        raw = np.cumsum([0.0, *gaps])
        at = np.outer(np.exp(own), raw - np.median(raw)) - eta[:, None]
        at = np.pad(at, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
        lower, upper = np.diff(special.expit(at), axis=1), -np.diff(special.expit(-at), axis=1)
        # Each is exact in its own tail.
        return (answers * np.log(np.where(at[:, :-1] < 0, lower, upper))).sum(axis=1)
    if kind == BINOMIAL:
        return answers[:, 0] * special.log_expit(-eta) + answers[:, 1] * special.log_expit(eta)
    if kind == LOGIT_NORMAL:
        n, mean, squares = answers.T
        return n * stats.norm(eta, np.exp(own)).logpdf(mean) - squares / np.exp(own) ** 2 / 2
    value = np.exp(answers[:, 0])
    mean, phi = special.expit(eta), np.exp(own)
    return stats.beta(mean * phi, (1 - mean) * phi).logpdf(value)


KINDS = {
    "ordinal": ORDINAL,
    "logit_normal": LOGIT_NORMAL,
    "beta": BETA,
    "binomial": BINOMIAL,
}
cases = st.builds(
    case,
    st.integers(0, 2**32 - 1),
    effects=st.integers(1, 9),
    cells=st.integers(1, 12),
    terms=st.integers(1, 9),
    by_cell=st.booleans(),
    stay=st.integers(1, 5),
)


def slopes(function, at):
    steps = 1e-6 * np.eye(len(at))
    return np.array([(function(at + h) - function(at - h)) / 2e-6 for h in steps])


@given(cases)
def test_forward_is_the_formula(given_case):
    for found, expected in zip(forward(*given_case), plain(*given_case), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=60)
@given(cases, st.sampled_from(list(KINDS.values())), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_value_and_slopes_are_those_of_scipy(given_case, kind, points, seed):
    effects, *rest = given_case
    effects = effects / 2
    gaps, answers = observed(kind, len(rest[0]), seed, points)
    total, gradient, of_gaps, _ = evaluate(
        effects, gaps, NONE, kind, answers, *Gathering(*rest).arrays.values()
    )

    def of(at, distances):
        return by_scipy(kind, *plain(at, *rest), distances, answers).sum()

    assert total == pytest.approx(of(effects, gaps), rel=1e-9, abs=1e-9)
    expected = slopes(lambda at: of(at, gaps), effects)
    np.testing.assert_allclose(gradient, expected, rtol=2e-5, atol=2e-5 * (1 + abs(total)))
    assert of_gaps.shape == gaps.shape
    if len(gaps):
        expected = slopes(lambda at: of(effects, at), gaps)
        np.testing.assert_allclose(of_gaps, expected, rtol=2e-5, atol=2e-5 * (1 + abs(total)))


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_cells_one_by_one_add_up(kind):
    effects, *rest = case(4)
    gaps, answers = observed(kind, 11, 5)
    found = pointwise(*forward(effects, *rest), gaps, NONE, kind, answers)
    np.testing.assert_allclose(
        found, by_scipy(kind, *plain(effects, *rest), gaps, answers), rtol=1e-9
    )
    assert found.sum() == pytest.approx(
        evaluate(effects, gaps, NONE, kind, answers, *Gathering(*rest).arrays.values())[0]
    )


def read(cells, points, bins, seed):
    """Return confusion matrices of two coders and of none that errs, and readings of answers."""
    rng = np.random.default_rng(seed)
    tables = rng.dirichlet(np.ones(points * bins + 1), (2, points + 1))[..., :-1]
    exact = np.eye(points + 1, points).repeat(bins, axis=1) * (np.arange(points * bins) % bins == 0)
    counts = rng.integers(0, 4, (cells, points * bins)).astype(float)
    table, odds = rng.integers(0, 3, cells), rng.exponential(0.3, cells)
    counts[table == 2] *= exact.any(axis=0)
    odds[table == 2] = 0.0
    return np.concatenate([tables, exact[None]]), np.column_stack([table, odds, counts])


def read_by_scipy(eta, own, gaps, tables, answers):
    """Sum over the latent points, one cell after the other."""
    points = len(gaps) + 2
    total = np.empty(len(eta))
    for cell, (table, odds, *counts) in enumerate(answers):
        eye, one = np.eye(points), slice(cell, cell + 1)
        p = [np.exp(by_scipy(ORDINAL, eta[one], own[one], gaps, row[None]))[0] for row in eye]
        q = np.append(p, odds) @ tables[int(table)]
        total[cell] = special.xlogy(counts, q / q.sum()).sum()
    return total


@settings(max_examples=25)
@given(cases, st.integers(2, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_answers_that_a_coder_read(given_case, points, bins, seed):
    effects, *rest = given_case
    effects = effects / 2
    gaps, _ = observed(ORDINAL, 1, seed, points)
    tables, answers = read(len(rest[0]), points, bins, seed)
    total, gradient, of_gaps, of_tables = evaluate(
        effects, gaps, tables.ravel(), READ, answers, *Gathering(*rest).arrays.values()
    )

    def of(at, distances, confusion):
        confusion = confusion.reshape(tables.shape)
        return read_by_scipy(*plain(at, *rest), distances, confusion, answers).sum()

    close = {"rtol": 2e-5, "atol": 2e-5 * (1 + abs(total))}
    assert total == pytest.approx(of(effects, gaps, tables), rel=1e-9, abs=1e-9)
    expected = slopes(lambda at: of(at, gaps, tables), effects)
    np.testing.assert_allclose(gradient, expected, **close)
    if len(gaps):
        expected = slopes(lambda at: of(effects, at, tables), gaps)
        np.testing.assert_allclose(of_gaps, expected, **close)
    estimated = tables[:2].size  # the last one is known
    expected = slopes(lambda at: of(effects, gaps, at), tables.ravel())
    np.testing.assert_allclose(of_tables[:estimated], expected[:estimated], **close)
    one_by_one = pointwise(*forward(effects, *rest), gaps, tables.ravel(), READ, answers)
    assert one_by_one.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("eta", [-900.0, -40.0, 0.3, 40.0, 900.0])
def test_without_errors_readings_are_answers(eta):
    effects, one = np.array([eta]), np.array([[1.0]])
    at = Gathering(np.zeros((1, 1), np.uint32), one, np.array([0, *[1] * 8]), np.ones(1))
    counts, gaps = np.array([[1.0, 0.0, 2.0]]), np.ones(1)
    counts = counts * ([[1, 0, 0]] if eta < -1 else [[0, 0, 1]] if eta > 1 else [[1, 1, 1]])
    exact = np.eye(4, 3).ravel()
    read_as = np.column_stack([[0.0], [0.0], counts])
    found = evaluate(effects, gaps, exact, READ, read_as, *at.arrays.values())
    expected = evaluate(effects, gaps, NONE, ORDINAL, counts, *at.arrays.values())
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_a_reading_by_hand():
    """P(agree) = 0.8, read right 9 times in 10: 0.8 * 0.9 + 0.2 * 0.3 of readings are agreeing."""
    effects, one = np.array([np.log(4)]), np.array([[1.0]])
    at = Gathering(np.zeros((1, 1), np.uint32), one, np.array([0, *[1] * 8]), np.ones(1))
    confusion = np.array([[0.7, 0.3], [0.1, 0.9], [0.5, 0.5]]).ravel()
    total, *_ = evaluate(
        effects, NONE, confusion, READ, np.array([[0.0, 0.0, 1.0, 3.0]]), *at.arrays.values()
    )
    assert total == pytest.approx(3 * np.log(0.78) + np.log(0.22))
    # One answer without a point for every four with, of which half is read as agreeing.
    total, *_ = evaluate(
        effects, NONE, confusion, READ, np.array([[0.0, 0.25, 0.0, 1.0]]), *at.arrays.values()
    )
    assert total == pytest.approx(np.log((0.78 + 0.125) / 1.25))


def test_a_cell_by_hand():
    """eta = 0.5 - (exp(0.1) * (1.5 - 0.25) + 2 * 0.3), own = 3 * 0.2."""
    effects = np.array([0.5, 1.5, 0.25, 0.3, 0.1, 0.2])
    weight = np.array([[1.0, 1.0, -1.0, 2.0, 1.0, 3.0]])
    index, roles = np.arange(6, dtype=np.uint32)[None], np.array([0, 1, 3, 4, 5, 5, 6, 6, 6])
    eta, own = forward(effects, index, weight, roles, np.array([-1.0]))
    assert eta == pytest.approx([0.5 - (np.exp(0.1) * 1.25 + 0.6)])
    assert own == pytest.approx([0.6])


def test_a_cell_with_a_negative_discrimination_by_hand():
    """eta = 0.5 + (-0.8 * 1.5 - 0.25), own = 0.2."""
    effects = np.array([0.5, 1.5, 0.25, -0.8, 0.2])
    weight = np.array([[1.0, 1.0, -1.0, 1.0, 1.0]])
    index, roles = np.arange(5, dtype=np.uint32)[None], np.array([0, 1, 2, 3, 3, 4, 5, 5, 5])
    eta, own = forward(effects, index, weight, roles, np.array([1.0]))
    assert eta == pytest.approx([0.5 - 1.2 - 0.25])
    assert own == pytest.approx([0.2])


@pytest.mark.parametrize("eta", [-900.0, -350.0, 350.0, 900.0])
def test_far_out_nothing_overflows(eta):
    """With cutpoints -w/2 and w/2 of width w = 1, P(agree) is exp(eta - 1/2) far below 0."""
    effects, one = np.array([eta]), np.array([[1.0]])
    at = Gathering(np.zeros((1, 1), np.uint32), one, np.array([0, *[1] * 8]), np.ones(1))
    answers = np.array([[0.0, 0.0, 2.0]])
    total, slopes, *_ = evaluate(effects, np.ones(1), NONE, ORDINAL, answers, *at.arrays.values())
    assert total == pytest.approx(2 * min(eta - 0.5, 0.0))
    assert slopes == pytest.approx([2.0 if eta < 0 else 0.0])


@pytest.fixture(scope="module", params=["FAST_COMPILE", "NUMBA"])
def compiled(request):
    """Compile a smooth function of the log-likelihood, and its gradients."""
    import pytensor
    import pytensor.tensor as pt

    inputs = [
        *(pt.dvector(), pt.dvector(), pt.dvector(), pt.lscalar(), pt.dmatrix()),
        *(pt.matrix(dtype="uint32"), pt.dmatrix(), pt.lvector(), pt.dvector()),
        *(pt.lvector(), pt.vector(dtype="bool")),
    ]
    cost = pt.sin(LogLikelihood()(*inputs)[0] / 20)
    outputs = [cost, *pytensor.grad(cost, inputs[:3])]
    return pytensor.function(inputs, outputs, mode=request.param)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by_cell", [True, False])
def test_through_pytensor(compiled, seed, by_cell):
    """Python's `perform` and the numba-compiled graph both give the value and its slopes."""
    effects, *rest = case(seed, by_cell=by_cell)
    effects = effects / 2  # where differences of logistics keep their digits
    gaps, answers = observed(ORDINAL, 11, seed)
    arrays = Gathering(*rest).arrays.values()
    value, gradient, of_gaps, _ = compiled(effects, gaps, NONE, ORDINAL, answers, *arrays)

    def cost(at, distances):
        return np.sin(by_scipy(ORDINAL, *plain(at, *rest), distances, answers).sum() / 20)

    assert value == pytest.approx(cost(effects, gaps), rel=1e-9)
    np.testing.assert_allclose(gradient, slopes(lambda at: cost(at, gaps), effects), atol=1e-5)
    np.testing.assert_allclose(of_gaps, slopes(lambda at: cost(effects, at), gaps), atol=1e-5)


def test_shapes_are_known_before_anything_is_computed():
    import pytensor
    import pytensor.tensor as pt

    effects, *rest = case(0)
    gaps, answers = observed(ORDINAL, 11, 0)
    variable = pt.dvector()
    arrays = Gathering(*rest).arrays.values()
    found = LogLikelihood()(variable, gaps, np.ones(7), ORDINAL, answers, *arrays)
    shape = pytensor.function([variable], [one.shape[0] for one in found[1:]])
    assert [int(n) for n in shape(effects)] == [len(effects), len(gaps), 7]
