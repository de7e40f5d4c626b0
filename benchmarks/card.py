"""The engine on a graphics card: answers compared with the processor's, and speed with others.

Run with ``python benchmarks/card.py [--part NAME]`` on a machine with a card that PyTorch can use.
Models have the shape of well-known ones and random weights: nothing is downloaded, and time does
not depend on the weights. Wall time; the methods alternate in one process, after a first call that
is not counted. The rows on lm-evaluation-harness need ``pip install lm_eval[hf]``.

The design is that of Faulborn et al.: 89 statements in three wordings, with ten prefixes, three
runs and eleven models, 88,110 answers. One model is asked its 8,010. `--share` of the statements is
asked in open answers.
"""

import argparse
import gc
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
import transformers as tf
from engine import BATCH, YES_NO, Way, byte_level, generated, harness, llama, r_plus

from polbayes.config.schema import ElicitationConfig
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import load_prefixes, load_template, render
from polbayes.instrument.questionnaires import load_instrument
from polbayes.respondents import Question
from polbayes.respondents.causal import CausalRespondent

RUNS, WORDINGS, MODELS = 3, 3, 11


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="only this one")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=100, help="length of open answers")
    parser.add_argument("--share", type=float, default=1.0, help="of the statements, open answers")
    chosen = parser.parse_args()
    if not torch.cuda.is_available():
        print("There is no graphics card that PyTorch can use: nothing is measured.")
        return
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, ", end="")
    print(f"transformers {tf.__version__}", flush=True)
    for name in [chosen.part] if chosen.part else PARTS:
        PARTS[name](chosen)


def correct(chosen: argparse.Namespace) -> None:
    """Compare the answers of card and processor, in 32 bits."""
    tokenizer, asked = byte_level(), questions("haller", 2)
    found, texts = {}, {}
    for device in ("cpu", "cuda"):
        respondent = opened(llama().to(device), tokenizer, tokens=20)
        found[device] = respondent.option_mass(asked, YES_NO)
        answers = respondent.complete(asked, range(len(asked)))
        texts[device] = [answer.text for answer in answers]
    apart = np.abs(r_plus(found["cuda"]) - r_plus(found["cpu"])).max()
    same = np.mean([a == b for a, b in zip(texts["cpu"], texts["cuda"], strict=True)])
    print(f"card and processor, llama-135m, float32, {len(asked)} prompts: R+ at most ", end="")
    print(f"{apart:.1e} apart; {same:.0%} of sampled answers are the same", flush=True)


def forced_choice(chosen: argparse.Namespace) -> None:
    """Compare probabilities of yes and no to all statements, wordings and prefixes."""
    for name in chosen.shapes:
        model, tokenizer = SHAPES[name](), byte_level()
        asked = questions("haller")
        respondent = opened(model, tokenizer, tokens=1)
        ways: dict[str, Way] = {
            "shared": lambda asked, of=respondent: of.option_mass(asked, YES_NO),
            "padded batches": lambda asked, of=respondent: plainly(of, asked),
        }
        if find_spec("lm_eval"):
            ways["lm-eval"] = harness(model, tokenizer, 128)
        seconds, answers = alternate(ways, asked, chosen.rounds)
        table(f"forced choice, {name}, {model.dtype}, {len(asked)} prompts", seconds, len(asked))
        apart = np.abs(r_plus(answers["shared"]) - r_plus(answers["padded batches"]))
        print(
            f"  R+ of the first two: {apart.mean():.1e} apart on average, at most {apart.max():.1e}"
        )
        del model, respondent, ways
        gc.collect()
        torch.cuda.empty_cache()


def open_answers(chosen: argparse.Namespace) -> None:
    """Compare open answers to a share of the statements, all runs."""
    for name in chosen.shapes:
        model, tokenizer = SHAPES[name](), byte_level()
        items = max(1, round(chosen.share * 89))
        once = questions("faulborn", items)
        asked = [question for question in once for _ in range(RUNS)]
        respondent = opened(model, tokenizer, tokens=chosen.tokens)
        ways: dict[str, Way] = {
            "shared": lambda asked, of=respondent: of.complete(asked, range(len(asked))),
        }
        # A batch is one pass of `generate`, so that a few of them tell the time of all.
        for batch in (BATCH, 256):
            ways[f"generate, batches of {batch}"] = generated(
                model, tokenizer, chosen.tokens, batch, runs=1
            )
        seconds: dict[str, list[float]] = {}
        for way, ask in ways.items():
            few = asked if way == "shared" else asked[: 2 * int(way.split()[-1])]
            ask(asked[:BATCH])
            seconds[way] = [timed(ask, few)[0] * len(asked) / len(few)]
        title = f"open answers, {name}, {model.dtype}, {len(asked)} answers of {chosen.tokens}"
        table(f"{title} tokens", seconds, len(asked))
        rate = len(asked) / seconds["shared"][0]
        every = MODELS * RUNS * len(questions("faulborn"))
        print(f"  {rate * chosen.tokens:,.0f} tokens/s; ", end="")
        print(f"{every:,} answers at this rate: {every / rate / 60:.1f} min")
        print(f"  peak memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)
        del model, respondent, ways
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


PARTS = {"correct": correct, "forced_choice": forced_choice, "open_answers": open_answers}


# --- models and questions -------------------------------------------------------------------


def small() -> Any:
    """Return a model of the shape of SmolLM-135M on the card, in 16 bits."""
    return llama().to("cuda", torch.bfloat16)


def large() -> Any:
    """Return a model of the shape of Llama 3.1 8B on the card, in 16 bits."""
    config = tf.LlamaConfig(
        vocab_size=128256,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=8192,
        dtype="bfloat16",
    )
    torch.manual_seed(0)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            model = tf.LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(default)
    # Spread the logits out, as trained models do.
    model.model.norm.weight.data.fill_(3.0)
    return model


SHAPES = {"llama-135m": small, "llama-8b": large}


def opened(model: Any, tokenizer: Any, *, tokens: int) -> CausalRespondent:
    """Return polbayes' respondent for a model."""
    how = ElicitationConfig(max_new_tokens=tokens, top_k=10)
    return CausalRespondent(ModelInfo("m", ""), tokenizer, model, how)


def questions(template: str, items: int | None = None) -> list[Question]:
    """Return items x wordings x ten prefixes, in the order in which a run asks them."""
    form = load_template(template).texts["base"]
    every = load_instrument("pct").items + load_instrument("wvs").items
    asked = []
    for prefix in load_prefixes():
        for item in every[:items]:
            for variant in item.variants[:WORDINGS]:
                prompt = render(
                    form, prefix=prefix.text, statement=variant.text, model_name="Llama"
                )
                labels = (item.item, variant.variant, prefix.prefix, 1)
                asked.append(Question(*labels, variant.text, 1, item.dimension, prompt))
    return asked


# --- ways of asking -------------------------------------------------------------------------


def plainly(respondent: CausalRespondent, asked: Sequence[Question]) -> Any:
    """Return the probabilities with whole prompts in padded batches."""
    passes = respondent._passes
    can_share, passes.can_share = passes.can_share, False
    try:
        return respondent.option_mass(asked, YES_NO)
    finally:
        passes.can_share = can_share


# --- timing ---------------------------------------------------------------------------------


def timed(way: Way, asked: Sequence[Question]) -> tuple[float, Any]:
    """Return the seconds that asking takes, the card's work included, and the answers."""
    torch.cuda.synchronize()
    begun = time.perf_counter()
    found = way(asked)
    torch.cuda.synchronize()
    return time.perf_counter() - begun, found


def alternate(
    ways: dict[str, Way], asked: Sequence[Question], rounds: int
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Return the seconds of each method by round, and its answers."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    answers = {}
    for way in ways.values():
        way(asked[: 4 * BATCH])  # warm up
    for _ in range(rounds):
        for name, way in ways.items():
            took, answers[name] = timed(way, asked)
            seconds[name].append(took)
    return seconds, answers


def table(title: str, seconds: dict[str, list[float]], count: int) -> None:
    """Print the time of each method and its ratio to polbayes'."""
    print(title)
    best = np.array(seconds["shared"])
    for name, took in seconds.items():
        ratio = np.array(took) / best
        spread = f"({ratio.min():.2f} to {ratio.max():.2f})"
        print(f"  {name:26} {np.mean(took):7.2f} s, {count / np.mean(took):8,.0f}/s", end="")
        print(f"  {ratio.mean():6.2f} times {spread}", flush=True)


if __name__ == "__main__":
    main()
