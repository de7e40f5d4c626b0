"""The ideology model as a PyMC model, built from bound parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.fit.cells import Cells
from polbayes.fit.layout import Block, Gathering, Layout, lay_out
from polbayes.fit.likelihood import observation_logp, softplus
from polbayes.fit.priors import Prior, draw_vector
from polbayes.fit.spec import Spec
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

    layout = lay_out(parts, cells.frame["keying"].to_numpy(dtype=float))
    with pm.Model() as model:
        effects = _effects(layout, spec)
        gaps: list[Any] = []
        if spec.family == "cumulative" and len(cells.points) > 2:
            size = len(cells.points) - 2
            drawn = _vector("gap", [spec.cutpoint_prior] * size)
            gaps = [drawn[k] for k in range(size)]
        eta, own = _gathered("answers", layout.answers, effects)
        logp = observation_logp(spec.family, eta, own, gaps, cells, pt, pt.gammaln)
        pm.Potential("answers", logp.sum())
        if layout.validity is not None:
            logit, _ = _gathered("validity", layout.validity, effects)
            pm.Potential("validity", validity_logp(logit, cells, pt).sum())
    return Built(model, parts, cells, spec, layout)


def validity_logp(logit: Any, cells: Cells, xp: Any) -> Any:
    """Return ``[cell]`` the binomial log-likelihood of usable among all answers."""
    return cells.answered * logit - cells.asked * softplus(logit, xp)


def _vector(name: str, priors: Sequence[Prior]) -> Any:
    """Draw a vector whose entries have these priors, one random variable a distribution."""
    import pymc as pm
    import pytensor.tensor as pt

    names = list(dict.fromkeys(prior.name for prior in priors))
    drawn, order = [], []
    for number, kind in enumerate(names):
        at = [k for k, prior in enumerate(priors) if prior.name == kind]
        drawn.append(draw_vector([priors[k] for k in at], f"{name}_{number}"))
        order += at
    whole = drawn[0] if len(drawn) == 1 else pt.concatenate(drawn)[np.argsort(order)]
    return pm.Deterministic(name, whole)


def _effects(layout: Layout, spec: Spec) -> Any:
    """Draw all effects, with their scales and constraints, as one vector."""
    import pymc as pm
    import pytensor.tensor as pt

    pieces: list[Any] = []
    if layout.coefficients:
        b = _vector("b", [spec.prior(part, term) for part, term, _ in layout.coefficients])
        pieces.append(pt.dot(layout.matrix, b))
    groups = [block for block in layout.blocks if block.group is not None]
    if groups:
        sd = _vector("sd", [spec.prior(part, name, "sd") for part, name, _ in layout.scales])
        pieces.append(_centre(_raw(groups, sd, spec), groups))
    return pm.Deterministic("effects", pieces[0] if len(pieces) == 1 else pt.concatenate(pieces))


def _raw(groups: list[Block], sd: Any, spec: Spec) -> Any:
    """Draw the group-specific effects before they are made to sum to zero."""
    import pymc as pm
    import pytensor.tensor as pt

    free = [block for block in groups if not block.centred]
    kept = [block for block in groups if block.centred]
    pieces: list[Any] = []
    if free:
        z = pm.Normal("z", 0.0, 1.0, shape=sum(block.size for block in free))
        start = 0
        for block in free:
            deviates = z[start : start + block.size]
            start += block.size
            if block.correlated:
                pieces.append(_correlate(block, deviates, sd, spec))
            else:
                pieces.append(deviates * sd[_scale_of(block)])
    if kept:
        scale = sd[np.concatenate([_scale_of(block) for block in kept])]
        pieces.append(pm.Normal("u", 0.0, scale, shape=sum(block.size for block in kept)))
    return pieces[0] if len(pieces) == 1 else pt.concatenate(pieces)


def _scale_of(block: Block) -> np.ndarray:
    """Return ``[effect]`` the position of each effect's scale."""
    group, (first, _) = block.group, block.scales
    assert group is not None
    if group.matrix is not None:
        return first + np.tile(np.arange(len(group.columns)), len(group.levels))
    return first + group.scale_of


def _correlate(block: Block, deviates: Any, sd: Any, spec: Spec) -> Any:
    """Turn independent deviates into correlated coefficients, flattened."""
    import pymc as pm
    import pytensor.tensor as pt

    group, (first, width) = block.group, block.scales
    assert group is not None
    eta = spec.prior(block.part, group.term.name, "cor").values[0]
    name = f"cor_{block.part}_{'_'.join(group.term.factors)}"
    z = deviates.reshape((len(group.levels), width))
    if width == 2:
        # For two coefficients LKJ(eta) is a beta distribution of the one correlation.
        cor = pm.Deterministic(name, 2 * pm.Beta(f"{name}_raw", eta, eta) - 1)
        unit = pt.stack([pt.stack([1.0, 0.0]), pt.stack([cor, pt.sqrt(1 - cor**2)])])
    else:
        packed = pm.LKJCholeskyCov(
            f"{name}_raw",
            n=width,
            eta=eta,
            sd_dist=pm.HalfNormal.dist(1.0, size=width),
            compute_corr=False,
        )
        lower = pm.expand_packed_triangular(width, packed)
        unit = lower / pt.sqrt((lower**2).sum(axis=1, keepdims=True))
        pm.Deterministic(name, pt.dot(unit, unit.T))
    return (pt.dot(z, unit.T) * sd[first : first + width]).flatten()


def _centre(raw: Any, groups: list[Block]) -> Any:
    """Make effects sum to zero where the layout says so.

    Subtracting the mean gives exactly the normal distribution conditioned on summing to
    zero; the mean itself does not reach the likelihood.
    """
    import pytensor.tensor as pt

    offset, start = 0, groups[0].start
    group_of = np.full(sum(block.size for block in groups), -1)
    for block in groups:
        group = block.group
        assert group is not None
        if group.centred_in is not None:
            width = len(group.columns)
            within = group.centred_in[:, None] * width + np.arange(width)
            group_of[block.start - start : block.stop - start] = offset + within.ravel()
            offset += (group.centred_in.max() + 1) * width
    constrained = np.flatnonzero(group_of >= 0)
    if not len(constrained):
        return raw
    index = group_of[constrained]
    sizes = np.bincount(index)
    chosen = raw[constrained]
    sums = pt.inc_subtensor(pt.zeros(len(sizes))[index], chosen)
    return pt.set_subtensor(raw[constrained], chosen - (sums / sizes)[index])


def _gathered(name: str, gathering: Gathering, effects: Any) -> tuple[Any, Any]:
    """Return ``eta`` and ``own``, both ``[cell]``, as PyTensor variables."""
    import pytensor

    from polbayes.fit.gather import Gather

    # Shared variables are handed to the compiled function, not compiled into it.
    arrays = [
        pytensor.shared(getattr(gathering, field), name=f"{name}_{field}")
        for field in ("index", "weight", "role", "keying")
    ]
    return tuple(Gather()(effects, *arrays))
