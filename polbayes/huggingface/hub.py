"""What transformers and the hub raise and print, as one sentence or not at all."""

from polbayes.errors import UserError
from polbayes.huggingface.source import Source


def quiet() -> None:
    """Keep the loading bars and advice of transformers out of our own progress bars."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def unusable(source: Source, error: Exception, part: str) -> UserError:
    """Turn what transformers raised into one sentence."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    names = {type(link).__name__ for link in chain}
    text = " ".join(str(link) for link in chain)
    where = f"{source.where}: checkpoint: '{source.location}'"
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
    if names & {"LocalEntryNotFoundError", "OfflineModeIsEnabled"} or "connect" in text.lower():
        return UserError(
            f"{where} is not a local folder, and the hub cannot be reached; check the name and the "
            "network, or use an embedded or a downloaded checkpoint."
        )
    if part == "weights" and "safetensors" in text:
        return UserError(f"{where} has no safetensors weights; other formats are not loaded.")
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return UserError(f"{where} has no usable {part}: {reason}.")
