"""The kernel as an operation of PyTensor, and the answers as it takes them."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from polbayes.fit import kernel
from polbayes.fit.cells import Cells

# The observation model of each family of the spec.
KINDS: Mapping[str, int] = {
    "cumulative": kernel.ORDINAL,
    "bernoulli": kernel.ORDINAL,
    "logit_normal": kernel.LOGIT_NORMAL,
    "beta": kernel.BETA,
}


def answers_of(family: str, cells: Cells) -> np.ndarray:
    """Return ``[cell, column]`` the answers as the family's function takes them.

    For ordinal families the counts at each point; for continuous ones the logarithms of
    the answer and of one minus the answer.
    """
    if KINDS[family] == kernel.ORDINAL:
        return np.ascontiguousarray(cells.counts, dtype=float)
    return np.stack([np.log(cells.value), np.log1p(-cells.value)], axis=1)


def validity_answers(cells: Cells) -> np.ndarray:
    """Return ``[cell, 2]`` unusable and usable answers, for the binomial kernel."""
    return np.stack([cells.asked - cells.answered, cells.answered], axis=1)


class LogLikelihood(Op):
    """Log-likelihood of all cells, and its gradients: see `polbayes.fit.kernel.evaluate`."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Take the arguments of `evaluate`."""
        outputs = [pt.dscalar(), pt.dvector(), pt.dvector()]
        return Apply(self, [pt.as_tensor(i) for i in inputs], outputs)

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        """Compute the outputs outside of a numba-compiled graph."""
        effects, gaps, kind, *rest = inputs
        total, gradient, of_gaps = kernel.evaluate(effects, gaps, int(kind), *rest)
        outputs[0][0], outputs[1][0], outputs[2][0] = np.asarray(total), gradient, of_gaps

    def infer_shape(self, fgraph: Any, node: Apply, shapes: list[Any]) -> list[Any]:
        """Give the gradients the lengths of what they are with respect to."""
        return [(), shapes[0], shapes[1]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the log-likelihood is differentiated, by effects and gaps."""
        return [[position < 2, False, False] for position in range(len(node.inputs))]

    def L_op(  # noqa: N802 (PyTensor's name)
        self, inputs: Any, outputs: Any, output_grads: Any
    ) -> list[Variable]:
        """Use the slopes, which were computed with the value."""
        slope = output_grads[0]
        constant = [DisconnectedType()() for _ in inputs[2:]]
        return [slope * outputs[1], slope * outputs[2], *constant]


@register_funcify_default_op_cache_key(LogLikelihood)
def _in_numba(op: Op, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    return kernel.evaluate_arrays, _source()


@cache
def _source() -> int:
    """Return a number made from the kernel's text.

    PyTensor keeps what it compiled on disk, and would go on using it after an upgrade.
    """
    text = Path(kernel.__file__).read_bytes()
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")
