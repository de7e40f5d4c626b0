"""The lexical coder: explicit statements of stance in English, by rule.

It is designed to be right when it decides and to abstain otherwise: on answers that state no stance
of their own, argue both sides, or contradict themselves, and on anything that is not English. It
never calls an answer unrelated.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from polbayes.coding.evidence import Evidence, restated, speaks_for_others, verbal
from polbayes.coding.labels import bare, truth, yes_or_no
from polbayes.coding.refusals import neutrality, refusals, without_both
from polbayes.coding.registry import nominal_probabilities
from polbayes.coding.text import Sentence, clean, sentences

_CONTRAST = frozenset({"but", "however", "although", "though", "yet"})


def code(statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
    """Code explicit answers."""
    pairs = zip(statements, responses, strict=True)
    return nominal_probabilities([read(statement, response) for statement, response in pairs])


def read(statement: str, response: str) -> str | None:
    """Read the stance of one answer."""
    text = sentences(clean(response))
    single = len(text) == 1 and not _CONTRAST & set(text[0].tokens)
    return weigh(list(evidence(statement, text)), single=single)


def evidence(statement: str, text: Sequence[Sentence]) -> Iterator[Evidence]:
    """Collect every sign of a stance in an answer."""
    yield from refusals(text)
    yield from neutrality(text)
    yield from bare(text)
    yield from yes_or_no(text, statement)
    yield from truth(text)
    for number, sentence in enumerate(text):
        lead = text[number - 1].tokens if number else ()
        if lead[-1:] == (":",) and speaks_for_others(lead):
            continue
        plain = without_both(sentence)
        yield from verbal(plain, statement, number)
        yield from restated(plain, statement, number)


def weigh(signs: Sequence[Evidence], *, single: bool) -> str | None:
    """Decide on a stance, or abstain."""
    enough = ("clear", "partial") if single else ("clear",)
    clear = [sign for sign in signs if sign.strength in enough and sign.kind != "refused"]
    kinds = {sign.kind for sign in clear}
    refused = [sign.at for sign in signs if sign.kind == "refused"]
    if not kinds:
        return "refused" if refused and len(refused) == len(signs) else None
    if len(kinds) > 1 or "mixed" in kinds:
        return None
    (kind,) = kinds
    against = ("hedged", "partial")
    if any(sign.strength in against and sign.kind not in (kind, "refused") for sign in signs):
        return None
    if refused and (kind == "neutral" or max(sign.at for sign in clear) < max(refused)):
        return "refused" if kind == "neutral" else None
    return kind
