"""Creation of the checkpoints in `models/`: trained, measured, and saved with their cards."""

import hashlib
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from polbayes.errors import unknown
from polbayes.planted.truth import Truth, load_truths
from tools.embedded.card import Fidelity, Weights, card
from tools.embedded.corpus import shipped_wordings
from tools.embedded.fidelity import measure, sample_cells
from tools.embedded.train import Reader, train_reader, train_respondent
from tools.embedded.vocabulary import with_chat

# Proportion of words changed in the noisy wordings of the card.
NOISE = 0.15
_CELLS = 2000


def make_checkpoints(only: Sequence[str] | None, out: Path, *, jobs: int) -> Iterator[str]:
    """Train, measure and save respondents.

    Parameters
    ----------
    only
        Names of the respondents; all when None.
    out
        Folder in which each gets its own folder.
    jobs
        Number of processes with one thread each, which does not affect the weights.

    Yields
    ------
    str
        For each saved respondent, a line about its fidelity.

    Raises
    ------
    UserError
        If a name is unknown.
    """
    truths = load_truths()
    for name in only or ():
        if name not in truths:
            raise unknown("respondent", name, truths, where="--only")
    chosen = [truths[name] for name in only or truths]
    architectures = list(dict.fromkeys(truth.architecture for truth in chosen))
    # The tokenizer contains all names, whichever respondents are trained: it is the same for all.
    names = {a: [t.name for t in truths.values() if t.architecture == a] for a in architectures}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        readers = dict(
            zip(architectures, pool.map(_read, architectures, names.values()), strict=True)
        )
        started = [readers[truth.architecture] for truth in chosen]
        yield from pool.map(_respond, chosen, started, [out] * len(chosen))


def _read(architecture: str, names: Sequence[str]) -> Reader:
    return train_reader(
        architecture, names, shipped_wordings(), report=_Progress(f"reader, {architecture}")
    )


def _respond(truth: Truth, reader: Reader, out: Path) -> str:
    """Train, measure and save one respondent, and report its fidelity."""
    import torch
    from transformers.utils.logging import disable_progress_bar

    wordings = shipped_wordings()
    progress = _Progress(truth.name)
    network = train_respondent(truth, reader, wordings, report=progress)
    tokenizer = with_chat(reader.tokenizer, chat=truth.instruct)
    drawn = (
        sample_cells(truth, wordings, count=_CELLS, seed=seed, strength=strength)
        for seed, strength in ((11, 0.0), (12, NOISE))
    )
    shipped, noisy = (measure(network, tokenizer, truth, wordings, cells) for cells in drawn)
    target = out / truth.name
    quiet: Any = disable_progress_bar
    quiet()
    network.to(torch.bfloat16).save_pretrained(target)
    tokenizer.save_pretrained(target)
    for written in target.iterdir():
        written.chmod(0o644)
    weights = Weights(
        parameters=sum(p.numel() for p in network.parameters()),
        sha256=hashlib.sha256((target / "model.safetensors").read_bytes()).hexdigest(),
        torch=torch.__version__,
    )
    fidelity = Fidelity(shipped, noisy, progress.recent)
    text = card(truth, fidelity, weights, vocabulary=len(tokenizer))
    (target / "README.md").write_text(text, encoding="utf-8")
    return (
        f"{truth.name}: error {shipped.error:.4f}, with noise {noisy.error:.4f}, "
        f"right side {noisy.right_stance:.2%}, in {target}"
    )


class _Progress:
    """Prints a line every hundred steps, and stores the divergence of the last hundred."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: list[tuple[float, float]] = []
        self._start = time.monotonic()
        self.recent = float("nan")

    def __call__(self, step: int, divergence: float, recognising: float) -> None:
        self._seen.append((divergence, recognising))
        if step % 100 == 0:
            means = [sum(column) / len(self._seen) for column in zip(*self._seen, strict=True)]
            self.recent = means[0]
            self._seen.clear()
            print(
                f"{self._name}: step {step}, divergence {means[0]:.4f}, "
                f"recognising {means[1]:.3f}, {time.monotonic() - self._start:.0f} s",
                file=sys.stderr,
                flush=True,
            )
