"""Kernel and expansion written for JAX, which NumPyro samples with.

Importing this module teaches PyTensor how to translate the operations.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.op import Op
from pytensor.link.jax.dispatch.basic import jax_funcify

from polbayes.fit import kernel
from polbayes.fit.operation import Confusion, Effects, LogLikelihood


def log_likelihood(
    kind: int,
    effects: Any,
    gaps: Any,
    confusion: Any,
    answers: Any,
    index: Any,
    weight: Any,
    roles: Any,
    keying: Any,
    *_: Any,
) -> Any:
    """Return the log-likelihood of all cells, as `polbayes.fit.kernel.evaluate` defines it.

    Parameters
    ----------
    kind
        Observation model.
    effects, gaps, confusion, answers, index, weight, roles, keying
        See `polbayes.fit.kernel.evaluate`.
    """
    entering = effects[index] * weight
    role = jnp.searchsorted(roles, jnp.arange(index.shape[1]), side="right") - 1
    sums = entering @ (role[:, None] == jnp.arange(kernel.ROLES)).astype(entering.dtype)
    asked, discriminated, believed, log_scale, signed, own = sums.T
    none = roles[kernel.DISCRIMINATION + 1] == roles[kernel.DISCRIMINATION]
    scale = jnp.exp(log_scale) * jnp.where(none, 1.0, signed)
    eta = asked + keying * (scale * discriminated + believed)
    if kind == kernel.ORDINAL:
        return _ordinal(eta, own, gaps, answers)
    if kind == kernel.READ:
        return _read(eta, own, gaps, confusion, answers)
    if kind in (kernel.LOGIT_NORMAL, kernel.BETA):
        # Where there is no number a made-up one keeps the gradient free of NaN.
        there = ~jnp.isnan(answers[:, 0])
        logs = jnp.where(there[:, None], answers, jnp.log(0.5))
        score = _logit_normal if kind == kernel.LOGIT_NORMAL else _beta
        return jnp.sum(jnp.where(there, score(eta, own, logs), 0.0))
    return jnp.sum(answers[:, 1] * eta - answers.sum(axis=1) * jnp.logaddexp(0.0, eta))


def _unit_cuts(gaps: Any) -> Any:
    unit = jnp.concatenate([jnp.zeros(1), jnp.cumsum(gaps)])
    return unit - (unit[gaps.shape[0] // 2] + unit[(gaps.shape[0] + 1) // 2]) / 2.0


def _ordinal(eta: Any, own: Any, gaps: Any, counts: Any) -> Any:
    unit, width = _unit_cuts(gaps), jnp.exp(own)[:, None]
    x = unit * width - eta[:, None]
    below, above = counts[:, :-1], counts[:, 1:]
    total = jnp.sum(below * x - (below + above) * jnp.logaddexp(0.0, x))
    return total + jnp.sum(counts[:, 1:-1] * jnp.log(-jnp.expm1(-gaps * width)))


def _read(eta: Any, own: Any, gaps: Any, confusion: Any, answers: Any) -> Any:
    width = jnp.exp(own)[:, None]
    x = _unit_cuts(gaps) * width - eta[:, None]
    softplus, none = jnp.logaddexp(0.0, x), jnp.zeros_like(eta)[:, None]
    between = jnp.concatenate([none, jnp.log(-jnp.expm1(-gaps * width))], axis=1)
    below = jnp.concatenate([none, softplus[:, :-1]], axis=1)
    log_p = jnp.concatenate([x - softplus - below + between, -softplus[:, -1:]], axis=1)
    counts = answers[:, kernel.READINGS :]
    tables = confusion.reshape(-1, gaps.shape[0] + 3, counts.shape[1])
    table = tables[answers[:, kernel.TABLE].astype(int)]
    shares = jnp.concatenate([jnp.exp(log_p), answers[:, kernel.ODDS, None]], axis=1)
    likely = jnp.maximum(jnp.einsum("ck,ckj->cj", shares, table), 1e-290)
    log_whole = jnp.log(likely.sum(axis=1))
    return jnp.sum(counts * jnp.log(likely)) - jnp.sum(counts.sum(axis=1) * log_whole)


def _logit_normal(eta: Any, own: Any, logs: Any) -> Any:
    z = (logs[:, 0] - logs[:, 1] - eta) * jnp.exp(-own)
    return -own - 0.5 * jnp.log(2.0 * jnp.pi) - 0.5 * z * z


def _beta(eta: Any, own: Any, logs: Any) -> Any:
    phi = jnp.exp(own)
    a = jnp.maximum(phi * jax.nn.sigmoid(eta), 1e-300)
    b = jnp.maximum(phi * jax.nn.sigmoid(-eta), 1e-300)
    density = (a - 1.0) * logs[:, 0] + (b - 1.0) * logs[:, 1]
    return density + gammaln(phi) - gammaln(a) - gammaln(b)


@jax_funcify.register(LogLikelihood)
def _in_jax(op: Op, node: Apply, **kwargs: Any) -> Any:
    which = node.inputs[3]
    kind = int(which.data if isinstance(which, Constant) else which.get_value())  # type: ignore

    def evaluate(effects: Any, gaps: Any, confusion: Any, _: Any, *rest: Any) -> tuple[Any, ...]:
        def value(*sampled: Any) -> Any:
            return log_likelihood(kind, *sampled, *rest)

        sampled = effects, gaps, confusion
        total, slopes = jax.value_and_grad(value, argnums=(0, 1, 2))(*sampled)
        return (total, *slopes)

    return evaluate


def expand(
    b: Any,
    sd: Any,
    w: Any,
    others: Any,
    mode_of_b: Any,
    mode: Any,
    total: Any,
    precision: Any,
    lead: Any,
    weight: Any,
    matrix: Any,
    scale: Any,
    place: Any,
    correlated: Any,
    group: Any,
    share: Any,
) -> tuple[Any, Any]:
    """Compute what `polbayes.fit.expansion.expand` does, from the same arguments."""
    s = sd[scale]
    spread = jnp.sqrt(1.0 + precision * s * s)

    def deviates(ahead: Any) -> Any:
        expected = mode + jnp.sum(ahead[lead] * weight, axis=1)
        return (w + s * expected * total / spread) / spread

    # Effects that lead follow nothing; those that follow look at none but these.
    of_b = b - mode_of_b
    first = deviates(jnp.concatenate([of_b, jnp.zeros_like(w)]))
    z = deviates(jnp.concatenate([of_b, s * first - mode]))
    effects = jnp.zeros(group.shape[0]).at[place].set(s * z).at[correlated].set(others)
    effects = effects.at[: matrix.shape[0]].set(matrix @ b)
    sums = jnp.zeros(group.shape[0]).at[group].add(jnp.where(group >= 0, effects, 0.0))
    effects = effects - jnp.where(group >= 0, sums[group] * share, 0.0)
    return effects, -jnp.sum(0.5 * z * z + jnp.log(spread))


@jax_funcify.register(Effects)
def _effects_in_jax(op: Op, node: Apply, **kwargs: Any) -> Any:
    return expand


@jax_funcify.register(Confusion)
def _confusion_in_jax(op: Confusion, node: Apply, **kwargs: Any) -> Any:
    tables, points, bins = op.sizes
    size = points + 1

    def expand(numbers: Any) -> Any:
        rows = numbers[: tables * size**2].reshape(tables, size, size)
        p = (rows / rows.sum(axis=2, keepdims=True))[:, :, :points]
        q = jnp.ones((size, points, 1))
        if bins > 1:
            q = numbers[tables * size**2 :].reshape(size, points, bins)
            q = q / q.sum(axis=2, keepdims=True)
        whole = (p[..., None] * q).reshape(-1)
        exact = jnp.eye(size, points)[..., None] * (jnp.arange(bins) == 0)
        return jnp.concatenate([whole, exact.reshape(-1)])

    return expand
