"""The Likert rule: an answer that is one number from 1 to 5."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from polbayes.coding.registry import nominal_probabilities
from polbayes.huggingface.encoding import SPECIAL_TOKEN

# One digit surrounded only by white space, quotes, brackets and punctuation. A dash, plus or slash
# is not punctuation here: '-4', '3-4' and '4/5' are other numbers.
_ONLY_A_DIGIT = re.compile(r"""[\s.,:;!'"*`()\[\]]*([1-5])[\s.,:;!'"*`()\[\]]*""")
_CLASSES = {"1": "disagree", "2": "disagree", "3": "neutral", "4": "agree", "5": "agree"}


def code(statements: Sequence[str], responses: Sequence[str]) -> np.ndarray:
    """Code answers that are only an integer, 1 to 5 (Faulborn et al. 2025, Appendix C)."""
    return nominal_probabilities([_read(response) for response in responses])


def _read(response: str) -> str | None:
    text = SPECIAL_TOKEN.sub(" ", unicodedata.normalize("NFKC", response))
    found = _ONLY_A_DIGIT.fullmatch(text)
    return _CLASSES[found[1]] if found else None
