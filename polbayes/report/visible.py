"""Untrusted text made safe to show: nothing in it acts, everything in it is visible."""

import re
import unicodedata

# Joiners shape letters in several scripts and reorder nothing.
_KEPT = {"\n", "\t", "\u200c", "\u200d"}
_SHOWN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_CANDIDATE = re.compile(r"[^\x20-\x7e\n\t]")


def visible(text: str) -> str:
    """Show controls, direction marks and lone surrogates as code points, such as ``⟨U+001B⟩``.

    Line breaks and tabs stay; a Windows line break counts as one line break.
    """
    return _CANDIDATE.sub(_picture, text.replace("\r\n", "\n"))


def _picture(match: re.Match[str]) -> str:
    character = match[0]
    if character in _KEPT or unicodedata.category(character) not in _SHOWN:
        return character
    return f"⟨U+{ord(character):04X}⟩"
