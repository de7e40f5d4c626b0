"""The ideology model as a PyMC model, built from bound parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.fit.cells import Cells
from polbayes.fit.layout import Block, Gathering, Layout, lay_out
from polbayes.fit.orientation import anchored
from polbayes.fit.priors import Prior, draw_vector
from polbayes.fit.spec import Spec
from polbayes.fit.start import Start, around, around_positive, centre, find_start, leads
from polbayes.fit.terms import BoundPart

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class Built:
    """A PyMC model, and what it was made from.

    Parameters
    ----------
    model
        Its variables are ``b`` (common coefficients), ``sd`` (scales), ``effects`` (the
        vector that `layout` describes), ``cor`` (correlations) and ``gap`` (distances of
        the cutpoints), each where the spec has any.
    """

    model: "pm.Model"
    parts: Mapping[str, BoundPart]
    cells: Cells
    spec: Spec
    layout: Layout


def build(spec: Spec, cells: Cells, parts: Mapping[str, BoundPart]) -> Built:
    """Build the PyMC model.

    Parameters
    ----------
    spec
        The analysis spec.
    cells
        Distinct cells and their answers.
    parts
        The spec's parts bound to these cells (`polbayes.fit.terms.bind`).
    """
    import pymc as pm
    import pytensor.tensor as pt

    from polbayes.fit import kernel
    from polbayes.fit.operation import KINDS, answers_of, validity_answers

    layout = lay_out(parts, cells)
    start = find_start(layout, spec, cells)
    layout = centre(layout, start)
    with pm.Model() as model:
        effects = _effects(layout, spec, start)
        if spec.signed:
            pm.Potential("anchors", _on_the_right(anchored(layout, spec, cells), effects))
        gaps: Any = pt.zeros(0)
        if spec.family == "cumulative" and len(cells.points) > 2:
            gaps = _vector("gap", [spec.cutpoint_prior] * (len(cells.points) - 2), start.gaps)
        answers = answers_of(spec.family, cells)
        logp = _log_likelihood(
            "answers", KINDS[spec.family], answers, layout.answers, effects, gaps
        )
        pm.Potential("answers", logp)
        if layout.validity is not None:
            usable = validity_answers(cells)
            logp = _log_likelihood(
                "validity", kernel.BINOMIAL, usable, layout.validity, effects, pt.zeros(0)
            )
            pm.Potential("validity", logp)
    return Built(model, parts, cells, spec, layout)


def _vector(name: str, priors: Sequence[Prior], start: np.ndarray) -> Any:
    """Draw a vector whose entries have these priors, one random variable a distribution.

    The priors of scales and gaps are positive, or are to be started from positive values.
    """
    import pymc as pm
    import pytensor.tensor as pt

    names = list(dict.fromkeys(prior.name for prior in priors))
    drawn, order = [], []
    for number, kind in enumerate(names):
        at = [k for k, prior in enumerate(priors) if prior.name == kind]
        value = start[at]
        first = around(value) if name == "b" else around_positive(value)
        drawn.append(draw_vector([priors[k] for k in at], f"{name}_{number}", first))
        order += at
    whole = drawn[0] if len(drawn) == 1 else pt.concatenate(drawn)[np.argsort(order)]
    return pm.Deterministic(name, whole)


def _effects(layout: Layout, spec: Spec, start: Start) -> Any:
    """Draw all effects, with their scales and constraints, as one vector."""
    import pymc as pm
    import pytensor.tensor as pt

    pieces: list[Any] = []
    b: Any = pt.zeros(0)
    if layout.coefficients:
        priors = [spec.prior(part, term) for part, term, _ in layout.coefficients]
        b = _vector("b", priors, start.coefficients)
        # Not a product of matrices, of which numba warns where it cannot tell their order.
        pieces.append(pt.sum(layout.matrix * b, axis=1))
    groups = [block for block in layout.blocks if block.group is not None]
    if groups:
        sd = _vector("sd_signed", _scale_priors(layout, groups, spec), start.scales)
        pm.Deterministic("sd", abs(sd))
        pieces.append(_constrain(_free(groups, sd, b, spec, layout, start), groups))
    return pm.Deterministic("effects", pieces[0] if len(pieces) == 1 else pt.concatenate(pieces))


def _scale_priors(layout: Layout, groups: list[Block], spec: Spec) -> list[Prior]:
    """Return the priors of the scales as they are sampled.

    Where effects are a scale times a deviate, the scale may as well be negative: its absolute
    value is what counts, and a sampler that can pass through zero does not get lost in the
    long tail that the logarithm of a small scale has.
    """
    priors = [spec.prior(part, name, "sd") for part, name, _ in layout.scales]
    for block in groups:
        if not block.correlated:
            for k in range(block.scales[0], sum(block.scales)):
                priors[k] = priors[k].unfolded() or priors[k]
    return priors


def _alone(groups: Sequence[Block]) -> dict[str, list[Block]]:
    """Return the terms whose effects are drawn one by one, by the name of their variable."""
    alone = [block for block in groups if block.group is not None and not block.correlated]
    sides = {"leading": True, "following": False}
    named = {
        name: [block for block in alone if leads(block) == side] for name, side in sides.items()
    }
    return {name: blocks for name, blocks in named.items() if blocks}


def coordinates(layout: Layout, start: Start) -> dict[str, np.ndarray]:
    """Return what the answers know, as data of the model (see `_informed`).

    Parameters
    ----------
    layout
        Where the effects are.
    start
        The mode, and what the answers know there.

    Returns
    -------
    dict
        Arrays by the names that they have in the compiled model.
    """
    data = {"coefficients_mode": start.coefficients}
    for name, blocks in _alone(layout.blocks).items():
        at = np.concatenate([block.start + block.free for block in blocks])
        scale = np.concatenate([block.scale_of for block in blocks])
        unknown = 1 - start.reliability[at]
        data[f"{name}_mode"] = np.concatenate([start.free(block) for block in blocks])
        data[f"{name}_sum"] = start.scales[scale] ** -2.0 / unknown
        data[f"{name}_precision"] = data[f"{name}_sum"] * start.reliability[at]
        if name == "following":
            data |= {"following_lead": start.follows[at], "following_weight": start.weight[at]}
    return data


def _free(groups: list[Block], sd: Any, b: Any, spec: Spec, layout: Layout, start: Start) -> Any:
    """Draw the group-specific effects in the coordinates that the constraints leave free."""
    import pytensor.tensor as pt
    from pytensor.compile.sharedvalue import shared

    ends = np.cumsum([len(block.free) for block in groups])
    place = {
        block.start: np.arange(end - len(block.free), end)
        for block, end in zip(groups, ends, strict=True)
    }
    data = {name: shared(value, name=name) for name, value in coordinates(layout, start).items()}
    free, ahead = pt.zeros(ends[-1]), b - data["coefficients_mode"]
    for name, blocks in _alone(groups).items():
        scale = np.concatenate([block.scale_of for block in blocks])
        drawn = _informed(name, sd[scale], ahead, data)
        free = pt.set_subtensor(free[np.concatenate([place[g.start] for g in blocks])], drawn)
        if name == "leading":
            ahead = pt.concatenate([ahead, drawn - data["leading_mode"]])
    for block in groups:
        if block.correlated:
            drawn = _correlated(block, sd, spec, start)
            free = pt.set_subtensor(free[place[block.start]], drawn)
    return free


def _informed(name: str, sd: Any, ahead: Any, data: Mapping[str, Any]) -> Any:
    """Draw independent effects in coordinates that know of the answers.

    A standardised deviate z leaves a funnel where the answers know the effect sd * z well, and
    the effect itself leaves one where they do not. Near the mode the answers are worth an
    observation of the effect with precision q and with product h of precision and value. Given
    the scale, z is then normal with mean sd * h / (1 + q * sd²) and variance 1 / (1 + q * sd²), and
    standardised by these it no longer depends on the scale, whatever q is. Where the effect
    follows others that are drawn before, so does the observation. That the observation is an
    approximation changes how fast the posterior is explored, not the posterior: the prior of
    what is drawn is that under which z is standard normal.

    Parameters
    ----------
    name
        Of the variable.
    sd
        ``[effect]`` scales, of either sign.
    ahead
        ``[lead]`` what the effects may follow, less what it is at the mode.
    data
        See `coordinates`. The effects at the mode are h / (q + 1 / s²) with the scales s there;
        ``sum`` is the denominator.
    """
    import pymc as pm
    import pytensor.tensor as pt

    expected = data[f"{name}_mode"]
    size = len(expected.get_value())
    if f"{name}_lead" in data:
        moved = ahead[data[f"{name}_lead"]] * data[f"{name}_weight"]
        expected = expected + pt.sum(moved, axis=1)
    spread = pt.sqrt(1 + data[f"{name}_precision"] * sd**2)
    mean = sd * expected * data[f"{name}_sum"] / spread
    w = pm.Normal(name, -mean, spread, shape=size, initval=around(np.zeros(size)))
    return sd * (w + mean) / spread


def _correlated(block: Block, sd: Any, spec: Spec, start: Start) -> Any:
    """Draw correlated coefficients of every level, flattened."""
    import pymc as pm
    import pytensor.tensor as pt

    first, width = block.scales
    rows, scales = len(block.free) // width, sd[first : first + width]
    at = start.scales[first : first + width]
    drawn = start.free(block).reshape(rows, width)
    deviates = around(drawn / at)
    if width > 2:
        z = pm.Normal(f"z_{block.start}", 0.0, 1.0, shape=(rows, width), initval=deviates)
        return (pt.dot(z, _unit_cholesky(block, spec).T) * scales).flatten()
    cor = _correlation(block, spec)
    rest = pt.sqrt(1 - cor**2)
    if block.centred:
        near = around(drawn, at)
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
    width, name = block.scales[1], _correlation_name(block)
    packed = pm.LKJCholeskyCov(
        f"{name}_raw",
        n=width,
        eta=spec.prior(block.part, block.group.term.name, "cor").values[0],
        sd_dist=pm.HalfNormal.dist(1.0, size=width),
        compute_corr=False,
    )
    lower = pm.expand_packed_triangular(width, packed)
    unit = lower / pt.sqrt((lower**2).sum(axis=1, keepdims=True))
    pm.Deterministic(name, pt.dot(unit, unit.T))
    return unit


def _correlation(block: Block, spec: Spec) -> Any:
    """Draw the correlation of two coefficients; for two, LKJ(eta) is a beta distribution."""
    import pymc as pm

    assert block.group is not None
    eta = spec.prior(block.part, block.group.term.name, "cor").values[0]
    name = _correlation_name(block)
    return pm.Deterministic(name, 2 * pm.Beta(f"{name}_raw", eta, eta) - 1)


def _correlation_name(block: Block) -> str:
    assert block.group is not None
    return f"cor_{block.part}_{'_'.join(block.group.term.factors)}"


def _constrain(free: Any, groups: list[Block]) -> Any:
    """Expand free coordinates to effects that sum to zero where the layout says so.

    In a group of n effects the first n - 1 coordinates x give u_j = x_j - S / (n + sqrt(n))
    and the last u_n = -S / sqrt(n), S their sum: an isometry onto the vectors that sum to
    zero, so that independent normal coordinates give independent normal effects conditioned
    on summing to zero.
    """
    import pytensor.tensor as pt

    start = groups[0].start
    within = np.concatenate([block.within(offset=1000_000 * k) for k, block in enumerate(groups)])
    kept = np.concatenate([block.start - start + block.free for block in groups])
    if len(kept) == len(within):
        return free
    constrained = np.flatnonzero(within >= 0)
    number = np.unique(within[constrained], return_inverse=True)[1]
    sizes = np.bincount(number).astype(float)
    last = np.ones(len(within), dtype=bool)
    last[kept] = False
    n = sizes[number]
    factor = np.where(last[constrained], 1 / np.sqrt(n), 1 / (n + np.sqrt(n)))
    full = pt.set_subtensor(pt.zeros(len(within))[kept], free)
    inside = full[constrained]
    sums = pt.inc_subtensor(pt.zeros(len(sizes))[number], inside)
    return pt.set_subtensor(full[constrained], inside - sums[number] * factor)


def _on_the_right(weights: np.ndarray, effects: Any) -> Any:
    """Return 0 where theta of all anchors is positive, and minus infinity elsewhere.

    Turning all thetas and discriminations of a dimension round leaves prior and likelihood the
    same: this keeps one half of the posterior, which has all there is to know.
    """
    import pytensor.tensor as pt

    used = np.flatnonzero(weights.any(axis=0))
    values = pt.sum(weights[:, used] * effects[used], axis=1)
    return pt.switch(pt.all(values > 0), 0.0, -np.inf)


def _log_likelihood(
    name: str, kind: int, answers: np.ndarray, gathering: Gathering, effects: Any, gaps: Any
) -> Any:
    """Return the log-likelihood of the answers, a PyTensor scalar."""
    from pytensor.compile.sharedvalue import shared

    from polbayes.fit.operation import LogLikelihood

    # Shared variables are handed to the compiled function, not compiled into it.
    data = {"kind": np.asarray(kind), "answers": answers}
    data |= gathering.arrays
    arrays = [shared(value, name=f"{name}_{field}") for field, value in data.items()]
    logp: Any = LogLikelihood()(effects, gaps, *arrays)
    return logp[0]
