"""The declaration of a server, checked; the key comes from the environment only."""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from polbayes.config.schema import API_MEANS, ApiConfig, RespondentConfig
from polbayes.errors import UserError, check_known
from polbayes.respondents.chat_api.anthropic import LEAST_THINKING
from polbayes.respondents.chat_api.refused import LIMIT_KEYS

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The profiles of protocols whose batch services ask what single requests do.
_SERVICES = {"openai": "openai", "anthropic": "anthropic_messages"}
_PROTOCOLS = (*_SERVICES, "gemini")
_OMITTABLE = ("temperature", "seed", "top_k", "response_format")
# Fields that `extra_body` may not change.
_OWN = ("messages", "model", "stream", "n", "logprobs", "top_logprobs", *LIMIT_KEYS)
_MOST_TOP = 20
# What a profile has in its URL where only the user knows what belongs there.
_PLACEHOLDER = "RESOURCE"


def api_of(config: RespondentConfig) -> ApiConfig:
    """Return the declaration of the server, or the defaults."""
    return config.api if config.api is not None else ApiConfig()


def check_api(name: str, config: RespondentConfig) -> None:
    """Refuse an invalid declaration."""
    where = f"respondents.{name}"
    if not config.checkpoint:
        raise UserError(f"{where}.checkpoint: is empty; give the server's name for the model.")
    if config.revision:
        raise UserError(f"{where}.revision: a server takes none; leave it out.")
    if config.chat is False:
        raise UserError(f"{where}.chat: a chat_api respondent is asked by chat; leave it out.")
    api = api_of(config)
    _check_address(f"{where}.api", api)
    if api.top_logprobs > _MOST_TOP:
        raise UserError(
            f"{where}.api.top_logprobs: must be at most {_MOST_TOP}, not {api.top_logprobs}."
        )
    check_known("protocol", api.protocol, known=_PROTOCOLS, where=f"{where}.api")
    if api.batch is not None:
        check_known("batch service", api.batch, known=_SERVICES, where=f"{where}.api.batch")
        if api.protocol != api.batch:
            raise UserError(
                f"{where}.api.batch: {api.batch} takes batches in its own protocol only, not as "
                f"protocol={api.protocol}; choose the profile api={_SERVICES[api.batch]}, or leave "
                "batch out."
            )
    if api.protocol == "anthropic" and 0 < (config.thinking_tokens or 0) < LEAST_THINKING:
        raise UserError(
            f"{where}.thinking_tokens: Anthropic takes {LEAST_THINKING} or more, not "
            f"{config.thinking_tokens}."
        )
    check_known("limit_key", api.limit_key, known=LIMIT_KEYS, where=f"{where}.api")
    check_known("field", *api.omit, known=_OMITTABLE, where=f"{where}.api.omit")
    for given in api.extra_body:
        if given in _OWN:
            raise UserError(f"{where}.api.extra_body.{given}: is set by other keys; leave it out.")
    _check_prices(f"{where}.api", api)


def _check_address(where: str, api: ApiConfig) -> None:
    try:
        parts = urlsplit(api.base_url)
        hidden = parts.username or parts.password or parts.query or parts.fragment
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        hidden, usable = None, None
    if hidden:
        raise UserError(
            f"{where}.base_url: must have no user name, query or fragment, which may hold a key; "
            "put the key into the environment variable that key_variable names."
        )
    if not usable:
        raise UserError(
            f"{where}.base_url: '{api.base_url}' is not a valid URL; write one such as "
            "http://127.0.0.1:8000/v1."
        )
    if _PLACEHOLDER in parts.netloc:
        raise UserError(
            f"{where}.base_url: '{api.base_url}' does not say whose server it is; write the name "
            f"of your resource in place of {_PLACEHOLDER}."
        )
    if api.key_variable is not None and not _VARIABLE.fullmatch(api.key_variable):
        raise UserError(
            f"{where}.key_variable: must be the name of an environment variable, such as "
            "OPENAI_API_KEY, and never the key itself."
        )


def _check_prices(where: str, api: ApiConfig) -> None:
    lacking = [key for key in ("price_input", "price_output") if getattr(api, key) is None]
    if len(lacking) == 1:
        raise UserError(
            f"{where}.{lacking[0]}: is missing although the other price is set; give both."
        )
    if api.budget is not None and lacking:
        raise UserError(
            f"{where}.budget: needs the prices of a million tokens; give {where}."
            f"{' and '.join(lacking)}, or limit the tokens with {where}.budget_tokens."
        )


def answer_settings_of(config: RespondentConfig) -> Mapping[str, Any]:
    """Return the parts of the declaration that determine the answers."""
    settings = asdict(api_of(config))
    return {f"api.{key}": value for key, value in settings.items() if key not in API_MEANS}


def key_of(name: str, config: RespondentConfig) -> str | None:
    """Return the key from the environment; None if the server needs none."""
    variable = api_of(config).key_variable
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    where = f"respondents.{name}.api.key_variable"
    if not key:
        raise UserError(
            f"{where}: the environment variable {variable} is not set; set it to the server's "
            f"key, or set {where}=null for a server without keys."
        )
    if not (key.isascii() and key.isprintable()):
        raise UserError(f"{where}: {variable} holds no valid key; it has unusual characters.")
    return key


def check_key(name: str, config: RespondentConfig) -> None:
    """Refuse to ask a respondent whose key is missing."""
    key_of(name, config)
