"""Loading of checkpoints, and checks whether they are usable.

Weights come from safetensors or GGUF files only; a checkpoint's own code runs only if its
respondent sets ``trust_remote_code: true``; checkpoints in a folder are read without network
access. Coders that are checkpoints are loaded here as well.
"""

from pathlib import Path
from typing import Any

from polbayes.config.schema import RespondentConfig
from polbayes.errors import UserError
from polbayes.huggingface.adapter import merged, tokenizer_folder
from polbayes.huggingface.hub import quiet, unusable
from polbayes.huggingface.locate import Declared
from polbayes.huggingface.shards import count_weights
from polbayes.huggingface.source import Source

# A config with this many times the weights in the files is of another model.
_TOO_LARGE = 4


def load_tokenizer(source: Source) -> Any:
    """Load a checkpoint's tokenizer."""
    from transformers import AutoTokenizer

    quiet()
    where = tokenizer_folder(source)
    # The folder of an adapter has no config that names the class of its tokenizer.
    base = {"config": load_config(source)} if where == source.adapter else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(where, **base, **source.arguments)
        ids = tokenizer("Agree", add_special_tokens=False)["input_ids"]
    except Exception as error:  # every family of tokenizers raises errors of its own
        raise unusable(source, error, "tokenizer") from error
    # Without the files, some families silently return an empty vocabulary.
    if not set(ids) - {tokenizer.unk_token_id}:
        raise UserError(
            f"{source.where}: checkpoint: '{source.name}' has no usable tokenizer: "
            "it knows no letters; are its files missing?"
        )
    return tokenizer


def load_model(source: Source, config: RespondentConfig, *, masked: bool) -> Any:
    """Load the weights of a masked or a causal LM for inference."""
    about = load_config(source)
    check_kind(source, about, masked=masked)
    trained_as = f"a {'masked' if masked else 'causal'} language model"
    return load_weights(source, config, language_model(masked), about, trained_as=trained_as)


def language_model(masked: bool) -> Any:
    """Return the ``AutoModel`` of transformers for masked, or causal, language models."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    return AutoModelForMaskedLM if masked else AutoModelForCausalLM


def load_config(source: Source) -> Any:
    """Load a checkpoint's config."""
    from transformers import AutoConfig

    quiet()
    try:
        return AutoConfig.from_pretrained(source.location, **source.arguments)
    except Exception as error:
        raise unusable(source, error, "configuration") from error


def load_weights(
    source: Source,
    config: Declared,
    kind: Any,
    about: Any,
    *,
    trained_as: str,
    new_head: bool = False,
) -> Any:
    """Load a checkpoint's weights as one kind of model for inference.

    `kind` is an ``AutoModel`` of transformers, `trained_as` its name in errors. With `new_head` the
    layers above the encoder may be missing; they are then random, to be trained. Weights that are
    missing, not finite or not safetensors are a `UserError`.
    """
    quiet()
    device = _device(source.where, config.device)
    _check_size(source, kind, about)
    model, report = _loaded(source, config, kind, about, new_head=new_head)
    # Unless ignored, a mismatched size is a separate error.
    missing = {*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])}
    if new_head:
        missing = {key for key in missing if _is_encoder(key, model.base_model_prefix)}
    if missing:
        # Missing weights would be random, and so would the answers.
        raise UserError(
            f"{source.where}: checkpoint: '{source.name}' lacks the weights '{min(missing)}'; it "
            f"was not trained as {trained_as}, or is incomplete, so choose another checkpoint."
        )
    if source.adapter:
        model = merged(source, model)
    _check_finite(source, model)
    try:
        return model.to(device).eval()
    except Exception as error:  # above all, memory that runs out
        raise unusable(source, error, "weights") from error


def _loaded(
    source: Source, config: Declared, kind: Any, about: Any, *, new_head: bool
) -> tuple[Any, Any]:
    """Return the model that transformers loads, and its report of missing weights."""
    import torch
    from transformers import GgufConfig

    unpacked = {"quantization_config": GgufConfig(dequantize=True)} if source.gguf else {}
    try:
        found: tuple[Any, Any] = kind.from_pretrained(
            source.location,
            config=about,
            dtype=getattr(torch, config.dtype),
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=new_head,
            # With peft installed, transformers would look for an adapter by itself.
            adapter_kwargs={"subfolder": "none"},
            **unpacked,
            **source.arguments,
        )
    except Exception as error:
        raise unusable(source, error, "weights") from error
    return found


def _check_size(source: Source, kind: Any, about: Any) -> None:
    """Refuse a config that describes a far larger model than the files hold.

    Missing weights would be filled with random numbers first, which may exceed memory.
    """
    if not source.local or source.gguf or getattr(about, "quantization_config", None):
        return
    empty = skeleton(source, kind, about)
    held = count_weights(Path(source.location))
    described = sum(weight.numel() for weight in empty.parameters()) if empty else 0
    if described > _TOO_LARGE * held:
        raise UserError(
            f"{source.where}: checkpoint: '{source.name}' has a config.json of a model with "
            f"{described:,} weights, and files with {held:,}; put those together that belong "
            "together."
        )


def skeleton(source: Source, kind: Any, about: Any) -> Any:
    """Return a model without weights in memory; None if it cannot be built without."""
    import torch

    try:
        with torch.device("meta"):
            return kind.from_config(about, trust_remote_code=source.remote_code)
    except Exception:  # what keeps it from being built is said where it is loaded
        return None


def _check_finite(source: Source, model: Any) -> None:
    """Refuse weights that are not finite."""
    import torch

    for name, weight in model.named_parameters():
        plain = weight.dtype in (torch.float32, torch.float16, torch.bfloat16)
        if plain and not torch.isfinite(weight.detach().sum(dtype=torch.float32)):
            raise UserError(
                f"{source.where}: checkpoint: '{source.name}' has weights that are not finite "
                f"numbers ('{name}'); download or convert it again, and if it was converted to "
                f"16 bits, use dtype: float32."
            )


def _is_encoder(key: str, prefix: str) -> bool:
    """Return whether a weight belongs to the encoder; a pooler is part of the head."""
    return key.startswith(f"{prefix}.") and "pooler" not in key


def check_kind(source: Source, about: Any, *, masked: bool) -> None:
    """Refuse a checkpoint that is no masked, or no causal, language model, by its config."""
    # From here they can be had without PyTorch.
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING,
        MODEL_FOR_MASKED_LM_MAPPING,
    )

    auto = "AutoModelForMaskedLM" if masked else "AutoModelForCausalLM"
    if auto in (getattr(about, "auto_map", None) or {}):
        return
    known = type(about) in (MODEL_FOR_MASKED_LM_MAPPING if masked else MODEL_FOR_CAUSAL_LM_MAPPING)
    # Most encoders can be built as either; `architectures` says which was trained.
    other = ("ForCausalLM", "LMHeadModel") if masked else ("ForMaskedLM",)
    trained = getattr(about, "architectures", None) or []
    if known and not any(name.endswith(other) for name in trained):
        return
    want, use = ("masked", "causal") if masked else ("causal", "masked")
    raise UserError(
        f"{source.where}: checkpoint: '{source.name}' is a {about.model_type} model "
        f"({', '.join(trained) or 'no architecture named'}), not a {want} language model; "
        f"choose another checkpoint, or backend: {use} if it is one of those."
    )


def _device(where: str, wanted: str) -> str:
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return next((device for device, usable in there.items() if usable), "cpu")
    if not there.get(wanted, True):
        raise UserError(f"{where}: device: there is no {wanted} here; use auto or cpu.")
    return wanted
