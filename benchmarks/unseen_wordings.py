"""Answers of the embedded respondents to wordings outside their training data.

Trains each respondent as `python -m tools.embedded` does, but without some wordings of one
instrument, also in the tokenizer. Then compares its answers to them, and to the wordings it was
trained on, with the planted ones. This takes some minutes per respondent. Run with
``PYTHONPATH=. python benchmarks/unseen_wordings.py [--respondents NAME ...] [--json FILE]``.
"""

import argparse
import json
import multiprocessing
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from polbayes.data.files import replacing
from polbayes.instrument.questionnaires import load_instrument
from polbayes.planted.truth import load_truths
from tools.embedded.checkpoints import NOISE
from tools.embedded.corpus import Wording, shipped_wordings
from tools.embedded.fidelity import CLEAR, measure, sample_cells
from tools.embedded.train import train_reader, train_respondent

Row = dict[str, str | int | float]


def split(
    instrument: str, without: Sequence[str]
) -> tuple[list[Wording], dict[str, list[Wording]]]:
    """Return the training wordings, and the held-out ones by variant."""
    items = {item.item for item in load_instrument(instrument).items}
    everything = shipped_wordings()
    unseen = {
        variant: [w for w in everything if w.item in items and w.variant == variant]
        for variant in without
    }
    left_out = [w for group in unseen.values() for w in group]
    return [w for w in everything if w not in left_out], unseen


def experiment(
    name: str, trained: list[Wording], unseen: dict[str, list[Wording]], cells: int
) -> list[Row]:
    """Train one respondent and measure it on training and held-out wordings."""
    truths = load_truths()
    truth = truths[name]
    names = [t.name for t in truths.values() if t.architecture == truth.architecture]
    start = time.perf_counter()
    reader = train_reader(truth.architecture, names, trained)
    network = train_respondent(truth, reader, trained)
    seconds = time.perf_counter() - start
    asked = {"trained, as they are": (trained, 0.0), "trained, with noise": (trained, NOISE)}
    asked |= {f"unseen, {variant}": (group, 0.0) for variant, group in unseen.items()}
    rows: list[Row] = []
    for seed, (label, (wordings, strength)) in enumerate(asked.items(), start=11):
        sample = sample_cells(truth, wordings, count=cells, seed=seed, strength=strength)
        found = measure(network, reader.tokenizer, truth, wordings, sample)
        rows.append(
            {
                "respondent": name,
                "wordings": label,
                "number": len(wordings),
                "prompts": cells,
                "error": found.error,
                "clear": found.clear,
                "right": found.right_stance,
                "seconds": seconds,
            }
        )
    return rows


def nearest_in_words(trained: Sequence[Wording], unseen: Sequence[Wording]) -> float:
    """Return how often the item's training wording with the most words in common has the same side.

    This is the accuracy from words alone: near one half, the wordings cannot be
    distinguished without knowing their meaning.
    """

    def bag(wording: Wording) -> set[str]:
        return set(re.findall(r"\w+", wording.text.lower()))

    def alike(one: Wording, other: Wording) -> float:
        return len(bag(one) & bag(other)) / len(bag(one) | bag(other))

    same = [
        max((t for t in trained if t.item == w.item), key=lambda t: alike(w, t)).polarity
        == w.polarity
        for w in unseen
    ]
    return sum(same) / len(same)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        f"{'respondent':14}{'wordings':30}{'number':>8}{'prompts':>9}{'error':>8}"
        f"{'clear':>7}{'right':>8}{'seconds':>9}"
    )
    for row in rows:
        yield (
            f"{row['respondent']:14}{row['wordings']:30}{row['number']:8}{row['prompts']:9,}"
            f"{row['error']:8.4f}{row['clear']:7}{row['right']:8.1%}{row['seconds']:9.0f}"
        )


def main() -> None:
    """Train, measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--respondents",
        nargs="+",
        metavar="NAME",
        default=["left", "masked_left"],
        choices=list(load_truths()),
    )
    parser.add_argument("--instrument", default="pct")
    parser.add_argument(
        "--without", nargs="+", metavar="VARIANT", default=["paraphrase_3", "opposite_3"]
    )
    parser.add_argument("--cells", type=int, default=2000, help="prompts for each row")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows here")
    options = parser.parse_args()
    trained, unseen = split(options.instrument, options.without)
    for variant, group in unseen.items():
        if not group:
            parser.error(f"instrument '{options.instrument}' has no variant '{variant}'")
    by_words = {variant: nearest_in_words(trained, group) for variant, group in unseen.items()}
    count = len(options.respondents)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        given = [trained] * count, [unseen] * count, [options.cells] * count
        found = [row for rows in pool.map(experiment, options.respondents, *given) for row in rows]
    print("\n".join(lines(found)))
    print(f"right: likelier side, where the planted sides differ by {CLEAR} or more")
    for variant, share in by_words.items():
        print(f"{variant}: the trained wording with most words in common says the same {share:.1%}")
    if options.json:
        text = json.dumps({"rows": found, "nearest_in_words": by_words}, indent=1)
        with replacing(options.json) as target:
            target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
