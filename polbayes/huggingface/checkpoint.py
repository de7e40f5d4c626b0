"""Checkpoints: where they are, whether they can be used, and how they are loaded.

Weights come from safetensors only, code of a checkpoint's own runs only when its
respondent says ``trust_remote_code: true``, and a checkpoint that lies in a folder is read
without asking the network anything. Coders that are checkpoints are loaded here as well.
"""

import hashlib
from pathlib import Path
from typing import Any, Protocol

from polbayes.config.resources import folder
from polbayes.config.schema import RespondentConfig
from polbayes.errors import UserError, unknown
from polbayes.huggingface.hub import quiet, unusable
from polbayes.huggingface.identity import folder_digest, other_digest
from polbayes.huggingface.source import Source

DTYPES = ("float32", "bfloat16", "float16")
DEVICES = ("auto", "cpu", "cuda", "mps")
EMBEDDED = "embedded:"


class Declared(Protocol):
    """What the config says about any checkpoint."""

    checkpoint: str
    revision: str | None
    dtype: str
    device: str
    trust_remote_code: bool


def locate(name: str, config: Declared, *, under: str = "respondents") -> Source:
    """Find out where a checkpoint is.

    Parameters
    ----------
    name
        Of the respondent, or of what else declares it.
    config
        The declaration.
    under
        The key of the config that the declaration is under; empty where `name` is all of it.

    Raises
    ------
    UserError
        If none is named, or a named folder or embedded model does not exist.
    """
    where = f"{under}.{name}" if under else name
    given = config.checkpoint.strip()
    if config.dtype not in DTYPES:
        raise unknown("dtype", config.dtype, DTYPES, where=where)
    if config.device not in DEVICES:
        raise unknown("device", config.device, DEVICES, where=where)
    if not given:
        raise UserError(f"{where}: checkpoint: is empty; give embedded:NAME, a folder or a name.")
    if given.startswith(EMBEDDED):
        path = _embedded(given.removeprefix(EMBEDDED), where)
    else:
        path = Path(given).expanduser()
        looks_local = given[0] in "./~" or given.count("/") > 1
        if not path.is_dir() and looks_local:
            raise UserError(f"{where}: checkpoint: there is no folder '{given}'.")
    if not path.is_dir():
        return Source(where, given, False, config.revision, config.trust_remote_code)
    if not (path / "config.json").is_file():
        raise UserError(f"{where}: checkpoint: the folder '{given}' has no config.json.")
    if not any(path.glob("*.safetensors")):
        raise UserError(
            f"{where}: checkpoint: the folder '{given}' has no *.safetensors file; "
            "other weight formats are not loaded, convert it first."
        )
    return Source(where, str(path), True, None, config.trust_remote_code)


def _embedded(name: str, where: str) -> Path:
    shipped = {path.parent.name: path.parent for path in folder("models").glob("*/config.json")}
    if name not in shipped:
        raise unknown("embedded model", name, shipped, where=f"{where}: checkpoint")
    return shipped[name]


def weights_digest(config: Declared) -> str:
    """Return a digest of a local checkpoint's weights; empty for one on the hub.

    Raises
    ------
    UserError
        As `locate`.
    """
    return source_digest(locate("checkpoint", config))


def files_digest(config: Declared) -> str:
    """Return what tells config, tokenizer and templates from others (`identity.other_digest`)."""
    return other_digest(locate("checkpoint", config))


def source_digest(source: Source) -> str:
    """Return a digest of the weights in a folder; empty for a checkpoint on the hub."""
    return folder_digest(Path(source.location)) if source.local else ""


def checkpoint_digest(where: Path) -> str:
    """Return a digest of a folder's weights and of what they mean; empty where there are none."""
    weights, about = folder_digest(where), where / "config.json"
    if not weights or not about.is_file():
        return weights
    return f"{weights}:{hashlib.blake2b(about.read_bytes(), digest_size=8).hexdigest()}"


def load_tokenizer(source: Source) -> Any:
    """Load a checkpoint's tokenizer.

    Raises
    ------
    UserError
        If there is none, or it cannot be had.
    """
    from transformers import AutoTokenizer

    quiet()
    try:
        tokenizer = AutoTokenizer.from_pretrained(source.location, **source.arguments)
        ids = tokenizer("Agree", add_special_tokens=False)["input_ids"]
    except Exception as error:  # every family of tokenizers raises errors of its own
        raise unusable(source, error, "tokenizer") from error
    # Where the files are missing, some families give an empty vocabulary without a word.
    if not set(ids) - {tokenizer.unk_token_id}:
        raise UserError(
            f"{source.where}: checkpoint: '{source.location}' has no usable tokenizer: "
            "it knows no letters; are its files missing?"
        )
    return tokenizer


def load_model(source: Source, config: RespondentConfig, *, masked: bool) -> Any:
    """Load a checkpoint's weights, ready to be asked.

    Parameters
    ----------
    source
        Where it is.
    config
        Names dtype and device.
    masked
        Whether it has to be a masked LM; a causal one otherwise.

    Raises
    ------
    UserError
        If it is no such model, has no safetensors weights, or cannot be had.
    """
    import transformers as tf

    about = load_config(source)
    _check_kind(source, about, masked)
    kind: Any = tf.AutoModelForMaskedLM if masked else tf.AutoModelForCausalLM
    trained_as = f"a {'masked' if masked else 'causal'} language model"
    return load_weights(source, config, kind, about, trained_as=trained_as)


def load_config(source: Source) -> Any:
    """Load what a checkpoint says about itself, without its weights.

    Raises
    ------
    UserError
        If there is nothing, or it cannot be had.
    """
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
    """Load a checkpoint's weights as one kind of model, ready to be used.

    Parameters
    ----------
    source
        Where it is.
    config
        Names dtype and device.
    kind
        The ``AutoModel`` of transformers for this kind.
    about
        See `load_config`.
    trained_as
        What the kind is called in an error.
    new_head
        Whether what stands above the encoder may be missing, and is then random, to be trained.

    Raises
    ------
    UserError
        If weights are missing, are no safetensors or cannot be had.
    """
    import torch

    quiet()
    device = _device(source.where, config.device)
    try:
        model, report = kind.from_pretrained(
            source.location,
            config=about,
            dtype=getattr(torch, config.dtype),
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=new_head,
            **source.arguments,
        )
    except Exception as error:
        raise unusable(source, error, "weights") from error
    # A size that does not match is an error of its own where it is not ignored.
    missing = {*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])}
    if new_head:
        missing = {key for key in missing if _is_encoder(key, model.base_model_prefix)}
    if missing:
        # They would be filled with random numbers, and the answers with them.
        raise UserError(
            f"{source.where}: checkpoint: '{source.location}' lacks the weights "
            f"'{min(missing)}'; it was not trained as {trained_as}."
        )
    return model.to(device).eval()


def _is_encoder(key: str, prefix: str) -> bool:
    """Tell whether a weight is of the encoder itself; a pooler is part of what comes above."""
    return key.startswith(f"{prefix}.") and "pooler" not in key


def _check_kind(source: Source, about: Any, masked: bool) -> None:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    auto = "AutoModelForMaskedLM" if masked else "AutoModelForCausalLM"
    if auto in (getattr(about, "auto_map", None) or {}):
        return
    known = type(about) in (MODEL_FOR_MASKED_LM_MAPPING if masked else MODEL_FOR_CAUSAL_LM_MAPPING)
    # Most encoders can be built as either; what was trained is what `architectures` says.
    other = ("ForCausalLM", "LMHeadModel") if masked else ("ForMaskedLM",)
    trained = getattr(about, "architectures", None) or []
    if known and not any(name.endswith(other) for name in trained):
        return
    want, use = ("masked", "causal") if masked else ("causal", "masked")
    raise UserError(
        f"{source.where}: checkpoint: '{source.location}' is a {about.model_type} model "
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
