"""Opening a model behind a server, asked one question at a time or in batches."""

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Template
from polbayes.respondents.base import chat_info
from polbayes.respondents.chat_api.respondent import ChatApiRespondent
from polbayes.respondents.chat_api.settings import api_of, check_api, key_of


def describe(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    """Return the design's entry for a model behind a server, without asking it."""
    check_api(name, config)
    return chat_info(name, config, template)


def open_chat_api(
    name: str, config: RespondentConfig, template: Template, elicitation: ElicitationConfig
) -> ChatApiRespondent:
    """Open a model behind a server as a respondent."""
    info, api, key = describe(name, config, template), api_of(config), key_of(name, config)
    if api.batch is None:
        return ChatApiRespondent(info, api, elicitation, key)
    from polbayes.respondents.chat_api.batch import BatchRespondent

    return BatchRespondent(info, api, elicitation, key)
