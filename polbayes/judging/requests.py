"""Putting requests to judges together, and saying what was wrong with their replies."""

from collections.abc import Mapping

_ABSENT = "(none)"


def quoted(text: str) -> str:
    """Quote every line of a text, so that nothing in it can pass for part of a request."""
    lines = text.strip().splitlines() or [_ABSENT]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def filled(request: str, fields: Mapping[str, str]) -> str:
    """Fill the fields of a request itself; a field's name in what is filled in is left alone."""
    parts = request.split("{")
    said = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}")
        said += [fields[name], rest]
    return "".join(said)


def problems_of(statuses: Mapping[str, str]) -> list[str]:
    """Describe the unusable parts of a reply, given the status of each."""
    by_status: dict[str, list[str]] = {}
    for name, status in statuses.items():
        if status != "ok":
            by_status.setdefault(status, []).append(name)
    whole = ("no_object", "malformed", "wrong_sum")
    return [
        _WORDS[status] if status in whole else f"{_WORDS[status]}: {', '.join(names)}"
        for status, names in by_status.items()
    ]


_WORDS = {
    "missing": "missing",
    "truncated": "the object broke off before",
    "wrong_type": "no whole number",
    "out_of_range": "outside of the scale",
    "unknown_label": "none of the words to choose from",
    "conflicting": "given more than once, with different numbers",
    "no_object": "there was no JSON object",
    "malformed": "the JSON object could not be read",
    "wrong_sum": "the probabilities did not add up to 100",
}
