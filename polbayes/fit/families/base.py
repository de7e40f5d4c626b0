"""The interface of observation families, and the base of families of numbers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Moments of one answer on [-1, 1]: its side, or ``2 R - 1``."""

    net: np.ndarray  # [cell] expected value, P(agree) - P(disagree) for ordinal answers
    slope: np.ndarray  # [cell] derivative of `net` by the predictor
    variance: np.ndarray  # [cell] variance of one answer
    noise: np.ndarray  # [cell] variance of one answer on the latent scale, around the predictor
    same: np.ndarray  # [cell] probability that two answers, drawn if numbers, are the same


class Family(ABC):
    """The distribution of answers given the predictor.

    Everywhere `eta` is the predictor, multiplied by the decisiveness, `own` the logarithm of
    the family's own parameter (width of the cutpoints, residual scale, precision), both ``[cell]``,
    and `gaps` the distances of the cutpoints, empty if there are none.

    Attributes
    ----------
    name
        Its name in the spec.
    responses
        The responses that it fits.
    parts
        The family's own parts of a spec, from `polbayes.fit.spec.spec.POSITIONS`.
    spread
        The part with the spread of the validity, if that is a number; otherwise empty.
    kind
        Observation model of `polbayes.fit.density.kernel`, or the address of a function made by
        `scored`.
    counts
        Whether answers are counts at ordered points, not numbers.
    widened
        Whether decisiveness multiplies the own parameter as well as the predictor.
    latent
        Whether answers are numbers on the latent scale.
    link, sharp_link
        The equation, with ``{response}``, without and with a decisiveness κ.
    validity
        The equation of the validity of answers.
    texts
        Descriptions of the family's own parts, by part.
    """

    name: ClassVar[str]
    responses: ClassVar[tuple[str, ...]]
    parts: ClassVar[tuple[str, ...]]
    spread: ClassVar[str] = ""
    kind: int
    counts: ClassVar[bool] = False
    widened: ClassVar[bool] = True
    latent: ClassVar[bool] = False
    link: ClassVar[str]
    sharp_link: ClassVar[str]
    validity: ClassVar[str] = "P(usable answer) = logistic(validity)"
    texts: ClassVar[Mapping[str, str]] = {}

    def gaps(self, points: int) -> int:
        """Return the number of distances of cutpoints for a number of points."""
        return 0

    @abstractmethod
    def answers(self, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return ``[cell, column]`` the answers in the format of the compiled likelihood.

        Parameters
        ----------
        counts, value
            See `polbayes.fit.spec.cells.Cells`.
        """

    @property
    def summed(self) -> bool:
        """Whether several numbers with one predictor are as good as a few sums of them."""
        return False

    def sums(self, answers: np.ndarray, cell: np.ndarray, size: int) -> np.ndarray:
        """Return `answers` to `size` cells as those to single questions, of which `cell` asks."""
        raise NotImplementedError

    @abstractmethod
    def constant(self, answers: np.ndarray) -> np.ndarray:
        """Return ``[cell]`` the constant that the compiled likelihood of `answers` omits."""

    @abstractmethod
    def net(self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Return ``[cell]`` the expected P(agree) - P(disagree), in [-1, 1]."""

    @abstractmethod
    def moments(self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray) -> Moments:
        """Return the moments of one answer in every cell."""

    @abstractmethod
    def mean_net(
        self, eta: np.ndarray, variance: np.ndarray, own: np.ndarray, gaps: np.ndarray
    ) -> np.ndarray:
        """Return ``[draw]`` `net`, averaged over normal predictors.

        Parameters
        ----------
        eta, variance
            ``[draw]`` mean and variance of the predictor.
        own
            ``[draw]``.
        gaps
            ``[draw, gap]``.
        """

    @abstractmethod
    def simulate(
        self, eta: np.ndarray, own: np.ndarray, gaps: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw answers.

        Returns
        -------
        numpy.ndarray
            ``[cell]`` numbers in (0, 1); for counts ``[cell, point]`` probabilities of the points.
        """


class Numbers(Family):
    """The base of families of numbers in (0, 1)."""

    def answers(self, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return ``[cell, 2]`` log y and log(1 - y) of the answers, NaN if missing."""
        return logs(value)


def logs(numbers: np.ndarray) -> np.ndarray:
    """Return ``[cell, 2]`` log y and log(1 - y) of numbers y in (0, 1)."""
    return np.stack([np.log(numbers), np.log1p(-numbers)], axis=1)


def scored(function: Callable[[float, float, float, float], tuple[float, float, float]]) -> Any:
    """Compile the log-density of a family of numbers for the loop over cells.

    Parameters
    ----------
    function
        ``(eta, own, log_y, log_rest) -> (log-density of y, slope by eta, slope by log own)``, where
        `own` is the family's own parameter, whose logarithm is the spec's part. It is compiled by
        numba.

    Returns
    -------
    numba.core.ccallback.CFunc
        Its ``address`` is the family's `Family.kind`.
    """
    import numba

    inner = numba.njit(error_model="numpy")(function)
    double = numba.types.float64
    signature = double(double, double, double, double, numba.types.CPointer(double))

    @numba.cfunc(signature)
    def outer(eta: float, own: float, log_y: float, log_rest: float, slopes: Any) -> float:
        value, of_eta, of_own = inner(eta, own, log_y, log_rest)
        slopes[0] = of_eta
        slopes[1] = of_own
        return value

    return outer
