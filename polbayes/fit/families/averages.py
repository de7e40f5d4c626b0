"""Averages of logistic functions over a normal predictor."""

import math

import numpy as np

from polbayes.fit.compilation import compiled

# Nodes of the trapezoidal rules below: the error is less than 1e-6.
_STEP, _REACH, _LOGISTIC_REACH = 0.85, 5.5, 18.0


@compiled
def mean_logistic(t: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return ``[number]`` the expectation of logistic(t + sqrt(v) z), z standard normal."""
    out = np.empty(t.shape[0])
    for k in range(t.shape[0]):
        root, total, whole = math.sqrt(v[k]), 0.0, 0.0
        if v[k] < 1.0:  # over z
            z = -_REACH
            while z <= _REACH:
                weight = math.exp(-0.5 * z * z)
                x = t[k] + root * z
                small = math.exp(-abs(x))
                total += weight * (1.0 if x > 0.0 else small) / (1.0 + small)
                whole += weight
                z += _STEP
        else:  # over the latent logistic variable
            e = -_LOGISTIC_REACH
            while e <= _LOGISTIC_REACH:
                small = math.exp(-abs(e))
                weight = small / (1.0 + small) ** 2
                total += weight * 0.5 * math.erfc((e - t[k]) / (root * math.sqrt(2.0)))
                whole += weight
                e += _STEP
        out[k] = total / whole
    return out
