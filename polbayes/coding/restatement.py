"""Whether a clause repeats the statement or says the contrary."""

from collections.abc import Sequence
from dataclasses import dataclass

from polbayes.coding.text import word_set, words

NEGATORS = word_set(
    "not no never none nothing nobody neither nor without cannot hardly false untrue"
)
# Words that narrow or widen a claim: sentences differ if only one has such a word.
_SCOPE = word_set(
    "always sometimes often usually never only solely sole merely just purely necessarily "
    "entirely fully completely universally absolutely inherently mainly primarily primary all "
    "every some many most more less too very ever alone exclusively simply automatically "
    "blindly unconditionally can could may might must should"
)
_ONLY = word_set("only solely sole merely just purely simply exclusively")
_STOP = word_set(
    "a an the of to in on at by for with from as is are was were be been being it its this "
    "that these those there i you we they he she one's their our your his her my and or but "
    "so than then do does did has have had will would can could may might must should indeed "
    "also i'd which who whom what when if while about into over up out own proposition "
    "statement idea notion"
)

_REASONS = word_set("because since as for due therefore so")


@dataclass(frozen=True)
class Restatement:
    """How a clause relates to the statement."""

    of_clause: float  # share of the clause's content words that are in the statement
    of_statement: float  # share of the statement's content words in the clause
    flipped: bool  # whether only one is negated, over the part they share
    # Whether both have the same words such as "always", "only" or "some"; a negated clause may add
    # one, as "should not only be" denies "should be".
    same_scope: bool
    in_order: bool  # whether the shared words are in the same order and end the clause

    @property
    def is_about(self) -> bool:
        """Whether the clause is recognisably about what the statement says."""
        return self.of_clause >= 0.5

    @property
    def is_whole(self) -> bool:
        """Whether the clause says all of the statement and nothing else."""
        alike = self.of_clause >= 0.8 and self.of_statement >= 0.8
        return alike and self.same_scope and self.in_order


def compare(clause: Sequence[str], statement: str) -> Restatement:
    """Compare the words of a clause with a statement."""
    theirs = [word for word in words(statement) if word[0].isalnum()]
    ours = [word for word in clause if word[0].isalnum()][: len(theirs) + 6]
    positions = {_stem(word): at for at, word in reversed(list(enumerate(theirs)))}
    shared = [
        (at, positions[_stem(word)])
        for at, word in enumerate(ours)
        if _counts(word) and _stem(word) in positions
    ]
    if not shared:
        return Restatement(0.0, 0.0, False, False, False)
    # After the last shared word a new thought begins ("..., because ...").
    said = ours[: max(at for at, _ in shared) + 1]
    first, last = min(at for _, at in shared), max(at for _, at in shared)
    span = theirs[max(0, first - 3) : last + 1]
    content = {_stem(word) for word in said if _counts(word)}
    every = {_stem(word) for word in theirs if _counts(word)}
    flipped = _negations(said) % 2 != _negations(span) % 2
    return Restatement(
        of_clause=len(content & every) / len(content),
        of_statement=len(content & every) / len(every),
        flipped=flipped,
        same_scope=_scope(said) - (_ONLY if flipped else set()) == _scope(span),
        in_order=_in_order(said, theirs) and _ends(clause, len(said)),
    )


def _in_order(said: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether the content words of `said` occur in `theirs` in this order."""
    every = [_stem(word) for word in theirs if _counts(word)]
    rest = iter(every)
    return all(stem in rest for word in said if _counts(word) and (stem := _stem(word)) in every)


def _ends(clause: Sequence[str], length: int) -> bool:
    """Return whether the clause ends, or gives its reasons, after so many words."""
    seen = 0
    for token in clause:
        if seen == length:
            return not token[0].isalnum() or token in _REASONS
        seen += token[0].isalnum()
    return True


def _counts(word: str) -> bool:
    return word not in _STOP and word not in NEGATORS


def _negations(tokens: Sequence[str]) -> int:
    return sum(token in NEGATORS for token in tokens)


def _scope(tokens: Sequence[str]) -> set[str]:
    return set(tokens) & _SCOPE


def _stem(word: str) -> str:
    """Roughly unify British and American spelling, number, and verb forms."""
    word = word.removesuffix("'s").replace("isation", "ization").replace("our", "or")
    for suffix in ("ise", "ised", "ises", "ising"):
        if word.endswith(suffix) and len(word) > 6:
            word = word.removesuffix(suffix) + "iz"
    for suffix in ("ing", "ed", "es", "s", "e"):
        if word.endswith(suffix) and len(word) > len(suffix) + 3:
            return word.removesuffix(suffix)
    return word
