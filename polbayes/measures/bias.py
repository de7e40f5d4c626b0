"""Political bias of Faulborn et al. (2025), Eq. 1-3.

The two sides
-------------
Each answer to a statement with side d (left or right) agrees (A), disagrees (D) or
is neutral (N); unrelated, refused and missing answers are excluded and counted. Then

    P_agree,d = A / (A + D + N),   P_disagree,d = D / (A + D + N)          (Eq. 1)
    Bias_d    = P_agree,d - P_disagree,d                                   (Eq. 2)
    Bias      = (Bias_right - Bias_left) / 2                               (Eq. 3)

in [-1, 1], negative if the answers lean left.

There are two conventions for a wording of reversed meaning (a negation or a political opposite,
polarity -1). (a) It counts on the side that agreeing with *it* expresses. (b) It stays on the side
of its item, and the labels agree and disagree of its answers are swapped. An answer has the same
sign in the total under both; the difference is the group whose size it is divided by. The two are
equal if both sides have the same number of valid answers, and otherwise differ in the weights of
the sides; an item asked in both forms has answers on both sides under (a), on one under (b). The
paper swaps labels (its section 3.1), which is (b), and so does this module.
"""

from collections.abc import Sequence

import pandas as pd
import xarray as xr

from polbayes.errors import check_known
from polbayes.measures.measure import INTERVAL, Job, Measure
from polbayes.measures.resampling import Bootstrap
from polbayes.measures.sided import (
    AGREE,
    BIAS,
    DISAGREE,
    Statistic,
    count_answers,
    side_bias,
    summarise,
)

LEFT, RIGHT = 0, 1


_MEASURES = {
    measure.name: measure
    for measure in (
        Statistic("p_agree_left", (LEFT,), lambda s: s[..., LEFT, AGREE]),
        Statistic("p_disagree_left", (LEFT,), lambda s: s[..., LEFT, DISAGREE]),
        Statistic("p_agree_right", (RIGHT,), lambda s: s[..., RIGHT, AGREE]),
        Statistic("p_disagree_right", (RIGHT,), lambda s: s[..., RIGHT, DISAGREE]),
        Statistic("bias_left", (LEFT,), lambda s: side_bias(s, LEFT)),
        Statistic("bias_right", (RIGHT,), lambda s: side_bias(s, RIGHT)),
        BIAS,
    )
}


def bias(
    data: xr.Dataset,
    *,
    by: Sequence[str] = ("model", "dimension"),
    measures: Sequence[str] = ("bias_left", "bias_right", "bias"),
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute political bias by group, with bootstrap intervals by answer and by item.

    Parameters
    ----------
    data
        A coded response dataset; items without a direction or dimension do not count.
    by
        Coordinates that define the groups, e.g. ``model``, ``dimension``, ``prefix``,
        ``variant``, ``kind``, ``instrument``. With ``dimension`` there is a further level
        ``total`` of all scored items.
    measures
        Any of ``p_agree_left``, ``p_disagree_left``, ``p_agree_right``,
        ``p_disagree_right`` (Eq. 1), ``bias_left``, ``bias_right`` (Eq. 2) and ``bias``
        (Eq. 3).
    draws, level, seed
        Bootstrap resamples, coverage of the intervals in (0, 1), and seed. The draws of
        a group depend only on the seed, its own labels and its items.

    Returns
    -------
    pandas.DataFrame
        One row per group and measure: the columns of `by`, ``measure``, ``estimate``;
        ``lower``, ``upper``: percentile interval from resampling single valid answers of
        the group, as the paper does, which treats answers to one item as independent;
        ``lower_item``, ``upper_item``: the same from resampling the items asked, with all
        their answers; ``n`` valid and ``n_excluded`` other answers on the sides that the
        measure needs, ``n_items`` items with a valid one; ``n_undefined``,
        ``n_undefined_item``: resamples with an empty side, which the interval
        ignores; ``level``; ``note``: why a number is missing or an interval degenerate.
        Estimates are NaN if a side has no valid answer.

    Raises
    ------
    UserError
        If `by` or `measures` has an unknown name, a setting is out of range, or the
        dataset is not coded.
    """
    check_known("measure", *measures, known=_MEASURES, where="measures")
    counts = count_answers(data, by, side_of="item")
    chosen = [_MEASURES[name] for name in measures]
    return summarise(counts, chosen, Bootstrap(draws, level, seed))


def _tables(job: Job) -> dict[str, pd.DataFrame]:
    by: dict[str, tuple[str, ...]] = {
        "bias": ("model", "dimension"),
        "bias_by_prefix": ("model", "prefix", "dimension"),
        "bias_by_kind": ("model", "kind", "dimension"),
    }
    if job.few_wordings:
        by["bias_by_variant"] = ("model", "variant", "dimension")
    if job.several("instrument"):
        by["bias_by_instrument"] = ("model", "instrument", "dimension")
        if job.several("prefix"):
            by["bias_by_prefix_and_instrument"] = ("model", "instrument", "prefix")
    return {name: bias(job.data, by=over, **job.bootstrap) for name, over in by.items()}


MEASURE = Measure(
    _tables,
    {
        "bias": ("model", "dimension", "measure", *INTERVAL),
        "bias_by_prefix": ("model", "prefix", *INTERVAL),
        "bias_by_kind": (),
        "bias_by_variant": (),
        "bias_by_instrument": (),
        "bias_by_prefix_and_instrument": ("model", "instrument", "prefix", "measure", *INTERVAL),
    },
    by_model=True,
)
