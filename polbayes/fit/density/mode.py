"""The mode of the effects: where the chains start, and how informative the answers are.

From a random start the first trajectories gain so much energy that they may end where the
likelihood is flat and its surroundings are steep, and the chain stays there: the
width of the cutpoints of a model that never answers at the ends is bounded only by its prior.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polbayes.errors import UserError
from polbayes.fit.density import kernel
from polbayes.fit.density.layout import Block, Gathering, Layout
from polbayes.fit.density.observed import likelihood_parts
from polbayes.fit.density.orientation import anchored, first_discriminations
from polbayes.fit.density.reliability import MOST, Known, Observed, curvature, known
from polbayes.fit.density.units import entering
from polbayes.fit.families import kinds
from polbayes.fit.spec.cells import Cells, levels
from polbayes.fit.spec.priors import CONSTANT
from polbayes.fit.spec.spec import Spec

# Scales of effects during the search for the mode: first all the same, then as found.
_FIRST_SCALE = 0.5
_ROUNDS = 4
_LEAST_SCALE, _LARGEST_SCALE = 0.1, 3.0

# The scale of discriminations is fixed: at the mode of a product, one factor is large and the other
# small, much more so than in the posterior.
_DISCRIMINATION = 0.25

# Two correlated coefficients are sampled as they are if their mean reliability is at least this,
# and as standardised deviates otherwise: there is a funnel between scales and effects if the data
# are less informative about the effects than their scales. This affects the speed of the sampler,
# not the posterior.
_CENTRE_FROM = 0.9

# Bounds of the search for log decisiveness.
_DECISIVENESS, _SHARPEST = (-1.5, 3.5), 3.5

# Discriminations of either sign are of the same size as theta.
_SIGNED = 1.0

# Initial degrees of freedom of t distributions; the mode is that of normal effects.
FIRST_TAIL = 10.0

# Of the penalty on coefficients of common terms.
_PRECISION = 0.25

# Bound on coefficients, effects and log scales in the search: if all answers are the same number,
# the likelihood is unbounded as the residual scale goes to 0.
_FARTHEST = 50.0

# Stands for an undefined loss.
_TOO_FAR = 1e6

# Largest distance of starting points from the mode: in scales for effects, in units for
# coefficients and in logarithms for positive numbers.
JITTER = 0.3


@dataclass(frozen=True)
class Start:
    """Values near the mode, for every variable of the model."""

    coefficients: np.ndarray  # ``[coefficient]`` of the common parts
    scales: np.ndarray  # ``[scale]`` of the group-specific terms
    # ``[effect]`` group-specific effects at their positions in the vector (zeros before them).
    effects: np.ndarray
    gaps: np.ndarray  # ``[gap]`` distances of the cutpoints
    # ``[number]`` gamma variables of confusion matrices (`polbayes.fit.coder_errors.confusion`).
    readings: np.ndarray
    # ``[effect]`` of the coordinates of group-specific effects, given their scales and leading
    # effects: the proportion of their variance that the answers remove (zeros before them).
    # Correlated ones follow nothing.
    reliability: np.ndarray
    # ``[effect, lead]`` positions of what an effect follows (`polbayes.fit.density.ahead`), and its
    # slopes. All are given decisiveness, whose own effects follow only its coefficients.
    follows: np.ndarray
    weight: np.ndarray
    observed: tuple[Observed, ...]  # by cluster

    def everything(self, layout: Layout) -> np.ndarray:
        """Return the effects with the values of common terms before them."""
        found = self.effects.copy()
        found[: len(layout.matrix)] = layout.matrix @ self.coefficients
        return found

    def free(self, block: Block) -> np.ndarray:
        """Return a term's free coordinates."""
        return block.coordinates(self.effects[block.start : block.stop])[block.free]


def find_start(layout: Layout, spec: Spec, cells: Cells) -> Start:
    """Maximise the likelihood with a normal penalty on every effect."""
    rows, coefficients = layout.matrix.shape
    gaps = spec.observation.gaps(len(cells.points))
    inner_stop = coefficients + layout.blocks[-1].stop - rows
    scale_of = _scale_of_effects(layout)
    held = np.array([part == "discrimination" for part, _, _ in layout.scales], dtype=bool)
    scales = np.where(held, _SIGNED if spec.signed else _DISCRIMINATION, _FIRST_SCALE)
    terms = _parts(layout, spec, cells)
    priors = [spec.prior(*scale, "sd") for scale in layout.scales]
    constant = np.array([p.values[0] if p.name == CONSTANT else np.nan for p in priors])
    scales = np.where(np.isnan(constant), scales, constant)
    held |= ~np.isnan(constant)
    copies = np.array(layout.copies, dtype=int)
    held[copies] = True  # they enter the likelihood, and are part of the search
    free = copies[np.isnan(constant[copies])]
    x = np.concatenate([np.zeros(inner_stop + gaps), np.log(scales[free])])
    unit = _Unit.of(layout, spec, cells) if spec.sampled_items else None
    fixed = _fixed(layout, spec)
    x[list(fixed)] = list(fixed.values())
    still = np.array([*fixed, *([] if unit is None else unit.columns)], dtype=int)
    common = _penalties(layout, spec)
    if spec.signed:
        x[coefficients:inner_stop] = first_discriminations(layout, spec, cells)[rows:]
    wide = np.array([p.values[0] if p.name == "HalfNormal" else np.inf for p in priors])
    for turn in range(_ROUNDS + 1):
        x = _mode(x, layout, terms, gaps, scales, free, scale_of, still, common)
        scales[free] = np.exp(x[inner_stop + gaps :])
        inner, widths = x[coefficients:inner_stop], np.exp(x[inner_stop : inner_stop + gaps])
        effects = np.concatenate([layout.matrix @ x[:coefficients], inner, scales[copies]])
        bend = curvature(layout, terms, effects, widths)
        precision = np.concatenate([common[1], scales[scale_of] ** -2.0])
        found = known(layout, bend, precision, effects)
        if turn == _ROUNDS:
            break
        known_share = np.clip(1 - found.after / found.before, 0, 1)
        squares = np.bincount(scale_of, weights=inner**2, minlength=len(scales))
        share = np.bincount(scale_of, weights=known_share, minlength=len(scales))
        likely = np.clip(_scales(squares, share, wide), _LEAST_SCALE, _LARGEST_SCALE)
        scales = np.where(held, scales, likely)
        if unit is not None:
            x = unit.rescaled(x, inner, known_share)
    if spec.signed:
        _check_anchors(layout, spec, cells, effects)
    effects = _sum_to_zero(layout, effects[: layout.blocks[-1].stop])
    readings = cells.read.coder.prior if cells.read else np.empty(0)
    return _start(layout, found, x[:coefficients], scales, effects, widths, readings)


def _start(
    layout: Layout,
    found: Known,
    coefficients: np.ndarray,
    scales: np.ndarray,
    effects: np.ndarray,
    gaps: np.ndarray,
    readings: np.ndarray,
) -> Start:
    rows, reliability = len(layout.matrix), np.zeros(len(effects))
    alone = np.concatenate([np.full(b.size, not b.correlated) for b in layout.blocks])[rows:]
    after = np.where(alone, found.following, found.after)
    reliability[rows:] = np.clip(1 - after / found.before, 0.0, MOST)
    before = ((rows, 0), (0, 0))
    follows, weight = np.pad(found.index, before), np.pad(found.weight, before)
    more = (reliability, follows, weight, found.observed)
    return Start(coefficients, scales, effects, gaps, readings, *more)


def start_at(layout: Layout, spec: Spec, cells: Cells, values: Mapping[str, np.ndarray]) -> Start:
    """Return a start at given values, named as in `polbayes.fit.density.density`."""
    scales = np.clip(values["sd"], _LEAST_SCALE, _LARGEST_SCALE)
    bend = curvature(layout, _parts(layout, spec, cells), values["effects"], values["gap"])
    of_common = _penalties(layout, spec)[1]
    precision = np.concatenate([of_common, scales[_scale_of_effects(layout)] ** -2.0])
    found = known(layout, bend, precision, values["effects"])
    effects = values["effects"][: layout.blocks[-1].stop]
    return _start(layout, found, values["b"], scales, effects, values["gap"], values["reading"])


def _check_anchors(layout: Layout, spec: Spec, cells: Cells, effects: np.ndarray) -> None:
    for dimension, theta in zip(spec.anchors, anchored(layout, spec, cells) @ effects, strict=True):
        if theta <= 0:
            raise UserError(
                f"analysis.anchor.{dimension}: {spec.anchors[dimension]} is not clearly on one "
                "side of the middle, so it cannot say which way is right; name another model."
            )


def _sum_to_zero(layout: Layout, effects: np.ndarray) -> np.ndarray:
    """Take from effects their mean over the groups in which they sum to zero."""
    for block in layout.blocks:
        within = block.within()
        if (within >= 0).any():
            here = effects[block.start : block.stop]
            number = np.unique(within, return_inverse=True)[1]
            here -= (np.bincount(number, weights=here) / np.bincount(number))[number]
    return effects


@dataclass(frozen=True)
class _Unit:
    """The unit of decisiveness if quirks are sampled, which the mode does not determine.

    At the mode of a product, one factor is large and the other small, much more so than in the
    posterior. Decisiveness is therefore fixed during the search for the mode, and then multiplied
    by the size of the model's quirks in units.
    """

    columns: np.ndarray  # columns of the coefficients and effects of decisiveness
    matrix: np.ndarray  # [model, column] their mean weight in its decisiveness, over its cells
    effect: np.ndarray  # positions of the quirks among the group-specific effects
    model: np.ndarray  # [quirk] their model
    unit: float = 1.0  # the known scale of quirks

    @staticmethod
    def of(layout: Layout, spec: Spec, cells: Cells) -> "_Unit | None":
        """Set it up; None if quirks are integrated out."""
        rows = len(layout.matrix)
        for block in layout.blocks:
            group = block.group
            if block.part != "quirk" or not group or set(group.term.factors) != {"model", "item"}:
                continue
            names = levels(cells.frame, ["model"])[1]["model"]
            number = {name: k for k, name in enumerate(names)}
            wide = entering(layout, cells, kernel.DECISIVENESS)
            matrix = np.hstack([wide[:, :rows] @ layout.matrix, wide[:, rows:]])
            used = np.setdiff1d(np.flatnonzero(matrix.any(axis=0)), list(_fixed(layout, spec)))
            return _Unit(
                used,
                matrix[:, used],
                block.start - rows + np.arange(block.size),
                group.levels["model"].map(number).to_numpy(),
            )
        return None

    def rescaled(self, x: np.ndarray, inner: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the coordinates with decisiveness rescaled by the size of the quirks."""
        squares = np.bincount(self.model, weights=inner[self.effect] ** 2)
        known = np.bincount(self.model, weights=share[self.effect])
        found = np.sqrt((squares + 1.0) / (known + 1.0)) / self.unit
        wanted = np.clip(self.matrix @ x[self.columns] + np.log(found), *_DECISIVENESS)
        ridge = self.matrix.T @ self.matrix + 1e-3 * np.eye(len(self.columns))
        out = x.copy()
        out[self.columns] = np.linalg.solve(ridge, self.matrix.T @ wanted)
        return out


def _fixed(layout: Layout, spec: Spec) -> dict[int, float]:
    """Return the values of fixed coefficients, by column."""
    priors = [spec.prior(part, term) for part, term, _ in layout.coefficients]
    return {k: p.values[0] for k, p in enumerate(priors) if p.name == CONSTANT}


def _penalties(layout: Layout, spec: Spec) -> tuple[np.ndarray, np.ndarray]:
    """Return middles and precisions of the penalties on coefficients.

    Those of decisiveness have their priors: the less often anything is asked twice, the less the
    answers say about it, and at the mode it would grow without bound.
    """
    middle = np.zeros(len(layout.coefficients))
    precision = np.full(len(middle), _PRECISION)
    for column, (part, term, _) in enumerate(layout.coefficients):
        prior = spec.prior(part, term)
        if part == "decisiveness" and prior.name == "Normal":
            middle[column], precision[column] = prior.values[0], prior.values[1] ** -2.0
    return middle, precision


def _parts(layout: Layout, spec: Spec, cells: Cells) -> list[tuple[int, np.ndarray, Gathering]]:
    """Return the likelihood with a coder's readings taken as true, a sufficient approximation."""
    return likelihood_parts(layout, spec, cells, naive=True)


def _scales(squares: np.ndarray, share: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """Return the most likely scales s, which solve share / s² = squares / s⁴ - 1 / wide².

    This is the fixed point of MacKay (1992) with a half-normal prior of scale `wide`, infinite
    without one. Over ``[scale]``, `squares` sums the squares of the effects at the mode, `share`
    their reliabilities: the effective number of effects.
    """
    root = np.sqrt(share**2 + 4 * squares / wide**2)
    return np.sqrt(2 * squares / np.maximum(share + root, 1e-9))


def centre(layout: Layout, start: Start) -> Layout:
    """Choose the parametrisation of every pair of correlated coefficients."""
    blocks = []
    for block in layout.blocks:
        if block.correlated:
            known = start.reliability[block.start : block.stop].mean()
            block = replace(block, centred=bool(known >= _CENTRE_FROM))
        blocks.append(block)
    if layout.integrating is None:
        return replace(layout, blocks=tuple(blocks))
    integrating = replace(layout.integrating, blocks=tuple(blocks[:-1]))
    return replace(layout, blocks=tuple(blocks), integrating=integrating)


def _scale_of_effects(layout: Layout) -> np.ndarray:
    """Return ``[effect]`` the scale of every group-specific effect, in the vector's order."""
    pieces = [block.every_scale for block in layout.blocks if block.group is not None]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=int)


def _mode(
    x: np.ndarray,
    layout: Layout,
    terms: Sequence[tuple[int, np.ndarray, Gathering]],
    gaps: int,
    scales: np.ndarray,
    free: np.ndarray,
    scale_of: np.ndarray,
    still: np.ndarray,
    common: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Find the most likely coefficients, effects, and logarithms of gaps and free scales.

    `free` scales enter the likelihood and are not known; the coordinates `still` are fixed.
    `common` are the coefficients' penalties.
    """
    from scipy.optimize import minimize

    rows, coefficients = layout.matrix.shape
    inner = len(x) - gaps - len(free)
    precision = np.concatenate([common[1], scales[scale_of] ** -2.0, np.ones(gaps + len(free))])
    rest = np.zeros(inner - coefficients + gaps)
    middle = np.concatenate([common[0], rest, np.full(len(free), np.log(_FIRST_SCALE))])
    own, copies = scales.copy(), np.array(layout.copies, dtype=int)
    place = {scale: layout.blocks[-1].stop + k for k, scale in enumerate(layout.copies)}
    behind = np.array([place[scale] for scale in free], dtype=int)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        own[free] = np.exp(x[inner + gaps :])
        effects = np.concatenate(
            [layout.matrix @ x[:coefficients], x[coefficients:inner], own[copies]]
        )
        value, gradient = precision @ (x - middle) ** 2 / 2, precision * (x - middle)
        for kind, answers, at in terms:
            widths = np.exp(x[inner : inner + gaps]) if kind == kinds.ORDINAL else np.empty(0)
            total, slopes, of_gaps, _ = kernel.evaluate(
                effects, widths, np.empty(0), kind, answers, *at.arrays.values()
            )
            value -= total
            gradient[:coefficients] -= layout.matrix.T @ slopes[:rows]
            gradient[coefficients:inner] -= slopes[rows : layout.blocks[-1].stop]
            gradient[inner : inner + len(widths)] -= of_gaps * widths
            gradient[inner + gaps :] -= slopes[behind] * own[free]
        if careful and not np.isfinite(value):
            # Too long a step: the search goes back.
            return _TOO_FAR, np.zeros(len(x))
        return value, gradient

    bounds: list[tuple[float | None, float | None]] = [(-_FARTHEST, _FARTHEST)] * len(x)
    for at in _decided(layout):
        bounds[at] = (-_SHARPEST, _SHARPEST)
    bounds[inner + gaps :] = [(np.log(_LEAST_SCALE), np.log(_LARGEST_SCALE))] * len(free)
    for at in still:
        bounds[at] = (x[at], x[at])
    options: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": 100}}
    careful = False
    found = minimize(loss, x, bounds=bounds, **options)
    if not found.fun <= loss(x)[0]:
        # Where every coordinate has bounds, the first step is as long as the gradient.
        careful, bounds[bounds.index((-_FARTHEST, _FARTHEST))] = True, (None, None)
        found = minimize(loss, x, bounds=bounds, **options)
    return np.asarray(found.x)


def _decided(layout: Layout) -> np.ndarray:
    """Return the columns of coefficients and effects of decisiveness."""
    rows, coefficients = layout.matrix.shape
    common = [k for k, (part, *_) in enumerate(layout.coefficients) if part == "decisiveness"]
    pieces = [np.array(common, dtype=int)]
    for block in layout.blocks:
        if block.part == "decisiveness" and block.group is not None:
            pieces.append(coefficients - rows + np.arange(block.start, block.stop))
    return np.concatenate(pieces)
