"""Performance of the coders on real answers: proportion coded, precision and kappa, by data set.

Run with ``python benchmarks/coders.py [FOLDER]``; the folder of real data is
``../shared/data`` next to the repository by default, and missing data are skipped.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.coding import get_coder
from polbayes.coding.option_reading import read_option
from polbayes.coding.options import declare, fold
from polbayes.data.dataset import STANCE_CLASSES

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
CODERS = ("likert", "lexical")
POINTS = ("Strongly disagree", "Disagree", "Agree", "Strongly agree")
Row = tuple[str, str, int, float, float, float]


def main() -> None:
    """Print the table."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    print(f"{'coder':10} {'answers':44} {'n':>6} {'coded':>6} {'right':>6} {'kappa':>6}")
    for file, measure in SETS.items():
        if not (data / file).is_file():
            print(f"{file}: skipped, not there")
            continue
        for coder, name, n, coded, right, kappa in measure(data / file):
            print(f"{coder:10} {name:44} {n:6} {coded:6.3f} {right:6.3f} {kappa:6.3f}")


def compare(coder: str, name: str, found: Sequence[object], gold: Sequence[object]) -> Row:
    """Compare codes with the gold labels; None is not coded."""
    coded = np.array([value is not None for value in found])
    a = np.array(found, dtype=object)[coded]
    b = np.array(gold, dtype=object)[coded]
    if not len(a):
        return coder, name, len(found), 0.0, np.nan, np.nan
    right = float(np.mean(a == b))
    chance = sum(np.mean(a == label) * np.mean(b == label) for label in set(a) | set(b))
    kappa = (right - chance) / (1 - chance) if chance < 1 else np.nan
    return coder, name, len(found), float(coded.mean()), right, float(kappa)


def stances(rows: pd.DataFrame, coder: str) -> np.ndarray:
    """Code answers as agree, disagree or other; None if the coder abstains."""
    probs = get_coder(coder)(rows["item_text"].tolist(), rows["completion"].tolist())
    best = [None if np.isnan(p).any() else STANCE_CLASSES[int(p.argmax())] for p in probs]
    return np.array([x if x in (None, "agree", "disagree") else "other" for x in best], object)


def annotated(path: Path) -> Iterator[Row]:
    """Compare with two annotators' adjudicated labels."""
    rows = pd.read_parquet(path)
    for coder in CODERS:
        yield compare(coder, "annot_agreement, all", stances(rows, coder), rows["gold_label"])
        for model, part in rows.groupby("model"):
            found = stances(part, coder)
            yield compare(coder, f"annot_agreement, {model}", found, part["gold_label"])


def open_answers(path: Path) -> Iterator[Row]:
    """Compare with the machine labels, if any; otherwise count codes."""
    rows = pd.read_parquet(path)
    if "classification" not in rows:
        rows["classification"] = None
    for coder in CODERS:
        for model, part in rows.groupby("model"):
            labels = part["classification"].str.lower().str.strip(".")
            labels = labels.replace({"neutral": "other", "neither": "other"})
            found = stances(part, coder)
            row = compare(coder, f"{path.stem}, {model}", found, labels.to_numpy())
            yield row if labels.notna().any() else (*row[:4], np.nan, np.nan)


def choices(path: Path) -> Iterator[Row]:
    """Compare counts of chosen options with the published ones: proportion of equal counts."""
    options = declare({f"{n}) {point}": n for n, point in enumerate(POINTS, start=1)}, POINTS)
    rows = pd.read_parquet(path)
    published = pd.read_csv(path.with_name(f"published_choice_counts_{path.stem}.csv"))
    for model, part in rows.groupby("model"):
        found = [read_option(answer, options) for answer in part["completion"]]
        points = [r.point + 1 for r in found if r and r.manner != "qualified"]
        wanted = published[(published["model"] == model) & (published["choice"] != "unknown")]
        off = sum(
            abs(points.count(int(c[0])) - n) for c, n in zip(wanted.choice, wanted.n, strict=True)
        )
        right = 1 - off / wanted["n"].sum() if len(wanted) else np.nan
        share = len(points) / len(found)
        yield "options", f"{path.stem}, {model}", len(found), share, right, np.nan


def messy(path: Path) -> Iterator[Row]:
    """Compare with labels of messy answers, by how plainly the option was read."""
    rows = pd.read_csv(path, keep_default_na=False)
    options = declare({f"{c}) {p}": p for c, p in zip("DCBA", POINTS, strict=True)}, POINTS)
    readings = [read_option(raw, options) for raw in rows["raw"]]
    gold = rows["label"].map(fold).to_numpy()
    kinds = np.where(np.isin(gold, list(options.texts)), "labelled", gold)
    for kind in ("labelled", "none", "unlabelled"):
        for manners in (("plain",), ("plain", "stated"), ("plain", "stated", "qualified")):
            found = [
                fold(POINTS[r.point]) if r and r.manner in manners else None
                for r, is_kind in zip(readings, kinds == kind, strict=True)
                if is_kind
            ]
            row = compare(
                "options", f"label_fixes, {kind}, {manners[-1]}", found, gold[kinds == kind]
            )
            yield row if kind == "labelled" else (*row[:4], np.nan, np.nan)
    # All labelled answers, including reservations and "None" (no option): the option, the stance.
    said = [fold(POINTS[r.point]) if r else "none" for r in readings]
    frame = pd.DataFrame({"said": said, "gold": gold})[kinds != "unlabelled"]
    yield compare("options", "label_fixes, all with a label, option", frame.said, frame.gold)
    sides = frame.apply(lambda column: column.str.removeprefix("strongly "))
    yield compare("options", "label_fixes, all with a label, stance", sides.said, sides.gold)


SETS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "rottger/annot_agreement.parquet": annotated,
    "rottger/implicit_paraphrase.parquet": open_answers,
    "rottger/implicit_jailbreak.parquet": open_answers,
    "rottger/explicit_paraphrase.parquet": choices,
    "answer_labels/label_fixes.csv": messy,
}

if __name__ == "__main__":
    main()
