"""Time of the text features of 58,848 wordings, as many as Haller et al. (2024) published.

The wordings are shipped ones with words removed and exchanged; `--table FILE` uses
a column of a table instead. The obvious method runs on a sample: one wording after the other,
with a look-up of every word. `--parser NAME` also times the dependency features with both methods,
with a spaCy pipeline. `--small` is a quick try.
"""

import argparse
import string
import time
from pathlib import Path

import numpy as np

from polbayes.config.schema import FeatureConfig
from polbayes.features import FEATURES, text_features
from polbayes.features.dependencies import dependencies, load_parser
from polbayes.features.extract import _frequencies, _sentiment
from polbayes.instrument.questionnaires import load_instrument

WORDINGS = 58_848
QUICK = [name for name in FEATURES if "depend" not in name]


def make(count: int, seed: int = 1) -> list[str]:
    """Create wordings of the Political Compass Test that differ in some words."""
    rng = np.random.default_rng(seed)
    shipped = [w.text.split() for item in load_instrument("pct").items for w in item.variants]
    words = sorted({word for wording in shipped for word in wording})
    made = []
    for k in range(count):
        wording = list(shipped[k % len(shipped)])
        for place in rng.integers(len(wording), size=3):
            wording[place] = words[rng.integers(len(words))]
        made.append(" ".join(wording))
    return made


def read(path: Path, column: str) -> list[str]:
    """Read wordings from a column of a table."""
    from polbayes.data.tables import read_table

    return [str(text) for text in read_table(path)[column]]


def row_by_row(texts: list[str]) -> np.ndarray:
    """Compute the features without a parser, one wording after the other."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    from wordfreq import zipf_frequency

    analyser = SentimentIntensityAnalyzer()
    gone = str.maketrans("", "", string.punctuation + "’‘“”–—…")
    rows = []
    for text in texts:
        bare = text.translate(gone).split()
        scores = analyser.polarity_scores(text)
        frequency = np.mean([zipf_frequency(word, "en") for word in bare])
        length = np.mean([len(word) for word in bare])
        rows.append([frequency, length, len(text.split()), scores["pos"], scores["neg"]])
    return np.array(rows)


def parse_one_by_one(texts: list[str], pipeline) -> np.ndarray:
    """Parse one wording after the other, with the whole pipeline."""
    from spacy.tokens import Doc

    rows = []
    for text in texts:
        doc = pipeline(Doc(pipeline.vocab, words=text.split()))
        rights, lefts = (np.mean([getattr(t, n) for t in doc]) for n in ("n_rights", "n_lefts"))
        rows.append([rights, lefts, np.mean([abs(t.i - t.head.i) for t in doc])])
    return np.array(rows)


def timed(function, *arguments) -> tuple[np.ndarray, float]:
    """Call a function, and return its result and the seconds of processor time."""
    started = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - started


def ours(texts: list[str]) -> np.ndarray:
    """Compute the same with polbayes, without a cache."""
    _frequencies.cache_clear()
    _sentiment.cache_clear()
    table = text_features(texts, QUICK, FeatureConfig())
    return table.set_index("statement").loc[texts, QUICK].to_numpy()


def parsed(texts: list[str], parser: str) -> np.ndarray:
    """Parse with polbayes; the pipeline is loaded before."""
    return np.stack(list(dependencies(texts, parser=parser).values()), axis=1)


def show(name: str, seconds: float, count: int) -> None:
    """Print one line."""
    print(f"{name:<44}{seconds:8.1f} s  {1e6 * seconds / count:8.0f} µs a wording")


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--column", default="text")
    parser.add_argument("--parser")
    arguments = parser.parse_args()
    texts = read(arguments.table, arguments.column) if arguments.table else make(WORDINGS)
    texts = texts[:2000] if arguments.small else texts
    sample = texts[:: max(len(texts) // 5000, 1)]
    print(f"{len(texts):,} wordings, {len(set(texts)):,} distinct; sample of {len(sample):,}")
    row_by_row(sample[:10])
    ours(sample[:10])
    # Alternating, so that other load affects both equally.
    slow, fast = [], []
    for _ in range(3):
        expected, seconds = timed(row_by_row, sample)
        slow.append(seconds)
        found, seconds = timed(ours, sample)
        fast.append(seconds)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    show("sample, row by row", min(slow), len(sample))
    show("sample, polbayes", min(fast), len(sample))
    _, seconds = timed(ours, texts)
    show("all, polbayes, one core", seconds, len(texts))
    each = min(slow) / len(sample)
    print(
        f"ratio on the sample {min(slow) / min(fast):.1f}, on all {each * len(texts) / seconds:.1f}"
    )
    if arguments.parser:
        import spacy

        few = sample[:1000]
        load_parser(arguments.parser)
        expected, slow_seconds = timed(parse_one_by_one, few, spacy.load(arguments.parser))
        found, fast_seconds = timed(parsed, few, arguments.parser)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        show("1,000 parsed, one by one", slow_seconds, len(few))
        show("1,000 parsed, polbayes", fast_seconds, len(few))
        print(f"ratio {slow_seconds / fast_seconds:.1f}")


if __name__ == "__main__":
    main()
