"""A small classifier trained on machine labels of Röttger et al. (2024), as ``task=train_coder``.

Run with ``python benchmarks/train_coder.py [FOLDER] [--seed N]``; it takes a minute, and the data
are in ``../shared/data`` next to the repository. The encoder has random weights and a vocabulary
built from the answers, so nothing is downloaded: the scores show that the pipeline works,
not how good a classifier can be that starts from a checkpoint pretrained on English. It is trained
on `implicit_paraphrase` with all answers to a statement on one side of the split, and without those
of `annot_agreement`, whose labels are two annotators' after discussion: they are its second test,
on statements seen in training. Answers that neither agree nor disagree are called other, and coded
as neutral.
"""

import argparse
import re
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd

from polbayes.cli import _main

DATA = Path(__file__).resolve().parents[1] / "../shared/data/rottger"
SETS = {"annot_agreement": "gold_label", "implicit_paraphrase": "classification"}
COLUMNS = {"item_text": "statement", "completion": "response", "item_id": "item"}
OTHER = "[neutral,unrelated,refused]"
TRAINING = {
    "group": "item",
    "max_length": 256,
    "learning_rate": 0.002,
    "weight_decay": 0.01,
    "warmup_steps": 50,
    "steps": 500,
    "batch_size": 16,
    "evaluate_every": 50,
    "patience": 4,
    "class_weights": "balanced",
    "device": "cpu",
}
VOCABULARY = 2000
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SHAPE = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}


def main() -> None:
    """Train, and print the scores on both sets and those of the lexical coder."""
    if not (DATA / "implicit_paraphrase.parquet").is_file():
        print("skipped: the data are not there")
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="keeps what is made")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        human, machine = (labelled(name) for name in SETS)
        of_humans = set(zip(human["statement"], human["response"], strict=True))
        seen = [pair in of_humans for pair in zip(machine.statement, machine.response, strict=True)]
        machine = machine[~pd.Series(seen, index=machine.index)]
        machine.to_parquet(folder / "machine.parquet")
        human.to_parquet(folder / "human.parquet")
        save_encoder(
            folder / "encoder", [*machine["statement"], *machine["response"]], options.seed
        )
        done = _main(
            [
                "task=train_coder",
                f"run_dir={folder}",
                f"seed={options.seed}",
                f"training.table={folder / 'machine.parquet'}",
                f"training.checkpoint={folder / 'encoder'}",
                f"+training.merge.other={OTHER}",
                *(f"training.{key}={value}" for key, value in TRAINING.items()),
            ]
        )
        if done:
            return
        for name, path in (
            ("machine labels, statements never met", folder / "coder" / "held_out.parquet"),
            ("annotators' labels", folder / "human.parquet"),
        ):
            report(name, path, folder)


def labelled(name: str) -> pd.DataFrame:
    """Read the labelled answers of one of `SETS` with the default column names."""
    rows = pd.read_parquet(DATA / f"{name}.parquet").rename(columns=COLUMNS)
    label = rows[SETS[name]].str.lower().str.strip(".")
    label = label.replace({"neutral": "other", "neither": "other"})
    return rows.assign(label=label)[[*COLUMNS.values(), "model", "label"]].dropna(subset="label")


def save_encoder(folder: Path, texts: list[str], seed: int) -> None:
    """Save a masked language model with random weights, and a tokenizer made of the texts."""
    import torch
    import transformers as tf
    from tokenizers import BertWordPieceTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    # Not trained: ties in frequency make training irreproducible.
    counts = Counter(re.findall(r"\w+|[^\w\s]", " ".join(texts).casefold()))
    words = sorted(counts, key=lambda word: (-counts[word], word))[:VOCABULARY]
    pieces = [*SPECIAL, *words]
    vocab = {piece: number for number, piece in enumerate(pieces)}
    inner = BertWordPieceTokenizer(vocab, lowercase=True)
    names = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}
    special = {f"{name}_token": token for name, token in names.items()}
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_object=inner._tokenizer, **special)
    tokenizer.save_pretrained(folder)
    size = {"vocab_size": len(vocab), "intermediate_size": 128}
    config = tf.BertConfig(**_SHAPE, **size, initializer_range=0.1)
    torch.manual_seed(seed)
    tf.BertForMaskedLM(config).save_pretrained(folder)


def report(name: str, path: Path, folder: Path) -> None:
    """Print how well the classifier and the lexical coder read a table."""
    out = folder / f"check_{path.stem}"
    _main(
        [
            "task=validate_coder",
            f"run_dir={out}",
            f"validation.table={path}",
            f"+validation.merge.other={OTHER}",
            "validation.coders=[trained,lexical]",
            "+coding.models.trained.kind=classifier",
            f"+coding.models.trained.checkpoint={folder / 'coder'}",
        ]
    )
    print(f"\n{name}")
    scores = pd.read_csv(out / "validation" / "tables" / "scores.csv", keep_default_na=False)
    numbers = ["estimate", "lower", "upper"]
    scores[numbers] = scores[numbers].apply(pd.to_numeric, errors="coerce")
    keep = scores["measure"].isin(["share_coded", "accuracy", "cohen_kappa", "macro_f1", "f1"])
    for row in scores[keep].to_dict(orient="records"):
        if row["answers"] == "coded" or row["measure"] == "share_coded":
            of = f"{row['measure']} {row['label']}".strip()
            ends = f"[{row['lower']:.3f}, {row['upper']:.3f}]"
            print(f"{row['coder']:8} {of:16} {row['estimate']:.3f} {ends} of {row['n']}")


if __name__ == "__main__":
    main()
