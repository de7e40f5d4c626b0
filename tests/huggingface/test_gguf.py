"""GGUF files: one file with weights, config and tokenizer of a causal LM."""

import json

import numpy as np
import pytest

from polbayes.config.schema import RespondentConfig
from polbayes.errors import UserError
from polbayes.huggingface.checkpoint import load_model, load_tokenizer
from polbayes.huggingface.identity import files_digest, weights_digest
from polbayes.huggingface.locate import locate

BASE = "llama-bytes-bos-right"
HEADS, GROUPS, WIDTH = 4, 2, 32


def config(path):
    return RespondentConfig(checkpoint=str(path), device="cpu")


def loaded(path):
    return load_model(locate("m", config(path)), config(path), masked=False)


def interleaved(weight, heads):
    """Order the rows of queries and keys as llama.cpp does: halves of a head one by one."""
    rows, columns = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def tensors(folder):
    """Yield the weights of a LLaMA checkpoint under the names of llama.cpp."""
    from safetensors.numpy import load_file

    for name, weight in load_file(folder / "model.safetensors").items():
        part = name.removeprefix("model.").removesuffix(".weight")
        if part.startswith("layers."):
            _, layer, inner = part.split(".", 2)
            if inner.endswith(("q_proj", "k_proj")):
                weight = interleaved(weight, HEADS if "q_proj" in inner else GROUPS)
            yield f"blk.{layer}.{NAMES[inner]}.weight", weight
        else:
            outer = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
            yield f"{outer[part]}.weight", weight


def write(path, folder):
    import gguf
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    merges = tokenizer.backend_tokenizer.model.__getstate__().decode()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(2)
    writer.add_feed_forward_length(48)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(GROUPS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(words)
    special = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([special[n >= 4] for n in range(len(words))])
    pairs = json.loads(merges)["merges"]
    writer.add_token_merges([" ".join(pair) for pair in pairs])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    for name, weight in tensors(folder):
        writer.add_tensor(name, np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def made(causal_checkpoint, tmp_path_factory):
    """Return a GGUF file, and the folder of the checkpoint that it was made of."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    folder = causal_checkpoint(BASE).path
    write(path, folder)
    return path, folder


def test_it_answers_as_the_checkpoint_that_it_was_made_of(made):
    import torch

    path, folder = made
    ids = load_tokenizer(locate("m", config(folder)))("Do you agree?", add_special_tokens=False)
    found = load_tokenizer(locate("m", config(path)))("Do you agree?", add_special_tokens=False)
    assert found["input_ids"] == ids["input_ids"]
    asked = torch.tensor([ids["input_ids"]])
    with torch.inference_mode():
        expected, logits = (loaded(where)(input_ids=asked).logits for where in (folder, path))
    np.testing.assert_allclose(logits.numpy(), expected.numpy(), atol=1e-4)


def test_a_folder_with_one_file_will_do(made, tmp_path):
    path, _ = made
    (tmp_path / "any.gguf").symlink_to(path)
    source = locate("m", config(tmp_path))
    assert (source.location, source.gguf) == (str(tmp_path), "any.gguf")
    (tmp_path / "other.gguf").symlink_to(path)
    with pytest.raises(UserError, match="has 2 GGUF files; give the path of one of them"):
        locate("m", config(tmp_path))


def test_the_file_and_what_is_read_beside_it_are_the_identity(made, tmp_path):
    path = tmp_path / "copy.gguf"
    path.write_bytes(made[0].read_bytes())
    weights, files = weights_digest(config(path)), files_digest(config(path))
    (tmp_path / "notes.json").write_text("{}")
    assert files_digest(config(path)) == files
    (tmp_path / "tokenizer_config.json").write_text("{}")
    assert files_digest(config(path)) != files
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert weights_digest(config(path)) != weights


@pytest.mark.parametrize("length", [0, 4, 200, -64])
def test_one_that_is_cut_off_is_refused(made, tmp_path, length):
    path = tmp_path / "cut.gguf"
    path.write_bytes(made[0].read_bytes()[:length])
    with pytest.raises(UserError, match=r"checkpoint: '.*cut\.gguf' ") as caught:
        loaded(path)
    assert "\n" not in str(caught.value)


def test_one_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"there is no file '.*none\.gguf'"):
        locate("m", config(tmp_path / "none.gguf"))


def test_the_package_is_named_where_it_is_missing(made, monkeypatch):
    monkeypatch.setattr("polbayes.huggingface.locate.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs gguf, which is not installed; install polbayes\["):
        locate("m", config(made[0]))
