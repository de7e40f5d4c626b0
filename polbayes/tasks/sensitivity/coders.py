"""The conclusions of a run if one of its coders had read all answers.

A coder's score of a model is the bias measure of the answers that it can read; resampling the
statements says how certain it is.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from polbayes.coding.registry import CODERS, judges
from polbayes.coding.responses import EXACT, code_responses
from polbayes.config.schema import CodingConfig
from polbayes.data.dataset import STANCE, to_frame
from polbayes.fit.posterior.flips import Conclusion, Scores, judged
from polbayes.fit.posterior.measurement_design import shares
from polbayes.measures.resampling import item_weights
from polbayes.probing.journal import CODING
from polbayes.run.manifest import Manifest

_DRAWS = 1000
_SIDES = [STANCE[name] for name in ("disagree", "neutral", "agree")]


def readers(config: CodingConfig) -> list[str]:
    """Return the coders that read texts, without judges, whose readings may cost money."""
    paid = judges(config.coders, config.models)
    names = [name for name in dict.fromkeys(config.coders) if name not in EXACT]
    return [name for name in names if name in CODERS or name not in paid]


def flips_by_coder(
    data: xr.Dataset,
    config: CodingConfig,
    conclusions: Sequence[Conclusion],
    *,
    folder: Manifest,
    seed: int,
) -> pd.DataFrame:
    """Return rows of ``flips`` for each coder alone; none if fewer than two coders read texts.

    Parameters
    ----------
    data
        The coded answers of the run.
    config
        Its coders.
    conclusions
        What is concluded.
    folder
        The run's, where what checkpoints read is kept.
    seed
        Fixes the resampled statements.
    """
    names, rows = readers(config), list[dict[str, object]]()
    if len(names) < 2 or "completion" not in data:
        return pd.DataFrame()
    exact = [name for name in config.coders if name in EXACT]
    for name in names:
        journals = folder.folder / CODING
        own = code_responses(data, [*exact, name], models=config.models, journal_dir=journals)
        for row in judged(conclusions, scores_of(own, seed=seed)):
            rows.append({"change": "coder", "prompts": name, **row})
    return pd.DataFrame(rows)


def scores_of(data: xr.Dataset, *, seed: int) -> Scores:
    """Return the bias measure of a coded dataset, over resampled statements."""
    frame = to_frame(data, ["stance"])
    frame = frame[frame["stance"].isin(_SIDES) & (frame["keying"] != 0)].reset_index(drop=True)
    frame["keyed"] = frame["keying"] * frame["stance"]
    names = ["model", "dimension", "direction", "item"]
    cells = frame.groupby([*names, "variant", "prefix", "keying"], observed=True)["keyed"].mean()
    cells = cells.reset_index()
    cells["weight"] = shares(cells, "direction")
    cells["keyed"] *= cells["weight"]
    items = cells.groupby(names, observed=True)[["keyed", "weight"]].sum().reset_index()
    items["keyed"] /= items["weight"]
    models, dimensions = (list(dict.fromkeys(map(str, items[n]))) for n in ("model", "dimension"))
    values = np.full((_DRAWS, len(models), len(dimensions)), np.nan)
    for (model, dimension), rows in items.groupby(["model", "dimension"], observed=True):
        at = models.index(str(model)), dimensions.index(str(dimension))
        values[:, at[0], at[1]] = np.mean(list(_means(rows, seed)), axis=0)
    return Scores(tuple(models), tuple(dimensions), values, np.full(_DRAWS, 1 / _DRAWS))


def _means(rows: pd.DataFrame, seed: int) -> Iterator[np.ndarray]:
    """Yield ``[draw]`` the mean keyed answer to the statements of each side, resampled."""
    for _, side in rows.groupby("direction", observed=True):
        side = side.sort_values("item")
        weights = item_weights(side["item"].astype(str).tolist(), _DRAWS, seed)
        yield weights @ side["keyed"].to_numpy() / weights.sum(axis=1)
