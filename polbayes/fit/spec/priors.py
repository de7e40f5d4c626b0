"""Priors as text: ``Normal(0, 1)``, ``HalfNormal(0.5)``, ``LKJ(2)``, ``Constant(1)``."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polbayes.errors import UserError, check_known

# A known value, not estimated.
CONSTANT = "Constant"

# Name -> (PyMC's name, its arguments in order, whether the support is positive).
_DISTRIBUTIONS: Mapping[str, tuple[str, tuple[str, ...], bool]] = {
    "Normal": ("Normal", ("mu", "sigma"), False),
    "StudentT": ("StudentT", ("nu", "mu", "sigma"), False),
    "Cauchy": ("Cauchy", ("alpha", "beta"), False),
    "Laplace": ("Laplace", ("mu", "b"), False),
    "HalfNormal": ("HalfNormal", ("sigma",), True),
    "HalfStudentT": ("HalfStudentT", ("nu", "sigma"), True),
    "HalfCauchy": ("HalfCauchy", ("beta",), True),
    "Exponential": ("Exponential", ("lam",), True),
    "Gamma": ("Gamma", ("alpha", "beta"), True),
    "LogNormal": ("LogNormal", ("mu", "sigma"), True),
    "LKJ": ("LKJ", ("eta",), True),
    CONSTANT: (CONSTANT, ("value",), True),
}
_CALL = re.compile(r"(?P<name>\w+)\s*\(\s*(?P<args>[^()]*)\)")


@dataclass(frozen=True)
class Prior:
    """A distribution with numeric arguments."""

    # As in `_DISTRIBUTIONS`; LKJ(eta) is for correlations only, and Constant(value) for scales only
    name: str
    values: tuple[float, ...]  # its arguments, in order

    @property
    def positive(self) -> bool:
        """Whether its support is the positive numbers."""
        return _DISTRIBUTIONS[self.name][2]

    @property
    def arguments(self) -> dict[str, float]:
        """Arguments by PyMC's names."""
        return dict(zip(_DISTRIBUTIONS[self.name][1], self.values, strict=True))

    @staticmethod
    def of(name: str, arguments: Mapping[str, float]) -> "Prior":
        """Return a prior from its arguments by PyMC's names."""
        return Prior(name, tuple(arguments[key] for key in _DISTRIBUTIONS[name][1]))

    def unfolded(self) -> "Prior | None":
        """Return the symmetric distribution whose absolute value has this distribution, if any."""
        if self.name == "HalfNormal":
            return Prior("Normal", (0.0, *self.values))
        if self.name == "HalfStudentT":
            return Prior("StudentT", (self.values[0], 0.0, self.values[1]))
        if self.name == "HalfCauchy":
            return Prior("Cauchy", (0.0, *self.values))
        if self.name == "Exponential":
            return Prior("Laplace", (0.0, 1 / self.values[0]))
        return None

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{value:g}' for value in self.values)})"


def log_density(prior: Prior, values: np.ndarray) -> np.ndarray:
    """Return the log-density of values in the support of a prior, except LKJ; 0 for constants."""
    from scipy import stats

    if prior.name == CONSTANT:
        return np.zeros(np.shape(values))
    if prior.name.startswith("Half"):
        unfolded = prior.unfolded()
        assert unfolded is not None
        return log_density(unfolded, values) + math.log(2)
    v = prior.values
    match prior.name:
        case "Normal":
            found = stats.norm(*v)
        case "StudentT":
            found = stats.t(*v)
        case "Cauchy":
            found = stats.cauchy(*v)
        case "Laplace":
            found = stats.laplace(*v)
        case "Exponential":
            found = stats.expon(scale=1 / v[0])
        case "Gamma":
            found = stats.gamma(v[0], scale=1 / v[1])
        case "LogNormal":
            found = stats.lognorm(v[1], scale=math.exp(v[0]))
        case _:
            raise AssertionError(f"{prior.name} is no distribution of a number")
    return np.asarray(found.logpdf(values))


def draw_vector(priors: Sequence[Prior], name: str, start: Any = None) -> Any:
    """Draw a vector in the current PyMC model whose entries have these priors."""
    import pymc as pm
    import pytensor.tensor as pt

    distribution, names, _ = _DISTRIBUTIONS[priors[0].name]
    columns = np.array([prior.values for prior in priors]).T
    if distribution == CONSTANT:
        return pt.constant(columns[0], name=name)
    arguments = dict(zip(names, columns, strict=True))
    return getattr(pm, distribution)(name, **arguments, shape=len(priors), initval=start)


def parse_prior(
    text: str,
    *,
    where: str,
    scale: bool = False,
    correlation: bool | None = None,
    constant: bool = False,
) -> Prior:
    """Parse a prior such as ``"Normal(0, 1)"``, `where` being its key, for messages.

    A `scale` needs a positive prior, a `correlation` LKJ, and nothing else LKJ; a `constant`
    may be fixed.
    """
    match = _CALL.fullmatch(str(text).strip())
    if not match:
        raise UserError(f"{where}: '{text}' is not a prior; write e.g. Normal(0, 1).")
    name = match["name"]
    check_known("distribution", name, known=_DISTRIBUTIONS, where=where)
    expected = _DISTRIBUTIONS[name][1]
    prior = Prior(name, _arguments(str(text), match, expected, where))
    free = ("mu", "alpha") if name == "Cauchy" else ("mu",)
    if not all(v > 0 for k, v in prior.arguments.items() if k not in free):
        raise UserError(f"{where}: in '{text}' every scale and shape must be positive.")
    if scale and not prior.positive:
        raise UserError(f"{where}: '{text}' also allows negative values; use e.g. HalfNormal(1).")
    if name == CONSTANT and not constant:
        raise UserError(f"{where}: '{text}' is for standard deviations of effects only.")
    if scale and name == "LKJ":
        raise UserError(f"{where}: '{text}' is of correlations; use e.g. HalfNormal(1).")
    if correlation is not None and correlation != (name == "LKJ"):
        wanted = "a correlation, LKJ(2) for one" if correlation else "a number, not of correlations"
        raise UserError(f"{where}: '{text}' is not a prior of {wanted}.")
    return prior


def _arguments(
    text: str, match: re.Match[str], expected: tuple[str, ...], where: str
) -> tuple[float, ...]:
    """Read the arguments of a distribution, by position or by name."""
    given: dict[str, float] = {}
    name, inside = match["name"], match["args"]
    for position, word in enumerate(inside.split(",") if inside.strip() else []):
        key, equals, number = word.rpartition("=")
        key = key.strip() if equals else (*expected, "")[min(position, len(expected))]
        try:
            given[key] = float(number)
        except ValueError:
            raise UserError(f"{where}: the arguments of '{text}' must be numbers.") from None
        if not math.isfinite(given[key]):
            raise UserError(f"{where}: the arguments of '{text}' must be finite numbers.")
    if set(given) != set(expected):
        raise UserError(
            f"{where}: {name} takes {len(expected)} arguments: {', '.join(expected)}; "
            f"'{text}' does not have them."
        )
    return tuple(given[key] for key in expected)


def flatten(priors: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten nested priors to dotted keys: ``{"theta": {"sd": ...}}`` to ``"theta.sd"``."""
    flat: dict[str, str] = {}
    for key, value in priors.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = str(value)
    return flat
