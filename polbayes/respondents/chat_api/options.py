"""The mass of answer options, from the log probabilities of the likeliest tokens.

A server lists the likeliest tokens at each position of its answer. A token that is a written form
of an option has that option's mass. For one that only begins an option ("dis" of "disagree") the
continuation is known from the next position if it is the token that was chosen, and otherwise
unknown. Mass that is unknown or not listed is reported as unseen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from polbayes.instrument.prompts import Lexicon, surfaces
from polbayes.respondents.chat_api.reply import Position
from polbayes.respondents.thinking import part


@dataclass(frozen=True)
class Masses:
    """The mass seen of each option, and the unseen mass that may or may not be an option's."""

    options: tuple[float, ...]
    unseen: float  # the true mass of all options together is at most this much larger


def option_masses(positions: Sequence[Position], lexicon: Lexicon) -> Masses:
    """Read the mass of each option along an answer."""
    if not positions:
        raise ValueError("the server gave no log probabilities for its answer")
    tally = _Tally(lexicon)
    unseen = tally.walk("", 1.0, positions)
    return Masses(tuple(min(m, 1.0) for m in tally.mass), min(max(unseen, 0.0), 1.0))


def after_thinking(
    positions: Sequence[Position], *, thoughts: str = "", answer: str = "", own: Sequence[str] = ()
) -> Sequence[Position]:
    """Return the tokens after the thinking; none if it has no end.

    `thoughts` and `answer` are what the server told apart. It may list the tokens of both, without
    a mark between them, or those of the answer alone. `own` are marks as of
    `polbayes.respondents.thinking.part`.
    """
    text = "".join(position.token for position in positions)
    start = part(text, own=own).start
    if start == 0 and thoughts:
        start = _behind(text, thoughts.strip(), answer.strip())
    if start is None:
        return ()
    ends = accumulate(len(position.token) for position in positions)
    begun = sum(end <= start for end in ends) if start else 0
    return positions[begun:]


def _behind(text: str, thoughts: str, answer: str) -> int | None:
    """Return where a text goes on behind thoughts; None if it does not."""
    said = text.strip()
    if said == answer:
        return 0
    if said.startswith(thoughts) and said != thoughts:
        return text.index(thoughts) + len(thoughts)
    return None if thoughts.startswith(said) else 0


class _Tally:
    """The mass of the options while traversing an answer."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.mass = [0.0] * len(lexicon.options)
        self._stance = lexicon.stance
        self._forms = {form: n for n, word in enumerate(lexicon.options) for form in surfaces(word)}

    def walk(
        self,
        before: str,
        reached: float,
        positions: Sequence[Position],
        *,
        so_far: int | None = None,
    ) -> float:
        """Add the mass of the continuations of `before`; return the mass that stays unseen."""
        here, later = positions[0], positions[1:]
        listed = _listed(here)
        # At most what is left, however the server rounds.
        scale = reached / max(sum(listed.values()), 1.0)
        unseen = reached - scale * sum(listed.values())
        for token, share in listed.items():
            text, mass = before + token, scale * share
            option, open_to = self._forms.get(text), self._longer(text)
            taken = token == here.token and len(later) > 0
            if option is not None and not self._differ(option, open_to):
                self.mass[option] += mass
            elif open_to and taken:
                unseen += self.walk(text, mass, later, so_far=option)
            elif open_to and token:
                unseen += mass
            elif so_far is not None:
                self.mass[so_far] += mass
        return max(unseen, 0.0)

    def _longer(self, text: str) -> set[int]:
        """Return the options with a form that continues a text."""
        return {n for form, n in self._forms.items() if form != text and form.startswith(text)}

    def _differ(self, option: int, others: set[int]) -> bool:
        return any(self._stance[n] != self._stance[option] for n in others)


def _listed(position: Position) -> dict[str, float]:
    """Return the probability of each listed token; tokens with one text are summed."""
    listed: dict[str, float] = {}
    for token, log_prob in position.top:
        listed[token] = listed.get(token, 0.0) + math.exp(log_prob)
    # Some servers list the likeliest tokens without the chosen one.
    listed.setdefault(position.token, math.exp(position.log_prob))
    return listed
