"""The run of Haller et al. (2024) from their published paraphrases to the mixed model, timed.

Reads the 58,848 published wordings as two sets, asks a respondent all of them and the originals by
forced choice, compares the two sets, and regresses R+ on the text features of the wordings, with
random intercepts for items. `--table FILE` is the table of wordings (columns item_id, paraphraser,
k, text and item); without it twenty wordings of every item and set are made up, for a quick try.
`--checkpoint` is the respondent (`embedded:left`, `planted:left` for a simulated one, a folder or
a hub name), `--items N` uses only the first N of the 62 items, and `--parser NAME` is a spaCy
pipeline, which adds the three dependency features to the model, as in the study.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import pandas as pd

from polbayes.cli import main as polbayes
from polbayes.instrument.questionnaires import load_instrument

SETS = {"gpt": "gpt-3.5-turbo", "claude": "claude-3-5-sonnet-20240620"}
QUICK = (
    "lexical_frequency + word_length + sentence_length + positive_sentiment + negative_sentiment"
)
PARSED = " + right_dependents + left_dependents + dependency_distance"


def called(*arguments: str) -> tuple[float, float]:
    """Run the command line, and return wall-clock and processor seconds."""
    started, processor = time.monotonic(), time.process_time()
    try:
        polbayes(arguments)
    except SystemExit as stop:
        if stop.code:
            raise
    return time.monotonic() - started, time.process_time() - processor


def made_up(path: Path) -> Path:
    """Write a table like the published one: the shipped wordings with a word removed."""
    rows = []
    for number, item in enumerate(load_instrument("pct").items):
        for start, name in enumerate(SETS.values()):
            words = item.variants[start].text.split()
            about = {"item": number, "item_id": item.item, "paraphraser": name}
            for k in range(20):
                gone = k % len(words)
                text = " ".join([*words[:gone], *words[gone + 1 :], f"({k})"])
                rows.append({**about, "k": k, "text": text})
    pd.DataFrame(rows).to_parquet(path)
    return path


def run(arguments: argparse.Namespace, folder: Path) -> None:
    """Create the wordings, ask them, analyse the answers, and print the figures."""
    items = [item.item for item in load_instrument("pct").items][: arguments.items]
    chosen = f"items=[{','.join(items)}]"
    seconds, processor = called(
        "task=paraphrase",
        "paraphrase=haller_published",
        f"paraphrase.table={arguments.table}",
        "paraphrase.human.per_item=0",
        "name=wordings",
        "instruments=[pct]",
        chosen,
        f"run_dir={folder / 'set'}",
    )
    wordings = pd.read_parquet(folder / "set" / "wordings.parquet")
    print(
        f"{len(wordings):,} wordings of {len(items)} items read in {seconds:.0f} s, of these "
        f"{processor:.0f} s of the processor"
    )
    patterns = [f"paraphrase_{name}_*" for name in SETS.values()]
    features = QUICK + (PARSED if arguments.parser else "")
    more = [f"features.parser={arguments.parser}"] if arguments.parser else []
    simulated = arguments.checkpoint.startswith("planted:")
    sets = ",".join(f"{k}: [{p}]" for k, p in zip(SETS, patterns, strict=True))
    seconds, processor = called(
        "+experiment=pct_paraphrases",
        "respondents=none",
        f"+respondents.asked.checkpoint={arguments.checkpoint}",
        f"+respondents.asked.backend={'simulated' if simulated else 'causal'}",
        f"wordings=[{folder / 'set' / 'wordings.parquet'}]",
        f"variants=[original,{','.join(patterns)}]",
        chosen,
        "analysis=text_features",
        f'analysis.parts.mu="~ {features} + (1 | item)"',
        "sampler=exact",
        f"measures.paraphrase_sets={{{sets}}}",
        f"run_dir={folder / 'run'}",
        *more,
    )
    stages = json.loads((folder / "run" / "manifest.json").read_text())["stages"]
    for stage, about in stages.items():
        print(f"{stage:<10}{about['seconds']:8.1f} s")
    print(f"{'in all':<10}{seconds:8.1f} s, of these {processor:.1f} s of the processor")
    table = pd.read_csv(folder / "run" / "measures" / "paraphrase_sets.csv")
    print(table[["set", "measure", "estimate", "lower", "upper", "n_items"]].to_string(index=False))
    fitted = pd.read_csv(folder / "run" / "estimates" / "coefficients.csv")
    print(fitted.to_string(index=False))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--checkpoint", default="embedded:left")
    parser.add_argument("--items", type=int, default=62)
    parser.add_argument("--parser")
    parser.add_argument("--out", type=Path, help="keep the results there; the run resumes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.table is None:
            arguments.table = made_up(Path(folder) / "table.parquet")
        run(arguments, arguments.out or Path(folder))


if __name__ == "__main__":
    main()
