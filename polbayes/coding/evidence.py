"""What single sentences of an answer say about the writer's stance.

Only the writer's own stance counts: a verb of agreement with "I" as its subject, a bare label, "my
answer is ...". Its object must be the statement itself; "I agree that ..." followed by something
else is no stance towards it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from polbayes.coding.restatement import NEGATORS, compare
from polbayes.coding.text import Sentence, word_set

Kind = Literal["agree", "disagree", "neutral", "refused", "mixed"]
Strength = Literal["clear", "partial", "conceded", "hedged"]


@dataclass(frozen=True)
class Evidence:
    """One sign of a stance."""

    kind: Kind  # ``mixed`` where a sentence takes both sides
    # ``partial``: to some extent; ``conceded``: granted before the main point ("while I agree,
    # ..."); ``hedged``: only leaning that way ("I do not fully agree").
    strength: Strength
    at: tuple[int, int]  # sentence number and word number


_OTHER: dict[Kind, Kind] = {"agree": "disagree", "disagree": "agree"}

# Verbs of stance; those of the second group need the statement as their object.
_VERBS: dict[str, Kind] = {"agree": "agree", "concur": "agree", "disagree": "disagree"}
_VERBS |= {"agreeing": "agree", "disagreeing": "disagree"}
_NOUNS: dict[str, Kind] = {"agreement": "agree", "disagreement": "disagree"}
_TRANSITIVE: dict[str, Kind] = {
    "support": "agree",
    "endorse": "agree",
    "oppose": "disagree",
    "reject": "disagree",
    "refute": "disagree",
    "dispute": "disagree",
    "opposed": "disagree",
    "against": "disagree",
    "favor": "agree",
    "favour": "agree",
}
_ALL: dict[str, Kind] = _VERBS | _NOUNS | _TRANSITIVE

# What may stand between "I" and the verb.
_BETWEEN = word_set(
    "would will must do can could may might shall have to tend want wish need like love "
    "choose am be been going inclined find myself feel compelled obliged forced bound say "
    "admit rather also still just even never not hereby very much so quite too most in stand "
    "remain strong complete full total firm clear my express state voice declare register "
    "reiterate affirm confess argue speak advocate vote position here now therefore thus "
    "however respond help but % 100 somewhat respectfully one it stance taking take the of "
    "good conscience all "
    "for with select answer beg neither nor whole heartedly"
)
_HEDGING = word_set("could may might")
_FULLY = word_set(
    "fully entirely completely necessarily wholly totally quite always wholeheartedly "
    "absolutely unequivocally exactly strongly 100 simply really altogether automatically"
)
# Before "I", these make it a question, a condition or somebody else's words.
_SUPPOSING = word_set(
    "if whether unless until when whenever suppose supposing imagine assuming where should "
    "had which what how who"
)
# Denied before "I", these take it back: "I don't think that I agree".
_THINKING = word_set("mean means say saying imply think believe sure certain know convinced feel")
_SAYING = word_set("say says argue argues write respond post like saying")
_OTHERS = word_set("you they one some someone somebody people others supporters those if")
_CONCEDING = word_set("while although though whereas")

_STATEMENT_NOUNS = word_set("proposition propositions statement")
_VIEW_NOUNS = word_set(
    "claim assertion idea notion view viewpoint belief opinion position premise suggestion "
    "argument principle concept stance sentiment assessment thesis motion saying adage phrase "
    "maxim approach perspective proposal contention philosophy thought remark point"
)
_PRONOUNS = word_set("this that it you")
_NOT_THE_STATEMENT = word_set(
    "opposite opposing opposed contrary other second first last latter former underlying "
    "spirit general alternative counter part parts aspect aspects another both"
)
_DETERMINERS = word_set("the this that such your above given following said")
_CLAUSE_END = word_set(
    ". , ; : ! ) - – — ( because since as due and but although though given while however for "
    "here / therefore so when which wholeheartedly"
)
_WEAKENING = re.compile(
    r"^(?:in part|in principle|in theory|partially|partly|somewhat|conditionally"
    r"|(?:to|up to) (?:some|a certain|an|a|a limited) (?:extent|degree|point))\b"
)
_WEAK_ADVERBS = word_set("partially partly conditionally")


def verbal(sentence: Sentence, statement: str, number: int) -> Iterator[Evidence]:
    """Find statements of agreement or disagreement in a sentence."""
    if sentence.is_question:
        return
    tokens = sentence.tokens
    for at, token in enumerate(tokens):
        if token not in _ALL:
            continue
        subject = _subject(tokens, at, sentence.starts_line)
        elliptic = subject is None and _is_elliptic(tokens, at)
        if elliptic:
            subject = max(0, at - 3)
        if subject is None or _is_supposed(tokens, subject):
            continue
        kind, strength = _polarity(tokens, subject, at)
        strength = "hedged" if elliptic else strength
        if kind is None:
            continue
        about = _object(tokens, at, statement)
        if about == "else":
            continue
        strength = "partial" if about == "weakened" and strength == "clear" else strength
        if about == "flipped":
            kind, strength = _OTHER[kind], "hedged"
        yield Evidence(kind, strength, (number, at))


def _subject(tokens: Sequence[str], verb: int, starts_line: bool) -> int | None:
    """Return the position of "I", -1 for a bare "Agree ..." at the start of a line, or None."""
    at = verb - 1
    while at >= 0 and (tokens[at] in _BETWEEN or tokens[at].endswith("ly")):
        at -= 1
    if at >= 0 and tokens[at] == ",":
        # "I, as a member of the lower class, disagree"
        opening = at - 1
        while opening > 0 and tokens[opening] != ",":
            opening -= 1
        if opening == 1 and tokens[0] == "i":
            return 0
    if at >= 0 and tokens[at] == "i":
        return at
    bare = all(t.endswith("ly") or t in ("somewhat", "not") for t in tokens[:verb])
    if at < 0 and bare and starts_line and tokens[verb] in ("agree", "disagree"):
        return -1
    return None


def _is_elliptic(tokens: Sequence[str], verb: int) -> bool:
    """Return whether "I" is omitted ("I see why, but disagree"); it may mean others."""
    before = tokens[max(0, verb - 3) : verb]
    return tokens[verb] in _VERBS and "i" in tokens[:verb] and bool({"but", "yet"} & set(before))


def _is_supposed(tokens: Sequence[str], subject: int) -> bool:
    before = tokens[max(0, subject - 3) : max(subject, 0)]
    if _SUPPOSING & set(before):
        return True
    earlier = tokens[max(0, subject - 7) : max(subject, 0)]
    if _THINKING & set(earlier) and NEGATORS & set(earlier):
        return True
    return speaks_for_others(tokens[: max(subject, 0)])


def speaks_for_others(tokens: Sequence[str]) -> bool:
    """Return whether words introduce others' views: 'if you agree, you might say:'."""
    return bool(_SAYING & set(tokens) and _OTHERS & set(tokens))


def _polarity(tokens: Sequence[str], subject: int, verb: int) -> tuple[Kind | None, Strength]:
    """Apply negation, concession and hedges to a verb."""
    kind = _ALL[tokens[verb]]
    between = tokens[subject + 1 : verb]
    conceded = subject > 0 and bool(_CONCEDING & set(tokens[max(0, subject - 2) : subject]))
    strength: Strength = "conceded" if conceded else "clear"
    negations = sum(token in NEGATORS for token in between) - ("help" in between)
    if "not" in between and "but" in between and "help" not in between:
        negations -= 1
    if "but" in between and negations > 0:
        return None, "clear"
    if (negations > 0 and "could" in between) or "can" in between:
        # "I could not agree more" is as much agreement as there can be.
        following = [t for t in tokens[verb + 1 : verb + 3] if t != "strongly"]
        if negations > 0 and following[:1] == ["more"]:
            return kind, strength
    if negations > 0:
        after_not = between[between.index("not") + 1 :] if "not" in between else ()
        if _FULLY & set(after_not) or kind == "disagree":
            return _OTHER[kind], "hedged"
        return _OTHER[kind], strength
    can = "can" in between and "help" not in between
    if strength == "clear" and (_HEDGING & set(between) or can):
        return kind, "hedged"
    if strength == "clear" and _WEAK_ADVERBS & set(between):
        return kind, "partial"
    return kind, strength


About = Literal["statement", "weakened", "flipped", "else"]


def _object(tokens: Sequence[str], verb: int, statement: str) -> About:
    """Return what is agreed with: the statement, or something else."""
    needed = tokens[verb] in _TRANSITIVE
    rest = list(tokens[verb + 1 :])
    while rest and (rest[0].endswith("ly") or rest[0] in ("100", "%", "very", "much", "more")):
        if rest.pop(0) in _WEAK_ADVERBS:
            return "weakened"
    if _WEAKENING.match(" ".join(rest)):
        return "weakened"
    if not rest or rest[0] in _CLAUSE_END:
        return "else" if needed or _takes_both_sides(rest) else "statement"
    if rest[0] in ("with", "to", "of") and (rest[0] == "with" or needed):
        return _noun_phrase(rest[1:], statement)
    if rest[0] == "that":
        return _clause(rest[1:], statement, named=False)
    return _noun_phrase(rest, statement) if needed else "else"


def _takes_both_sides(rest: Sequence[str]) -> bool:
    """Return whether the other label follows at once, as in 'agree / disagree'."""
    return any(token in _VERBS for token in rest[1:3])


def _noun_phrase(rest: Sequence[str], statement: str) -> About:
    if not rest:
        return "else"
    if rest[0] in _PRONOUNS and (len(rest) == 1 or rest[1] in _CLAUSE_END):
        return "statement"
    for at, token in enumerate(rest[:6]):
        if token in _NOT_THE_STATEMENT:
            return "else"
        if token in _STATEMENT_NOUNS | _VIEW_NOUNS:
            return _after_noun(rest[at + 1 :], token in _STATEMENT_NOUNS, statement)
        if token in _CLAUSE_END or (at == 0 and token not in _DETERMINERS):
            break
    return _clause(rest, statement, named=False)


def _after_noun(rest: Sequence[str], named: bool, statement: str) -> About:
    """Read on after 'the proposition' or 'the idea'."""
    if rest and rest[0] == "'":
        rest = rest[1:]
    if _WEAKENING.match(" ".join(rest)):
        return "weakened"
    if not rest or (rest[0] in _CLAUSE_END - {":", ",", "(", "-"} and rest[0] != "as"):
        return "statement"
    if rest[0] in ("that", ":", ",", "(", "-", "of", "as", "'"):
        return _clause(rest[1:], statement, named=named)
    return _clause(rest, statement, named=named)


def _clause(rest: Sequence[str], statement: str, *, named: bool) -> About:
    """Compare the object of agreement to the statement; `named` if it was called that."""
    same = compare(rest, statement)
    if same.is_about and same.flipped and same.of_statement >= 0.4:
        return "flipped"
    if named or (same.is_about and same.of_statement >= 0.4):
        return "statement"
    return "else"


# "I believe that the proposition (...) is wrong"; praise is rarer and less plain.
_VERDICT = re.compile(
    r"(?:the|this|such a) (?:proposition|statement|idea|notion|claim|assertion)\b[^.;]{0,300}?"
    r" (?:is (?:\w+ly |a |an |both |too )*(?:flawed|wrong|misguided|mistaken|false|incorrect"
    r"|unfounded|simplistic|oversimplification|unethical|unjust)|oversimplifies)\b"
)
_BELIEVES = word_set("believe think feel maintain contend argue hold assert consider say")


def restated(sentence: Sentence, statement: str, number: int) -> Iterator[Evidence]:
    """Find "I believe that ..." with the statement, its negation or a verdict on it."""
    if sentence.is_question:
        return
    tokens = sentence.tokens
    for at, token in enumerate(tokens):
        if token not in _BELIEVES and token != "convinced":
            continue
        subject = _subject(tokens, at, False)
        if subject is None or subject < 0 or _is_supposed(tokens, subject):
            continue
        between = tokens[subject + 1 : at]
        if _HEDGING & set(between) or "but" in between or _CONCEDING & set(tokens[:subject]):
            continue
        clause = tokens[at + 1 :]
        clause = clause[1:] if clause[:1] == ("that",) else clause
        judged = _VERDICT.match(" ".join(clause))
        if judged and not any(t in NEGATORS for t in between):
            yield Evidence("disagree", "clear", (number, at))
            continue
        same = compare(clause, statement)
        if same.is_whole:
            denied = same.flipped != any(t in NEGATORS for t in between)
            yield Evidence("disagree" if denied else "agree", "clear", (number, at))
