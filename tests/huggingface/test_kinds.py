"""Checkpoints that cannot be asked: one sentence with the way out, before anything is written."""

import json
import re
import shutil
from importlib.util import find_spec

import pytest

from polbayes.cli import _main

BASE = "gpt2-bytes-right"


@pytest.fixture
def copy(causal_checkpoint, tmp_path):
    """Return a function that copies a checkpoint to be damaged."""
    return lambda name=BASE: shutil.copytree(causal_checkpoint(name).path, tmp_path / "copy")


@pytest.fixture
def said(tmp_path, capsys):
    """Return a function that asks a checkpoint from the command line, and what is said then."""

    def ask(path, *more):
        capsys.readouterr()
        code = _main(
            [
                *("+experiment=wvs_prefixes", "prefixes.only=[baseline]", "variants=[original]"),
                *("elicitation=forced_choice", "analysis=ideology_one_model", "stages=[probe]"),
                *("respondents=none", f"+respondents.m.checkpoint={path}"),
                *("+respondents.m.device=cpu", f"run_dir={tmp_path / 'run'}", *more),
            ]
        )
        lines = capsys.readouterr().err.strip().splitlines()
        errors = [line for line in lines if line.startswith("error: ")]
        assert code == 2
        assert lines[-1:] == errors
        assert errors[0].endswith(".")
        assert not any("Traceback" in line or "could not answer" in line for line in lines)
        assert not list((tmp_path / "run").rglob("*.jsonl"))
        return errors[0].removeprefix("error: respondents.m: ")

    return ask


def refused(said, path, says, *more):
    """Check that a dry run and a run refuse a checkpoint in the same words."""
    first, second = (said(path, *more, *task) for task in (["task=dry_run"], []))
    assert first == second
    assert says in first


def edit(path, **changes):
    about = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: x for key, x in about.items() if x is not None}))


def weights(path):
    from safetensors.torch import load_file

    return load_file(path / "model.safetensors")


def save(path, tensors):
    from safetensors.torch import save_file

    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})


def in_shards(path):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(path)
    (path / "model.safetensors").unlink()
    model.save_pretrained(path, max_shard_size="30KB")
    return sorted(path.glob("model-*.safetensors"))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin"])
def test_pickles(copy, said, name):
    import torch

    path = copy()
    torch.save(weights(path), path / name)
    (path / "model.safetensors").unlink()
    refused(said, path, f"has no *.safetensors file; '{name}' is a pickle, which can run code and")
    assert "from_pretrained and save_pretrained of GPT2LMHeadModel" in said(path)


@pytest.mark.parametrize("kept", [0, 5, 1000, -1])
def test_truncated_weights(copy, said, kept):
    path = copy()
    data = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(data[:kept])
    refused(said, path, "has no usable weights: 'model.safetensors' ")
    assert said(path).endswith("; download or copy it again.")


def test_a_missing_shard(copy, said):
    path = copy("llama-bytes-bos-right")
    shards = in_shards(path)
    shards[1].unlink()
    refused(said, path, f"'{shards[1].name}', which model.safetensors.index.json names, is missing")
    (path / "model.safetensors.index.json").write_text("{")
    refused(said, path, "model.safetensors.index.json is damaged; download it again")
    (path / "model.safetensors.index.json").unlink()
    refused(said, path, "there is neither model.safetensors nor model.safetensors.index.json")


@pytest.mark.parametrize(
    ("method", "package"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes"),
        ({"quant_method": "gptq", "bits": 4}, "optimum"),
        ({"quant_method": "awq", "bits": 4}, "gptqmodel"),
    ],
)
def test_quantised_weights_without_their_package(copy, said, method, package):
    if find_spec(package):
        pytest.skip(f"{package} is installed")
    path = copy()
    edit(path / "config.json", quantization_config=method)
    found = said(path)
    assert "is quantised, or needs another package to be read (" in found
    assert package in found
    assert found.endswith("; install that, or use the checkpoint before quantisation.")


def test_weights_that_are_not_numbers(copy, said):
    path = copy()
    tensors = weights(path)
    tensors["transformer.h.1.mlp.c_fc.weight"][3, 5] = float("nan")
    save(path, tensors)
    found = said(path)
    assert "weights that are not finite numbers ('transformer.h.1.mlp.c_fc.weight')" in found


def test_a_base_model_without_its_head(copy, said):
    from transformers import AutoModel

    path = copy("llama-bytes-bos-right")
    model = AutoModel.from_pretrained(path)
    model.save_pretrained(path)
    assert "lacks the weights 'lm_head.weight'; it was not trained as a causal" in said(path)


def test_weights_of_another_architecture(copy, said):
    path = copy()
    # What LLaMA's config does not say is that of a model with seven billion weights.
    edit(path / "config.json", model_type="llama", architectures=["LlamaForCausalLM"])
    found = said(path)
    assert re.search(r"config.json of a model with [67],\d{3},\d{3},\d{3} weights, and", found)
    assert found.endswith("; put those together that belong together.")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "nonsense"}, "has model type `nonsense`"),
        ({"model_type": "t5", "architectures": ["T5Model"]}, "not a causal language model"),
        ({"model_type": None}, "has no usable "),
    ],
)
def test_configs_of_nothing_that_writes(copy, said, changes, says):
    path = copy()
    edit(path / "config.json", **changes)
    refused(said, path, says)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{% for m in messages %}{{ m.content ", "unexpected end of template"),
        ("{{ raise_exception('no system turn') }}", "no system turn"),
        ("Hello.", "it leaves out what the user says"),
    ],
)
def test_broken_chat_templates(copy, said, template, why):
    path = copy("gpt2-chat")
    (path / "chat_template.jinja").write_text(template)
    refused(said, path, f"cannot be used ({why}")
    assert "or set chat: false to put prompts as plain text" in said(path)


def test_a_chat_template_that_is_missing(copy, said):
    more = "+respondents.m.chat=true"
    refused(said, copy(), "the checkpoint has no chat template; leave chat out", more)


def test_several_chat_templates_without_a_default(copy, said):
    path = copy("gpt2-chat")
    (path / "chat_template.jinja").unlink()
    edit(path / "tokenizer_config.json", chat_template=[{"name": "rag", "template": "x"}])
    refused(said, path, "cannot be used (This model has multiple chat templates with no default")


def test_memory_that_runs_out_while_weights_are_moved(copy, said, monkeypatch):
    import torch
    from transformers import PreTrainedModel

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(PreTrainedModel, "to", full)
    assert "does not fit into memory; use dtype: bfloat16, device: cpu or a" in said(copy())
