"""What ArviZ needs besides the draws: the groups of ``posterior.nc`` for `az.loo` and the like."""

import numpy as np
import xarray as xr

from polbayes.fit.density.model import Built
from polbayes.fit.posterior.loo import Loo
from polbayes.fit.posterior.pointwise import draws_of
from polbayes.fit.posterior.predictive import Answers, observed_answers, replicates

# With fewer draws there are no groups.
_LEAST_DRAWS = 100


def arviz_groups(built: Built, drawn: xr.Dataset, loo: Loo, *, seed: int) -> dict[str, xr.Dataset]:
    """Return ``log_likelihood``, ``posterior_predictive`` and ``observed_data`` over ``cell``.

    The log-likelihood is of the ``answers`` of a cell, with effects of that cell alone integrated
    out, as `loo` has it; ``agreement`` is the share that agrees less the share that disagrees,
    observed and drawn from the model. Draws are thinned where all of them would not fit; where few
    would, there are no groups.
    """
    kept = drawn.isel(draw=slice(None, None, loo.step))
    chains, draws = drawn.sizes["chain"], drawn.sizes["draw"]
    few = chains * kept.sizes["draw"] < min(_LEAST_DRAWS, chains * draws)
    if loo.thinned is None or loo.cells.empty or few:
        return {}
    at, shape = built.cells.every.answered > 0, loo.thinned.shape
    drawn_again = [_agreement(a)[at] for a in replicates(built, draws_of(kept), seed=seed)]
    labels = {
        name: ("cell", loo.cells[name].astype(str).to_numpy(dtype=object))
        for name in ("model", "item", "variant", "prefix")
        if name in loo.cells
    }
    dims = ("chain", "draw", "cell")
    coords = {"chain": kept["chain"].values, "draw": kept["draw"].values, **labels}

    def group(name: str, found: np.ndarray) -> xr.Dataset:
        return xr.Dataset({name: (dims, found.reshape(shape).astype(np.float32))}, coords)

    observed = _agreement(observed_answers(built.cells))[at]
    return {
        "log_likelihood": group("answers", loo.thinned),
        "posterior_predictive": group("agreement", np.stack(drawn_again)),
        "observed_data": xr.Dataset({"agreement": ("cell", observed)}, labels),
    }


def _agreement(answers: Answers) -> np.ndarray:
    """Return ``[cell]`` the share of agreeing answers less that of disagreeing ones."""
    return np.asarray((answers.agree - answers.disagree) / np.maximum(answers.n, 1))
