"""What the planted respondents' answers follow, laid out like a response dataset."""

import numpy as np

from polbayes.planted.truth import linear_predictor


def linear_predictor_grid(truth, design):
    """Return eta of every wording under every prefix of a response dataset.

    Over item, variant and prefix; NaN where an item has no such variant.
    """
    items = [str(x) for x in design["item"].values]
    variants = [str(x) for x in design["variant"].values]
    prefixes = [str(x) for x in design["prefix"].values]
    dimensions = [str(x) for x in design["dimension"].values]
    keying = design["keying"].transpose("item", "variant").values
    exists = design["statement"].transpose("item", "variant").values != ""
    grid = np.full((len(items), len(variants), len(prefixes)), np.nan)
    for (i, v), there in np.ndenumerate(exists):
        for p, prefix in enumerate(prefixes) if there else ():
            grid[i, v, p] = linear_predictor(
                truth,
                item=items[i],
                variant=variants[v],
                dimension=dimensions[i],
                keying=int(keying[i, v]),
                prefix=prefix,
            )
    return grid
