"""Checkpoints: where they are, whether they can be used, and how they are loaded.

Weights come from safetensors only, code of a checkpoint's own runs only when its
respondent says ``trust_remote_code: true``, and a checkpoint that lies in a folder is read
without asking the network anything.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polbayes.config import RespondentConfig
from polbayes.errors import UserError, unknown
from polbayes.resources import folder

DTYPES = ("float32", "bfloat16", "float16")
DEVICES = ("auto", "cpu", "cuda", "mps")
EMBEDDED = "embedded:"

# Up to this size a weights file is digested whole, beyond it by its size, beginning and end.
_WHOLE = 1 << 26
_EDGE = 1 << 20


@dataclass(frozen=True)
class Source:
    """Where a checkpoint is.

    Parameters
    ----------
    name
        The respondent's name, for errors; empty where it is none's.
    where
        The key of the config that names it, for errors.
    location
        A folder, or the name of a model on the hub.
    local
        Whether it is a folder.
    revision
        Of the hub; None for the default branch.
    remote_code
        Whether the checkpoint's own code may run.
    """

    name: str
    where: str
    location: str
    local: bool
    revision: str | None
    remote_code: bool

    @property
    def arguments(self) -> dict[str, Any]:
        """What every ``from_pretrained`` is given."""
        return {
            "revision": None if self.local else self.revision,
            "trust_remote_code": self.remote_code,
            "local_files_only": self.local,
        }


def locate(name: str, config: RespondentConfig, *, key: str = "") -> Source:
    """Find out where a respondent's checkpoint is.

    Parameters
    ----------
    name
        The respondent's name; empty where the checkpoint is none's.
    config
        Names the checkpoint.
    key
        Key of the config, for errors, where it is not that of a respondent's checkpoint.

    Raises
    ------
    UserError
        If none is named, or a named folder or embedded model does not exist.
    """
    where = f"respondents.{name}"
    key = key or f"{where}: checkpoint"
    given = config.checkpoint.strip()
    if config.dtype not in DTYPES:
        raise unknown("dtype", config.dtype, DTYPES, where=where)
    if config.device not in DEVICES:
        raise unknown("device", config.device, DEVICES, where=where)
    if not given:
        raise UserError(f"{key}: is empty; give embedded:NAME, a folder or a name.")
    if given.startswith(EMBEDDED):
        path = _embedded(given.removeprefix(EMBEDDED), key)
    else:
        path = Path(given).expanduser()
        looks_local = given[0] in "./~" or given.count("/") > 1
        if not path.is_dir() and looks_local:
            raise UserError(f"{key}: there is no folder '{given}'.")
    if not path.is_dir():
        return Source(name, key, given, False, config.revision, config.trust_remote_code)
    if not (path / "config.json").is_file():
        raise UserError(f"{key}: the folder '{given}' has no config.json.")
    if not any(path.glob("*.safetensors")):
        raise UserError(
            f"{key}: the folder '{given}' has no *.safetensors file; "
            "other weight formats are not loaded, convert it first."
        )
    return Source(name, key, str(path), True, None, config.trust_remote_code)


def _embedded(name: str, key: str) -> Path:
    shipped = {path.parent.name: path.parent for path in folder("models").glob("*/config.json")}
    if name not in shipped:
        raise unknown("embedded model", name, shipped, where=key)
    return shipped[name]


def weights_digest(config: RespondentConfig) -> str:
    """Return a digest of a local checkpoint's weights; empty for one on the hub.

    Raises
    ------
    UserError
        As `locate`.
    """
    source = locate("checkpoint", config)
    if not source.local:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(source.location).glob("*.safetensors")):
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        with path.open("rb") as file:
            if size <= _WHOLE:
                digest.update(file.read())
            else:
                digest.update(file.read(_EDGE))
                file.seek(-_EDGE, 2)
                digest.update(file.read())
    return digest.hexdigest()


def load_tokenizer(source: Source) -> Any:
    """Load a checkpoint's tokenizer.

    Raises
    ------
    UserError
        If there is none, or it cannot be had.
    """
    from transformers import AutoTokenizer

    _quiet()
    try:
        tokenizer = AutoTokenizer.from_pretrained(source.location, **source.arguments)
        ids = tokenizer("Agree", add_special_tokens=False)["input_ids"]
    except Exception as error:  # every family of tokenizers raises errors of its own
        raise _unusable(source, error, "tokenizer") from error
    # Where the files are missing, some families give an empty vocabulary without a word.
    if not set(ids) - {tokenizer.unk_token_id}:
        raise UserError(
            f"{source.where}: '{source.location}' has no usable tokenizer: "
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

    device = find_device(config.device, f"respondents.{source.name}: device")
    about = load_about(source)
    _check_kind(source, about, masked)
    kind: Any = tf.AutoModelForMaskedLM if masked else tf.AutoModelForCausalLM
    called = "masked language model" if masked else "causal language model"
    model = load_weights(source, about, kind, dtype=config.dtype, called=called)
    return model.to(device).eval()


def load_about(source: Source) -> Any:
    """Load a checkpoint's configuration.

    Raises
    ------
    UserError
        If there is none, or it cannot be had.
    """
    from transformers import AutoConfig

    _quiet()
    try:
        return AutoConfig.from_pretrained(source.location, **source.arguments)
    except Exception as error:
        raise _unusable(source, error, "configuration") from error


def load_weights(source: Source, about: Any, kind: Any, *, dtype: str, called: str) -> Any:
    """Load a checkpoint's weights into a model of a kind.

    Parameters
    ----------
    source
        Where it is.
    about
        Its configuration.
    kind
        An automatic class of transformers.
    dtype
        One of `DTYPES`.
    called
        What the kind is called, for errors.

    Raises
    ------
    UserError
        If there are no safetensors weights, or not those of such a model.
    """
    import torch

    try:
        model, report = kind.from_pretrained(
            source.location,
            config=about,
            dtype=getattr(torch, dtype),
            use_safetensors=True,
            output_loading_info=True,
            **source.arguments,
        )
    except Exception as error:
        raise _unusable(source, error, "weights") from error
    if report["missing_keys"]:
        # They would be filled with random numbers, and the answers with them.
        raise UserError(
            f"{source.where}: '{source.location}' lacks the weights "
            f"'{min(report['missing_keys'])}'; it was not trained as a {called}."
        )
    return model


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
        f"{source.where}: '{source.location}' is a {about.model_type} model "
        f"({', '.join(trained) or 'no architecture named'}), not a {want} language model; "
        f"choose another checkpoint, or backend: {use} if it is one of those."
    )


def find_device(wanted: str, where: str) -> str:
    """Return the device that one of `DEVICES` means here.

    Raises
    ------
    UserError
        If it is not there; `where` is the key that asks for it.
    """
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return next((device for device, usable in there.items() if usable), "cpu")
    if not there.get(wanted, True):
        raise UserError(f"{where}: there is no {wanted} here; use auto or cpu.")
    return wanted


def _quiet() -> None:
    """Keep the loading bars and advice of transformers out of our own progress bars."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _unusable(source: Source, error: Exception, part: str) -> UserError:
    """Turn what transformers raised into one sentence."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    names = {type(link).__name__ for link in chain}
    text = " ".join(str(link) for link in chain)
    where = f"{source.where}: '{source.location}'"
    if "trust_remote_code" in text and not source.remote_code:
        unless = " unless this respondent says trust_remote_code: true" if source.name else ""
        return UserError(f"{where} brings code of its own, which is not run{unless}.")
    if "GatedRepoError" in names:
        return UserError(f"{where} is gated; ask for access on the hub and log in first.")
    if "RevisionNotFoundError" in names:
        return UserError(f"{where} has no revision '{source.revision}' on the hub.")
    if "RepositoryNotFoundError" in names or "HFValidationError" in names:
        return UserError(f"{where} is neither a folder here nor a public model on the hub.")
    if names & {"LocalEntryNotFoundError", "OfflineModeIsEnabled"} or "connect" in text.lower():
        return UserError(
            f"{where} is not a folder here, and the hub cannot be reached to look for it there; "
            "check the name and the network, or use an embedded or a downloaded checkpoint."
        )
    if part == "weights" and "safetensors" in text:
        return UserError(f"{where} has no safetensors weights; other formats are not loaded.")
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return UserError(f"{where} has no usable {part}: {reason}.")
