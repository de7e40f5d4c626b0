"""Errors and messages of transformers and the hub as one sentence, or suppressed."""

from typing import Any

from polbayes.errors import UnreachableError, UserError
from polbayes.huggingface.portions import out_of_memory
from polbayes.huggingface.source import Source

# A word before a full stop is an abbreviation if it is not longer.
_SHORT = 20


def quiet() -> None:
    """Keep bars, advice and retries of transformers and the hub out of our progress bars."""
    from transformers.utils import logging as of_transformers

    of_transformers.set_verbosity_error()
    of_transformers.disable_progress_bar()
    _quiet_hub()


def quiet_datasets(datasets: Any) -> None:
    """Keep bars and messages of the package `datasets` and the hub out of ours."""
    datasets.disable_progress_bars()
    datasets.utils.logging.set_verbosity_error()
    _quiet_hub()


def _quiet_hub() -> None:
    import logging

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def unusable(source: Source, error: Exception, part: str) -> UserError:
    """Turn an error of transformers into one sentence."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    names = {type(link).__name__ for link in chain}
    text = " ".join(str(link) for link in chain)
    where = f"{source.where}: checkpoint: '{source.name}'"
    if "trust_remote_code" in text and not source.remote_code:
        return UserError(
            f"{where} contains its own code, which runs only for respondents and coders with "
            "trust_remote_code: true."
        )
    if "GatedRepoError" in names:
        return UserError(f"{where} is gated; ask for access on the hub and log in first.")
    if "RevisionNotFoundError" in names:
        return UserError(f"{where} has no revision '{source.revision}' on the hub.")
    if "RepositoryNotFoundError" in names or "HFValidationError" in names:
        return UserError(f"{where} is neither a local folder nor a public model on the hub.")
    unreachable = names & {"LocalEntryNotFoundError", "OfflineModeIsEnabled"}
    if unreachable or (not source.local and "connect" in text.lower()):
        return UnreachableError(
            f"{where} is not a local folder, and the hub cannot be reached; check the name and the "
            "network, or use an embedded or a downloaded checkpoint."
        )
    if part == "weights":
        return _unusable_weights(where, source, error)
    return UserError(f"{where} has no usable {part}: {reason_of(error)}.")


def _unusable_weights(where: str, source: Source, error: Exception) -> UserError:
    if out_of_memory(error):
        return UserError(
            f"{where} does not fit into memory; use dtype: bfloat16, device: cpu or a smaller "
            "checkpoint."
        )
    if not source.local and "safetensors" in str(error):
        return UserError(
            f"{where} has no safetensors weights; other formats can run code and are not loaded: "
            "convert it into a folder, with from_pretrained and save_pretrained of transformers."
        )
    if isinstance(error, ImportError):
        return UserError(
            f"{where} is quantised, or needs another package to be read ({reason_of(error)}); "
            "install that, or use the checkpoint before quantisation."
        )
    return UserError(f"{where} has no usable weights: {reason_of(error)}.")


def reason_of(error: Exception) -> str:
    """Return the first sentence of an exception's message, without its full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    first, stop, _ = lines[0].partition(". ")
    return (first if stop and len(first) > _SHORT else lines[0]).rstrip(". ")
