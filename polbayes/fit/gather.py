"""The predictor of every cell, gathered from the effects in one fused loop.

All effects of a model are one long vector; every term says, for each cell, which of
them enters and how. Written with PyTensor's indexing this is a dozen passes over the
cells forward and as many scatters backward; as one operation it is one loop each way.
"""

from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

# How a term enters: see `Gather`.
ASKED, DISCRIMINATED, BELIEVED, LOG_DISCRIMINATION, OWN = range(5)


@numba.njit
def _sums(
    effects: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    role: np.ndarray,
    cell: int,
    sums: np.ndarray,
) -> None:
    """Add up the effects that enter one cell, by role, into `sums`."""
    sums[:] = 0.0
    row = cell if weight.shape[0] > 1 else 0
    for term in range(index.shape[1]):
        sums[role[term]] += weight[row, term] * effects[index[cell, term]]


@numba.njit
def forward(
    effects: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    role: np.ndarray,
    keying: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``eta`` and ``own``, both ``[cell]``: see `Gather`."""
    cells = index.shape[0]
    eta = np.empty(cells)
    own = np.empty(cells)
    sums = np.empty(5)
    for cell in range(cells):
        _sums(effects, index, weight, role, cell, sums)
        belief = np.exp(sums[LOG_DISCRIMINATION]) * sums[DISCRIMINATED] + sums[BELIEVED]
        eta[cell] = sums[ASKED] + keying[cell] * belief
        own[cell] = sums[OWN]
    return eta, own


@numba.njit
def backward(
    effects: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    role: np.ndarray,
    keying: np.ndarray,
    d_eta: np.ndarray,
    d_own: np.ndarray,
) -> np.ndarray:
    """Compute the gradient with respect to the effects from those of the cells."""
    gradient = np.zeros(effects.shape[0])
    sums = np.empty(5)
    slope = np.empty(5)
    for cell in range(index.shape[0]):
        _sums(effects, index, weight, role, cell, sums)
        slope[ASKED] = d_eta[cell]
        slope[BELIEVED] = d_eta[cell] * keying[cell]
        slope[DISCRIMINATED] = slope[BELIEVED] * np.exp(sums[LOG_DISCRIMINATION])
        slope[LOG_DISCRIMINATION] = slope[DISCRIMINATED] * sums[DISCRIMINATED]
        slope[OWN] = d_own[cell]
        row = cell if weight.shape[0] > 1 else 0
        for term in range(index.shape[1]):
            gradient[index[cell, term]] += weight[row, term] * slope[role[term]]
    return gradient


class Gather(Op):
    """Gather ``eta`` and ``own``, both ``[cell]``, from the vector of effects.

    With A, D, B, L and O the weighted sums of the effects whose terms have the roles
    `ASKED`, `DISCRIMINATED`, `BELIEVED`, `LOG_DISCRIMINATION` and `OWN`,
    ``eta = A + keying * (exp(L) * D + B)`` and ``own = O``.
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Take effects ``[effect]``, index, weight ``[cell, term]``, role ``[term]``, keying."""
        return Apply(self, [pt.as_tensor(i) for i in inputs], [pt.dvector(), pt.dvector()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        """Compute both outputs outside of a numba-compiled graph."""
        outputs[0][0], outputs[1][0] = forward(*inputs)

    def infer_shape(self, fgraph: Any, node: Apply, shapes: list[Any]) -> list[Any]:
        """Both outputs have one entry a cell."""
        return [(shapes[1][0],), (shapes[1][0],)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the effects are differentiated."""
        return [[position == 0, position == 0] for position in range(len(node.inputs))]

    def L_op(  # noqa: N802 (PyTensor's name)
        self, inputs: Any, outputs: Any, output_grads: Any
    ) -> list[Variable]:
        """Scatter the gradients of the cells back to the effects."""
        zeros = pt.zeros_like(outputs[0])
        given = [zeros if isinstance(g.type, DisconnectedType) else g for g in output_grads]
        gradient: Any = Scatter()(*inputs, *given)
        return [gradient, *(DisconnectedType()() for _ in inputs[1:])]


class Scatter(Op):
    """The gradient of `Gather` with respect to the effects, ``[effect]``."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Take the inputs of `Gather` and the gradients of its two outputs."""
        return Apply(self, [pt.as_tensor(i) for i in inputs], [pt.dvector()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        """Compute the gradient outside of a numba-compiled graph."""
        outputs[0][0] = backward(*inputs)

    def infer_shape(self, fgraph: Any, node: Apply, shapes: list[Any]) -> list[Any]:
        """One entry an effect."""
        return [shapes[0]]


@register_funcify_default_op_cache_key(Gather)
def _gather_in_numba(op: Op, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    return forward, 1


@register_funcify_default_op_cache_key(Scatter)
def _scatter_in_numba(op: Op, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    return backward, 1
