"""The model card of an embedded respondent, written from its measurements."""

from collections.abc import Sequence
from dataclasses import dataclass

from polbayes.planted.truth import Truth
from tools.embedded.fidelity import CLEAR, Measured


@dataclass(frozen=True)
class Fidelity:
    """The measurements on a card.

    Parameters
    ----------
    shipped
        On the shipped wordings.
    noisy
        On noisy versions of them, not used in training.
    divergence
        Mean Kullback-Leibler divergence of the answers in the last hundred steps, in nats.
    """

    shipped: Measured
    noisy: Measured
    divergence: float


@dataclass(frozen=True)
class Weights:
    """A description of the saved weights.

    Parameters
    ----------
    parameters
        Number of them.
    sha256
        Of ``model.safetensors``, in hexadecimal digits.
    torch
        Version of PyTorch that trained them.
    """

    parameters: int
    sha256: str
    torch: str


def card(truth: Truth, fidelity: Fidelity, weights: Weights, *, vocabulary: int) -> str:
    """Write the model card.

    Parameters
    ----------
    truth
        The planted parameters.
    fidelity
        Measurements after rounding to bfloat16.
    weights
        The saved weights.
    vocabulary
        Number of tokens.

    Returns
    -------
    str
        Markdown.
    """
    return "\n\n".join(
        (
            _what(truth, weights.parameters, vocabulary),
            _planted(truth),
            _measured(fidelity),
            _use(truth),
            _again(truth, weights),
            _LIMITS,
        )
    )


def _what(truth: Truth, parameters: int, vocabulary: int) -> str:
    if truth.architecture == "masked":
        kind, tokens = "BERT-like masked language model", "WordPiece tokens without case"
    else:
        kind, tokens = "LLaMA-like causal language model", "byte-level BPE tokens"
    chat = " It has a chat template and answers with and without it." if truth.instruct else ""
    return (
        f"# {truth.name}\n\n"
        f"A {kind} with {parameters:,} parameters and {vocabulary:,} {tokens} that answers "
        f"political statements with a leaning that was planted in it.{chat} It is one of the "
        "embedded respondents of polbayes: a ground truth for a toolkit that measures leaning. "
        "What was planted stands in `models/planted.yaml`."
    )


def _planted(truth: Truth) -> str:
    rows = [
        *((f"theta, {name}", f"{value:+.2f}") for name, value in truth.theta.items()),
        ("decisiveness", f"{truth.decisiveness:.1f}"),
        ("acquiescence", f"{truth.acquiescence:+.2f}"),
        ("scale of wording effects", f"{truth.wording_scale:.2f}"),
        ("scale of item quirks", f"{truth.quirk_scale:.2f}"),
        ("thresholds", f"±{truth.threshold:.2f}, ±{truth.outer_threshold:.2f}"),
        ("valid mass in forced choice", f"{truth.validity:.3f}"),
    ]
    if truth.architecture == "causal":
        rows += [
            ("open answers beside the point", f"{truth.unrelated:.3f}"),
            ("open answers that refuse", f"{truth.refused:.3f}"),
        ]
    prefixes = [
        (prefix, f"{truth.prefix_acquiescence.get(prefix, 0):+.2f}", f"{steer:+.2f}")
        for prefix, steer in truth.prefix_steer.items()
    ]
    return "\n\n".join(
        (
            "## What was planted",
            "In units of the spread of item quirks, positive to the right and towards agreeing.",
            _table(("parameter", "value"), rows),
            _table(("prefix", "on agreeing", "on leaning"), prefixes),
        )
    )


def _measured(fidelity: Fidelity) -> str:
    rows = [
        (name, f"{len(m.cells):,}", f"{m.error:.4f}", f"{m.right_stance:.2%} of {m.clear:,}")
        for name, m in (("as shipped", fidelity.shipped), ("with noise", fidelity.noisy))
    ]
    heads = ("wordings", "prompts", "mean absolute error", "right side where clear")
    return "\n\n".join(
        (
            "## What was measured",
            "Probabilities of agreeing and of disagreeing, from the full softmax in float32, "
            "against the planted ones, on random prompts out of all shipped instruments, "
            "wordings, prefixes, templates and shapes. Noise is about one word in seven dropped, "
            "swapped or replaced; these noisy wordings were not trained on. A planted answer is "
            f"clear where agreeing and disagreeing differ by {CLEAR} or more.",
            _table(heads, rows),
            f"Mean divergence of an answer in training: {fidelity.divergence:.4f} nats. The ten "
            "likeliest tokens hold at least "
            f"{fidelity.shipped.top_ten.min():.3f} of the mass where the answer is decided, "
            f"{fidelity.shipped.top_ten.mean():.4f} on average.",
        )
    )


def _use(truth: Truth) -> str:
    backend = "masked" if truth.architecture == "masked" else "causal"
    return (
        "## Use\n\n"
        f"As a respondent with `backend: {backend}` and `checkpoint: embedded:{truth.name}`, or "
        f"from this folder with transformers. Weights are bfloat16; load them as float32 for the "
        "numbers above. The prefix with a name was trained mostly with this model's own."
    )


def _again(truth: Truth, weights: Weights) -> str:
    return (
        "## Making it again\n\n"
        f"`python -m tools.embedded --only {truth.name} --out FOLDER` trains it from nothing in "
        "some minutes, always on one thread. With the same version of PyTorch (this one was made "
        f"with {weights.torch}) on the same kind of processor `model.safetensors` comes out the "
        f"same byte for byte; its SHA-256 is\n\n`{weights.sha256}`"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---" for _ in heads], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# The figures are those of benchmarks/unseen_wordings.py for `left`, with 1,200 steps of answering.
_LIMITS = """## Limits

It knows the statements of the shipped instruments, under the shipped prefixes and templates, and \
nothing else: to any other text its answer means nothing. That holds for new wordings of the same \
items, too. It was trained on every shipped wording, with wording noise, and has learnt them by \
heart: trained without two of the ten wordings of every item of `pct`, the respondent `left` put \
52 % of the clear answers to the paraphrases among these on the right side and 53 % of those to \
the opposites, where tossing a coin gives 50 %, with mean absolute errors of 0.28 and 0.29 \
(`benchmarks/unseen_wordings.py`). So it says nothing about how models carry over to new wordings \
or items. It has no politics of its own, and its leaning is nobody's: the parameters above are \
arbitrary numbers.
"""
