"""Deliberate errors, to test whether the calibration detects them.

Each changes the parameters of the simulated answers, so that the model is wrong about them.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tools.calibration.prior import Parameters
from tools.calibration.sbc import Breaking


def _scaled(p: Parameters, *, part: str, by: float) -> Parameters:
    return replace(p, parts={**p.parts, part: p.parts[part] * by})


def _gaps(p: Parameters) -> Parameters:
    return replace(p, gaps=p.gaps * 1.2)


def _unconstrained(p: Parameters) -> Parameters:
    """Give the steering by prefixes a common mean."""
    spread = np.std(p.parts["steer"])
    return replace(p, parts={**p.parts, "steer": p.parts["steer"] + spread})


def _unkeyed(p: Parameters) -> Parameters:
    """Let prefixes steer agreement instead of belief."""
    asked = p.parts["acquiescence"] + p.parts["steer"]
    still = np.zeros_like(p.parts["steer"])
    return replace(p, parts={**p.parts, "acquiescence": asked, "steer": still})


BREAKS: Mapping[str, Breaking] = {
    "theta_20_percent": partial(_scaled, part="theta", by=1.2),
    "difficulty_20_percent": partial(_scaled, part="difficulty", by=1.2),
    "gaps_20_percent": _gaps,
    "steer_mean": _unconstrained,
    "steer_unkeyed": _unkeyed,
}
