"""The posterior of the bias measure compared with the classical one, on real answers.

Arguments are folders of finished runs, such as those of

    polbayes +experiment=imported imported.path=explicit_paraphrase.parquet run_dir=rottger
    polbayes +experiment=imported importer=eroglu imported.path=responses.parquet run_dir=eroglu

The difference has two sources, which the table separates:

weights    the classical measure weights answers equally, the posterior wordings under prefixes: the
           difference to a classical measure with equal weights for all answered cells;
the model  the rest: shrinkage towards items and models, and cells without a usable answer, which
           the posterior predicts.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.data.dataset import STANCE, open_responses, to_frame


def equal_weights(data) -> pd.Series:
    """Compute Eq. 3 by model and dimension with equal weights for all answered cells."""
    frame = to_frame(data, ["stance"])
    usable = frame["stance"].isin([STANCE["disagree"], STANCE["neutral"], STANCE["agree"]])
    frame = frame[usable & (frame["direction"] != 0)]
    # Labels of wordings of reversed meaning are swapped.
    agrees = frame["stance"] * frame["keying"] * frame["direction"]
    keys = ["model", "dimension", "direction", "item", "variant"]
    cells = frame.assign(agrees=agrees).groupby([*keys, "prefix"], observed=True)["agrees"].mean()
    wordings = cells.groupby(keys, observed=True).mean()

    def both(values: pd.Series, by: list[str]) -> pd.Series:
        sides = values.groupby([*by, "direction"], observed=True).mean().unstack("direction")
        return (sides[1] - sides[-1]) / 2

    total = both(wordings, ["model"])
    total.index = pd.MultiIndex.from_product([total.index, ["total"]], names=["model", "dimension"])
    return pd.concat([both(wordings, ["model", "dimension"]), total])


def compare(folder: Path) -> pd.DataFrame:
    """Compare the classical measure and the posterior of a run."""
    classical = pd.read_csv(folder / "measures" / "bias.csv").query("measure == 'bias'")
    posterior = pd.read_csv(folder / "estimates" / "bias_posterior.csv")
    table = classical.merge(posterior, on=["model", "dimension"], suffixes=("", "_posterior"))
    keys = list(zip(table["model"], table["dimension"], strict=True))
    equal = equal_weights(open_responses(folder)).reindex(keys).to_numpy()
    out = table[["model", "dimension", "n", "n_excluded"]].copy()
    out["classical"] = table["estimate"]
    out["by_answer"] = _interval(table["lower"], table["upper"])
    out["by_item"] = _interval(table["lower_item"], table["upper_item"])
    out["posterior"] = table["estimate_posterior"]
    out["interval"] = _interval(table["lower_posterior"], table["upper_posterior"])
    out["difference"] = table["estimate_posterior"] - table["estimate"]
    out["weights"] = equal - table["estimate"]
    out["the model"] = table["estimate_posterior"] - equal
    return out


def _interval(low: pd.Series, high: pd.Series) -> list[str]:
    return [f"{a:+.2f} … {b:+.2f}" for a, b in zip(low, high, strict=True)]


def main() -> None:
    """Print a table for each run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    for folder in parser.parse_args().runs:
        table = compare(folder)
        print(f"\n{folder}")
        print(table.to_string(index=False, float_format=lambda v: f"{v:+.3f}"))
        both = np.corrcoef(table["classical"], table["posterior"])[0, 1]
        print(f"correlation {both:.4f}, largest difference {table['difference'].abs().max():.3f}")


if __name__ == "__main__":
    main()
