"""What an observation family has to say, and what families of numbers have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Moments of one answer on [-1, 1]: the side that it takes, or ``2 R - 1``."""

    net: np.ndarray  # [cell] expected value, P(agree) - P(disagree) for ordinal answers
    slope: np.ndarray  # [cell] derivative of `net` by the predictor
    variance: np.ndarray  # [cell] variance of one answer
    noise: np.ndarray  # [cell] variance of one answer on the latent scale, around the predictor
    same: np.ndarray  # [cell] probability that two answers, drawn if numbers, are the same


class Family(ABC):
    """How answers follow the predictor.

    Everywhere `eta` is the predictor, in which the decisiveness is a factor, `own` the logarithm of
    the family's own parameter (width of the cutpoints, residual scale, precision), both ``[cell]``,
    and `gaps` the distances of the cutpoints, empty where there are none.

    Attributes
    ----------
    name
        What the spec calls it.
    responses
        The responses that it fits.
    parts
        The parts of a spec that only some families have, of those of
        `polbayes.fit.spec.spec.POSITIONS`.
    spread
        Of these the one with the spread of the validity, where that is a number; empty otherwise.
    kind
        Observation model of `polbayes.fit.density.kernel`, or the address of a function that
        `scored` made.
    counts
        Whether answers are counts at ordered points, and not a number each.
    widened
        Whether decisiveness multiplies the own parameter as it does the predictor.
    latent
        Whether answers are numbers on the latent scale.
    link, sharp_link
        The equation, with ``{response}``, without and with a decisiveness κ.
    validity
        The equation of the validity of answers.
    texts
        What the family's own parts mean, by part.
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
        """Return how many distances of cutpoints there are for so many points."""
        return 0

    @abstractmethod
    def answers(self, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return ``[cell, column]`` the answers as the compiled likelihood takes them.

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
        """Return ``[cell]`` what the compiled likelihood of `answers` leaves out."""

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
        self,
        eta: np.ndarray,
        own: np.ndarray,
        gaps: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw answers.

        Returns
        -------
        numpy.ndarray
            ``[cell]`` numbers in (0, 1); for counts ``[cell, point]`` probabilities of the points.
        """


class Numbers(Family):
    """What families of numbers in (0, 1) have in common."""

    def answers(self, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return ``[cell, 2]`` the logarithms of the answer and of one minus it, NaN for none."""
        return logs(value)


def logs(numbers: np.ndarray) -> np.ndarray:
    """Return ``[cell, 2]`` the logarithms of numbers in (0, 1) and of one minus them."""
    return np.stack([np.log(numbers), np.log1p(-numbers)], axis=1)


def scored(function: Callable[[float, float, float, float], tuple[float, float, float]]) -> Any:
    """Compile the log-density of a family of numbers for the loop over cells.

    Parameters
    ----------
    function
        ``(eta, own, log_y, log_rest) -> (log-density of y, slope by eta, slope by own)``, `own` the
        exponential of the logarithm that the spec's part holds, its slope by that logarithm. It is
        compiled by numba.

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
