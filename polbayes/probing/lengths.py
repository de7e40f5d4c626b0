"""Prompts that do not fit into the context of a respondent, as far as known beforehand."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from polbayes.config.schema import TEXTS, ElicitationConfig, RespondentConfig
from polbayes.data.prose import form, plural
from polbayes.instrument.prompts import Lexicon, load_template
from polbayes.respondents import BACKENDS
from polbayes.respondents.questions import PendingQuestions

# Number of prompts measured; more would take long without being more precise.
_SAMPLE = 5000


def lengths_in_words(
    design: xr.Dataset,
    respondents: Mapping[str, RespondentConfig],
    elicitation: ElicitationConfig,
    lexicon: Lexicon | None,
) -> list[str]:
    """Return a line for each respondent with prompts that are too long, or nearly so."""
    template = load_template(elicitation.template)
    writes = elicitation.kind in TEXTS
    lines = []
    for name in map(str, design["model"].values):
        config = respondents[name]
        room = BACKENDS[config.backend].room(name, config, template, None if writes else lexicon)
        if room is None:
            continue
        asked = PendingQuestions(design, name, {})
        places = np.linspace(0, len(asked) - 1, min(len(asked), _SAMPLE)).round().astype(int)
        prompts = {question.prompt: question for question in (asked[int(n)] for n in places)}
        needed = np.array([room.needed(question) for question in prompts.values()])
        every = plural(len(needed), "prompt")
        too_long = int((needed > room.limit).sum())
        if too_long:
            lines.append(
                f"  {name}: {too_long:,} of {every} {form(too_long, 'is', 'are')} too long (up to "
                f"{needed.max():,} tokens, and the model takes {room.limit:,}); "
                f"{form(too_long, 'this question', 'these questions')} would get no answer."
            )
        cut = int((needed + elicitation.max_new_tokens - 1 > room.limit).sum()) - too_long
        if writes and cut:
            lines.append(
                f"  {name}: after {cut:,} of {every} there is no room for "
                f"elicitation.max_new_tokens={elicitation.max_new_tokens}; "
                f"{form(cut, 'this answer', 'these answers')} may be cut off."
            )
    return lines
