"""Common parts of backends with a local checkpoint: finding and opening it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.huggingface import checkpoint
from polbayes.huggingface.locate import locate
from polbayes.huggingface.positions import positions
from polbayes.huggingface.source import Source
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.respondents.base import Respondent, Room


@dataclass(frozen=True)
class LocalKind:
    """A kind of language model, masked or causal: its design entry, respondent and room.

    `info` gets name, config, template and tokenizer; `respondent` info, tokenizer, model and
    elicitation; `room` info, tokenizer, the model's token limit, and lexicon.
    """

    masked: bool
    info: Callable[[str, RespondentConfig, Template, Any], ModelInfo]
    respondent: Callable[[ModelInfo, Any, Any, ElicitationConfig], Respondent]
    room: Callable[[ModelInfo, Any, int, Lexicon | None], Room]

    def describe(self, name: str, config: RespondentConfig, template: Template) -> ModelInfo:
        """Return the design's entry for a respondent, without loading its weights."""
        source = locate(name, config)
        tokenizer = checkpoint.load_tokenizer(source)
        info = self.info(name, config, template, tokenizer)
        checkpoint.check_kind(source, checkpoint.load_config(source), masked=self.masked)
        return info

    def open(
        self,
        name: str,
        config: RespondentConfig,
        template: Template,
        elicitation: ElicitationConfig,
    ) -> Respondent:
        """Load a respondent."""
        source = locate(name, config)
        tokenizer = checkpoint.load_tokenizer(source)
        info = self.info(name, config, template, tokenizer)
        model = checkpoint.load_model(source, config, masked=self.masked)
        return self.respondent(info, tokenizer, model, elicitation)

    def room_of(
        self, name: str, config: RespondentConfig, template: Template, lexicon: Lexicon | None
    ) -> Room:
        """Return the capacity of a respondent's context, without loading its weights."""
        source = locate(name, config)
        tokenizer = checkpoint.load_tokenizer(source)
        info = self.info(name, config, template, tokenizer)
        return self.room(info, tokenizer, self._limit(source), lexicon)

    def _limit(self, source: Source) -> int:
        about = checkpoint.load_config(source)
        kind = checkpoint.language_model(self.masked)
        return positions(about, checkpoint.skeleton(source, kind, about))
