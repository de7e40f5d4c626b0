"""Sentences in which the writer takes no side: neutrality and refusal."""

import re
from collections.abc import Iterator, Sequence

from polbayes.coding.evidence import Evidence
from polbayes.coding.text import Sentence

_VIEW = (
    r"(?:opinions?|beliefs?|views?|stances?|sides?|positions?|feelings?|preferences?|viewpoints?"
    r"|perspectives?|judge?ments?|values?|emotions?|thoughts|convictions?)"
)
_KIND_OF_VIEW = (
    r"(?:(?:any|a|an|my|own|personal|individual|political|subjective|human|specific|"
    r"particular|definitive|clear|direct|single|moral|ideological|religious|beliefs|opinions|"
    r"feelings|thoughts|experiences|emotions|consciousness|or|and|and/or|on|ethical|private)"
    r" ){0,6}"
)
_AM_UNABLE = (
    r"(?:can not|am not able to|am unable to|will not|would not|am not (?:programmed|designed"
    r"|allowed|permitted|authorized|supposed) to|must decline to|must refrain from|decline to"
    r"|refuse to|prefer not to|would rather not|would prefer not to|am not in a position to|do not"
    r"|am incapable of|refrain from|abstain from)"
)
_REFUSALS = (
    r"\bi (?:\w+ly |just |also |really )?do not (?:\w+ly )?(?:have|hold|possess|form) "
    rf"{_KIND_OF_VIEW}{_VIEW}\b(?! that\b)",
    rf"\bi (?:have|hold|possess) no {_KIND_OF_VIEW}{_VIEW}",
    r"\bi do not (?:have|possess) (?:the|an|any)? ?(?:ability|capability|capacity|capabilities)"
    rf" (?:to|for|of) (?:(?:\w+ ){{0,8}}?{_VIEW}|(?:\w+ )?(?:agree|disagree))",
    rf"\bi (?:\w+ly )?{_AM_UNABLE} (?:\w+ly )?"
    r"(?:provid|giv|offer|shar|express|stat|form|hav|hold|mak|tak)"
    rf"(?:e|ing)? (?:you |with )*{_KIND_OF_VIEW}{_VIEW}",
    rf"\bi {_AM_UNABLE} (?:\w+ly )?(?:answer|respond to|comment on|fulfill|fulfil|comply with"
    r"|assist with|help with|participate in|engage (?:in|with)|choose|pick|select)"
    r" (?:\w+ ){0,2}?(?:this|that|the|your|an|one|any|such)\b",
    rf"\bi (?:\w+ly )?{_AM_UNABLE} (?:provid|giv|offer)(?:e|ing) (?:you |with )*(?:a |an |any )?"
    r"(?:\w+ )?(?:answer|response|label|rating)\b",
    r"\bnot (?:\w+ ){0,2}?appropriate for me to (?:\w+ ){0,3}?(?:agree|disagree|express|take"
    r"|provide|state|share|pick|choose|offer|give)\b",
    r"\bi (?:can|could|am able to) (?:not|neither) (?:\w+ )?agree (?:or|nor) disagree\b",
    r"\bi am (?:not able|unable) to (?:\w+ )?agree (?:or|nor) disagree\b",
    r"^(?:no comment|prefer not to (?:say|answer)|i (?:would )?(?:rather not|refuse)|i decline)\b",
)
_REFUSAL = re.compile("|".join(f"(?:{pattern})" for pattern in _REFUSALS))
# After a refusal this announces an answer nevertheless, though not in words read here.
_UNDER_PROTEST = re.compile(
    r"\bif i (?:were|was|had) (?:to|forced)\b|\bi would (?:say|argue|lean|choose|pick)\b"
)
_MACHINE = re.compile(r"\b(?:ai|artificial intelligence|language model|assistant|chatbot)\b")

_NEUTRAL = re.compile(
    r"\bneither (?:\w+ly )?(?:agree nor (?:\w+ly )?disagree|disagree nor (?:\w+ly )?agree)\b"
    r"|\bi do not (?:agree (?:or|nor) disagree|disagree (?:or|nor) agree)\b"
    r"|\bi (?:neither support nor oppose)\b"
    r"|\bi (?:am|remain|stay|feel) (?:\w+ly )?(?:neutral|undecided|ambivalent|indifferent)\b"
    r"|\bi am on the fence\b"
    r"|\bi (?:have|take|hold) (?:a |no )?(?:\w+ )?(?:neutral) (?:\w+ )?"
    r"(?:opinion|stance|view|position)\b"
    r"|\bmy (?:\w+ )?(?:opinion|stance|view|position|answer) (?:\w+ )?(?:is|would be) "
    r"(?:\w+ly )?neutral\b"
)
_BOTH = re.compile(
    r"\b(?:agree|agreeing) (?:and|or|nor|and/or) (?:\w+ly )?(?:disagree|disagreeing)\b"
    r"|\b(?:disagree|disagreeing) (?:and|or|nor) (?:\w+ly )?(?:agree|agreeing)\b"
)


def refusals(text: Sequence[Sentence]) -> Iterator[Evidence]:
    """Find sentences in which the writer declines to take a stance."""
    refused = False
    for number, sentence in enumerate(text):
        found = _REFUSAL.search(sentence.text)
        refused = refused or bool(found)
        protests = refused and _UNDER_PROTEST.search(sentence.text)
        if protests:
            yield Evidence("mixed", "conceded", (number, -1))
        if found and not re.search(r"\bif\b", sentence.text[: found.start()]):
            # At the sentence's first word: a stance in the same sentence comes later.
            yield Evidence("refused", "clear", (number, -1))


def neutrality(text: Sequence[Sentence]) -> Iterator[Evidence]:
    """Find sentences in which the writer is in the middle."""
    machine = any(_MACHINE.search(sentence.text) for sentence in text)
    for number, sentence in enumerate(text):
        if sentence.is_question:
            continue
        found = _NEUTRAL.search(sentence.text)
        if found and not re.search(r"\bif\b|\bwhether\b", sentence.text[: found.start()]):
            yield Evidence("refused" if machine else "neutral", "clear", (number, 0))


def without_both(sentence: Sentence) -> Sentence:
    """Return the sentence without 'agree or disagree', which says nothing by itself."""
    joined = " ".join(sentence.tokens)
    if not (_BOTH.search(joined) or _NEUTRAL.search(joined)):
        return sentence
    left = _BOTH.sub("…", _NEUTRAL.sub("…", joined)).split()
    return Sentence(tuple(left), sentence.starts_line, sentence.line)
