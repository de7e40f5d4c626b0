"""What ArviZ needs besides the draws: the groups of ``posterior.nc`` for `az.loo` and the like."""

import numpy as np
import xarray as xr

from polbayes.fit.density.model import Built
from polbayes.fit.posterior.pointwise import draws_of, likelihoods, log_likelihood
from polbayes.fit.posterior.predictive import Answers, observed_answers, replicates

# Values in each group, and draws: with more cells fewer draws are kept, and below these none.
_MOST, _LEAST_DRAWS = 2_000_000, 100


def arviz_groups(built: Built, drawn: xr.Dataset, *, seed: int) -> dict[str, xr.Dataset]:
    """Return ``log_likelihood``, ``posterior_predictive`` and ``observed_data`` over ``cell``.

    The log-likelihood is of the ``answers`` of a cell, with effects of that cell alone integrated
    out; ``agreement`` is the share that agrees less the share that disagrees, observed and drawn
    from the model. Draws are thinned where all of them would not fit; where few would, there are no
    groups.
    """
    part = likelihoods(built)["answers"]
    chains, draws = drawn.sizes["chain"], drawn.sizes["draw"]
    step = max(1, -(-draws * chains * len(part.at) // _MOST))
    kept = drawn.isel(draw=slice(None, None, step))
    if not len(part.at) or chains * kept.sizes["draw"] < min(_LEAST_DRAWS, chains * draws):
        return {}
    matrices, shape = draws_of(kept), (chains, kept.sizes["draw"], len(part.at))
    values = log_likelihood(part, matrices, slice(None)).T
    drawn_again = [_agreement(a)[part.at] for a in replicates(built, matrices, seed=seed)]
    frame = built.cells.frame.iloc[part.at]
    labels = {
        name: ("cell", frame[name].astype(str).to_numpy(dtype=object))
        for name in ("model", "item", "variant", "prefix")
        if name in frame
    }
    dims = ("chain", "draw", "cell")
    coords = {"chain": kept["chain"].values, "draw": kept["draw"].values, **labels}

    def group(name: str, found: np.ndarray) -> xr.Dataset:
        return xr.Dataset({name: (dims, found.reshape(shape).astype(np.float32))}, coords)

    observed = _agreement(observed_answers(built.cells))[part.at]
    return {
        "log_likelihood": group("answers", values),
        "posterior_predictive": group("agreement", np.stack(drawn_again)),
        "observed_data": xr.Dataset({"agreement": ("cell", observed)}, labels),
    }


def _agreement(answers: Answers) -> np.ndarray:
    """Return ``[cell]`` the share of agreeing answers less that of disagreeing ones."""
    return np.asarray((answers.agree - answers.disagree) / np.maximum(answers.n, 1))
