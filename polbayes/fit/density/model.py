"""The ideology model on data, and as a PyMC model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.fit.density.coordinates import draw, known_of, places_of, units_of
from polbayes.fit.density.expansion import KNOWN, PLACES, UNITS
from polbayes.fit.density.layout import Block, Gathering, Layout, lay_out
from polbayes.fit.density.mode import FIRST_TAIL, JITTER, Start, centre, find_start
from polbayes.fit.density.observed import likelihood_parts
from polbayes.fit.density.orientation import halves
from polbayes.fit.density.prior_densities import Priors, correlation_prior, priors_of
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.priors import Prior, draw_vector
from polbayes.fit.spec.spec import Spec
from polbayes.fit.spec.terms import BoundPart

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class Built:
    """An analysis spec bound to data, laid out and ready for sampling from `start`."""

    parts: Mapping[str, BoundPart]
    cells: Cells
    spec: Spec
    layout: Layout
    start: Start

    @cached_property
    def model(self) -> "pm.Model":
        """The PyMC model, equivalent to `polbayes.fit.density.density`.

        Its variables are ``b`` (common coefficients), ``sd`` (scales), ``effects`` (the vector that
        `layout` describes), ``cor`` (correlations), ``gap`` (distances of the cutpoints),
        ``reading`` (`polbayes.fit.coder_errors.confusion`) and ``nu`` (degrees of freedom of t
        distributions), as far as the spec has any.
        """
        return _model(self)


def build(spec: Spec, cells: Cells, parts: Mapping[str, BoundPart]) -> Built:
    """Lay out the effects of bound parts (`polbayes.fit.spec.terms.bind`) and find their mode."""
    layout = lay_out(parts, cells)
    start = find_start(layout.sampled, spec, cells)
    return Built(parts, cells, spec, centre(layout, start), start)


def _model(built: Built) -> "pm.Model":
    import pymc as pm
    import pytensor.tensor as pt

    from polbayes.fit.density.operation import Confusion

    spec, cells, layout, start = built.spec, built.cells, built.layout.sampled, built.start
    priors = priors_of(layout, spec, cells)
    with pm.Model() as model:
        effects = _effects(layout, spec, start, priors, cells)
        if spec.signed:
            bounds = halves(layout, spec, cells, start.everything(layout))
            pm.Potential("anchors", _inside(bounds, effects))
        gaps: Any = pt.zeros(0)
        if priors.gaps:
            gaps = _vector("gap", priors.gaps, start.gaps)
        tables: Any = pt.zeros(0)
        if cells.read is not None:
            numbers = _vector("reading", priors.readings, start.readings)
            tables = Confusion(*cells.read.coder.sizes)(numbers)
        parts = likelihood_parts(layout, spec, cells)
        for name, (kind, answers, at) in zip(("answers", "validity"), parts, strict=False):
            own = (gaps, tables) if name == "answers" else (pt.zeros(0), pt.zeros(0))
            pm.Potential(name, _log_likelihood(name, kind, answers, at, effects, *own))
    return model


def _vector(name: str, priors: Sequence[Prior], start: np.ndarray) -> Any:
    """Draw a vector whose entries have these priors, one random variable per distribution.

    The priors of scales and gaps are positive, or start from positive values.
    """
    import pymc as pm
    import pytensor.tensor as pt

    names = list(dict.fromkeys(prior.name for prior in priors))
    drawn, order = [], []
    for number, kind in enumerate(names):
        at = [k for k, prior in enumerate(priors) if prior.name == kind]
        value = start[at]
        first = _around(value) if name == "b" else _around_positive(value)
        drawn.append(draw_vector([priors[k] for k in at], f"{name}_{number}", first))
        order += at
    whole = drawn[0] if len(drawn) == 1 else pt.concatenate(drawn)[np.argsort(order)]
    return pm.Deterministic(name, whole)


def _effects(layout: Layout, spec: Spec, start: Start, priors: Priors, cells: Cells) -> Any:
    """Draw all effects, with their scales and constraints, as one vector."""
    import pymc as pm
    import pytensor.tensor as pt
    from pytensor.compile.sharedvalue import shared

    from polbayes.fit.density.operation import Effects

    b: Any = pt.zeros(0)
    if layout.coefficients:
        b = _vector("b", priors.coefficients, start.coefficients)
    sd: Any = pt.zeros(0)
    if layout.scales:
        sd = _vector("sd_signed", priors.scales, start.scales)
        pm.Deterministic("sd", abs(sd))
    nu: Any = pt.zeros(0)
    if layout.tails:
        nu = _vector("nu", priors.tails, np.full(len(layout.tails), FIRST_TAIL))
    found, places = units_of(layout, start, cells), places_of(layout, jointly=False)
    known = known_of(layout, start, found, jointly=False)
    units, number = found.arrays(layout, jointly=False), len(places[1])
    correlated = [
        _correlated(block, sd, spec, start) for block in layout.blocks if block.correlated
    ]
    others = pt.concatenate(correlated) if correlated else pt.zeros(0)
    # Shared variables are handed to the compiled function, not compiled into it.
    names = (*KNOWN, *PLACES, *(f"unit_{name}" for name in UNITS))
    arrays = zip(names, (*known, *places, *units), strict=True)
    data = [shared(array, name=name) for name, array in arrays]

    def expand(w: Any, b: Any, sd: Any, others: Any, nu: Any) -> Any:
        return Effects()(b, sd, w, others, nu, *data)

    w: Any = pt.zeros(0)
    if number:
        w = pm.CustomDist(
            "deviates",
            b,
            sd,
            others,
            nu,
            np.zeros(number),
            logp=lambda w, b, sd, others, nu, _: expand(w, b, sd, others, nu)[1],
            random=lambda b, sd, others, nu, _, rng, size: draw(
                rng, b, sd, others, nu, known, places, units
            ),
            signature="(b),(s),(c),(t),(n)->(n)",
            initval=_around(np.zeros(number)),
        )
    return pm.Deterministic("effects", expand(w, b, sd, others, nu)[0])


def _correlated(block: Block, sd: Any, spec: Spec, start: Start) -> Any:
    """Draw the correlated coefficients of every level, flattened."""
    import pymc as pm
    import pytensor.tensor as pt

    first, width = block.scales
    rows, scales = len(block.free) // width, sd[first : first + width]
    at = start.scales[first : first + width]
    drawn = start.free(block).reshape(rows, width)
    deviates = _around(drawn / at)
    if width > 2:
        z = pm.Normal(f"z_{block.start}", 0.0, 1.0, shape=(rows, width), initval=deviates)
        return (pt.dot(z, _unit_cholesky(block, spec).T) * scales).flatten()
    cor = _correlation(block, spec)
    rest = pt.sqrt(1 - cor**2)
    if block.centred:
        near = _around(drawn, at)
        one = pm.Normal(f"u_{block.start}_0", 0.0, scales[0], shape=rows, initval=near[:, 0])
        mean = cor * scales[1] / scales[0] * one
        spread = scales[1] * rest
        two = pm.Normal(f"u_{block.start}_1", mean, spread, shape=rows, initval=near[:, 1])
    else:
        z = pm.Normal(f"z_{block.start}", 0.0, 1.0, shape=(2, rows), initval=deviates.T)
        one, two = scales[0] * z[0], scales[1] * (cor * z[0] + rest * z[1])
    return pt.stack([one, two], axis=1).flatten()


def _unit_cholesky(block: Block, spec: Spec) -> Any:
    """Draw the Cholesky factor of an LKJ-distributed correlation matrix."""
    import pymc as pm
    import pytensor.tensor as pt

    assert block.group is not None
    width, name = block.scales[1], correlation_name(block)
    packed = pm.LKJCholeskyCov(
        f"{name}_raw",
        n=width,
        eta=correlation_prior(block, spec).values[0],
        sd_dist=pm.HalfNormal.dist(1.0, size=width),
        compute_corr=False,
    )
    lower = pm.math.expand_packed_triangular(width, packed)
    unit = lower / pt.sqrt((lower**2).sum(axis=1, keepdims=True))
    pm.Deterministic(name, pt.dot(unit, unit.T))
    return unit


def _correlation(block: Block, spec: Spec) -> Any:
    """Draw the correlation of two coefficients; for two, LKJ(eta) is a beta distribution."""
    import pymc as pm

    eta = correlation_prior(block, spec).values[0]
    name = correlation_name(block)
    return pm.Deterministic(name, 2 * pm.Beta(f"{name}_raw", eta, eta) - 1)


def correlation_name(block: Block) -> str:
    """Name the correlations of a term."""
    assert block.group is not None
    return f"cor_{block.part}_{'_'.join(block.group.term.factors)}"


def _inside(weights: np.ndarray, effects: Any) -> Any:
    """Return 0 in the half of the posterior that is sampled, and minus infinity in the other.

    Reflecting all thetas and discriminations of a dimension leaves prior and likelihood
    unchanged: either half contains all the information.
    """
    import pytensor.tensor as pt

    used = np.flatnonzero(weights.any(axis=0))
    values = pt.sum(weights[:, used] * effects[used], axis=1)
    return pt.switch(pt.all(values > 0), 0.0, -np.inf)


def _log_likelihood(
    name: str,
    kind: int,
    answers: np.ndarray,
    gathering: Gathering,
    effects: Any,
    gaps: Any,
    confusion: Any,
) -> Any:
    """Return the log-likelihood of the answers, a PyTensor scalar."""
    from pytensor.compile.sharedvalue import shared

    from polbayes.fit.density.operation import LogLikelihood

    # Shared variables are handed to the compiled function, not compiled into it.
    data = {"kind": np.asarray(kind), "answers": answers}
    data |= gathering.arrays
    arrays = [shared(value, name=f"{name}_{field}") for field, value in data.items()]
    logp: Any = LogLikelihood()(effects, gaps, confusion, *arrays)
    return logp[0]


def _around(value: np.ndarray, spread: np.ndarray | float = 1.0) -> Any:
    """Return an expression that draws a starting value around a value, for each chain."""
    return np.asarray(value, dtype=float) + _jitter(value) * spread


def _around_positive(value: np.ndarray) -> Any:
    """Return an expression that draws a starting value around a positive value, for each chain."""
    import pytensor.tensor as pt

    return np.asarray(value, dtype=float) * pt.exp(_jitter(value))


def _jitter(value: np.ndarray) -> Any:
    import pymc as pm

    return pm.Uniform.dist(-JITTER, JITTER, shape=np.shape(value))
