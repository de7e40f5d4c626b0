"""LoRA adapters: merged into their base model, and part of what a checkpoint is known by."""

import json
import shutil

import numpy as np
import pytest

from polbayes.config.schema import RespondentConfig
from polbayes.errors import UserError
from polbayes.huggingface.checkpoint import load_model, load_tokenizer
from polbayes.huggingface.identity import files_digest, weights_digest
from polbayes.huggingface.locate import locate

BASE = "gpt2-bytes-right"


def config(path):
    return RespondentConfig(checkpoint=str(path), device="cpu")


def loaded(path):
    return load_model(locate("m", config(path)), config(path), masked=False)


# Making an adapter calls what transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")


@pytest.fixture
def lora(causal_checkpoint, tmp_path):
    """Return the folder of a random adapter next to that of its base model."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = shutil.copytree(causal_checkpoint(BASE).path, tmp_path / "base")
    about = LoraConfig(r=2, lora_alpha=4, target_modules=["c_attn"], fan_in_fan_out=True)
    torch.manual_seed(5)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), about)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight)
    model.save_pretrained(tmp_path / "lora")
    edit(tmp_path / "lora", base_model_name_or_path=str(base))
    return tmp_path / "lora"


def edit(folder, **changes):
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refused(path, says):
    with pytest.raises(UserError) as caught:
        loaded(path)
    assert says in str(caught.value)
    assert str(caught.value).startswith("respondents.m: checkpoint: the adapter")
    assert "\n" not in str(caught.value)


def test_the_product_of_its_matrices_is_added(lora):
    from safetensors.numpy import load_file

    before = loaded(lora.parent / "base").state_dict()
    after = loaded(lora).state_dict()
    low = load_file(lora / "adapter_model.safetensors")
    changed = 0
    for name, weight in after.items():
        key = f"base_model.model.{name.removesuffix('.weight')}"
        expected = before[name].numpy()
        if f"{key}.lora_A.weight" in low:
            # fan_in_fan_out: the weight stands on its side; scaled by lora_alpha / r = 2.
            product = low[f"{key}.lora_B.weight"] @ low[f"{key}.lora_A.weight"]
            expected = expected + 2 * product.T
            changed += 1
        np.testing.assert_allclose(weight.numpy(), expected, atol=1e-5)
    assert changed == 2


@pytest.mark.parametrize("named", ["whole", "beside", "elsewhere"])
def test_the_base_model_is_found(lora, named):
    names = {"whole": lora.parent / "base", "beside": "base", "elsewhere": "/trained/there/base"}
    edit(lora, base_model_name_or_path=str(names[named]))
    source = locate("m", config(lora))
    assert (source.location, source.local) == (str(lora.parent / "base"), True)
    assert source.adapter == str(lora)


def test_a_base_model_in_the_same_folder_gets_the_adapter_once(lora):
    expected = loaded(lora).state_dict()
    for path in (lora.parent / "base").iterdir():
        shutil.copy(path, lora / path.name)
    edit(lora, base_model_name_or_path="no/such")
    found = loaded(lora).state_dict()
    assert found.keys() == expected.keys()
    for name, weight in found.items():
        np.testing.assert_allclose(weight.numpy(), expected[name].numpy(), atol=1e-6)


def test_a_base_model_on_the_hub_is_named_with_its_revision(lora):
    edit(lora, base_model_name_or_path="owner/name", revision="v2")
    source = locate("m", config(lora))
    assert (source.location, source.local, source.revision) == ("owner/name", False, "v2")


def test_its_own_tokenizer_comes_first(lora):
    from transformers import AutoTokenizer

    base = lora.parent / "base"
    assert load_tokenizer(locate("m", config(lora))).chat_template is None
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = "{{ messages[0].content }}"
    tokenizer.save_pretrained(lora)
    assert load_tokenizer(locate("m", config(lora))).chat_template == tokenizer.chat_template


@pytest.mark.parametrize("changed", ["lora/adapter_model.safetensors", "base/model.safetensors"])
def test_both_weights_are_part_of_the_identity(lora, changed):
    path = lora.parent / changed
    before, files = weights_digest(config(lora)), files_digest(config(lora))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert weights_digest(config(lora)) != before
    assert files_digest(config(lora)) == files


@pytest.mark.parametrize("changed", ["lora/adapter_config.json", "base/tokenizer.json"])
def test_so_are_the_other_files_of_both(lora, changed):
    before = files_digest(config(lora))
    path = lora.parent / changed
    path.write_text(path.read_text() + " ")
    assert files_digest(config(lora)) != before


def test_what_is_no_adapter_of_this_model_is_refused(lora, causal_checkpoint):
    other = causal_checkpoint("llama-bytes-bos-right").path
    edit(lora, base_model_name_or_path=str(other))
    refused(lora, f"does not fit its base model '{other}'")


def test_weights_that_the_model_has_no_place_for_are_refused(lora):
    edit(lora, target_modules=["c_proj"])
    refused(lora, "is in only one of them")


def test_a_base_model_that_is_not_there(lora):
    shutil.rmtree(lora.parent / "base")
    refused(lora, "belongs to the base model")
    edit(lora, base_model_name_or_path=None)
    refused(lora, "names no base model; write it as base_model_name_or_path")


def test_other_kinds_and_pickles_are_refused(lora):
    (lora / "adapter_model.safetensors").rename(lora / "adapter_model.bin")
    refused(lora, "has no adapter_model.safetensors; other formats are not loaded")
    edit(lora, peft_type="PREFIX_TUNING")
    refused(lora, "is of type PREFIX_TUNING; only LORA is loaded, so merge it")


def test_a_truncated_adapter_is_refused(lora):
    path = lora / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    refused(lora, "does not fit its base model")


def test_the_package_is_named_where_it_is_missing(lora, monkeypatch):
    monkeypatch.setattr("polbayes.huggingface.adapter.find_spec", lambda name: None)
    refused(lora, "needs peft, which is not installed; install polbayes[adapters], or give a")
