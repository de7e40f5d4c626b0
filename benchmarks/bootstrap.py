"""Time the bootstrap of bias against resampling the rows of a data frame.

Run ``python benchmarks/bootstrap.py``. The data are simulated answers in the layout of
Faulborn et al.: 11 models, 89 items of two instruments in three wordings, ten prefixes
and three runs, 88,110 answers. The groups are all combinations of model, instrument and prefix.
"""

import argparse
import time

import numpy as np

from polbayes.data.dataset import CELL_DIMS, NOT_ASKED, STATUS, to_frame
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.measures import bias

BY = ["model", "instrument", "prefix"]


def simulate(seed: int):
    """Simulate 88,110 coded answers, a third of them excluded."""
    rng = np.random.default_rng(seed)
    sizes = {"pct": 62, "wvs": 27}
    instruments = [Instrument(n, n, n, tuple(_items(n, k))) for n, k in sizes.items()]
    prefixes = [Prefix(f"prefix_{k}", f"{k}", "open") for k in range(10)]
    models = [ModelInfo(f"model_{k}", "{statement}") for k in range(11)]
    data = design(instruments, prefixes, models, runs=3)
    asked = data["status"] != NOT_ASKED
    lean = rng.normal(-0.3, 0.3, 11)[:, None, None, None, None] + rng.normal(
        0, 0.5, (11, 89, 1, 1, 1)
    )
    keying = data["keying"].values[None, :, :, None, None]
    eta = keying * lean + rng.normal(0, 1, asked.shape)
    stance = np.where(np.abs(eta) < 0.3, 0, np.sign(eta)).astype(np.int8)
    stance[rng.random(asked.shape) < 1 / 3] = 2
    data["stance"] = (CELL_DIMS, stance)
    data["status"] = data["status"].where(~asked, np.int8(STATUS["ok"]))
    return data


def _items(instrument, size):
    for k in range(size):
        wordings = (("original", 1), ("paraphrase", 1), ("opposite", -1))
        variants = tuple(Variant(v, f"{instrument} {k} {v}", v, sign) for v, sign in wordings)
        dimension = ("economic", "cultural")[k % 3 == 0]
        yield Item(f"{instrument}-{k:02d}", dimension, (-1, 1)[k % 2], "simulated", variants, {})


def naive_draw(group, rng):
    """Resample the rows of one group and compute Eq. 3 from them."""
    rows = group.sample(len(group), replace=True, random_state=rng)
    shares = rows.groupby("direction")["oriented"].value_counts(normalize=True)
    parts = {d: shares.get((d, 1), 0) - shares.get((d, -1), 0) for d in (-1, 1)}
    return (parts[1] - parts[-1]) / 2


def naive(data, draws: int, groups: int):
    """Bootstrap a few groups the usual way; return their intervals and the time per draw."""
    frame = to_frame(data, ["stance"])
    frame = frame[frame["stance"].abs() <= 1]
    frame = frame.assign(oriented=frame["stance"] * frame["keying"] * frame["direction"])
    rng = np.random.default_rng(1)
    intervals, spent, worked = {}, 0.0, 0.0
    for label, group in list(frame.groupby(BY))[:groups]:
        start, at_work = time.perf_counter(), time.process_time()
        values = [naive_draw(group, rng) for _ in range(draws)]
        spent += time.perf_counter() - start
        worked += time.process_time() - at_work
        intervals[label] = np.quantile(values, [0.025, 0.975])
    number = draws * len(intervals)
    return intervals, spent / number, worked / number


def main() -> None:
    """Time both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--naive-draws", type=int, default=300)
    parser.add_argument("--naive-groups", type=int, default=3)
    options = parser.parse_args()
    data = simulate(seed=1)
    start, at_work = time.perf_counter(), time.process_time()
    table = bias(data, by=BY, draws=options.draws)
    fast, fast_work = time.perf_counter() - start, time.process_time() - at_work
    found = table[table["measure"] == "bias"].set_index(BY)
    intervals, slow, slow_work = naive(data, options.naive_draws, options.naive_groups)
    draws = options.draws * len(found)
    print(f"{int((data['status'] != NOT_ASKED).sum()):,} answers, {len(found)} groups")
    print(f"{'way':<38}{'draws':>12}{'seconds':>10}{'CPU s':>8}{'draws/CPU s':>14}")
    rows = options.naive_draws * options.naive_groups
    print(
        f"{'rows of a data frame':<38}{rows:>12,}{slow * rows:>10.2f}"
        f"{slow_work * rows:>8.2f}{1 / slow_work:>14,.0f}"
    )
    label = "counts: by answer and by item together"
    print(f"{label:<38}{draws:>12,}{fast:>10.2f}{fast_work:>8.2f}{draws / fast_work:>14,.0f}")
    ratio = draws / fast_work * slow_work
    print(f"ratio {ratio:,.0f} by CPU time; the first way would take {slow * draws / 3600:.1f} h")
    print("intervals by answer, counts and rows:")
    for label, (lower, upper) in intervals.items():
        mine = found.loc[label]
        name = " ".join(label)
        print(f"  {name:<30} [{mine.lower:.3f}, {mine.upper:.3f}]  [{lower:.3f}, {upper:.3f}]")


if __name__ == "__main__":
    main()
