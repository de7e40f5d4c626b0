"""Models behind OpenAI-compatible servers: a lab's, vLLM, llama.cpp."""

from polbayes.respondents.chat_api.failures import RequestRejectedError
from polbayes.respondents.chat_api.respondent import describe, open_chat_api
from polbayes.respondents.chat_api.settings import answer_settings_of, check_key

__all__ = ["RequestRejectedError", "answer_settings_of", "check_key", "describe", "open_chat_api"]
