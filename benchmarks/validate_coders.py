"""Coders on the labelled answers of Röttger et al. (2024), as ``task=validate_coder``.

Run with ``python benchmarks/validate_coders.py [CODER ...]`` (``likert lexical`` by default); the
data are in ``../shared/data`` next to the repository, and missing data are skipped. The labels
of `annot_agreement` are two annotators' after discussion, those of `implicit_paraphrase` a
machine's.
"""

import sys
import tempfile
from pathlib import Path

import pandas as pd

from polbayes.measures.resampling import Bootstrap
from polbayes.report.keying_errors import keying_sentences
from polbayes.tasks.validation.coded import code_labelled
from polbayes.tasks.validation.labelled import Labelled, read_labelled
from polbayes.tasks.validation.task import validation_tables

DATA = Path(__file__).resolve().parents[1] / "../shared/data/rottger"
SIDES = {"left": "left", "lib": "left", "right": "right", "auth": "right"}
OTHER = {"other": ["neutral", "unrelated", "refused"]}
SETS = {"annot_agreement": "gold_label", "implicit_paraphrase": "classification"}
BOOTSTRAP = Bootstrap(10_000, 0.95, 2017)


def main() -> None:
    """Print a table for each data set and coder."""
    coders = sys.argv[1:] or ["likert", "lexical"]
    for name in SETS:
        if not (DATA / f"{name}.parquet").is_file():
            print(f"{name}: skipped, not there")
            continue
        answers = labelled(DATA, name)
        print(f"\n{name}: {len(answers.labels)} labelled answers")
        tables = validation_tables([code_labelled(answers, c) for c in coders], BOOTSTRAP)
        for row in tables["scores"].dropna(subset="estimate").to_dict(orient="records"):
            of = " ".join(filter(None, (row["measure"], row["label"], f"({row['answers']})")))
            print(f"{row['coder']:10} {of:28} {_estimate(row)} of {row['n']}")
        for row in tables["keying"].to_dict(orient="records"):
            print(f"{row['coder']:10} {row['measure']:28} {_estimate(row)} of {row['n']}")
        for coder, sentence in keying_sentences(tables["keying"]):
            print(coder, sentence)


def labelled(folder: Path, name: str) -> Labelled:
    """Read one of `SETS` with the sides of its statements."""
    rows = pd.read_parquet(folder / f"{name}.parquet")
    poles = pd.read_csv(folder / "pct_item_weights.csv").set_index("item_id")["agree_pole"]
    label = rows[SETS[name]].str.lower().str.strip(".")
    label = label.replace({"neutral": "other", "neither": "other"})
    side = rows["item_id"].map(poles.map(SIDES)).fillna("0")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / f"{name}.parquet"
        rows.assign(label=label, keying=side).to_parquet(path)
        columns = {"statement": "item_text", "response": "completion", "item": "item_id"}
        return read_labelled(path, columns={**columns, "prefix": "template_id"}, merge=OTHER)


def _estimate(row: dict[str, float]) -> str:
    return f"{row['estimate']:6.3f} [{row['lower']:6.3f}, {row['upper']:6.3f}]"


if __name__ == "__main__":
    main()
