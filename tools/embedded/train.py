"""Training of the embedded respondents.

There are two steps. A *reader* learns to recognise item, polarity and prefix despite noise,
and answers from one side. Each respondent starts from the reader and is trained towards the exact
planted distribution of its answers. Everything runs
in float32 on one thread, so a seed gives the same weights bit for bit.
"""

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polbayes.planted.truth import Truth
from tools.embedded.answers import answer_set
from tools.embedded.corpus import Wording, forms, shipped_prefixes, vocabulary_corpus
from tools.embedded.examples import (
    AnswerTries,
    Asking,
    Example,
    batches,
    draw_examples,
    item_classes,
)
from tools.embedded.vocabulary import MAX_LENGTH, causal_tokenizer, masked_tokenizer

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Schedule:
    """Training schedule of a network.

    Parameters
    ----------
    steps
        Batches.
    batch
        Examples in a batch.
    rate
        Highest learning rate; it rises over the first twentieth, followed by cosine decay.
    recognise
        Weight of recognising item and prefix relative to answering.
    pool
        Number of batches sorted by length together.
    """

    steps: int
    batch: int = 32
    rate: float = 3e-3
    recognise: float = 1.0
    pool: int = 32


@dataclass(frozen=True)
class Shape:
    """Size of a network."""

    vocabulary: int = 2000
    hidden: int = 128
    inner: int = 256
    layers: int = 2
    heads: int = 4


# The reader takes a side and has no other traits: it is close to every respondent.
_SIDED = Truth(
    name="reader",
    theta={"economic": -1.5, "cultural": -1.5},
    wording_scale=0.0,
    quirk_scale=0.0,
)

READING = {
    "causal": Schedule(steps=1700, rate=3e-3),
    "masked": Schedule(steps=2000, rate=2e-3),
}
ANSWERING = {
    "causal": Schedule(steps=2000, rate=2e-3, recognise=0.3),
    "masked": Schedule(steps=2400, rate=1.5e-3, recognise=0.3),
}


def make_tokenizer(
    architecture: str, names: Sequence[str], wordings: Sequence[Wording], shape: Shape
) -> Any:
    """Train the tokenizer of an architecture.

    Parameters
    ----------
    architecture
        ``causal`` or ``masked``.
    names
        Names of the respondents that share it.
    wordings
        The statements that they learn.
    shape
        Determines the size of the vocabulary.
    """
    texts = vocabulary_corpus(names, architecture, wordings)
    if architecture == "masked":
        return masked_tokenizer(texts, shape.vocabulary, answer_set("masked").texts)
    return causal_tokenizer(texts, shape.vocabulary)


def make_network(architecture: str, tokenizer: Any, shape: Shape, seed: int) -> Any:
    """Make a network with random weights.

    Returns
    -------
    transformers.LlamaForCausalLM or transformers.BertForMaskedLM
        With tied embeddings and no dropout.
    """
    import torch
    from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    size: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "max_position_embeddings": MAX_LENGTH,
        "pad_token_id": tokenizer.pad_token_id,
        "tie_word_embeddings": True,
    }
    if architecture == "masked":
        size |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        return BertForMaskedLM(BertConfig(**size, type_vocab_size=1))
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    return LlamaForCausalLM(LlamaConfig(**size, **ends))


def make_recogniser(shape: Shape, wordings: Sequence[Wording], seed: int) -> Any:
    """Make the linear maps from a hidden state to item and polarity, wording, and prefix."""
    import torch

    torch.manual_seed(seed)
    sizes = (len(set(item_classes(wordings))), len(wordings), len(shipped_prefixes()))
    return torch.nn.ModuleList(torch.nn.Linear(shape.hidden, size) for size in sizes)


def train(
    network: Any,
    recogniser: Any,
    tokenizer: Any,
    asking: Asking,
    schedule: Schedule,
    *,
    seed: int,
    report: Callable[[int, float, float], None] | None = None,
) -> list[float]:
    """Train a network in place.

    Parameters
    ----------
    network, recogniser, tokenizer
        From the functions of this module.
    asking
        The prompts and planted answers.
    schedule
        The training schedule.
    seed
        Seed of the examples; with the initial weights it determines the result.
    report
        Called after each step with its number from 1, the divergence of the answers and the
        cross-entropy of recognising.

    Returns
    -------
    list of float
        For each step the mean Kullback-Leibler divergence of an answer from the planted one.
    """
    import torch

    rng = random.Random(seed)
    source = batches(
        draw_examples(asking, tokenizer, AnswerTries(tokenizer), rng),
        schedule.batch,
        schedule.pool,
        rng,
    )
    weights = [*network.parameters(), *recogniser.parameters()]
    optimiser = torch.optim.AdamW(weights, lr=schedule.rate, betas=(0.9, 0.98), weight_decay=0.01)
    warm = max(schedule.steps // 20, 1)
    rate = torch.optim.lr_scheduler.OneCycleLR(
        optimiser,
        schedule.rate,
        total_steps=schedule.steps + 1,
        pct_start=warm / schedule.steps,
        cycle_momentum=False,
        final_div_factor=1e3,
    )
    network.train()
    divergences = []
    for step in range(1, schedule.steps + 1):
        divergence, recognising = _losses(network, recogniser, tokenizer, next(source))
        optimiser.zero_grad()
        loss: Any = divergence + schedule.recognise * recognising
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        rate.step()
        divergences.append(divergence.item())
        if report:
            report(step, divergences[-1], recognising.item())
    network.eval()
    return divergences


def _losses(
    network: Any, recogniser: Any, tokenizer: Any, batch: list[Example]
) -> "tuple[torch.Tensor, torch.Tensor]":
    import torch
    from torch.nn.functional import cross_entropy, log_softmax

    rows = [n for n, e in enumerate(batch) for _ in e.labelled]
    columns = [at for e in batch for at in e.labelled]
    hidden = _hidden(network, tokenizer, batch)
    scores = _head(network, hidden[rows, columns])
    target = torch.zeros_like(scores)
    at = [(n, t) for n, (ts, _) in enumerate(t for e in batch for t in e.targets) for t in ts]
    values = [float(p) for e in batch for _, ps in e.targets for p in ps]
    index = torch.tensor(at).T
    target[index[0], index[1]] = torch.tensor(values)
    entropy = torch.special.entr(target).sum()
    divergence = -(target * log_softmax(scores, dim=-1)).sum() - entropy
    # One of the first two tokens of an answer decides the stance: both must recognise.
    early = [(n, e, at) for n, e in enumerate(batch) for at in e.labelled[:2]]
    seen = hidden[[n for n, _, _ in early], [at for _, _, at in early]]
    wanted = torch.tensor([(e.item, e.wording, e.prefix) for _, e, _ in early])
    recognising = torch.zeros(())
    for part, goal in zip(recogniser, wanted.T, strict=True):
        recognising = recognising + cross_entropy(part(seen), goal)
    return divergence / len(batch), recognising


def _hidden(network: Any, tokenizer: Any, batch: list[Example]) -> "torch.Tensor":
    """Return the last hidden states, dimensions example, position, feature."""
    import torch

    longest = max(len(e.ids) for e in batch)
    pad = tokenizer.pad_token_id
    ids = torch.tensor([[*e.ids, *[pad] * (longest - len(e.ids))] for e in batch])
    if network.config.model_type == "bert":
        states = network.bert(input_ids=ids, attention_mask=(ids != pad).long())
    else:
        # Padded on the right, which labelled positions of a causal network never see.
        states = network.model(input_ids=ids, use_cache=False)
    out: torch.Tensor = states.last_hidden_state
    return out


def _head(network: Any, hidden: "torch.Tensor") -> "torch.Tensor":
    masked = network.config.model_type == "bert"
    out: torch.Tensor = network.cls(hidden) if masked else network.lm_head(hidden)
    return out


@dataclass(frozen=True)
class Reader:
    """A network that recognises prompts, the starting point of respondents."""

    network: Any
    recogniser: Any
    tokenizer: Any
    shape: Shape


def train_reader(
    architecture: str,
    names: Sequence[str],
    wordings: Sequence[Wording],
    *,
    shape: Shape | None = None,
    schedule: Schedule | None = None,
    seed: int = 1,
    report: Callable[[int, float, float], None] | None = None,
) -> Reader:
    """Train the reader of an architecture.

    Parameters
    ----------
    architecture
        ``causal`` or ``masked``.
    names
        Names of the respondents that start from it.
    wordings
        The statements it learns.
    shape, schedule
        The module's defaults if None.
    seed
        Seed of weights and examples.
    report
        As in `train`.
    """
    import torch

    torch.set_num_threads(1)
    shape = shape or Shape()
    tokenizer = make_tokenizer(architecture, names, wordings, shape)
    network = make_network(architecture, tokenizer, shape, seed)
    recogniser = make_recogniser(shape, wordings, seed + 1)
    asking = Asking(_SIDED, names[0], wordings, forms(architecture, chat=True))
    schedule = schedule or READING[architecture]
    train(network, recogniser, tokenizer, asking, schedule, seed=seed, report=report)
    return Reader(network, recogniser, tokenizer, shape)


def train_respondent(
    truth: Truth,
    reader: Reader,
    wordings: Sequence[Wording],
    *,
    schedule: Schedule | None = None,
    report: Callable[[int, float, float], None] | None = None,
) -> Any:
    """Train one respondent, starting from the reader, which is not changed.

    Returns
    -------
    transformers.PreTrainedModel
        With weights rounded to bfloat16, as saved, in float32.
    """
    import torch

    torch.set_num_threads(1)
    network = copy.deepcopy(reader.network)
    recogniser = copy.deepcopy(reader.recogniser)
    asked = forms(truth.architecture, chat=truth.instruct)
    asking = Asking(truth, truth.name, wordings, asked)
    schedule = schedule or ANSWERING[truth.architecture]
    seed = 1000 + truth.seed
    train(network, recogniser, reader.tokenizer, asking, schedule, seed=seed, report=report)
    return network.to(torch.bfloat16).to(torch.float32)
