"""Taking an answer apart: one line a wording, without list marks, quotes and markdown."""

import re
import unicodedata

from polbayes.data.tables import text_of
from polbayes.huggingface.encoding import SPECIAL_TOKEN

_MARK = re.compile(
    r"\s*(?:(?:[-*•‣◦·–—]+|#{1,6}|>|\(?\d{1,3}[.):\]]|\[\d{1,3}\]|\(?[a-zA-Z]\))(?:\s+|$))+"
)
_EMPHASIS = re.compile(r"\*{1,3}|_{2,3}|`+|~~")
_LABEL = re.compile(
    r"(?:(?:the|a|my|new|political)\s+)*"
    r"(?:paraphrased?|reformulat(?:ed|ion)|reworded|rewording|rephrased|rephrasing|opposite|negat(?:ed|ion)|"
    r"statement|version|denial)(?:\s+(?:statement|version|wording))?(?:\s+\d{1,3})?\s*:\s*",
    re.IGNORECASE,
)
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "'": "'", "‘": "’"}


def lines_of(answer: str) -> list[str]:
    """Split an answer into its lines, each as `bare` leaves it."""
    text = SPECIAL_TOKEN.sub("\n", text_of(answer) or "").strip()
    return [bare(line) for line in text.splitlines()] or [""]


def bare(line: str) -> str:
    """Return a line without list marks, markdown, a label such as “Paraphrase 2:”, and quotes.

    Examples
    --------
    >>> bare('  3. **"Taxes are too high."**')
    'Taxes are too high.'
    """
    while True:
        before = line
        line = "".join(" " if unicodedata.category(c) == "Cc" else c for c in line)
        line = _EMPHASIS.sub("", _MARK.sub("", line, count=1) if _MARK.match(line) else line)
        line = " ".join(line.split())
        found = _LABEL.match(line)
        if found and found.end() < len(line):
            line = line[found.end() :]
        line = _unquoted(line)
        if line == before:
            return line


def _unquoted(line: str) -> str:
    """Take quotation marks away that are around the whole line, a last full stop or not."""
    closing = _QUOTES.get(line[:1])
    if closing is None:
        return line
    ending = "".join(c for c in line[-2:] if c in ".,;")
    end = line.rstrip(".,;")
    if len(end) < 2 or not end.endswith(closing):
        return line
    inside = end[1:-1]
    if closing in inside or line[0] in inside:
        return line
    return inside.strip() if inside.rstrip().endswith((".", "!", "?")) else inside.strip() + ending
