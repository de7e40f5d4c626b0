"""When two texts are the same wording: the same letters, digits and symbols in order."""

import unicodedata


class _Folding(dict[int, str]):
    """Separators, controls and punctuation as spaces, found out sign by sign."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        # Letters, marks (which are vowels in some scripts), numbers and symbols count.
        self[code] = sign if unicodedata.category(sign)[0] in "LMNS" else " "
        return self[code]


_FOLDING = _Folding()


def folded(text: str) -> str:
    """Reduce a wording to what counts when two are compared: no case, spacing or punctuation.

    >>> folded("“Land  shouldn’t be SOLD!”")
    'land shouldn t be sold'
    """
    before = ""
    while text != before:
        before = text
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(text.translate(_FOLDING).split())
