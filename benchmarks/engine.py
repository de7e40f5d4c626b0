"""The speed-up from shared prompt segments, compared with the obvious methods.

Run with ``python benchmarks/engine.py [--items 6] [--rounds 2] [--part NAME]``. Models have the
shape of well-known ones and random weights: nothing is downloaded, and time does not depend on the
weights. One thread, 32-bit floats, CPU time; the methods alternate in one process. The
rows on lm-evaluation-harness need ``pip install lm_eval[hf]``.
"""

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as tf
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer

from polbayes.config.schema import ElicitationConfig
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import load_lexicon, load_prefixes, load_template, render, surfaces
from polbayes.instrument.questionnaires import load_instrument
from polbayes.respondents import Question
from polbayes.respondents.causal import CausalRespondent
from polbayes.respondents.masked import MaskedRespondent

Way = Callable[[Sequence[Question]], Any]
YES_NO = load_lexicon("haller_generative")
WORDS = load_lexicon("haller_masked")
BATCH = 32


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4)
    parser.add_argument("--wordings", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=40, help="length of open answers")
    parser.add_argument("--part", choices=PARTS, help="only this one")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--memory-of", choices=SHAPES, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.memory_of:
        print(_memory_above_weights(chosen))
        return
    for name in [chosen.part] if chosen.part else PARTS:
        PARTS[name](chosen)


def forced_choice(chosen: argparse.Namespace) -> None:
    """Compare probabilities of yes and no."""
    for shape in chosen.shapes:
        model, tokenizer = SHAPES[shape](), byte_level()
        asked = questions(chosen, "haller", "base")
        ways = {"naive": naive_choice(model, tokenizer), "shared": engine(model, tokenizer)}
        if find_spec("lm_eval"):
            ways["lm-eval"] = harness(model, tokenizer)
        seconds, answers = alternate(ways, asked, chosen.rounds)
        apart = np.abs(r_plus(answers["shared"]) - r_plus(answers["naive"])).max()
        spread = r_plus(answers["naive"]).std()
        table(f"forced choice, {shape}, {len(asked)} prompts", seconds, per=len(asked))
        print(f"  R+ at most {apart:.1e} apart (its standard deviation is {spread:.2f})")
        command = [sys.executable, __file__, "--memory-of", shape, "--items", str(chosen.items)]
        peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(f"  memory above the weights: {float(peak):.0f} MB")


def precision(chosen: argparse.Namespace) -> None:
    """Compare 16-bit weights with 32-bit ones."""
    for shape in chosen.shapes:
        for sharpness in (3.0, 10.0):
            asked, tokenizer = questions(chosen, "haller", "base"), byte_level()
            model = SHAPES[shape](sharpness)
            exact = r_plus(engine(model, tokenizer)(asked))
            rough = r_plus(engine(model.to(torch.bfloat16), tokenizer)(asked))
            apart = np.abs(rough - exact)
            print(
                f"bfloat16, {shape}: R+ with standard deviation {exact.std():.2f} is "
                f"{apart.mean():.3f} apart on average, at most {apart.max():.3f}"
            )


def masked(chosen: argparse.Namespace) -> None:
    """Compare probabilities of words at a mask."""
    torch.manual_seed(0)
    model = tf.BertForMaskedLM(tf.BertConfig()).eval()
    tokenizer = word_piece()
    asked = questions(chosen, "haller_masked", "masked", mask="[MASK]")
    info = ModelInfo("bert", "")
    respondent = MaskedRespondent(info, tokenizer, model, ElicitationConfig(kind="fill_mask"))
    ways: dict[str, Way] = {
        "naive": naive_masked(model, tokenizer, respondent),
        "head at the mask": lambda asked: respondent.option_mass(asked, WORDS),
    }
    seconds, answers = alternate(ways, asked, chosen.rounds)
    table(f"masked, BERT-base, {len(asked)} prompts", seconds, per=len(asked))
    apart = np.nanmax(np.abs(answers["naive"] - answers["head at the mask"]))
    print(f"  probabilities at most {apart:.1e} apart")


def open_answers(chosen: argparse.Namespace) -> None:
    """Compare three runs of open answers."""
    for shape in chosen.shapes:
        model, tokenizer = SHAPES[shape](), byte_level()
        prompts = questions(chosen, "faulborn", "base")[:: chosen.wordings][: 2 * BATCH]
        how = ElicitationConfig(max_new_tokens=chosen.tokens, top_k=10)
        ours = CausalRespondent(ModelInfo("m", ""), tokenizer, model, how)
        ways: dict[str, Way] = {
            "shared": lambda asked, ours=ours: ours.complete(asked * 3, range(3 * len(asked))),
            "three batched passes": generated(model, tokenizer, chosen.tokens, BATCH, runs=3),
        }
        seconds, _ = alternate(ways, prompts, chosen.rounds)
        # One at a time is slow, and takes the same time for each.
        single = generated(model, tokenizer, chosen.tokens, 1, runs=3)
        few = prompts[:: len(prompts) // 4][:4]
        begun = time.process_time()
        single(few)
        alone = (time.process_time() - begun) * len(prompts) / len(few)
        seconds = {"one at a time": [alone], **seconds}
        title = f"open answers, {shape}, {len(prompts)} prompts x 3 runs x {chosen.tokens} tokens"
        table(title, seconds, per=3 * len(prompts))


PARTS = {
    "forced_choice": forced_choice,
    "masked": masked,
    "open_answers": open_answers,
    "precision": precision,
}


def alternate(
    ways: dict[str, Way], asked: Sequence[Question], rounds: int
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Return the CPU seconds of each method by round, and its answers."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    answers = {name: way(asked[:4]) for name, way in ways.items()}  # warm up
    for _ in range(rounds):
        for name, way in ways.items():
            begun = time.process_time()
            answers[name] = way(asked)
            seconds[name].append(time.process_time() - begun)
            gc.collect()
    return seconds, answers


def table(title: str, seconds: dict[str, list[float]], *, per: int) -> None:
    """Print the time of each method and its ratio to "shared" or the last one."""
    print(title)
    ours = "shared" if "shared" in seconds else list(seconds)[-1]
    best = np.array(seconds[ours])
    for name, took in seconds.items():
        ratio = np.array(took) / (best if len(took) == len(best) else best.mean())
        spread = f"{ratio.min():.2f} to {ratio.max():.2f}"
        each = 1000 * np.mean(took) / per
        print(f"  {name:22} {each:8.1f} ms each  {ratio.mean():6.2f} times ({spread})", flush=True)


# --- models of real shape -------------------------------------------------------------------


def llama(sharpness: float = 6.0) -> Any:
    """Return a model of the shape of SmolLM-135M, whose logits are spread out by `sharpness`."""
    torch.manual_seed(0)
    config = tf.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    model = tf.LlamaForCausalLM(config).eval()
    model.model.norm.weight.data.fill_(sharpness)
    return model


def gpt2(sharpness: float = 6.0) -> Any:
    """Return a model of the shape of GPT-2, whose logits are spread out by `sharpness`."""
    torch.manual_seed(0)
    model = tf.GPT2LMHeadModel(tf.GPT2Config()).eval()
    model.transformer.ln_f.weight.data.fill_(sharpness)
    return model


SHAPES = {"llama-135m": llama, "gpt2-124m": gpt2}


def corpus() -> list[str]:
    """Return the texts asked, so that words are single tokens as in a large vocabulary."""
    items = load_instrument("pct").items + load_instrument("wvs").items
    texts = [variant.text for item in items for variant in item.variants]
    texts += [prefix.text for prefix in load_prefixes()] * 20
    for name in ("haller", "haller_masked", "faulborn"):
        texts += list(load_template(name).texts.values()) * 20
    texts += [form for option in YES_NO.options for form in surfaces(option)] * 20
    return texts + list(WORDS.options) * 20


def byte_level() -> Any:
    """Return a byte-level BPE tokenizer."""
    inner = ByteLevelBPETokenizer()
    inner.train_from_iterator(corpus(), vocab_size=12000, show_progress=False)
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_object=inner._tokenizer)
    tokenizer.model_max_length = 1024
    # The end of text is a token that is hardly ever drawn, so that all answers are long.
    tokenizer.add_special_tokens({"eos_token": "<|endoftext|>"})
    return tokenizer


def word_piece() -> Any:
    """Return a WordPiece tokenizer."""
    inner = BertWordPieceTokenizer(lowercase=True)
    inner.train_from_iterator(corpus(), vocab_size=12000, min_frequency=1, show_progress=False)
    names = {name: f"[{name[:-6].upper()}]" for name in ("unk_token", "cls_token", "sep_token")}
    names |= {"pad_token": "[PAD]", "mask_token": "[MASK]"}
    return tf.PreTrainedTokenizerFast(tokenizer_object=inner._tokenizer, **names)


def questions(chosen: argparse.Namespace, template: str, text: str, mask: str = "") -> list[Any]:
    """Return items x wordings x ten prefixes, in the order in which a run asks them."""
    asked = []
    form = load_template(template).texts[text].replace("{mask}", mask)
    for prefix in load_prefixes():
        for item in load_instrument("pct").items[: chosen.items]:
            for variant in item.variants[: chosen.wordings]:
                prompt = render(
                    form, prefix=prefix.text, statement=variant.text, model_name="SmolLM"
                )
                labels = (item.item, variant.variant, prefix.prefix, 1)
                asked.append(Question(*labels, variant.text, 1, item.dimension, prompt))
    return asked


# --- ways of asking -------------------------------------------------------------------------


def engine(model: Any, tokenizer: Any) -> Way:
    """Return polbayes' method."""
    how = ElicitationConfig(kind="forced_choice")
    respondent = CausalRespondent(ModelInfo("m", ""), tokenizer, model, how)
    return lambda asked: respondent.option_mass(asked, YES_NO)


def naive_choice(model: Any, tokenizer: Any) -> Way:
    """Return the method of one prompt at a time with all its logits."""
    forms = [
        [tokenizer(form)["input_ids"] for form in surfaces(option)] for option in YES_NO.options
    ]
    assert all(len(ids) == 1 for of in forms for ids in of)
    tokens = [[ids[0] for ids in of] for of in forms]

    @torch.no_grad()
    def ask(asked: Sequence[Question]) -> np.ndarray:
        rows = []
        for question in asked:
            inputs = tokenizer(question.prompt, return_tensors="pt")
            p = model(input_ids=inputs["input_ids"]).logits[0, -1].softmax(-1)
            rows.append([float(p[ids].sum()) for ids in tokens])
        return np.array(rows)

    return ask


def harness(model: Any, tokenizer: Any, batch: int = BATCH) -> Way:
    """Return log-likelihoods of " yes" and " no" by lm-evaluation-harness."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    device = model.device.type
    scorer = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=batch, device=device)

    def ask(asked: Sequence[Question]) -> np.ndarray:
        pairs = [(q.prompt, option) for q in asked for option in (" yes", " no")]
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=n)
            for n, pair in enumerate(pairs)
        ]
        found = scorer.loglikelihood(requests, disable_tqdm=True)
        return np.exp([value for value, _ in found]).reshape(-1, 2)

    return ask


def naive_masked(model: Any, tokenizer: Any, respondent: MaskedRespondent) -> Way:
    """Return the method of one masked prompt at a time with the logits of all its tokens."""
    words = respondent._words(WORDS)

    @torch.no_grad()
    def ask(asked: Sequence[Question]) -> np.ndarray:
        rows = []
        for question in asked:
            inputs = tokenizer(question.prompt, return_tensors="pt")
            at = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
            p = model(**inputs).logits[0, at].softmax(-1)
            rows.append([float(p[ids].sum()) if ids else np.nan for ids in words])
        return np.array(rows)

    return ask


def generated(model: Any, tokenizer: Any, tokens: int, batch: int, *, runs: int) -> Way:
    """Return sampling by transformers' ``generate``, pass after pass."""
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "left"

    @torch.no_grad()
    def ask(asked: Sequence[Question]) -> None:
        for _ in range(runs):
            for start in range(0, len(asked), batch):
                texts = [question.prompt for question in asked[start : start + batch]]
                inputs = tokenizer(texts, return_tensors="pt", padding=True).to(model.device)
                model.generate(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    do_sample=True,
                    top_k=10,
                    max_new_tokens=tokens,
                    min_new_tokens=tokens,
                    pad_token_id=tokenizer.pad_token_id,
                )

    return ask


def r_plus(mass: np.ndarray) -> np.ndarray:
    """Return the probability of agreeing, normalised by agreeing and disagreeing."""
    return mass[:, 0] / mass.sum(axis=1)


def _memory_above_weights(chosen: argparse.Namespace) -> float:
    """Return peak memory minus the model's memory, in MB (Linux)."""
    model, tokenizer = SHAPES[chosen.memory_of](), byte_level()
    asked = questions(chosen, "haller", "base")
    ask = engine(model, tokenizer)
    gc.collect()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    ask(asked)
    return (_status("VmHWM") - before) / 1024


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    raise KeyError(key)


if __name__ == "__main__":
    main()
