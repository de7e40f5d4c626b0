"""Models behind OpenAI-compatible servers: a lab's, vLLM, llama.cpp."""

from polbayes.config.schema import TEXTS
from polbayes.respondents.base import Backend
from polbayes.respondents.chat_api.failures import RequestRejectedError
from polbayes.respondents.chat_api.opening import describe, open_chat_api
from polbayes.respondents.chat_api.settings import answer_settings_of, check_key

__all__ = ["BACKEND", "RequestRejectedError", "describe", "open_chat_api"]

# The weights behind a server's name for a model are unknown.
BACKEND = Backend(
    ("forced_choice", *TEXTS),
    describe,
    open_chat_api,
    settings=answer_settings_of,
    ready=check_key,
    decodings=("sample", "greedy"),
    by_prompt=True,
)
