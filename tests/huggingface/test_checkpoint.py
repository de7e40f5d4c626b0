import json
import shutil

import pytest

from polbayes.config.resources import folder
from polbayes.config.schema import RespondentConfig
from polbayes.errors import UnreachableError, UserError
from polbayes.huggingface.checkpoint import load_model, load_tokenizer
from polbayes.huggingface.hub import unusable
from polbayes.huggingface.identity import weights_digest
from polbayes.huggingface.locate import locate
from polbayes.huggingface.source import Source


def config(path, **more):
    return RespondentConfig(checkpoint=str(path), device="cpu", **more)


@pytest.fixture
def copy(causal_checkpoint, tmp_path):
    """Return a checkpoint of one's own to damage."""
    return shutil.copytree(causal_checkpoint("gpt2-bytes-right").path, tmp_path / "copy")


def test_what_is_not_there_is_said_in_one_sentence(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for given, said in {
        "": "checkpoint: is empty",
        "embedded:no_such": "unknown embedded model 'no_such'",
        f"{tmp_path}/nowhere": "there is no folder",
        "./nowhere": "there is no folder './nowhere'",
        str(empty): "has no config.json",
    }.items():
        with pytest.raises(UserError, match=said) as caught:
            locate("m", config(given))
        assert "\n" not in str(caught.value)


def test_embedded_models_are_found_by_name():
    shipped = sorted(path.parent for path in folder("models").glob("*/config.json"))
    if not shipped:
        pytest.skip("no embedded model has been trained yet")
    for path in shipped:
        source = locate("m", RespondentConfig(checkpoint=f"embedded:{path.name}"))
        assert (source.location, source.local) == (str(path), True)


@pytest.mark.parametrize("key", ["dtype", "device"])
def test_unknown_dtype_and_device_are_refused(causal_checkpoint, key):
    given = RespondentConfig(checkpoint=str(causal_checkpoint("gpt2-bytes-right").path))
    setattr(given, key, "int4")
    with pytest.raises(UserError, match=f"respondents.m: unknown {key} 'int4'"):
        locate("m", given)


def test_only_safetensors_are_loaded(copy):
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"has no \*.safetensors file"):
        locate("m", config(copy))


def test_a_damaged_weights_file_is_refused(copy):
    (copy / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(UserError, match="has no usable weights"):
        load_model(locate("m", config(copy)), config(copy), masked=False)


def test_missing_weights_are_not_made_up(copy):
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    del weights["transformer.h.1.attn.c_attn.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks the weights 'transformer.h.1.attn.c_attn.weight'"):
        load_model(locate("m", config(copy)), config(copy), masked=False)


def test_the_other_kind_of_model_is_refused(causal_checkpoint, masked_checkpoint):
    causal = config(causal_checkpoint("llama-bytes-bos-right").path)
    with pytest.raises(UserError, match=r"LlamaForCausalLM\), not a masked .* backend: causal"):
        load_model(locate("m", causal), causal, masked=True)
    masked = config(masked_checkpoint(True))
    with pytest.raises(UserError, match=r"BertForMaskedLM\), not a causal .* backend: masked"):
        load_model(locate("m", masked), masked, masked=False)


def test_code_of_a_checkpoint_is_not_run_unasked(copy):
    about = json.loads((copy / "config.json").read_text())
    about |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.OwnModel"},
    }
    (copy / "config.json").write_text(json.dumps(about))
    (copy / "own.py").write_text("raise SystemExit('it ran')\n")
    with pytest.raises(UserError, match="trust_remote_code: true"):
        load_model(locate("m", config(copy)), config(copy), masked=False)


def test_a_folder_without_tokenizer_is_refused(copy):
    for path in copy.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(UserError, match="has no usable tokenizer"):
        load_tokenizer(locate("m", config(copy)))


def test_a_hub_name_without_network(monkeypatch, tmp_path):
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    given = RespondentConfig(checkpoint="no-such-owner-x/no-such-model-x")
    source = locate("m", given)
    assert not source.local
    with pytest.raises(UserError, match=r"respondents\.m: checkpoint: 'no-such-owner-x") as caught:
        load_tokenizer(source)
    assert "\n" not in str(caught.value)


def test_the_digest_follows_the_weights(copy):
    before = weights_digest(config(copy))
    assert before == weights_digest(config(copy))
    data = bytearray((copy / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (copy / "model.safetensors").write_bytes(data)
    assert weights_digest(config(copy)) != before
    assert weights_digest(RespondentConfig(checkpoint="owner/on-the-hub")) == ""


def test_a_checkpoint_that_cannot_be_fetched_is_told_from_one_that_is_not_there():
    source = Source("respondents.a", "lab/model", False, None, False)
    error = unusable(source, OSError("We couldn't connect to the hub."), "config")
    assert isinstance(error, UnreachableError)
    assert "the hub cannot be reached" in str(error)
    assert not isinstance(unusable(source, OSError("No such file."), "config"), UnreachableError)
