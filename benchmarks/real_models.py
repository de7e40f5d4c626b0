"""Positions and decisiveness of real models, compared with compass positions and repetition.

Arguments are folders of finished runs, such as those of

    polbayes +experiment=imported imported.path=explicit_paraphrase.parquet run_dir=rottger
    polbayes +experiment=imported importer=eroglu imported.path=responses.parquet run_dir=eroglu

For each, prints the convergence of the fit and rank correlations over the models: of θ, lean and
bias with the compass position from the same answers, and of |θ| and decisiveness with the frequency
of the most common answer to a question. The compass counts an unanswered statement as the middle,
so a model that refuses comes out near the centre: a second line has the models with a usable answer
to at least --answered of the questions. With --fewer RUN, a run on a subset of the answers, also
prints how much wider its intervals are, by model.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from polbayes.data.dataset import STATUS, open_responses, to_frame

# The compass calls its second axis social.
AXES = {"economic": "economic", "social": "cultural"}


def compass(folder: Path) -> pd.Series:
    """Read the compass positions by model and dimension."""
    table = pd.read_csv(folder / "measures" / "compass.csv")
    table = table[(table["answers"] == "original") & (table["kind"] == "original")]
    table = table.assign(dimension=table["measure"].map(AXES)).dropna(subset=["dimension"])
    return table.set_index(["model", "dimension"])["estimate"]


def most_frequent(folder: Path) -> pd.Series:
    """Return the mean frequency of the most common answer to a question, by model.

    If nothing was asked twice, a question is a statement under any prefix.
    """
    frame = to_frame(open_responses(folder), ["rating", "status"])
    frame = frame[frame["status"] == STATUS["ok"]]
    keys = ["model", "item", "variant", "prefix"]
    if not frame.duplicated(keys).any():
        keys = keys[:2]
    counts = frame.groupby([*keys, "rating"]).size()
    by_question = counts.groupby(keys).agg(["max", "sum"])
    totals = by_question.groupby("model").sum()
    return totals["max"] / totals["sum"]


def answered(folder: Path) -> pd.Series:
    """Return the proportion of questions with a usable rating, by model."""
    frame = to_frame(open_responses(folder), ["rating", "status"])
    usable = (frame["status"] == STATUS["ok"]) & frame["rating"].notna()
    return usable.groupby(frame["model"]).mean()


def ranks(own: pd.Series, other: pd.Series) -> str:
    """Describe the rank correlations of two series by model and dimension."""
    said = []
    for dimension in ("economic", "cultural"):
        here = own.xs(dimension, level="dimension")
        there = other.xs(dimension, level="dimension").reindex(here.index)
        rank = spearmanr(here, there, nan_policy="omit")
        said.append(f"{dimension} {rank.statistic:+.2f}")
    return ", ".join(said)


def estimates(folder: Path, name: str) -> pd.DataFrame:
    """Read a table of estimates."""
    return pd.read_csv(folder / "estimates" / f"{name}.csv")


def describe(folder: Path, enough: float) -> None:
    """Print convergence and rank correlations of a run."""
    record = json.loads((folder / "manifest.json").read_text())["stages"]["fit"]
    print(f"\n{folder}: {record['verdict']}, {record['seconds']:.0f} s")
    for sentence in record["sentences"]:
        print(f"  {sentence}")
    positions = compass(folder)
    share = answered(folder)
    most = list(share.index[share >= enough])
    for name in ("theta", "theta_asked", "lean", "bias_posterior"):
        table = estimates(folder, name).set_index(["model", "dimension"])["estimate"]
        print(f"  {name} with the compass ({len(share)} models): {ranks(table, positions)}")
        if 2 < len(most) < len(share):
            print(f"    {len(most)} that answered: {ranks(table.loc[most], positions)}")
    often = most_frequent(folder)
    size = estimates(folder, "theta").groupby("model")["estimate"].agg(lambda x: np.abs(x).mean())
    kappa = estimates(folder, "decisiveness").query("measure == 'decisiveness'")
    kappa = kappa.set_index("model")["estimate"]
    for label, values in (("|θ|", size), ("decisiveness", kappa)):
        rank = spearmanr(values, often.reindex(values.index), nan_policy="omit")
        print(f"  {label} with the share of the most frequent answer: {rank.statistic:+.2f}")


def widths(folder: Path, fewer: Path) -> None:
    """Print how the intervals of two runs compare."""
    print(f"\nwidth of the intervals of {fewer} by those of {folder}")
    for name in ("theta", "theta_asked", "lean"):
        one, other = (estimates(f, name).set_index(["model", "dimension"]) for f in (folder, fewer))
        ratio = (other["upper"] - other["lower"]) / (one["upper"] - one["lower"])
        moved = (other["estimate"] - one["estimate"]) / one["sd"]
        table = pd.DataFrame({"ratio of widths": ratio, "shift in SD": moved})
        print(f"{name}\n{table.round(3).to_string()}")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--fewer", type=Path, help="a run on some of the first one's answers")
    parser.add_argument("--answered", type=float, default=0.75, help="proportion of questions")
    given = parser.parse_args()
    for folder in given.runs:
        describe(folder, given.answered)
    if given.fewer:
        widths(given.runs[0], given.fewer)


if __name__ == "__main__":
    main()
