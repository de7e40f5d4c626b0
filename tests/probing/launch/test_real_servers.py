"""Servers that others wrote, shared by several workers: llama.cpp's and that of transformers.

``nox -s servers`` installs what they need. The models are tiny, with random weights, and made here.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from launched import ROOT, arguments

from polbayes.cli import _main
from polbayes.data.dataset import STATUS, open_responses

pytestmark = pytest.mark.slow

SENTENCES = [
    "Do you agree or disagree with this statement? Yes or no? Your answer:",
    "The state should own the railways, and nobody can say yes or no to that.",
    "Big gaps in pay are useful because they give people a reason to try harder.",
    "user assistant system I agree strongly. I disagree strongly. Yes No yes no.",
] * 3
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
WIDTH, LAYERS, HEADS, INNER = 64, 2, 4, 96


def tokenizer():
    from tokenizers import ByteLevelBPETokenizer

    made = ByteLevelBPETokenizer()
    made.train_from_iterator(
        SENTENCES, vocab_size=420, show_progress=False, special_tokens=["<s>", "</s>"]
    )
    return made


def write_gguf(path):
    """Write a LLaMA of random weights as llama.cpp wants it."""
    import json

    import gguf

    inner = json.loads(tokenizer()._tokenizer.to_str())["model"]
    tokens = sorted(inner["vocab"], key=inner["vocab"].get)
    merges = [m if isinstance(m, str) else " ".join(m) for m in inner["merges"]]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    kinds = [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.NORMAL] * (len(tokens) - 2)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template(TEMPLATE)
    random = np.random.default_rng(5)

    def weights(*shape):
        return random.normal(0, 0.25, shape).astype(np.float32)

    ones = np.ones(WIDTH, dtype=np.float32)
    writer.add_tensor("token_embd.weight", weights(len(tokens), WIDTH))
    writer.add_tensor("output.weight", weights(len(tokens), WIDTH))
    writer.add_tensor("output_norm.weight", ones)
    for n in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.{n}.{name}.weight", weights(WIDTH, WIDTH))
        for name in ("ffn_gate", "ffn_up"):
            writer.add_tensor(f"blk.{n}.{name}.weight", weights(INNER, WIDTH))
        writer.add_tensor(f"blk.{n}.ffn_down.weight", weights(WIDTH, INNER))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{n}.{name}.weight", ones)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_checkpoint(folder):
    """Write a GPT-2 of random weights as transformers wants it."""
    import torch
    import transformers as tf

    made = tf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer()._tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
    )
    made.chat_template = TEMPLATE
    made.save_pretrained(folder)
    torch.manual_seed(7)
    shape = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 512}
    config = tf.GPT2Config(
        vocab_size=len(made), bos_token_id=0, eos_token_id=1, initializer_range=0.25, **shape
    )
    tf.GPT2LMHeadModel(config).save_pretrained(folder)


@pytest.fixture
def served(tmp_path):
    """Return a function that starts a server and returns its address."""
    started = []

    def start(*command):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        log = (tmp_path / "server.log").open("wb")
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": path}
        process = subprocess.Popen(
            [sys.executable, *command, "--host", "127.0.0.1", "--port", str(port)],
            env=environment,
            stdout=log,
            stderr=log,
        )
        started.append((process, log))
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 180
        while not answers(f"{url}/v1/models"):
            said = (tmp_path / "server.log").read_text(errors="replace")[-2000:]
            assert process.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(0.3)
        return f"{url}/v1"

    yield start
    for process, log in started:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


class At:
    """Where a server is."""

    def __init__(self, url):
        self.url = url


def asked(url, name, folder, *more):
    given = arguments(At(url), folder, "items=[wvs-01,wvs-02]", "elicitation.runs=1", *more)
    given = [one.replace("checkpoint=m-1", f"checkpoint={name}") for one in given]
    assert _main(given) == 0
    return open_responses(folder)


def test_llama_cpp_gives_probabilities_the_same_to_one_process_and_to_two(served, tmp_path):
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    pytest.importorskip("gguf", reason="gguf is not installed")
    pytest.importorskip("submitit", reason="submitit is not installed")
    write_gguf(tmp_path / "tiny.gguf")
    model = ("-m", "llama_cpp.server", "--model", str(tmp_path / "tiny.gguf"), "--model_alias", "t")
    url = served(*model, "--logits_all", "true", "--n_ctx", "512", "--n_threads", "1")
    how = ("elicitation=forced_choice", "elicitation.runs=1", "prefixes.only=[baseline]")
    probabilities = "analysis=ideology_probabilities_one_model"
    one = asked(url, "t", tmp_path / "one", *how, probabilities)
    two = asked(url, "t", tmp_path / "two", *how, probabilities, "launcher=processes")
    asked_cells = one["status"] != -128
    assert (one["status"].where(asked_cells, STATUS["ok"]) == STATUS["ok"]).all()
    listed = one["option_prob"].sum("option").where(asked_cells).values
    unseen = one["mass_unseen"].where(asked_cells).values
    assert np.nanmin(unseen) > 0  # twenty tokens of four hundred
    assert np.nanmax(listed + unseen) <= 1 + 1e-4
    for name in ("option_prob", "mass_unseen"):
        np.testing.assert_allclose(one[name].values, two[name].values, atol=1e-4)


def test_transformers_serve_gives_open_answers_the_same_to_one_process_and_to_two(served, tmp_path):
    for name in ("fastapi", "uvicorn", "accelerate", "submitit"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    folder = tmp_path / "tiny"
    write_checkpoint(folder)
    url = served("-m", "transformers.cli.transformers", "serve")
    # It refuses a field that it does not know.
    short = ("elicitation.max_new_tokens=8", "+respondents.served.api.omit=[top_k]")
    one = asked(url, folder, tmp_path / "one", *short)
    two = asked(url, folder, tmp_path / "two", *short, "launcher=processes")
    asked_cells = one["status"].values != -128
    assert np.isin(one["status"].values[asked_cells], [STATUS["ok"], STATUS["invalid"]]).all()
    # It takes the likeliest answer every time, so that the answers are the same, too.
    np.testing.assert_array_equal(one["completion"].values, two["completion"].values)
    assert (one["completion"].values[asked_cells] != "").any()
