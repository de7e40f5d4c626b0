"""Positive and negative sentiment of wordings, by a lexicon or by a text classifier."""

from collections.abc import Mapping, Sequence

import numpy as np

from polbayes.errors import UserError

VADER = "vader"
# The lexicon's rules take time that grows with the square of a text's length.
_MOST_WORDS = 1000
POSITIVE, NEGATIVE = "positive_sentiment", "negative_sentiment"


def sentiment(
    texts: Sequence[str],
    *,
    method: str = VADER,
    labels: Mapping[str, str] | None = None,
    batch_size: int = 32,
    device: str = "auto",
) -> dict[str, np.ndarray]:
    """Judge the sentiment of wordings."""
    scores = np.full((len(texts), 2), np.nan)
    there = [k for k, text in enumerate(texts) if text.strip()]
    if there:
        given = [texts[k] for k in there]
        if method == VADER:
            scores[there] = _by_lexicon(given)
        else:
            from polbayes.features.classifier import classify

            scores[there] = classify(
                given, method, labels=labels or {}, batch_size=batch_size, device=device
            )
    return {POSITIVE: scores[:, 0], NEGATIVE: scores[:, 1]}


def check_sentiment(method: str, *, language: str, labels: Mapping[str, str]) -> None:
    """Refuse what cannot judge the wordings of a language."""
    if method == VADER:
        if language != "en":
            raise UserError(
                f"features.sentiment: 'vader' judges English, not '{language}'; name a text "
                "classifier of that language, or leave the sentiment out."
            )
        return
    from polbayes.features.classifier import check_classifier

    check_classifier(method, labels=labels)


def _by_lexicon(texts: Sequence[str]) -> np.ndarray:
    """Return ``[text, 2]`` the shares of what is positive and negative."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyser = SentimentIntensityAnalyzer()
    found = [analyser.polarity_scores(_beginning(text)) for text in texts]
    return np.array([[one["pos"], one["neg"]] for one in found])


def _beginning(text: str) -> str:
    words = text.split(maxsplit=_MOST_WORDS)
    return text if len(words) <= _MOST_WORDS else " ".join(words[:_MOST_WORDS])
