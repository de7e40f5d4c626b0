"""A short chain that shows how large the scales are, so that the coordinates suit the posterior.

The coordinates (`polbayes.fit.density.expansion`, `polbayes.fit.density.joint`) rest on what the
answers say about effects, given scales. At the mode of the effects a scale that enters the
likelihood itself may be several times too large or too small, and with it the unit of all others.
"""

from dataclasses import replace

import numpy as np

from polbayes.config.schema import SamplerConfig
from polbayes.fit.density.mode import start_at
from polbayes.fit.density.model import Built

# Length of the pilot relative to the warm-up, and of its own warm-up. A pilot for a shorter warm-up
# shows nothing, and one for a longer warm-up nothing more.
_DRAWS, _TUNE, _SHORTEST, _LONGEST = 0.1, 0.3, 200, 500

# A pilot takes what steps it can get, and not too many in a transition.
TARGET, DEPTH = 0.8, 7


def length(config: SamplerConfig) -> SamplerConfig | None:
    """Return the settings of the pilot; None if the warm-up is too short for one."""
    if config.tune < _SHORTEST:
        return None
    served = min(config.tune, _LONGEST)
    tune, draws = round(served * _TUNE), round(served * _DRAWS)
    return replace(config, chains=1, tune=tune, draws=draws, target_accept=TARGET)


def restarted(built: Built, drawn: dict[str, np.ndarray]) -> Built:
    """Return the model with coordinates around the means of draws ``[draw, ...]``."""
    start = built.start
    fixed = {"gap": start.gaps, "reading": start.readings, "sd": start.scales}
    values = fixed | {"b": start.coefficients}
    values |= {
        name: drawn[name].mean(axis=0)
        for name in ("b", "effects", "gap", "reading")
        if name in drawn
    }
    if "sd" in drawn:
        values["sd"] = np.sqrt((drawn["sd"] ** 2).mean(axis=0))
    layout = built.layout.sampled
    return replace(built, start=start_at(layout, built.spec, built.cells, values))
