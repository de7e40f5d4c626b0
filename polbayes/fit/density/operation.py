"""Kernel and expansion as operations of PyTensor."""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from polbayes.fit.coder_errors import confusion
from polbayes.fit.compilation import compiled_with, source_of
from polbayes.fit.density import expansion, kernel, scores, shifts, together, units

# PyTensor caches compiled code on disk, and would continue to use it after an upgrade: a hash of
# the source is part of the cache key.

# The first five arguments of `expand` are sampled, the others tuples of arrays. The lengths of some
# of these add up to that of the effects.
_SAMPLED = 5
_PLACES = _SAMPLED + len(expansion.KNOWN)
_UNITS = _PLACES + len(expansion.PLACES)
_SLOPES = _UNITS + len(expansion.UNITS)
_EFFECTS = ("matrix", "place", "others", "summed", "copied")
_LENGTHS = [_PLACES + expansion.PLACES.index(name) for name in _EFFECTS]


class _Operation(Op):
    """An operation with a rule for the shapes of its outputs."""

    __props__: tuple[str, ...] = ()

    def shapes_from(self, shapes: list[Any]) -> list[Any]:
        """Return the shapes of the outputs from those of the inputs."""
        raise NotImplementedError

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        """Return the slopes by the inputs from those by the outputs."""
        raise NotImplementedError

    def infer_shape(self, *call: Any) -> list[Any]:
        """Apply the rule; PyTensor passes the shapes last, before version 3 the graph first."""
        return self.shapes_from(call[-1])

    if not hasattr(Op, "pullback"):  # PyTensor before version 3

        def L_op(  # noqa: N802
            self, inputs: Any, outputs: Any, output_grads: Any
        ) -> list[Variable]:
            """Pull the slopes back."""
            found: list[Variable] = self.pullback(inputs, outputs, output_grads)
            return found


class LogLikelihood(_Operation):
    """Log-likelihood of all cells, and its gradients (`polbayes.fit.density.kernel.evaluate`)."""

    def make_node(self, *inputs: Any) -> Apply:
        """Take the arguments of `evaluate`."""
        outputs = [pt.dscalar(), pt.dvector(), pt.dvector(), pt.dvector()]
        return Apply(self, [pt.as_tensor(i) for i in inputs], outputs)

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        """Compute the outputs outside of a numba-compiled graph."""
        effects, gaps, confusion, kind, *rest = inputs
        total, *slopes = kernel.evaluate(effects, gaps, confusion, int(kind), *rest)
        for output, value in zip(outputs, (np.asarray(total), *slopes), strict=True):
            output[0] = value

    def shapes_from(self, shapes: list[Any]) -> list[Any]:
        """Give the gradients the lengths of the variables."""
        return [(), *shapes[:3]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Declare the log-likelihood as differentiable by effects, gaps and confusion."""
        return [[position < 3, *[False] * 3] for position in range(len(node.inputs))]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        """Use the slopes computed with the value."""
        slope = cotangents[0]
        constant = [DisconnectedType()() for _ in inputs[3:]]
        return [*(slope * of for of in outputs[1:]), *constant]


@register_funcify_default_op_cache_key(LogLikelihood)
def _in_numba(op: Op, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    return kernel.evaluate_arrays, source_of(scores, together, shifts, kernel)


@compiled_with(scores, units, expansion)
def _expand(*inputs: Any) -> Any:
    """Call `expansion.expand` with the arrays of its tuples one by one."""
    rest = inputs[_SAMPLED:_PLACES], inputs[_PLACES:_UNITS], inputs[_UNITS:]
    return expansion.expand(*inputs[:_SAMPLED], *rest)


@compiled_with(scores, units, expansion)
def _pull_back(*inputs: Any) -> Any:
    """Call `expansion.pull_back` with the arrays of its tuples one by one."""
    rest = inputs[_SAMPLED:_PLACES], inputs[_PLACES:_UNITS], inputs[_UNITS:_SLOPES]
    return expansion.pull_back(*inputs[:_SAMPLED], *rest, *inputs[_SLOPES:])


class Effects(_Operation):
    """All effects, and the density of their coordinates (`polbayes.fit.density.expansion`)."""

    def make_node(self, *inputs: Any) -> Apply:
        """Take the arguments of `expand`."""
        return Apply(self, [pt.as_tensor(i) for i in inputs], [pt.dvector(), pt.dscalar()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        """Compute the outputs outside of a numba-compiled graph."""
        outputs[0][0], outputs[1][0] = _expand(*inputs)

    def shapes_from(self, shapes: list[Any]) -> list[Any]:
        """Give the effects the length of the groups plus the copies of scales."""
        return [(sum(shapes[at][0] for at in _LENGTHS),), ()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Declare the sampled arguments as differentiable."""
        return [[position < _SAMPLED] * 2 for position in range(len(node.inputs))]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        """Pull the slopes back."""
        slopes = [
            slope.zeros_like() if isinstance(grad.type, DisconnectedType) else grad
            for slope, grad in zip(outputs, cotangents, strict=True)
        ]
        found: Any = EffectsSlopes()(*inputs, *slopes)
        return [*found, *(DisconnectedType()() for _ in inputs[_SAMPLED:])]


class EffectsSlopes(_Operation):
    """Slopes of `Effects`: see `polbayes.fit.density.expansion.pull_back`."""

    def make_node(self, *inputs: Any) -> Apply:
        """Take the arguments of `pull_back`."""
        return Apply(
            self, [pt.as_tensor(i) for i in inputs], [pt.dvector() for _ in range(_SAMPLED)]
        )

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        """Compute the outputs outside of a numba-compiled graph."""
        for output, value in zip(outputs, _pull_back(*inputs), strict=True):
            output[0] = value

    def shapes_from(self, shapes: list[Any]) -> list[Any]:
        """Give the slopes the lengths of the variables."""
        return shapes[:_SAMPLED]


@register_funcify_default_op_cache_key(Effects)
def _effects_in_numba(op: Op, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    return _expand, source_of(units, expansion)


@register_funcify_default_op_cache_key(EffectsSlopes)
def _slopes_in_numba(op: Op, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    return _pull_back, source_of(scores, units, expansion)


class Confusion(_Operation):
    """Confusion matrices: see `polbayes.fit.coder_errors.confusion.expand`."""

    __props__ = ("tables", "points", "bins")

    def __init__(self, tables: int, points: int, bins: int) -> None:
        self.tables, self.points, self.bins = tables, points, bins

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of confusion matrices, points and bins."""
        return self.tables, self.points, self.bins

    def make_node(self, *inputs: Any) -> Apply:
        """Take the gamma variables."""
        return Apply(self, [pt.as_tensor(i) for i in inputs], [pt.dvector()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        """Compute the output outside of a numba-compiled graph."""
        outputs[0][0] = confusion.expand(inputs[0], *self.sizes)

    def shapes_from(self, shapes: list[Any]) -> list[Any]:
        """Depends on the sizes only."""
        readings = self.points * self.bins
        return [(pt.constant((self.tables + 1) * (self.points + 1) * readings),)]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        """Pull the slopes back."""
        found: Any = ConfusionSlopes(*self.sizes)(*inputs, *cotangents)
        return [found]


class ConfusionSlopes(Confusion):
    """Slopes of `Confusion`: see `polbayes.fit.coder_errors.confusion.pull_back`."""

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        """Compute the output outside of a numba-compiled graph."""
        outputs[0][0] = confusion.pull_back(inputs[0], *self.sizes, inputs[1])

    def shapes_from(self, shapes: list[Any]) -> list[Any]:
        """Give the slopes the length of the variables."""
        return shapes[:1]


@register_funcify_default_op_cache_key(Confusion)
def _confusion_in_numba(op: Confusion, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    tables, points, bins = op.sizes

    @numba_basic.numba_njit
    def expand(numbers: np.ndarray) -> np.ndarray:
        return confusion.expand(numbers, tables, points, bins)

    return expand, source_of(confusion)


@register_funcify_default_op_cache_key(ConfusionSlopes)
def _confusion_slopes_in_numba(op: Confusion, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    tables, points, bins = op.sizes

    @numba_basic.numba_njit
    def pull_back(numbers: np.ndarray, of: np.ndarray) -> np.ndarray:
        return confusion.pull_back(numbers, tables, points, bins, of)

    return pull_back, source_of(confusion)
